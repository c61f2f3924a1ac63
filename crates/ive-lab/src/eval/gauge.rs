//! A gauge under a board: a number that changes from step to step, written out, and its curve over the episode.
//!
//! What is past is drawn brightly, what is still to come faintly, and a line marks the present step.

use ive_envs::minatar::picture::Colour;

use super::letters;

/// A picture with a palette.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Canvas {
    /// Pixels per row.
    pub width: usize,
    /// Colours, row by row, as numbers in a palette.
    pub pixels: Vec<u8>,
}

/// Colours of a gauge, as numbers in a palette.
#[derive(Clone, Copy, Debug)]
pub struct Inks {
    /// Behind everything.
    pub ground: u8,
    /// What is still to come.
    pub future: u8,
    /// The line at the present step, and the words about it.
    pub now: u8,
}

/// The colours that gauges add to the palette of a game: ground, future, now, and one for each gauge.
pub const PALETTE: [Colour; 5] =
    [[0x0d, 0x0f, 0x15], [0x3a, 0x40, 0x4d], [0xf8, 0xf9, 0xfa], [0x56, 0xb4, 0xe9], [0xff, 0x8a, 0x3d]];

/// A number for each step of an episode.
#[derive(Clone, Debug)]
pub struct Gauge {
    /// What it is called, in [`letters`].
    pub name: &'static str,
    /// A number per step.
    pub values: Vec<f64>,
    /// Digits after the point.
    pub decimals: usize,
    /// Its colour, as a number in the palette.
    pub ink: u8,
    /// Whether the number of the step is written beside it.
    pub tells_step: bool,
}

impl Canvas {
    /// A block of pixels of one colour; what lies outside is cut off.
    fn fill(&mut self, (left, top): (usize, usize), (width, height): (usize, usize), ink: u8) {
        let rows = self.pixels.len() / self.width;
        for y in top..(top + height).min(rows) {
            for x in left..(left + width).min(self.width) {
                self.pixels[y * self.width + x] = ink;
            }
        }
    }

    fn write(&mut self, text: &str, at: (usize, usize), scale: usize, ink: u8) {
        letters::write(text, at, scale, |x, y| self.fill((x, y), (scale, scale), ink));
    }
}

/// How large letters are: one pixel is this many.
fn letter_scale(width: usize) -> usize {
    (width / 120).max(1)
}

/// How high a gauge is in a picture of this width.
pub fn height(width: usize) -> usize {
    letter_scale(width) * (letters::SIZE.1 + 5) + width / 6
}

impl Gauge {
    fn aside(&self, now: usize) -> String {
        if self.tells_step { format!("step {now}") } else { String::new() }
    }

    /// Draws the gauge across the canvas from `top` on, at step `now`.
    pub fn draw(&self, canvas: &mut Canvas, top: usize, now: usize, inks: Inks) {
        let (width, scale) = (canvas.width, letter_scale(canvas.width));
        let (pad, tall) = (2 * scale, height(width));
        canvas.fill((0, top), (width, tall), inks.ground);
        let value = self.values.get(now).or(self.values.last()).copied().unwrap_or(0.0);
        let number = format!("{:.*}", self.decimals, value).replace('-', "−");
        canvas.write(&format!("{} {number}", self.name), (pad, top + pad), scale, self.ink);
        let steps = self.values.len();
        let right = width.saturating_sub(letters::width(&self.aside(now), scale) + pad);
        canvas.write(&self.aside(now), (right, top + pad), scale, inks.now);

        let first = top + scale * (letters::SIZE.1 + 4);
        let room = (top + tall).saturating_sub(first + pad).max(2);
        let low = self.values.iter().copied().fold(0.0, f64::min);
        let high = self.values.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
        let row = |v: f64| first + room - 1 - ((v - low) / (high - low) * (room - 1) as f64).round() as usize;
        let last = steps.saturating_sub(1).max(1);
        let column = |t: usize| pad + t * (width - 2 * pad - 1) / last;
        let place = column(now.min(last));
        canvas.fill((place, first), (scale.div_ceil(2), room), inks.now);
        let mut before: Option<usize> = None;
        for x in pad..width - pad {
            // The step to which a column belongs, and the values between which the curve runs there.
            let t = ((x - pad) * last / (width - 2 * pad - 1).max(1)).min(steps.saturating_sub(1));
            let here = row(self.values[t]);
            let next = row(self.values[(t + 1).min(steps - 1)]);
            let share = (x - column(t)) as f64 / (column(t + 1) - column(t)).max(1) as f64;
            let y = (here as f64 + share.clamp(0.0, 1.0) * (next as f64 - here as f64)).round() as usize;
            let ink = if x <= place { self.ink } else { inks.future };
            // From the row of the column before, so that steep parts have no holes.
            let from = before.replace(y).unwrap_or(y);
            canvas.fill((x, from.min(y).saturating_sub(scale / 2)), (1, from.abs_diff(y) + scale), ink);
        }
        let size = 2 * scale + 1;
        canvas.fill((place.saturating_sub(scale), row(value).saturating_sub(scale)), (size, size), inks.now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INKS: Inks = Inks { ground: 0, future: 1, now: 2 };

    fn drawn(values: &[f64], now: usize) -> Canvas {
        let width = 240;
        let mut canvas = Canvas { width, pixels: vec![9; width * (height(width) + 10)] };
        let gauge = Gauge { name: "σ", values: values.to_vec(), decimals: 3, ink: 4, tells_step: true };
        gauge.draw(&mut canvas, 5, now, INKS);
        canvas
    }

    #[test]
    fn the_pixels_of_a_gauge_change_with_its_number() {
        let (a, b) = (drawn(&[0.1, 0.2, 0.3], 1), drawn(&[0.1, 0.25, 0.3], 1));
        assert_ne!(a, b, "another number");
        assert_ne!(a, drawn(&[0.1, 0.2, 0.3], 2), "another step");
        assert_eq!(a, drawn(&[0.1, 0.2, 0.3], 1));
    }

    /// The gauge covers its own rows and no others, and the past grows with time.
    #[test]
    fn the_past_is_bright_and_the_future_faint() {
        let values: Vec<f64> = (0..50).map(|t| f64::from(t % 7)).collect();
        let count = |now: usize, ink: u8| -> usize {
            drawn(&values, now).pixels.into_iter().map(|p| usize::from(p == ink)).sum()
        };
        assert!(count(10, 4) < count(40, 4) && count(10, 1) > count(40, 1));
        let canvas = drawn(&values, 10);
        let rows: Vec<&[u8]> = canvas.pixels.chunks(240).collect();
        for (y, row) in rows.iter().enumerate() {
            let inside = (5..5 + height(240)).contains(&y);
            assert_eq!(row.iter().all(|&p| p == 9), !inside, "row {y}");
        }
    }

    #[test]
    fn constant_negative_and_single_numbers_can_be_drawn() {
        for values in [&[0.0; 3][..], &[-1.0, -2.0], &[5.0]] {
            let end = values.len();
            assert!(drawn(values, end).pixels.contains(&4), "{values:?}");
        }
    }
}
