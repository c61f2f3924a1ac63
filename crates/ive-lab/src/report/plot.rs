//! Figures, as SVG and PNG. Only this file, its folder, `board`, `exhibit` and `film` name the plotting library.

mod dots;
mod forest;
mod maps;

pub use dots::{DotPanel, Dots, Marker, dots};
pub use forest::{Line, forest};
pub use maps::{Map, maps};
pub(super) use maps::{line, rect, text};

use kuva::backend::{png::PngBackend, svg::SvgBackend};
use kuva::plot::legend::{LegendEntry, LegendShape};
use kuva::plot::{BandPlot, LinePlot, ScatterPlot};
use kuva::render::annotations::ReferenceLine;
use kuva::render::figure::Figure as Grid;
use kuva::render::layout::Layout;
use kuva::render::plots::Plot;
use kuva::render::render::{Primitive, Scene};

use crate::exit::{Failure, Outcome};

/// Colours that stay apart for colour-blind eyes (Okabe and Ito).
pub mod colour {
    /// The implicit ensemble, and anything that is the paper's method.
    pub const IVE: &str = "#d55e00";
    /// Value ensembles.
    pub const EVE: &str = "#0072b2";
    /// Model ensembles.
    pub const EMVE: &str = "#009e73";
    /// The greedy policy.
    pub const GREEDY: &str = "#cc79a7";
    /// The uniform policy.
    pub const UNIFORM: &str = "#777777";
    /// Plans by an agent's own return.
    pub const PLAN: &str = "#56b4e9";
    /// Plans that are drawn and not climbed.
    pub const SAMPLE: &str = "#e69f00";
    /// An agent without a model.
    pub const BASELINE: &str = "#777777";
    /// The first member of an implicit ensemble alone.
    pub const FIRST_MEMBER: &str = "#0072b2";
    /// Its last member alone.
    pub const LAST_MEMBER: &str = "#009e73";
}

/// A finished figure.
#[derive(Clone, Debug)]
pub struct Figure {
    /// File name without ending.
    pub name: String,
    /// What it shows.
    pub caption: String,
    /// The drawing.
    pub svg: String,
    /// The same as a picture.
    pub png: Vec<u8>,
    /// The drawing in pieces, without a legend, for a page that is too narrow for all of it side by side.
    pub panels: Vec<String>,
    /// Colours and what they mean; no colour where the words have a sign of their own. Empty where the pieces say it
    /// themselves.
    pub legend: Vec<(String, String)>,
    /// How the page arranges the pieces: `curves`, `maps`, or `whole` for one that stays as it is.
    pub kind: &'static str,
}

/// A curve with an optional band around it.
#[derive(Clone, Debug, Default)]
pub struct Curve {
    /// Legend text; empty for none.
    pub label: String,
    /// Colour as `#rrggbb`.
    pub colour: &'static str,
    /// Points.
    pub points: Vec<(f64, f64)>,
    /// Half-width of the band at each point; empty for none.
    pub spread: Vec<f64>,
    /// Line width.
    pub width: f64,
    /// Whether the line is dashed.
    pub dashed: bool,
}

impl Curve {
    /// Means, x beside y, with a band of their standard errors if all have one.
    pub fn of_means(label: &str, colour: &'static str, means: impl Iterator<Item = (f64, f64, f64)>) -> Self {
        let (points, spread): (Vec<_>, Vec<_>) = means.map(|(x, y, error)| ((x, y), error)).unzip();
        let spread = if spread.iter().all(|e| e.is_finite()) { spread } else { Vec::new() };
        Self { label: label.to_owned(), colour, points, spread, width: 2.0, dashed: false }
    }

    /// The highest end of the band; zero at least.
    pub fn highest(&self) -> f64 {
        let spread = self.spread.iter().copied().chain(std::iter::repeat(0.0));
        self.points.iter().zip(spread).map(|(p, e)| p.1 + e).fold(0.0, f64::max)
    }
}

/// One set of axes.
#[derive(Clone, Debug, Default)]
pub struct Panel {
    /// Title.
    pub title: String,
    /// Label of the horizontal axis.
    pub x: String,
    /// Label of the vertical axis.
    pub y: String,
    /// Curves, later ones on top.
    pub curves: Vec<Curve>,
    /// Black circles.
    pub dots: Vec<(f64, f64)>,
    /// Dashed horizontal lines, with their colours.
    pub levels: Vec<(f64, &'static str)>,
    /// Lower and upper end of the vertical axis.
    pub y_range: Option<(f64, f64)>,
}

fn draw_panel(panel: &Panel) -> (Vec<Plot>, Layout) {
    let mut plots = Vec::new();
    for curve in panel.curves.iter().filter(|c| !c.spread.is_empty()) {
        let x = curve.points.iter().map(|p| p.0);
        let edge = |sign: f64| curve.points.iter().zip(&curve.spread).map(move |(p, s)| p.1 + sign * s);
        plots.push(Plot::Band(
            BandPlot::new(x, edge(-1.0), edge(1.0)).with_color(curve.colour).with_opacity(0.2),
        ));
    }
    for curve in &panel.curves {
        let mut line = LinePlot::new()
            .with_data(curve.points.iter().copied())
            .with_color(curve.colour)
            .with_stroke_width(curve.width);
        if curve.dashed {
            line = line.with_dashed();
        }
        plots.push(Plot::Line(line));
    }
    if !panel.dots.is_empty() {
        plots.push(Plot::Scatter(
            ScatterPlot::new().with_data(panel.dots.iter().copied()).with_color("black").with_size(4.0),
        ));
    }
    let mut layout = layout(&plots, &panel.title, &panel.x, &panel.y);
    for (value, colour) in &panel.levels {
        let line = ReferenceLine::horizontal(*value).with_color(*colour).with_stroke_width(1.2);
        layout = layout.with_reference_line(line);
    }
    if let Some((low, high)) = panel.y_range {
        layout = layout.with_y_axis_min(low).with_y_axis_max(high);
    }
    (plots, layout)
}

/// Axes with the sizes of letters and lines that all figures share.
fn layout(plots: &[Plot], title: &str, x: &str, y: &str) -> Layout {
    Layout::auto_from_plots(plots)
        .with_title(title)
        .with_x_label(x)
        .with_y_label(y)
        .with_title_size(15)
        .with_label_size(13)
        .with_tick_size(12)
        .with_body_size(12)
        .with_grid_line_width(0.5)
}

/// Panels side by side, `columns` to a row, with one legend for all curves that have a label and points.
pub fn lines(name: &str, caption: &str, panels: &[Panel], columns: usize) -> Outcome<Figure> {
    let (plots, layouts): (Vec<_>, Vec<_>) = panels.iter().map(draw_panel).unzip();
    let (mut legend, mut entries) = (Vec::new(), Vec::new());
    for curve in panels.iter().flat_map(|p| &p.curves).filter(|c| !c.label.is_empty() && !c.points.is_empty())
    {
        let (color, label) = (curve.colour.to_owned(), curve.label.clone());
        if !legend.contains(&(color.clone(), label.clone())) {
            legend.push((color.clone(), label.clone()));
            let dasharray = curve.dashed.then(|| "8 4".to_owned());
            entries.push(LegendEntry { label, color, shape: LegendShape::Line, dasharray });
        }
    }
    let grid = with_legend(grid(plots, layouts, columns), entries, panels.len(), columns);
    let figure = finish(name, caption, grid.render())?;
    Ok(Figure { legend, ..figure.in_pieces(panels.iter().map(draw_panel)) })
}

/// Size of a panel, and the space between and around them.
const PANEL: (f64, f64) = (410.0, 310.0);
const SPACING: f64 = 18.0;
const PADDING: f64 = 12.0;

fn grid(plots: Vec<Vec<Plot>>, layouts: Vec<Layout>, columns: usize) -> Grid {
    Grid::new(plots.len().div_ceil(columns), columns.min(plots.len()))
        .with_plots(plots)
        .with_layouts(layouts)
        .with_cell_size(PANEL.0, PANEL.1)
        .with_spacing(SPACING)
        .with_padding(PADDING)
}

/// One legend for all panels: in the place of the last one if that is free, to the right of them otherwise.
fn with_legend(grid: Grid, entries: Vec<LegendEntry>, panels: usize, columns: usize) -> Grid {
    if entries.is_empty() {
        return grid;
    }
    let grid = grid.with_shared_legend_entries(entries);
    if panels < columns || panels.is_multiple_of(columns) {
        return grid.with_shared_legend();
    }
    let (row, column) = (panels / columns, panels % columns);
    let at = |index: usize, size: f64| PADDING + index as f64 * (size + SPACING) + 60.0;
    grid.with_shared_legend_at(at(column, PANEL.0), at(row, PANEL.1))
}

impl Figure {
    /// The same figure with a piece for each panel.
    fn in_pieces(self, pieces: impl Iterator<Item = (Vec<Plot>, Layout)>) -> Self {
        let piece = |(i, (plots, layout)): (usize, (Vec<Plot>, Layout))| {
            let mut scene = grid(vec![plots], vec![layout], 1).render();
            real_minus(&mut scene);
            svg(&format!("{}-{i}", self.name), &scene)
        };
        let panels = pieces.enumerate().map(piece).collect();
        Self { panels, kind: "curves", ..self }
    }
}

/// A figure of one piece.
fn finish(name: &str, caption: &str, mut scene: Scene) -> Outcome<Figure> {
    real_minus(&mut scene);
    let png = PngBackend::new()
        .render_scene(&scene)
        .map_err(|e| Failure::internal(format!("cannot draw {name}: {e}")))?;
    let (name, caption, svg) = (name.to_owned(), caption.to_owned(), svg(name, &scene));
    Ok(Figure { panels: vec![svg.clone()], name, caption, svg, png, legend: Vec::new(), kind: "whole" })
}

/// The drawing, from its first tag on.
fn svg(name: &str, scene: &Scene) -> String {
    // Names inside a drawing must differ from those of the other drawings of the same page.
    let svg = SvgBackend::new().render_scene(scene).replace("kuva-", &format!("{name}-"));
    // The XML declaration has no place inside HTML, and a file can do without it.
    let svg = svg.find("<svg").map_or("", |at| &svg[at..]);
    // A view box makes the drawing scale with the page; the library leaves it out.
    let scalable = format!("<svg viewBox=\"0 0 {} {}\" ", scene.width, scene.height);
    if svg.contains("viewBox") { svg.to_owned() } else { svg.replacen("<svg ", &scalable, 1) }
}

/// The library writes negative numbers along its axes with a hyphen.
fn real_minus(scene: &mut Scene) {
    for element in &mut scene.elements {
        if let Primitive::Text { content, .. } = element
            && content.strip_prefix('-').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
        {
            *content = content.replacen('-', "−", 1);
        }
    }
}
