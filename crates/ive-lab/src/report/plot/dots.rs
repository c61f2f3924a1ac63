//! Dots with error bars over categories.

use kuva::plot::ScatterPlot;
use kuva::plot::legend::{LegendEntry, LegendShape};
use kuva::plot::scatter::MarkerShape;
use kuva::render::plots::Plot;

use super::{Figure, finish, grid, layout, with_legend};
use crate::exit::Outcome;

/// How many names fit side by side below a panel.
const SIDE_BY_SIDE: usize = 5;
/// Longer names than this do not, if there are more than two.
const LONG: usize = 16;

/// The shape of a dot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marker {
    /// A full circle.
    Circle,
    /// A full square.
    Square,
    /// A full diamond.
    Diamond,
}

impl Marker {
    /// As a letter.
    fn sign(self) -> char {
        match self {
            Self::Circle => '●',
            Self::Square => '■',
            Self::Diamond => '◆',
        }
    }

    fn shape(self) -> MarkerShape {
        match self {
            Self::Circle => MarkerShape::Circle,
            Self::Square => MarkerShape::Square,
            Self::Diamond => MarkerShape::Diamond,
        }
    }
}

/// Dots of one kind and colour.
#[derive(Clone, Debug)]
pub struct Dots {
    /// Their shape.
    pub marker: Marker,
    /// Colour as `#rrggbb`.
    pub colour: &'static str,
    /// Where they are, in categories counted from 1, their height, and the half-length of the error bar (none if it is
    /// not finite).
    pub points: Vec<(f64, f64, f64)>,
}

/// One set of axes.
#[derive(Clone, Debug)]
pub struct DotPanel {
    /// Title.
    pub title: String,
    /// Label of the vertical axis.
    pub y: String,
    /// Names along the horizontal axis.
    pub categories: Vec<String>,
    /// Dots, later ones on top.
    pub dots: Vec<Dots>,
}

impl DotPanel {
    /// The ends of the vertical axis: zero and all dots with their error bars, and a little room, so that no dot is cut by a frame.
    fn ends(&self) -> (f64, f64) {
        let bar = |error: f64| if error.is_finite() { error } else { 0.0 };
        let points = || self.dots.iter().flat_map(|d| &d.points);
        let highest = points().map(|p| p.1 + bar(p.2)).fold(0.0, f64::max);
        let lowest = points().map(|p| p.1 - bar(p.2)).fold(0.0, f64::min);
        let span = if highest > lowest { highest - lowest } else { 1.0 };
        (lowest - 0.03 * span, highest + 0.05 * span)
    }
}

/// Panels side by side, `columns` to a row, with one legend for the shapes that are there.
pub fn dots(
    name: &str,
    caption: &str,
    panels: &[DotPanel],
    legend: &[(Marker, &str)],
    columns: usize,
) -> Outcome<Figure> {
    let draw = |panel: &DotPanel| {
        let (low, high) = panel.ends();
        let plots: Vec<Plot> = panel.dots.iter().map(scatter).collect();
        let axes = layout(&plots, &panel.title, "", &panel.y)
            .with_x_categories(panel.categories.clone())
            .with_x_axis_min(0.4)
            .with_x_axis_max(panel.categories.len() as f64 + 0.6)
            .with_y_axis_min(low)
            .with_y_axis_max(high);
        let long = panel.categories.iter().any(|name| name.chars().count() > LONG);
        let many = panel.categories.len() > if long { 2 } else { SIDE_BY_SIDE };
        let axes = if many { axes.with_x_tick_rotate(-40.0) } else { axes };
        (plots, axes)
    };
    let (plots, layouts): (Vec<Vec<Plot>>, Vec<_>) = panels.iter().map(draw).unzip();
    let entry = |(marker, label): &(Marker, &str)| LegendEntry {
        label: (*label).to_owned(),
        color: "#444444".to_owned(),
        shape: LegendShape::Marker(marker.shape()),
        dasharray: None,
    };
    let drawn = |marker: Marker| {
        panels.iter().flat_map(|p| &p.dots).any(|d| d.marker == marker && !d.points.is_empty())
    };
    let legend: Vec<&(Marker, &str)> = legend.iter().filter(|(marker, _)| drawn(*marker)).collect();
    let entries = legend.iter().copied().map(entry).collect();
    let grid = with_legend(grid(plots, layouts, columns), entries, panels.len(), columns);
    let figure = finish(name, caption, grid.render())?;
    let legend =
        legend.into_iter().map(|(marker, label)| (String::new(), format!("{} {label}", marker.sign())));
    Ok(Figure { legend: legend.collect(), ..figure.in_pieces(panels.iter().map(draw)) })
}

fn scatter(dots: &Dots) -> Plot {
    let bar = |error: f64| if error.is_finite() { error } else { 0.0 };
    Plot::Scatter(
        ScatterPlot::new()
            .with_data(dots.points.iter().map(|p| (p.0, p.1)))
            .with_y_err(dots.points.iter().map(|p| bar(p.2)))
            .with_color(dots.colour)
            .with_marker(dots.marker.shape())
            .with_size(5.0),
    )
}
