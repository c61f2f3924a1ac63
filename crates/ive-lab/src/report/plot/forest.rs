//! Effects with their intervals, one line each.

use kuva::plot::ScatterPlot;
use kuva::plot::legend::{LegendEntry, LegendShape};
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
    /// A dot of each kind, if it has one: effect and the ends of the interval (no bar where these are not finite).
    pub dots: Vec<Option<(f64, (f64, f64))>>,
}

/// Lines from top to bottom, and a mark where there is no effect. A kind of dots has a colour and a name; kinds without a dot are left out.
pub fn forest(
    name: &str,
    caption: &str,
    x: &str,
    no_effect: f64,
    kinds: &[(&'static str, &str)],
    lines: &[Line],
) -> Outcome<Figure> {
    let has_dots = |j: usize| lines.iter().any(|line| line.dots.get(j).is_some_and(Option::is_some));
    let kinds: Vec<_> = kinds.iter().enumerate().filter(|(j, _)| has_dots(*j)).collect();
    let mut plots = Vec::new();
    // Many kinds need higher lines, or the dots of one line reach into the next.
    let (apart, height) = (0.12f64.min(0.4 / kinds.len() as f64), LINE.max(11.0 * kinds.len() as f64));
    for (i, line) in lines.iter().enumerate() {
        for (j, (kind, (colour, _))) in kinds.iter().enumerate() {
            let Some(Some((effect, (low, high)))) = line.dots.get(*kind) else { continue };
            let shift = apart * (2.0 * j as f64 - (kinds.len() as f64 - 1.0));
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
        .with_reference_line(ReferenceLine::vertical(no_effect).with_color("#444444").with_stroke_width(1.2));
    let entry = |(_, (colour, label)): &(usize, &(&str, &str))| LegendEntry {
        label: (*label).to_owned(),
        color: (*colour).to_owned(),
        shape: LegendShape::Marker(MarkerShape::Circle),
        dasharray: None,
    };
    let grid = Grid::new(1, 1)
        .with_plots(vec![plots])
        .with_layouts(vec![axes])
        .with_cell_size(760.0, FRAME + height * lines.len() as f64)
        .with_padding(PADDING)
        .with_shared_legend_entries(kinds.iter().map(entry).collect())
        .with_shared_legend();
    finish(name, caption, grid.render())
}
