//! Which capsule is seen where: the nearest one at each sample of each pixel.

use super::cast::{Target, Vec3};
use super::scene::{CAMERA, HALF_VIEW, through};
use std::ops::Range;

/// Places within a pixel, from its upper left corner, at which it is decided what is seen.
pub type Samples = &'static [[f32; 2]];

/// One sample in the middle.
pub const ONE: Samples = &[[0.5, 0.5]];
/// Four, none of which share a row or a column: the usual pattern of multisampling.
pub const FOUR: Samples = &[[0.375, 0.875], [0.875, 0.625], [0.125, 0.375], [0.625, 0.125]];

/// Marks a sample at which there is no capsule.
pub const NOTHING: u8 = u8::MAX;

/// The pixels on a screen at distance 1.
#[derive(Clone, Copy, Debug)]
pub struct Screen {
    pub width: usize,
    pub height: usize,
    /// The size of a pixel.
    pub pixel: f32,
    /// Half the width and half the height, in pixels.
    half: [f32; 2],
}

impl Screen {
    pub fn new(width: usize, height: usize) -> Self {
        let half = [0.5 * width as f32, 0.5 * height as f32];
        Self { width, height, pixel: HALF_VIEW / half[1], half }
    }

    /// From pixels, counted from the left, to a place on the screen.
    #[inline]
    pub fn x(&self, column: f32) -> f32 {
        (column - self.half[0]) * self.pixel
    }

    /// From pixels, counted from the top, to a place on the screen.
    #[inline]
    pub fn y(&self, row: f32) -> f32 {
        (self.half[1] - row) * self.pixel
    }

    /// The direction through the middle of a line at this height, in pixels from the top.
    #[inline]
    pub fn ahead(&self, row: f32) -> Vec3 {
        through(0.0, self.y(row))
    }

    /// The pixels between two heights on the screen, and those between two places across it.
    pub fn rows(&self, top: f32, bottom: f32) -> Range<usize> {
        let row = |y: f32| self.half[1] - y / self.pixel;
        pixels(row(top), row(bottom), self.height)
    }

    pub fn columns(&self, left: f32, right: f32) -> Range<usize> {
        let column = |x: f32| x / self.pixel + self.half[0];
        pixels(column(left), column(right), self.width)
    }

    /// The direction through a pixel, at a place within it.
    #[inline]
    pub fn direction(&self, row: usize, column: usize, [x, y]: [f32; 2]) -> Vec3 {
        through(self.x(single(column) + x), self.y(single(row) + y))
    }
}

/// The capsules on the screen.
#[derive(Clone, Debug)]
pub struct Layer {
    screen: Screen,
    samples: Samples,
    /// Per pixel and sample, the number of the nearest capsule and the distance to it, which only counts where there is one.
    nearest: Vec<u8>,
    distance: Vec<f32>,
    /// Everything outside these rows and columns is empty.
    pub rows: Range<usize>,
    pub columns: Range<usize>,
}

impl Layer {
    pub fn new(screen: Screen, samples: Samples) -> Self {
        let len = screen.width * screen.height * samples.len();
        Self {
            screen,
            samples,
            nearest: vec![NOTHING; len],
            distance: vec![0.0; len],
            rows: 0..0,
            columns: 0..0,
        }
    }

    /// The capsules at the samples of a pixel.
    #[inline]
    pub fn at(&self, row: usize, column: usize) -> &[u8] {
        let count = self.samples.len();
        &self.nearest[(row * self.screen.width + column) * count..][..count]
    }

    /// Draws capsules on an empty screen, as far as they are in these rows and not `hidden`.
    pub fn draw(&mut self, targets: &[Target], within: Range<usize>, hidden: impl Fn(Vec3, f32) -> bool) {
        self.clear();
        for (number, target) in targets.iter().enumerate() {
            let outline = target.outline(&CAMERA);
            let rows = self.screen.rows(outline.y[1], outline.y[0]);
            let rows = rows.start.max(within.start)..rows.end.min(within.end);
            let columns = self.screen.columns(outline.x[0], outline.x[1]);
            if rows.is_empty() || columns.is_empty() {
                continue;
            }
            self.draw_one(number as u8, target, &rows, &columns, &hidden);
            self.rows = join(&self.rows, rows);
            self.columns = join(&self.columns, columns);
        }
    }

    fn clear(&mut self) {
        let count = self.samples.len();
        for row in self.rows.clone() {
            let start = row * self.screen.width;
            let columns = (start + self.columns.start) * count..(start + self.columns.end) * count;
            self.nearest[columns].fill(NOTHING);
        }
        (self.rows, self.columns) = (0..0, 0..0);
    }

    fn draw_one(
        &mut self,
        number: u8,
        target: &Target,
        rows: &Range<usize>,
        columns: &Range<usize>,
        hidden: &impl Fn(Vec3, f32) -> bool,
    ) {
        let (width, samples) = (self.screen.width, self.samples);
        for row in rows.clone() {
            let pixels =
                (row * width + columns.start) * samples.len()..(row * width + columns.end) * samples.len();
            let nearest = self.nearest[pixels.clone()].chunks_exact_mut(samples.len());
            let distances = self.distance[pixels].chunks_exact_mut(samples.len());
            for ((nearest, distances), column) in nearest.zip(distances).zip(columns.clone()) {
                for ((nearest, known), &place) in nearest.iter_mut().zip(distances).zip(samples) {
                    let direction = self.screen.direction(row, column, place);
                    let distance = target.hit(direction);
                    let first = *nearest == NOTHING || distance < *known;
                    if distance < f32::INFINITY && first && !hidden(direction, distance) {
                        (*nearest, *known) = (number, distance);
                    }
                }
            }
        }
    }

    /// The sum of the colours at the samples of a pixel, and at how many of them there is a capsule. Each capsule is looked at once: in
    /// the middle of the pixel, or else where it was met.
    #[inline]
    pub fn colour(
        &self,
        row: usize,
        column: usize,
        targets: &[Target],
        mut colour_of: impl FnMut(usize, Vec3) -> [f32; 3],
    ) -> ([f32; 3], usize) {
        let (mut sum, mut count) = ([0.0; 3], 0);
        let (mut last, mut colour) = (NOTHING, [0.0; 3]);
        for (sample, &number) in self.at(row, column).iter().enumerate() {
            if number == NOTHING {
                continue;
            }
            if number != last {
                let target = &targets[usize::from(number)];
                let mut direction = self.screen.direction(row, column, [0.5, 0.5]);
                let mut distance = target.hit(direction);
                if distance == f32::INFINITY {
                    direction = self.screen.direction(row, column, self.samples[sample]);
                    distance = target.hit(direction);
                }
                colour = colour_of(usize::from(number), direction.map(|d| d * distance));
                last = number;
            }
            for i in 0..3 {
                sum[i] += colour[i];
            }
            count += 1;
        }
        (sum, count)
    }
}

/// The number of a row or column. Through `i32`, because the way from `usize` to `f32` is a slow one.
#[inline]
pub fn single(index: usize) -> f32 {
    index as i32 as f32
}

/// The pixels from 0 to `end` that an interval touches.
fn pixels(from: f32, to: f32, end: usize) -> Range<usize> {
    let inside = |x: f32| (x.max(0.0) as usize).min(end);
    inside(from.floor())..inside(to.ceil())
}

/// The smallest range around both, of which the first may be empty.
fn join(a: &Range<usize>, b: Range<usize>) -> Range<usize> {
    if a.is_empty() { b } else { a.start.min(b.start)..a.end.max(b.end) }
}
