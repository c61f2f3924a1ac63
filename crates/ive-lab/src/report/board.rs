//! A game board inside a drawing.

use ive_envs::minatar::Game;
use ive_envs::minatar::picture::{Colour, ground, paints, visible};
use kuva::render::color::Color;
use kuva::render::render::Primitive;

use super::plot::rect;

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
