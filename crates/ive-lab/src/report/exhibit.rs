//! What an agent was shown, and how well detectors told it from the ordinary.

use std::borrow::Cow;

use ive_envs::Sight;
use kuva::backend::png::PngBackend;
use kuva::render::color::Color;
use kuva::render::render::{Primitive, Scene, TextAnchor};

use super::board::sight;
use super::plot::{line, text};
use crate::exit::{Failure, Outcome};

const WIDTH: f64 = 800.0;
const BOARD: f64 = 60.0;
const ROW: f64 = 72.0;
/// Height of a detector in a row, and of a line of the legend.
const LINE: f64 = 16.0;
const TOP: f64 = 116.0;
/// Where AUROC 0 and 1 lie.
const AXIS: (f64, f64) = (256.0, 768.0);
const INK: Color = Color::Rgb(0x22, 0x22, 0x22);
const GREY: Color = Color::Rgb(0xd8, 0xd8, 0xd8);

/// A kind of state.
#[derive(Clone, Debug)]
pub struct Row {
    /// What was done to it.
    pub label: Cow<'static, str>,
    /// An example, if there is something to see.
    pub sight: Option<Sight>,
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
    /// Names and colours as `#rrggbb`.
    pub detectors: Vec<(&'static str, &'static str)>,
    /// From top to bottom.
    pub rows: Vec<Row>,
}

impl Exhibit {
    /// The figure as PNG.
    pub fn png(&self) -> Outcome<Vec<u8>> {
        let places = self.legend();
        let top = TOP + LINE * places.last().map_or(0.0, |(_, line)| *line);
        let row_height = ROW.max(28.0 + LINE * self.detectors.len() as f64);
        let bottom = top + row_height * self.rows.len() as f64;
        let mut scene = Scene::new(WIDTH, bottom + 56.0);
        scene.background_color = Some("white".to_owned());
        let out = &mut scene.elements;
        out.push(text(16.0, 30.0, self.title, 19, TextAnchor::Start, true));
        out.push(text(16.0, 51.0, &self.subtitle, 13, TextAnchor::Start, false));
        axis(out, top, bottom);
        for ((name, colour), (left, line)) in self.detectors.iter().zip(places) {
            out.push(disc((left + 5.0, 74.0 + LINE * line), colour));
            out.push(text(left + 16.0, 79.0 + LINE * line, name, 13, TextAnchor::Start, false));
        }
        for (i, row) in self.rows.iter().enumerate() {
            let top = top + row_height * i as f64;
            if let Some(seen) = &row.sight {
                sight(out, seen, (16.0, top), BOARD);
            }
            out.push(text(88.0, top + BOARD / 2.0 + 4.0, &row.label, 13, TextAnchor::Start, false));
            for (k, (&(area, interval), (_, colour))) in row.areas.iter().zip(&self.detectors).enumerate() {
                let y = top + 14.0 + LINE * k as f64;
                if let Some((low, high)) = interval {
                    out.push(line((at(low), y), (at(high), y), Color::from(*colour), 2.0));
                }
                out.push(disc((at(area), y), colour));
            }
        }
        let png = PngBackend::new().render_scene(&scene);
        png.map_err(|e| Failure::internal(format!("cannot draw the detectors: {e}")))
    }

    /// Where the names of the detectors stand: from the left, and in which line.
    fn legend(&self) -> Vec<(f64, f64)> {
        let (mut left, mut line) = (16.0, 0.0);
        let mut places = Vec::new();
        for (name, _) in &self.detectors {
            let width = 36.0 + 8.0 * name.chars().count() as f64;
            if left + width > WIDTH {
                (left, line) = (16.0, line + 1.0);
            }
            places.push((left, line));
            left += width;
        }
        places
    }
}

fn at(area: f64) -> f64 {
    AXIS.0 + area * (AXIS.1 - AXIS.0)
}

fn axis(out: &mut Vec<Primitive>, top: f64, bottom: f64) {
    for tenth in [0, 2, 4, 6, 8, 10] {
        let share = f64::from(tenth) / 10.0;
        out.push(line((at(share), top - 6.0), (at(share), bottom), GREY, 1.0));
        out.push(text(at(share), bottom + 18.0, &format!("{share:.1}"), 12, TextAnchor::Middle, false));
    }
    out.push(line((at(0.5), top - 6.0), (at(0.5), bottom), INK, 1.4));
    out.push(text(at(0.5), top - 12.0, "0.5: chance", 12, TextAnchor::Middle, false));
    let words = "AUROC: 1 finds every such state; below 0.5 an alarm would be silent";
    out.push(text(at(0.5), bottom + 40.0, words, 13, TextAnchor::Middle, false));
}

fn disc((cx, cy): (f64, f64), colour: &&'static str) -> Primitive {
    let fill = Color::from(*colour);
    Primitive::Circle { cx, cy, r: 5.0, fill, fill_opacity: None, stroke: None, stroke_width: None }
}
