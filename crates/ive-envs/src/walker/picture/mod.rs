//! Pictures of the walker, drawn by ourselves.
//!
//! The DeepMind Control Suite shows the walker through MuJoCo's OpenGL renderer. Without a graphics processor that takes 20 ms a
//! picture, much more than the physics. This renderer draws the same scene, 64 × 64 pixels by default, by casting rays at seven capsules.
//! **The pixels are ours**: close to MuJoCo's, not equal to them. How close is measured by a test and written down in
//! `docs/worlds/walker-pixels.md`.
//!
//! A picture is a function of the pose alone and the same bytes on every machine.
//!
//! ```
//! use ive_envs::walker::picture::Renderer;
//! let mut renderer = Renderer::default();
//! let standing = renderer.render(&[0.0; 9])?;
//! assert_eq!(standing.len(), 64 * 64 * 3);
//! # Ok::<(), ive_envs::walker::picture::PictureError>(())
//! ```

mod cast;
mod floor;
pub mod kinematics;
mod layer;
mod light;
mod scene;
mod sky;
mod texture;

use cast::{Rectangle, Target, Vec3, minus};
use floor::Floor;
pub use kinematics::Qpos;
use layer::{FOUR, Layer, NOTHING, ONE, Samples, Screen};
use light::{head, lamp, skin};
use scene::{LAMP, Scene};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use texture::{Line, Pyramid};

/// Pixels along a side of an observation.
pub const SIDE: usize = 64;
/// The largest width and height.
pub const MAX_SIDE: usize = 2048;
/// The largest number of samples along a side of a pixel.
pub const MAX_SUPERSAMPLING: usize = 8;

/// How much of what it mirrors the floor returns.
const REFLECTANCE: f32 = 0.2;

/// How edges become smooth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sampling {
    /// Not at all: a pixel shows what is in its middle.
    Single,
    /// Four samples decide which surfaces a pixel shows, and each surface is coloured once, as MuJoCo has it done by OpenGL.
    #[default]
    Edges,
    /// Every pixel is the mean of n × n pixels, each of them drawn like [`Edges`](Self::Edges).
    Super(usize),
}

/// Draws the walker.
#[derive(Clone, Debug)]
pub struct Renderer {
    width: usize,
    height: usize,
    /// Pixels drawn for each pixel shown, along a side.
    supersampling: usize,
    screen: Screen,
    samples: Samples,
    sky: Arc<[u8]>,
    tiles: Arc<Pyramid>,
    walker: Layer,
    mirrored: Layer,
    line: Line,
    drawn: Vec<u8>,
}

impl Default for Renderer {
    /// Observations of 64 × 64 pixels with smooth edges.
    fn default() -> Self {
        Self::new(SIDE, SIDE, Sampling::default()).expect("the default size is allowed")
    }
}

impl Renderer {
    /// A renderer for pictures of this size.
    ///
    /// Takes some milliseconds, most of them for the sky; a clone shares it.
    ///
    /// # Errors
    /// If the size or the supersampling is 0 or too large.
    pub fn new(width: usize, height: usize, sampling: Sampling) -> Result<Self, PictureError> {
        let (samples, supersampling) = match sampling {
            Sampling::Single => (ONE, 1),
            Sampling::Edges => (FOUR, 1),
            Sampling::Super(n) => (FOUR, n),
        };
        let sides = 1..=MAX_SIDE;
        if !sides.contains(&width) || !sides.contains(&height) {
            return Err(PictureError::Size { width, height });
        }
        if !(1..=MAX_SUPERSAMPLING).contains(&supersampling) {
            return Err(PictureError::Supersampling(supersampling));
        }
        let screen = Screen::new(width * supersampling, height * supersampling);
        Ok(Self {
            width,
            height,
            supersampling,
            screen,
            samples,
            sky: sky::picture(screen.width, screen.height).into(),
            tiles: Arc::new(floor::tiles()),
            walker: Layer::new(screen, samples),
            mirrored: Layer::new(screen, samples),
            line: Line::default(),
            drawn: Vec::new(),
        })
    }

    /// How many bytes a picture has: width × height × 3.
    pub fn len(&self) -> usize {
        self.width * self.height * 3
    }

    /// Never: a picture has at least one pixel.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// The picture of this pose: red, green and blue of each pixel, row by row.
    ///
    /// # Errors
    /// If a number of the pose is not finite.
    pub fn render(&mut self, qpos: &Qpos) -> Result<Vec<u8>, PictureError> {
        let mut picture = vec![0; self.len()];
        self.render_into(qpos, &mut picture)?;
        Ok(picture)
    }

    /// Writes the picture of this pose.
    ///
    /// # Errors
    /// If a number of the pose is not finite or the buffer has the wrong length. The buffer is unchanged then.
    pub fn render_into(&mut self, qpos: &Qpos, picture: &mut [u8]) -> Result<(), PictureError> {
        if let Some(index) = qpos.iter().position(|q| !q.is_finite()) {
            return Err(PictureError::NotFinite { index, value: qpos[index] });
        }
        if picture.len() != self.len() {
            return Err(PictureError::Length { expected: self.len(), got: picture.len() });
        }
        if self.supersampling == 1 {
            self.draw(qpos, picture);
        } else {
            let mut drawn = std::mem::take(&mut self.drawn);
            drawn.resize(self.sky.len(), 0);
            self.draw(qpos, &mut drawn);
            shrink(&drawn, self.supersampling, self.width, picture);
            self.drawn = drawn;
        }
        Ok(())
    }

    /// Sky, floor and walker, in this order.
    fn draw(&mut self, qpos: &Qpos, picture: &mut [u8]) {
        let scene = Scene::new(qpos);
        let floor = Floor::new(&scene, self.screen.width as f32 / self.screen.height as f32);
        let shadow = Shadow::new(&scene);
        picture.copy_from_slice(&self.sky);
        self.walker.draw(&scene.walker, 0..self.screen.height, |direction, t| floor.hides(direction, t));
        self.draw_floor(&scene, &floor, &shadow, picture);
        self.draw_walker(&scene, &shadow, picture);
    }

    fn draw_floor(&mut self, scene: &Scene, floor: &Floor, shadow: &Shadow, picture: &mut [u8]) {
        let Some(rows) = self.floor_rows(floor) else { return };
        self.mirrored.draw(&scene.mirrored, rows.clone(), |_, _| false);
        for row in rows {
            let spans = self.spans(floor, row);
            let ahead = self.screen.direction(row, 0, [0.5, 0.5]);
            let line = floor.line([0.0, ahead[1], ahead[2]], self.screen.pixel, &self.tiles, &mut self.line);
            for column in 0..self.screen.width {
                if !self.walker.at(row, column).contains(&NOTHING) {
                    continue;
                }
                let x = self.screen.x(column as f32 + 0.5);
                let seen = |&(span, place): &([f32; 2], f32)| {
                    let x = x + (place - 0.5) * self.screen.pixel;
                    span[0] <= x && x <= span[1]
                };
                let count = spans.iter().filter(|span| seen(span)).count();
                if count == 0 {
                    continue;
                }
                let lit = !shadow.on_floor(line.point(x));
                let mut colour = line.colour(x, lit);
                if self.mirrored.rows.contains(&row) && self.mirrored.columns.contains(&column) {
                    let (sum, _) = self.mirrored.colour(row, column, &scene.mirrored, |number, point| {
                        let normal = scene.mirrored[number].normal(point);
                        skin(head(normal, point) + lamp(normal, point, scene.lamp))
                    });
                    let factor = 255.0 * REFLECTANCE / self.samples.len() as f32;
                    for i in 0..3 {
                        colour[i] += sum[i] * factor;
                    }
                }
                let at = 3 * (row * self.screen.width + column);
                blend(&mut picture[at..at + 3], colour, count as f32 / self.samples.len() as f32);
            }
        }
    }

    /// The rows in which the floor may be seen.
    fn floor_rows(&self, floor: &Floor) -> Option<Range<usize>> {
        let seen = |row: &usize| self.spans(floor, *row).iter().any(|(span, _)| span[0] <= span[1]);
        let first = (0..self.screen.height).find(seen)?;
        let last = (0..self.screen.height).rfind(seen)?;
        Some(first..last + 1)
    }

    /// For each sample: where in its line the floor is seen, and its place within a pixel in x.
    fn spans(&self, floor: &Floor, row: usize) -> [([f32; 2], f32); 4] {
        [0, 1, 2, 3].map(|sample| {
            self.samples.get(sample).map_or(([f32::INFINITY, f32::NEG_INFINITY], 0.0), |&[x, y]| {
                let [_, ahead, up] = self.screen.direction(row, 0, [x, y]);
                (floor.span([0.0, ahead, up]), x)
            })
        })
    }

    fn draw_walker(&self, scene: &Scene, shadow: &Shadow, picture: &mut [u8]) {
        for row in self.walker.rows.clone() {
            for column in self.walker.columns.clone() {
                let (sum, count) = self.walker.colour(row, column, &scene.walker, |number, point| {
                    let normal = scene.walker[number].normal(point);
                    let mut shine = head(normal, point);
                    let from_lamp = lamp(normal, point, scene.lamp);
                    if from_lamp.diffuse > 0.0 && !shadow.on_walker(number, point) {
                        shine = shine + from_lamp;
                    }
                    skin(shine)
                });
                if count > 0 {
                    let at = 3 * (row * self.screen.width + column);
                    let colour = sum.map(|sum| (255.0 * sum / count as f32).min(255.0));
                    blend(&mut picture[at..at + 3], colour, count as f32 / self.samples.len() as f32);
                }
            }
        }
    }
}

/// What hides a point from the lamp.
struct Shadow {
    lamp: Vec3,
    obstacles: [(Target, Rectangle); 7],
    all: Rectangle,
}

/// How far an obstacle must be in front of a point, as a part of the way from the lamp.
const BEFORE: f32 = 0.999;

impl Shadow {
    fn new(scene: &Scene) -> Self {
        let obstacles = scene.obstacles.map(|target| (target, target.outline(&LAMP)));
        let all = obstacles[1..].iter().fold(obstacles[0].1, |all, (_, outline)| all.around(*outline));
        Self { lamp: scene.lamp, obstacles, all }
    }

    #[inline]
    fn on_floor(&self, point: Vec3) -> bool {
        let direction = minus(point, self.lamp);
        let (x, y) = (direction[0] / -direction[2], direction[1] / -direction[2]);
        self.all.contains(x, y)
            && self
                .obstacles
                .iter()
                .any(|(target, outline)| outline.contains(x, y) && target.hit(direction) < BEFORE)
    }

    #[inline]
    fn on_walker(&self, number: usize, point: Vec3) -> bool {
        let direction = minus(point, self.lamp);
        let (x, y) = (direction[0] / -direction[2], direction[1] / -direction[2]);
        self.obstacles.iter().enumerate().any(|(other, (target, outline))| {
            other != number && outline.contains(x, y) && target.hit(direction) < BEFORE
        })
    }
}

/// Mixes a colour over what is there, rounding to the nearest byte.
#[inline]
fn blend(pixel: &mut [u8], colour: [f32; 3], part: f32) {
    for (byte, colour) in pixel.iter_mut().zip(colour) {
        let below = f32::from(*byte);
        *byte = (below + (colour - below) * part + 0.5) as u8;
    }
}

/// The mean of every n × n pixels.
fn shrink(drawn: &[u8], n: usize, width: usize, picture: &mut [u8]) {
    let stride = 3 * n * width;
    let half = (n * n / 2) as u32;
    for (index, byte) in picture.iter_mut().enumerate() {
        let (row, rest) = (index / (3 * width), index % (3 * width));
        let (column, channel) = (rest / 3, rest % 3);
        let start = row * n * stride + column * n * 3 + channel;
        let line = |y: usize| (0..n).map(move |x| u32::from(drawn[start + y * stride + 3 * x])).sum::<u32>();
        *byte = (((0..n).map(line).sum::<u32>() + half) / (n * n) as u32) as u8;
    }
}

/// A picture that cannot be drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum PictureError {
    /// A number of the pose is not finite.
    NotFinite {
        /// Its place in qpos.
        index: usize,
        /// The number.
        value: f64,
    },
    /// The buffer has the wrong length.
    Length {
        /// The length needed.
        expected: usize,
        /// The length given.
        got: usize,
    },
    /// There are no pictures of this size.
    Size {
        /// The width asked for.
        width: usize,
        /// The height asked for.
        height: usize,
    },
    /// There are no so many samples.
    Supersampling(usize),
}

impl fmt::Display for PictureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFinite { index, value } => {
                write!(f, "qpos[{index}] is {value}: a pose needs nine finite numbers")
            }
            Self::Length { expected, got } => {
                write!(f, "a picture of this size needs {expected} bytes, the buffer has {got}")
            }
            Self::Size { width, height } => {
                write!(f, "a picture cannot be {width} × {height}: each side may have 1 to {MAX_SIDE} pixels")
            }
            Self::Supersampling(n) => {
                write!(f, "cannot sample a pixel {n} × {n} times: choose 1 to {MAX_SUPERSAMPLING}")
            }
        }
    }
}

impl std::error::Error for PictureError {}
