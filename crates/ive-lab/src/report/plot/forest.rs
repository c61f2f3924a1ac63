//! Effects with their intervals, one line each.

use kuva::plot::ScatterPlot;
use kuva::plot::scatter::MarkerShape;
use kuva::render::annotations::ReferenceLine;
use kuva::render::figure::Figure as Grid;
use kuva::render::plots::Plot;

use super::{Figure, PADDING, finish, layout};
use crate::exit::Outcome;

/// Height of a line, and of all that is not lines.
const LINE: f64 = 22.0;
const FRAME: f64 = 90.0;

/// A line of the picture.
#[derive(Clone, Debug)]
pub struct Line {
    /// Its name.
    pub label: String,
    /// Its dots: colour, effect and the ends of the interval (no bar where these are not finite).
    pub dots: Vec<(&'static str, f64, (f64, f64))>,
}

/// Lines from top to bottom, and a mark at zero.
pub fn forest(name: &str, caption: &str, x: &str, lines: &[Line]) -> Outcome<Figure> {
    let mut plots = Vec::new();
    for (i, line) in lines.iter().enumerate() {
        for (j, (colour, effect, (low, high))) in line.dots.iter().enumerate() {
            let shift = 0.12 * (2.0 * j as f64 - (line.dots.len() as f64 - 1.0));
            let bar = |end: f64| if end.is_finite() { (end - effect).abs() } else { 0.0 };
            plots.push(Plot::Scatter(
                ScatterPlot::new()
                    .with_data([(*effect, (lines.len() - i) as f64 - shift)])
                    .with_x_err_asymmetric([(bar(*low), bar(*high))])
                    .with_color(*colour)
                    .with_marker(MarkerShape::Circle)
                    .with_size(4.5),
            ));
        }
    }
    let labels: Vec<String> = lines.iter().rev().map(|line| line.label.clone()).collect();
    let axes = layout(&plots, "", x, "")
        .with_y_categories(labels)
        .with_y_axis_min(0.4)
        .with_y_axis_max(lines.len() as f64 + 0.6)
        .with_reference_line(ReferenceLine::vertical(0.0).with_color("#444444").with_stroke_width(1.2));
    let grid = Grid::new(1, 1)
        .with_plots(vec![plots])
        .with_layouts(vec![axes])
        .with_cell_size(760.0, FRAME + LINE * lines.len() as f64)
        .with_padding(PADDING);
    finish(name, caption, &grid.render())
}
