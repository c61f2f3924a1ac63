//! In which precision a table stores its probabilities.

use std::ops::Range;

/// A number in which a [`TabularModel`](crate::TabularModel) stores probabilities: `f64`, or `f32` for half the memory.
///
/// Arithmetic is in `f64` either way: an entry is widened as it is read, which changes no bit of it. So a small or sparse
/// table in `f32` gives the very numbers of the same table in `f64`. A large dense table (more than 64 states) rounds
/// `P_π` to its precision too, and neglects what is smaller than its rounding: with `f32`, σ is right to about 1e-7 of the
/// largest value. Bits depend on nothing but the table, in either precision.
///
/// Rows must sum to one, within 1e-6 in `f64` and 1e-5 in `f32`.
pub trait Probability: Stored {}

impl Probability for f64 {}
impl Probability for f32 {}

/// What the kernels need to know of a [`Probability`].
pub trait Stored: Copy + Default + Send + Sync {
    /// How far a row may be from summing to one.
    const ROW_TOLERANCE: f64;
    /// What a vector has outside a space is rounding if it is smaller than this share of the vector.
    const NEGLIGIBLE: f64;

    /// The same number.
    fn widen(self) -> f64;

    /// The nearest number that can be stored.
    fn round(x: f64) -> Self;

    /// Many of them, at the place where they are or in `room`, which is at least as long.
    fn widen_all<'a>(many: &'a [Self], room: &'a mut [f64]) -> &'a [f64];

    /// Many of them, to be kept.
    fn store(many: Vec<Self>) -> Probabilities;
}

impl Stored for f64 {
    const ROW_TOLERANCE: f64 = 1e-6;
    const NEGLIGIBLE: f64 = 4.0 * f64::EPSILON;

    #[inline(always)]
    fn widen(self) -> f64 {
        self
    }

    #[inline(always)]
    fn round(x: f64) -> Self {
        x
    }

    #[inline(always)]
    fn widen_all<'a>(many: &'a [Self], _: &'a mut [f64]) -> &'a [f64] {
        many
    }

    fn store(many: Vec<Self>) -> Probabilities {
        Probabilities::Double(many)
    }
}

impl Stored for f32 {
    const ROW_TOLERANCE: f64 = 1e-5;
    const NEGLIGIBLE: f64 = f32::EPSILON as f64 / 16.0;

    #[inline(always)]
    fn widen(self) -> f64 {
        f64::from(self)
    }

    #[inline(always)]
    fn round(x: f64) -> Self {
        x as f32
    }

    #[inline(always)]
    fn widen_all<'a>(many: &'a [Self], room: &'a mut [f64]) -> &'a [f64] {
        let room = &mut room[..many.len()];
        for (wide, x) in room.iter_mut().zip(many) {
            *wide = f64::from(*x);
        }
        room
    }

    fn store(many: Vec<Self>) -> Probabilities {
        Probabilities::Single(many)
    }
}

/// Probabilities in the precision in which they were given.
#[derive(Clone, Debug, PartialEq)]
pub enum Probabilities {
    /// 64 bits each.
    Double(Vec<f64>),
    /// 32 bits each.
    Single(Vec<f32>),
}

impl Probabilities {
    /// One of them.
    pub(super) fn get(&self, i: usize) -> f64 {
        match self {
            Self::Double(p) => p[i],
            Self::Single(p) => p[i].widen(),
        }
    }

    /// `Σᵢ pᵢ x(i)` over some of them, from left to right.
    pub(super) fn expect(&self, entries: Range<usize>, x: impl Fn(usize) -> f64) -> f64 {
        let from = entries.start;
        match self {
            Self::Double(p) => p[entries].iter().enumerate().map(|(i, &p)| p * x(from + i)).sum(),
            Self::Single(p) => p[entries].iter().enumerate().map(|(i, &p)| p.widen() * x(from + i)).sum(),
        }
    }
}
