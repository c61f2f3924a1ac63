//! Maps of the gridworld.

use kuva::plot::ColorMap;
use kuva::render::color::Color;
use kuva::render::render::{Primitive, Scene, TextAnchor};

use super::{Figure, finish, svg};
use crate::exit::Outcome;
use crate::report::number::short;

/// A map of the gridworld: one number per cell, row by row. Its colours go from its smallest to its largest number, as in
/// the paper, and both numbers stand below it.
#[derive(Clone, Debug)]
pub struct Map {
    /// Title above the map.
    pub title: String,
    /// A second, smaller line; may be empty.
    pub subtitle: String,
    /// One number per cell.
    pub cells: Vec<f64>,
    /// Cells that are marked with a cross.
    pub crossed: Vec<usize>,
}

const CELL: f64 = 28.0;
const HEAD: f64 = 46.0;
const FOOT: f64 = 24.0;
const GAP: f64 = 26.0;
/// Beside a map that stands alone.
const MARGIN: f64 = 4.0;

/// Maps of a square grid, `columns` to a row, each with its own scale, and one colour bar.
pub fn maps(name: &str, caption: &str, maps: &[Map], columns: usize) -> Outcome<Figure> {
    let side = maps.first().map_or(0, |m| (m.cells.len() as f64).sqrt() as usize);
    let (width, rows) = (side as f64 * CELL, maps.len().div_ceil(columns));
    let height = HEAD + width + FOOT;
    let mut scene = Scene::new(columns as f64 * (width + GAP) + GAP + 84.0, rows as f64 * height + 12.0);
    for (i, map) in maps.iter().enumerate() {
        let left = GAP + (i % columns) as f64 * (width + GAP);
        draw(&mut scene.elements, map, side, (left, HEAD + (i / columns) as f64 * height));
    }
    bar(&mut scene, width);
    let panels = maps.iter().map(|map| {
        let mut scene = Scene::new(width + 2.0 * MARGIN, height);
        draw(&mut scene.elements, map, side, (MARGIN, HEAD));
        svg(name, &scene)
    });
    let panels = panels.collect();
    Ok(Figure { panels, kind: "maps", ..finish(name, caption, scene)? })
}

fn draw(out: &mut Vec<Primitive>, map: &Map, side: usize, (left, top): (f64, f64)) {
    let width = side as f64 * CELL;
    let middle = left + width / 2.0;
    out.push(text(middle, top - 24.0, &map.title, 14, TextAnchor::Middle, true));
    out.push(text(middle, top - 8.0, &map.subtitle, 12, TextAnchor::Middle, false));
    let low = map.cells.iter().copied().fold(f64::INFINITY, f64::min);
    let high = map.cells.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    for (s, &x) in map.cells.iter().enumerate() {
        let (cx, cy) = (left + (s % side) as f64 * CELL, top + (s / side) as f64 * CELL);
        let share = if high > low { (x - low) / (high - low) } else { 0.0 };
        out.push(rect(cx, cy, CELL, CELL, shade(share), Some(WHITE)));
        if map.crossed.contains(&s) {
            // Dark below white: one of them stands out from every colour.
            for (colour, thick) in [(Color::Rgb(0x20, 0x20, 0x20), 4.0), (WHITE, 1.8)] {
                for (x1, x2) in [(cx + 7.0, cx + CELL - 7.0), (cx + CELL - 7.0, cx + 7.0)] {
                    out.push(line((x1, cy + 7.0), (x2, cy + CELL - 7.0), colour.clone(), thick));
                }
            }
        }
    }
    let range = format!("{} to {}", short(low), short(high));
    out.push(text(middle, top + width + 15.0, &range, 12, TextAnchor::Middle, false));
}

/// What the colours mean.
fn bar(scene: &mut Scene, tall: f64) {
    let (left, steps) = (scene.width - 84.0, 40);
    for i in 0..steps {
        let y = HEAD + tall * (1.0 - f64::from(i + 1) / f64::from(steps));
        let colour = shade((f64::from(i) + 0.5) / f64::from(steps));
        scene.elements.push(rect(left, y, 14.0, tall / f64::from(steps) + 0.5, colour, None));
    }
    for (y, words) in
        [(HEAD + 9.0, ["largest", "of the map"]), (HEAD + tall - 14.0, ["smallest", "of the map"])]
    {
        for (row, word) in words.into_iter().enumerate() {
            let y = y + 14.0 * row as f64;
            scene.elements.push(text(left + 19.0, y, word, 11, TextAnchor::Start, false));
        }
    }
}

const WHITE: Color = Color::Rgb(255, 255, 255);

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

pub(in crate::report) fn line(
    (x1, y1): (f64, f64),
    (x2, y2): (f64, f64),
    stroke: Color,
    stroke_width: f64,
) -> Primitive {
    Primitive::Line { x1, y1, x2, y2, stroke, stroke_width, stroke_dasharray: None }
}
