//! What an agent sees, inside a drawing: a game board, or a picture.

use ive_envs::Sight;
use ive_envs::minatar::Game;
use ive_envs::minatar::picture::{Colour, ground, paints, visible};
use kuva::render::color::Color;
use kuva::render::render::Primitive;

use super::plot::rect;

/// How far pixels reach into their neighbours: those that end between two pixels of the drawing would show a seam.
const OVERLAP: f64 = 0.5;

/// Draws what was seen with its top left corner here, `side` wide and high.
pub fn sight(out: &mut Vec<Primitive>, seen: &Sight, (left, top): (f64, f64), side: f64) {
    match seen {
        Sight::Board { game, cells } => board(out, *game, cells, (left, top), side),
        Sight::Pixels { side: pixels, rgb } => {
            let pixel = side / *pixels as f64;
            for (i, colour) in rgb.chunks_exact(3).enumerate() {
                let [column, row] = [i % pixels, i / pixels];
                let reach = |place: usize| pixel + if place + 1 < *pixels { OVERLAP } else { 0.0 };
                let (x, y) = (left + column as f64 * pixel, top + row as f64 * pixel);
                let fill = Color::Rgb(colour[0], colour[1], colour[2]);
                out.push(rect(x, y, reach(column), reach(row), fill, None));
            }
        }
    }
}

/// Draws an observation with its top left corner here, `side` wide and high. A side that is a multiple of ten has cells of
/// whole pixels: those that end between two show a seam.
pub fn board(out: &mut Vec<Primitive>, game: Game, sight: &[u8], (left, top): (f64, f64), side: f64) {
    let cell = side / 10.0;
    let square =
        |x: f64, y: f64, side: f64, [r, g, b]: Colour| rect(x, y, side, side, Color::Rgb(r, g, b), None);
    for place in 0..100 {
        let (x, y) = (left + (place % 10) as f64 * cell, top + (place / 10) as f64 * cell);
        out.push(square(x, y, cell, ground(game, place / 10)));
        if let Some(channel) = visible(game, sight, place) {
            let paint = paints(game)[channel];
            let edge = cell * (1.0 - paint.width) / 2.0;
            out.push(square(x + edge, y + edge, cell * paint.width, paint.colour));
        }
    }
}
