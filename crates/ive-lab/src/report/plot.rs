//! Figures, as SVG and PNG. This file and `film` are the only ones that name the plotting library.

use kuva::backend::{png::PngBackend, svg::SvgBackend};
use kuva::plot::{BandPlot, ColorMap, LinePlot, ScatterPlot, legend::LegendPosition};
use kuva::render::color::Color;
use kuva::render::figure::Figure as Grid;
use kuva::render::layout::Layout;
use kuva::render::plots::Plot;
use kuva::render::render::{Primitive, Scene, TextAnchor};

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
}

/// A curve with an optional band around it.
#[derive(Clone, Debug)]
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
    /// Lower and upper end of the vertical axis.
    pub y_range: Option<(f64, f64)>,
    /// Whether this panel shows the legend.
    pub legend: bool,
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
        if panel.legend && !curve.label.is_empty() {
            line = line.with_legend(curve.label.as_str());
        }
        plots.push(Plot::Line(line));
    }
    if !panel.dots.is_empty() {
        plots.push(Plot::Scatter(
            ScatterPlot::new().with_data(panel.dots.iter().copied()).with_color("black").with_size(4.0),
        ));
    }
    let mut layout = Layout::auto_from_plots(&plots)
        .with_title(panel.title.as_str())
        .with_x_label(panel.x.as_str())
        .with_y_label(panel.y.as_str())
        .with_title_size(15)
        .with_label_size(13)
        .with_tick_size(11)
        .with_body_size(12)
        .with_grid_line_width(0.5);
    if let Some((low, high)) = panel.y_range {
        layout = layout.with_y_axis_min(low).with_y_axis_max(high);
    }
    if panel.legend {
        layout = layout.with_legend_position(LegendPosition::OutsideRightTop);
    }
    (plots, layout)
}

/// Panels side by side, `columns` to a row.
pub fn lines(name: &str, caption: &str, panels: &[Panel], columns: usize) -> Outcome<Figure> {
    let (plots, layouts): (Vec<_>, Vec<_>) = panels.iter().map(draw_panel).unzip();
    let rows = panels.len().div_ceil(columns);
    let grid = Grid::new(rows, columns).with_plots(plots).with_layouts(layouts).with_cell_size(430.0, 320.0);
    let grid = if panels.iter().any(|p| p.legend) { grid.with_shared_legend() } else { grid };
    finish(name, caption, &grid.with_spacing(18.0).with_padding(12.0).render())
}

/// A map of the gridworld: one number per cell, row by row.
#[derive(Clone, Debug)]
pub struct Map {
    /// Title above the map.
    pub title: String,
    /// A second, smaller line; may be empty.
    pub subtitle: String,
    /// One number per cell.
    pub cells: Vec<f64>,
    /// Cells that are hatched with a cross.
    pub crossed: Vec<usize>,
    /// Whether colours follow the numbers from the smallest to the largest (the paper's scale), or from zero.
    pub from_zero: bool,
}

const CELL: f64 = 28.0;
const HEAD: f64 = 46.0;
const GAP: f64 = 26.0;

/// Maps of a square grid, `columns` to a row, each with its own scale, and one colour bar.
pub fn maps(name: &str, caption: &str, maps: &[Map], columns: usize) -> Outcome<Figure> {
    let side = maps.first().map_or(0, |m| (m.cells.len() as f64).sqrt() as usize);
    let width = side as f64 * CELL;
    let rows = maps.len().div_ceil(columns);
    let (w, h) = (columns as f64 * (width + GAP) + GAP + 64.0, rows as f64 * (width + HEAD + 8.0) + 12.0);
    let mut scene = Scene::new(w, h);
    let mut draw = |p| scene.elements.push(p);
    for (i, map) in maps.iter().enumerate() {
        let (left, top) =
            (GAP + (i % columns) as f64 * (width + GAP), HEAD + (i / columns) as f64 * (width + HEAD + 8.0));
        draw(text(left + width / 2.0, top - 24.0, &map.title, 14, TextAnchor::Middle, true));
        draw(text(left + width / 2.0, top - 8.0, &map.subtitle, 11, TextAnchor::Middle, false));
        let low = if map.from_zero { 0.0 } else { map.cells.iter().copied().fold(f64::INFINITY, f64::min) };
        let high = map.cells.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        for (s, &x) in map.cells.iter().enumerate() {
            let (cx, cy) = (left + (s % side) as f64 * CELL, top + (s / side) as f64 * CELL);
            let share = if high > low { (x - low) / (high - low) } else { 0.0 };
            draw(rect(cx, cy, CELL, CELL, shade(share), Some(Color::Rgb(255, 255, 255))));
            if map.crossed.contains(&s) {
                for (x1, x2) in [(cx + 6.0, cx + CELL - 6.0), (cx + CELL - 6.0, cx + 6.0)] {
                    draw(line(x1, cy + 6.0, x2, cy + CELL - 6.0));
                }
            }
        }
    }
    let (left, top, steps) = (w - 58.0, HEAD, 40);
    let tall = width;
    for i in 0..steps {
        let y = top + tall * (1.0 - f64::from(i + 1) / f64::from(steps));
        draw(rect(
            left,
            y,
            14.0,
            tall / f64::from(steps) + 0.5,
            shade((f64::from(i) + 0.5) / f64::from(steps)),
            None,
        ));
    }
    draw(text(left + 20.0, top + 8.0, "max", 11, TextAnchor::Start, false));
    draw(text(left + 20.0, top + tall, "min", 11, TextAnchor::Start, false));
    finish(name, caption, &scene)
}

fn shade(share: f64) -> Color {
    let (r, g, b) = ColorMap::Viridis.map_rgb(share.clamp(0.0, 1.0)).unwrap_or((128, 128, 128));
    Color::Rgb(r, g, b)
}

pub(super) fn text(x: f64, y: f64, content: &str, size: u32, anchor: TextAnchor, bold: bool) -> Primitive {
    Primitive::Text { x, y, content: content.to_owned(), size, anchor, rotate: None, bold, color: None }
}

pub(super) fn rect(x: f64, y: f64, width: f64, height: f64, fill: Color, stroke: Option<Color>) -> Primitive {
    let stroke_width = stroke.as_ref().map(|_| 1.0);
    Primitive::Rect { x, y, width, height, fill, stroke, stroke_width, opacity: None }
}

fn line(x1: f64, y1: f64, x2: f64, y2: f64) -> Primitive {
    Primitive::Line {
        x1,
        y1,
        x2,
        y2,
        stroke: Color::Rgb(255, 255, 255),
        stroke_width: 1.5,
        stroke_dasharray: None,
    }
}

fn finish(name: &str, caption: &str, scene: &Scene) -> Outcome<Figure> {
    let png = PngBackend::new()
        .render_scene(scene)
        .map_err(|e| Failure::internal(format!("cannot draw {name}: {e}")))?;
    // A view box makes the drawing scale with the page; the library leaves it out.
    // Names inside a drawing must differ from those of the other drawings of the same page.
    let svg = SvgBackend::new().render_scene(scene).replace("kuva-", &format!("{name}-"));
    let scalable = format!("<svg viewBox=\"0 0 {} {}\" ", scene.width, scene.height);
    let svg = if svg.contains("viewBox") { svg } else { svg.replacen("<svg ", &scalable, 1) };
    Ok(Figure { name: name.to_owned(), caption: caption.to_owned(), svg, png })
}
