//! A film strip: curves over the steps of an episode, and pictures of the game at the moments that are marked in them.

use ive_envs::minatar::Game;
use ive_envs::minatar::picture::{Colour, ground, paints, visible};
use kuva::backend::png::PngBackend;
use kuva::render::color::Color;
use kuva::render::render::{Primitive, Scene, TextAnchor};

use super::axes::Axis;
use super::plot::{line, rect, text};
use crate::exit::{Failure, Outcome};

const WIDTH: f64 = 1120.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 1096.0;
/// The first row of curves begins here, below title, legend and numbers.
const TOP: f64 = 114.0;
/// Between two rows of curves, with the legend of the lower one.
const GAP: f64 = 44.0;
/// Pictures: how many at most, and how large.
const PICTURES: usize = 6;
const SIDE: f64 = 160.0;

const INK: Color = Color::Rgb(0x22, 0x22, 0x22);
const GREY: Color = Color::Rgb(0xc8, 0xc8, 0xc8);
const GAIN: Color = Color::Rgb(0x00, 0x9e, 0x73);
const LOSS: Color = Color::Rgb(0xd5, 0x5e, 0x00);

/// A curve with a point per step.
#[derive(Clone, Debug)]
pub struct Curve {
    /// Legend text.
    pub label: String,
    /// Colour as `#rrggbb`.
    pub colour: &'static str,
    /// A number per step.
    pub values: Vec<f64>,
}

/// Curves that share their axes.
#[derive(Clone, Debug)]
pub struct Strip {
    /// On the page.
    pub height: f64,
    /// Later ones on top.
    pub curves: Vec<Curve>,
}

/// What the figure shows.
#[derive(Debug)]
pub struct Film<'a> {
    /// What one sees.
    pub title: String,
    /// A second, smaller line.
    pub subtitle: String,
    /// Which game.
    pub game: Game,
    /// The observation before each step.
    pub sights: &'a [Vec<u8>],
    /// The reward after each step: ticks in the first strip.
    pub rewards: Vec<f64>,
    /// From top to bottom.
    pub strips: Vec<Strip>,
    /// The step that is shown in any case, and why.
    pub highlight: (usize, &'static str),
    /// What is said about each step below its picture, in one or two lines.
    pub captions: Vec<String>,
}

/// The steps of which pictures are shown: the first, the highlight, the last, and the middles of the widest gaps.
pub fn moments(steps: usize, highlight: usize) -> Vec<usize> {
    let last = steps.saturating_sub(1);
    let mut chosen = vec![0, highlight.min(last), last];
    chosen.sort_unstable();
    chosen.dedup();
    while chosen.len() < PICTURES {
        let gaps = chosen.windows(2).map(|pair| (pair[1] - pair[0], pair[0]));
        // The first of the widest.
        let Some((width, start)) = gaps.rev().max_by_key(|&(width, _)| width).filter(|gap| gap.0 > 1) else {
            break;
        };
        chosen.push(start + width / 2);
        chosen.sort_unstable();
    }
    chosen
}

impl Film<'_> {
    /// The figure as PNG.
    pub fn png(&self) -> Outcome<Vec<u8>> {
        let steps = self.rewards.len();
        let chosen = moments(steps, self.highlight.0);
        let x = Axis::new((0.0, steps.saturating_sub(1).max(1) as f64), (LEFT, RIGHT));
        let curves_end = TOP + self.strips.iter().map(|s| s.height + GAP).sum::<f64>() - GAP;
        let pictures = curves_end + 84.0;
        let mut scene = Scene::new(WIDTH, pictures + SIDE + 46.0);
        scene.background_color = Some("white".to_owned());
        let out = &mut scene.elements;
        out.push(text(LEFT, 28.0, &self.title, 17, TextAnchor::Start, true));
        out.push(text(LEFT, 48.0, &self.subtitle, 12, TextAnchor::Start, false));
        let mut top = TOP;
        for (i, strip) in self.strips.iter().enumerate() {
            let (rewards, legend) =
                if i == 0 { (&self.rewards[..], top - 40.0) } else { (&[][..], top - 20.0) };
            for at in chosen.iter().map(|&t| x.at(t as f64)) {
                out.push(line((at, top - 8.0), (at, top + strip.height), GREY, 1.0));
            }
            strip.draw(out, &x, top, rewards);
            strip.legend(out, legend, rewards.iter().any(|&r| r != 0.0));
            top += strip.height + GAP;
        }
        // Never finer than a step.
        for (at, label) in x.ticks(steps.saturating_sub(1).clamp(1, 10)) {
            out.push(line((at, curves_end), (at, curves_end + 5.0), INK, 1.0));
            out.push(text(at, curves_end + 19.0, &label, 11, TextAnchor::Middle, false));
        }
        let middle = f64::midpoint(LEFT, RIGHT);
        out.push(text(middle, curves_end + 36.0, "step", 12, TextAnchor::Middle, false));
        for (i, &t) in chosen.iter().enumerate() {
            badge(out, (x.at(t as f64), TOP - 16.0), i + 1);
            // Whole pixels: cells that end between two of them show a seam.
            let left = (LEFT + i as f64 * (RIGHT - LEFT - SIDE) / (PICTURES - 1) as f64).round();
            self.picture(out, (left, pictures), i + 1, t);
        }
        let png = PngBackend::new().render_scene(&scene);
        png.map_err(|e| Failure::internal(format!("cannot draw the episode: {e}")))
    }

    /// The game at a step, with number and caption.
    fn picture(&self, out: &mut Vec<Primitive>, (left, top): (f64, f64), number: usize, t: usize) {
        let cell = SIDE / 10.0;
        let square =
            |x: f64, y: f64, side: f64, [r, g, b]: Colour| rect(x, y, side, side, Color::Rgb(r, g, b), None);
        badge(out, (left + 9.0, top - 14.0), number);
        let why = if t == self.highlight.0 { format!(": {}", self.highlight.1) } else { String::new() };
        out.push(text(left + 24.0, top - 10.0, &format!("step {t}{why}"), 12, TextAnchor::Start, true));
        for place in 0..100 {
            let (x, y) = (left + (place % 10) as f64 * cell, top + (place / 10) as f64 * cell);
            out.push(square(x, y, cell, ground(self.game, place / 10)));
            if let Some(channel) = visible(self.game, &self.sights[t], place) {
                let paint = paints(self.game)[channel];
                let edge = cell * (1.0 - paint.width) / 2.0;
                out.push(square(x + edge, y + edge, cell * paint.width, paint.colour));
            }
        }
        for (row, caption) in self.captions[t].lines().enumerate() {
            let y = top + SIDE + 18.0 + 16.0 * row as f64;
            out.push(text(left, y, caption, 12, TextAnchor::Start, false));
        }
    }
}

impl Strip {
    fn draw(&self, out: &mut Vec<Primitive>, x: &Axis, top: f64, rewards: &[f64]) {
        let bottom = top + self.height;
        let y = Axis::around(self.curves.iter().flat_map(|c| c.values.iter().copied()), (bottom, top));
        for (at, label) in y.ticks(4) {
            out.push(line((LEFT - 5.0, at), (LEFT, at), INK, 1.0));
            out.push(text(LEFT - 9.0, at + 4.0, &label, 11, TextAnchor::End, false));
        }
        for (t, &reward) in rewards.iter().enumerate().filter(|(_, reward)| **reward != 0.0) {
            let (at, colour) = (x.at(t as f64), if reward > 0.0 { GAIN } else { LOSS });
            out.push(line((at, bottom - 9.0), (at, bottom), colour, 1.5));
        }
        for curve in &self.curves {
            let points = curve.values.iter().enumerate().map(|(t, &v)| (x.at(t as f64), y.at(v))).collect();
            out.push(Primitive::PolyLine {
                points,
                stroke: Color::from(curve.colour),
                stroke_width: 1.6,
                stroke_dasharray: None,
            });
        }
        out.push(line((LEFT, top), (LEFT, bottom), INK, 1.0));
        out.push(line((LEFT, bottom), (RIGHT, bottom), INK, 1.0));
    }

    /// Samples and words above the strip, where no curve is.
    fn legend(&self, out: &mut Vec<Primitive>, y: f64, rewards: bool) {
        let curves = self.curves.iter().map(|c| (c.label.as_str(), Color::from(c.colour)));
        let mut left = LEFT;
        for (label, colour) in curves.chain(rewards.then_some(("reward", GAIN))) {
            out.push(line((left, y), (left + 22.0, y), colour, 3.0));
            out.push(text(left + 28.0, y + 4.0, label, 12, TextAnchor::Start, false));
            left += 28.0 + 6.8 * label.chars().count() as f64 + 22.0;
        }
    }
}

/// A number in a disc, in the curves and beside the picture.
fn badge(out: &mut Vec<Primitive>, (cx, cy): (f64, f64), number: usize) {
    out.push(Primitive::Circle {
        cx,
        cy,
        r: 9.0,
        fill: INK,
        fill_opacity: None,
        stroke: None,
        stroke_width: None,
    });
    let mut digit = text(cx, cy + 4.0, &number.to_string(), 11, TextAnchor::Middle, true);
    if let Primitive::Text { color, .. } = &mut digit {
        *color = Some(Color::Rgb(255, 255, 255));
    }
    out.push(digit);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_hold_start_highlight_and_end_and_fill_the_gaps() {
        assert_eq!(moments(101, 30), [0, 30, 47, 65, 82, 100]);
        assert_eq!(moments(101, 100), [0, 12, 25, 50, 75, 100]);
        assert_eq!(moments(3, 1), [0, 1, 2]);
        assert_eq!(moments(1, 0), [0]);
    }
}
