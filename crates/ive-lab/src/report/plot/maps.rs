//! Maps of the gridworld.

use kuva::plot::ColorMap;
use kuva::render::color::Color;
use kuva::render::render::{Primitive, Scene, TextAnchor};

use super::{Figure, finish};
use crate::exit::Outcome;

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

pub(in crate::report) fn text(
    x: f64,
    y: f64,
    content: &str,
    size: u32,
    anchor: TextAnchor,
    bold: bool,
) -> Primitive {
    Primitive::Text { x, y, content: content.to_owned(), size, anchor, rotate: None, bold, color: None }
}

pub(in crate::report) fn rect(
    x: f64,
    y: f64,
    width: f64,
    height: f64,
    fill: Color,
    stroke: Option<Color>,
) -> Primitive {
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
