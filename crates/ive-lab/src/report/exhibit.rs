//! Boards that an agent was shown, and how well detectors told them from ordinary ones.

use ive_envs::minatar::Game;
use kuva::backend::png::PngBackend;
use kuva::render::color::Color;
use kuva::render::render::{Primitive, Scene, TextAnchor};

use super::board::board;
use super::plot::{line, text};
use crate::exit::{Failure, Outcome};

const WIDTH: f64 = 800.0;
const BOARD: f64 = 60.0;
const ROW: f64 = 72.0;
const TOP: f64 = 116.0;
/// Where AUROC 0 and 1 lie.
const AXIS: (f64, f64) = (256.0, 768.0);
const INK: Color = Color::Rgb(0x22, 0x22, 0x22);
const GREY: Color = Color::Rgb(0xd8, 0xd8, 0xd8);

/// A kind of board.
#[derive(Clone, Debug)]
pub struct Row {
    /// What was done to it.
    pub label: &'static str,
    /// An example.
    pub sight: Vec<u8>,
    /// AUROC of each detector, and its interval.
    pub areas: Vec<(f64, Option<(f64, f64)>)>,
}

/// What the figure shows.
#[derive(Debug)]
pub struct Exhibit {
    /// What one sees.
    pub title: &'static str,
    /// A second, smaller line.
    pub subtitle: String,
    /// Which game.
    pub game: Game,
    /// Names and colours as `#rrggbb`.
    pub detectors: Vec<(&'static str, &'static str)>,
    /// From top to bottom.
    pub rows: Vec<Row>,
}

impl Exhibit {
    /// The figure as PNG.
    pub fn png(&self) -> Outcome<Vec<u8>> {
        let bottom = TOP + ROW * self.rows.len() as f64;
        let mut scene = Scene::new(WIDTH, bottom + 56.0);
        scene.background_color = Some("white".to_owned());
        let out = &mut scene.elements;
        out.push(text(16.0, 30.0, self.title, 19, TextAnchor::Start, true));
        out.push(text(16.0, 51.0, &self.subtitle, 13, TextAnchor::Start, false));
        axis(out, bottom);
        let mut left = 16.0;
        for (name, colour) in &self.detectors {
            out.push(disc((left + 5.0, 74.0), colour));
            out.push(text(left + 16.0, 79.0, name, 13, TextAnchor::Start, false));
            left += 36.0 + 8.0 * name.chars().count() as f64;
        }
        for (i, row) in self.rows.iter().enumerate() {
            let top = TOP + ROW * i as f64;
            board(out, self.game, &row.sight, (16.0, top), BOARD);
            out.push(text(88.0, top + BOARD / 2.0 + 4.0, row.label, 13, TextAnchor::Start, false));
            for (k, (&(area, interval), (_, colour))) in row.areas.iter().zip(&self.detectors).enumerate() {
                let y = top + 14.0 + 16.0 * k as f64;
                if let Some((low, high)) = interval {
                    out.push(line((at(low), y), (at(high), y), Color::from(*colour), 2.0));
                }
                out.push(disc((at(area), y), colour));
            }
        }
        let png = PngBackend::new().render_scene(&scene);
        png.map_err(|e| Failure::internal(format!("cannot draw the detectors: {e}")))
    }
}

fn at(area: f64) -> f64 {
    AXIS.0 + area * (AXIS.1 - AXIS.0)
}

fn axis(out: &mut Vec<Primitive>, bottom: f64) {
    for tenth in [0, 2, 4, 6, 8, 10] {
        let share = f64::from(tenth) / 10.0;
        out.push(line((at(share), TOP - 6.0), (at(share), bottom), GREY, 1.0));
        out.push(text(at(share), bottom + 18.0, &format!("{share:.1}"), 12, TextAnchor::Middle, false));
    }
    out.push(line((at(0.5), TOP - 6.0), (at(0.5), bottom), INK, 1.4));
    out.push(text(at(0.5), TOP - 12.0, "0.5: chance", 12, TextAnchor::Middle, false));
    let words = "AUROC: 1 finds every corrupted state; below 0.5 an alarm would be silent";
    out.push(text(at(0.5), bottom + 40.0, words, 13, TextAnchor::Middle, false));
}

fn disc((cx, cy): (f64, f64), colour: &&'static str) -> Primitive {
    let fill = Color::from(*colour);
    Primitive::Circle { cx, cy, r: 5.0, fill, fill_opacity: None, stroke: None, stroke_width: None }
}
