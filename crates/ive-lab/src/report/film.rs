//! A film strip: curves over the steps of an episode, and pictures of the game at the moments that are marked in them.

use std::fmt::Write;

use ive_envs::Sight;
use kuva::backend::png::PngBackend;
use kuva::render::color::Color;
use kuva::render::render::{PathData, Primitive, Scene, TextAnchor};

use super::axes::Axis;
use super::board::sight;
use super::plot::{line, text};
use crate::exit::{Failure, Outcome};

/// Letters are read at this width, for instance on a web page; the picture has twice as many pixels.
const WIDTH: f64 = 800.0;
const LEFT: f64 = 62.0;
const RIGHT: f64 = 784.0;
/// The first row of curves begins here, below title, legend and numbers.
const TOP: f64 = 112.0;
/// Between two rows of curves, with the legend of the lower one.
const GAP: f64 = 42.0;
/// Pictures: how many at most, and how large.
const PICTURES: usize = 6;
const SIDE: f64 = 110.0;

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

/// A region between two curves.
#[derive(Clone, Debug)]
pub struct Band {
    /// Legend text.
    pub label: String,
    /// Colour as `#rrggbb`.
    pub colour: &'static str,
    /// Its lower end at each step.
    pub low: Vec<f64>,
    /// Its upper end.
    pub high: Vec<f64>,
}

/// Curves that share their axes.
#[derive(Clone, Debug)]
pub struct Strip {
    /// On the page.
    pub height: f64,
    /// Name of the vertical axis.
    pub axis: &'static str,
    /// Whether the axis begins at zero.
    pub from_zero: bool,
    /// Later ones on top.
    pub curves: Vec<Curve>,
    /// Behind them.
    pub band: Option<Band>,
    /// A step at which the last curve gets a dot.
    pub peak: Option<usize>,
}

/// What the figure shows.
#[derive(Debug)]
pub struct Film<'a> {
    /// What one sees.
    pub title: String,
    /// A second, smaller line.
    pub subtitle: String,
    /// What was seen before each step.
    pub sights: &'a [Sight],
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
        let mut scene = Scene::new(WIDTH, pictures + SIDE + 66.0);
        scene.background_color = Some("white".to_owned());
        let out = &mut scene.elements;
        out.push(text(LEFT, 30.0, &self.title, 19, TextAnchor::Start, true));
        out.push(text(LEFT, 51.0, &self.subtitle, 13, TextAnchor::Start, false));
        let mut top = TOP;
        for (i, strip) in self.strips.iter().enumerate() {
            let (rewards, legend) = if i == 0 { (self.ticks(), top - 38.0) } else { (&[][..], top - 18.0) };
            for at in chosen.iter().map(|&t| x.at(t as f64)) {
                out.push(line((at, top - 6.0), (at, top + strip.height), GREY, 1.0));
            }
            strip.draw(out, &x, top, rewards);
            strip.legend(out, legend, rewards.iter().any(|&r| r != 0.0));
            top += strip.height + GAP;
        }
        // Never finer than a step.
        for (at, label) in x.ticks(steps.saturating_sub(1).clamp(1, 10)) {
            out.push(line((at, curves_end), (at, curves_end + 5.0), INK, 1.0));
            out.push(text(at, curves_end + 19.0, &label, 12, TextAnchor::Middle, false));
        }
        let middle = f64::midpoint(LEFT, RIGHT);
        out.push(text(middle, curves_end + 37.0, "step of the episode", 13, TextAnchor::Middle, false));
        for (i, &t) in chosen.iter().enumerate() {
            badge(out, (x.at(t as f64), TOP - 15.0), i + 1);
            // Whole pixels: cells that end between two of them show a seam.
            let left = (LEFT + i as f64 * (RIGHT - LEFT - SIDE) / (PICTURES - 1) as f64).round();
            self.picture(out, (left, pictures), i + 1, t);
        }
        let png = PngBackend::new().render_scene(&scene);
        png.map_err(|e| Failure::internal(format!("cannot draw the episode: {e}")))
    }

    /// The rewards that are marked: none where most steps have one, since marks side by side say nothing.
    fn ticks(&self) -> &[f64] {
        let some = self.rewards.iter().filter(|r| **r != 0.0).count();
        if 2 * some > self.rewards.len() { &[] } else { &self.rewards }
    }

    /// The game at a step, with number and caption.
    fn picture(&self, out: &mut Vec<Primitive>, (left, top): (f64, f64), number: usize, t: usize) {
        badge(out, (left + 9.0, top - 14.0), number);
        out.push(text(left + 24.0, top - 9.0, &format!("step {t}"), 13, TextAnchor::Start, true));
        sight(out, &self.sights[t], (left, top), SIDE);
        let mut lines: Vec<&str> = self.captions[t].lines().collect();
        if t == self.highlight.0 {
            lines.push(self.highlight.1);
        }
        for (row, caption) in lines.into_iter().enumerate() {
            let y = top + SIDE + 17.0 + 16.0 * row as f64;
            let mut caption = text(left, y, caption, 12, TextAnchor::Start, row == 2);
            if let Primitive::Text { color, .. } = &mut caption {
                *color = (row == 2).then_some(LOSS);
            }
            out.push(caption);
        }
    }
}

impl Strip {
    fn draw(&self, out: &mut Vec<Primitive>, x: &Axis, top: f64, rewards: &[f64]) {
        let bottom = top + self.height;
        let band = self.band.iter().flat_map(|b| b.low.iter().chain(&b.high).copied());
        let numbers = self.curves.iter().flat_map(|c| c.values.iter().copied()).chain(band);
        let numbers: Vec<f64> = numbers.chain(self.from_zero.then_some(0.0)).collect();
        let y = if self.from_zero {
            let high = numbers.iter().copied().fold(0.0, f64::max);
            Axis::new((0.0, 1.08 * high), (bottom, top))
        } else {
            Axis::around(numbers.into_iter(), (bottom, top))
        };
        for (at, label) in y.ticks(4) {
            out.push(line((LEFT - 5.0, at), (LEFT, at), INK, 1.0));
            out.push(text(LEFT - 9.0, at + 4.0, &label, 12, TextAnchor::End, false));
        }
        let mut name = text(16.0, f64::midpoint(top, bottom), self.axis, 13, TextAnchor::Middle, false);
        if let Primitive::Text { rotate, .. } = &mut name {
            *rotate = Some(-90.0);
        }
        out.push(name);
        for (t, &reward) in rewards.iter().enumerate().filter(|(_, reward)| **reward != 0.0) {
            let (at, colour) = (x.at(t as f64), if reward > 0.0 { GAIN } else { LOSS });
            out.push(line((at, bottom - 10.0), (at, bottom), colour, 2.0));
        }
        let place = |(t, &v): (usize, &f64)| (x.at(t as f64), y.at(v));
        if let Some(band) = &self.band {
            out.push(region(
                band.high.iter().enumerate().map(place).collect(),
                band.low.iter().enumerate().map(place).rev().collect(),
                band.colour,
            ));
        }
        for curve in &self.curves {
            out.push(Primitive::PolyLine {
                points: curve.values.iter().enumerate().map(place).collect(),
                stroke: Color::from(curve.colour),
                stroke_width: 1.8,
                stroke_dasharray: None,
            });
        }
        if let Some((curve, t)) = self.curves.last().zip(self.peak) {
            let (cx, cy) = place((t, &curve.values[t]));
            out.push(disc((cx, cy), 4.5, Color::from(curve.colour)));
        }
        out.push(line((LEFT, top), (LEFT, bottom), INK, 1.0));
        out.push(line((LEFT, bottom), (RIGHT, bottom), INK, 1.0));
    }

    /// Samples and words above the strip, where no curve is.
    fn legend(&self, out: &mut Vec<Primitive>, y: f64, rewards: bool) {
        let curves = self.curves.iter().map(|c| (c.label.as_str(), Color::from(c.colour), 3.0));
        let band = self.band.iter().map(|b| (b.label.as_str(), PALE, 10.0));
        let mut left = LEFT;
        for (label, colour, thick) in curves.chain(band).chain(rewards.then_some(("reward", GAIN, 3.0))) {
            // Thick lines have round ends, which count.
            let end = (thick - 3.0) / 2.0;
            out.push(line((left + end, y), (left + 20.0 - end, y), colour, thick));
            out.push(text(left + 26.0, y + 4.5, label, 13, TextAnchor::Start, false));
            left += 26.0 + 7.3 * label.chars().count() as f64 + 14.0;
        }
    }
}

/// The blue of a band, seen through on white.
const PALE: Color = Color::Rgb(0xb3, 0xd5, 0xe8);

/// The region between two rows of points, the second from right to left.
fn region(there: Vec<(f64, f64)>, back: Vec<(f64, f64)>, colour: &'static str) -> Primitive {
    let mut d = String::new();
    for (i, (x, y)) in there.into_iter().chain(back).enumerate() {
        let _ = write!(d, "{}{x:.2} {y:.2} ", if i == 0 { 'M' } else { 'L' });
    }
    Primitive::Path(Box::new(PathData {
        d: d + "Z",
        fill: Some(Color::from(colour)),
        stroke: Color::None,
        stroke_width: 0.0,
        opacity: Some(0.3),
        stroke_dasharray: None,
    }))
}

fn disc((cx, cy): (f64, f64), r: f64, fill: Color) -> Primitive {
    Primitive::Circle { cx, cy, r, fill, fill_opacity: None, stroke: None, stroke_width: None }
}

/// A number in a disc, in the curves and beside the picture.
fn badge(out: &mut Vec<Primitive>, (cx, cy): (f64, f64), number: usize) {
    out.push(disc((cx, cy), 9.0, INK));
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
