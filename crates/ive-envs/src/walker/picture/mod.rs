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

mod canvas;
mod cast;
mod floor;
pub mod kinematics;
mod layer;
mod light;
mod scene;
mod shadow;
mod sky;
mod texture;

use canvas::Canvas;
pub use kinematics::Qpos;
use layer::{FOUR, ONE};
use std::cell::RefCell;
use std::fmt;

/// Pixels along a side of an observation.
pub const SIDE: usize = 64;
/// The largest width and height.
pub const MAX_SIDE: usize = 1024;
/// The largest number of samples along a side of a pixel.
pub const MAX_SUPERSAMPLING: usize = 4;

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
    canvas: Canvas,
    /// The canvas before it is made smaller.
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
        let canvas = Canvas::new(width * supersampling, height * supersampling, samples);
        Ok(Self { width, height, supersampling, canvas, drawn: Vec::new() })
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
        let n = self.supersampling;
        if n == 1 {
            self.canvas.draw(qpos, picture);
        } else {
            self.drawn.resize(n * n * picture.len(), 0);
            self.canvas.draw(qpos, &mut self.drawn);
            shrink(&self.drawn, n, self.width, picture);
        }
        Ok(())
    }
}

/// The picture of a pose, `side` pixels wide and high. The renderer is kept for the next one of this thread.
pub(super) fn of(qpos: &Qpos, side: usize) -> Result<Vec<u8>, PictureError> {
    thread_local! {
        static LAST: RefCell<Option<Renderer>> = const { RefCell::new(None) };
    }
    let mut renderer = match LAST.take().filter(|last| last.width == side) {
        Some(last) => last,
        None => Renderer::new(side, side, Sampling::default())?,
    };
    let picture = renderer.render(qpos);
    LAST.set(Some(renderer));
    picture
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
    /// There are no pictures with so many samples.
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
