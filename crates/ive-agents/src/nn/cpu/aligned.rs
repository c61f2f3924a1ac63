//! Numbers that begin at the beginning of a cache line.
//!
//! A vector register is as long as a line. Read across two of them, weights come from the second cache at two thirds of the
//! speed, and products with few rows take as long as that. An allocator promises a quarter of a line.

use std::ops::{Deref, DerefMut};

/// Numbers of a cache line.
pub(super) const LINE: usize = 16;

/// So many numbers, no more and no less, from the beginning of a cache line on. Where the compiler declines to say where that is
/// they begin anywhere: only speed depends on it.
#[derive(Debug)]
pub struct Aligned {
    numbers: Vec<f32>,
    first: usize,
    len: usize,
}

impl Aligned {
    /// So many zeros.
    pub fn zeros(len: usize) -> Self {
        let numbers = vec![0.0; len + LINE];
        let first = numbers.as_ptr().align_offset(size_of::<[f32; LINE]>());
        Self { numbers, first: if first < LINE { first } else { 0 }, len }
    }
}

impl Default for Aligned {
    fn default() -> Self {
        Self::zeros(0)
    }
}

impl From<&[f32]> for Aligned {
    fn from(x: &[f32]) -> Self {
        let mut new = Self::zeros(x.len());
        new.copy_from_slice(x);
        new
    }
}

/// A copy has a beginning of its own.
impl Clone for Aligned {
    fn clone(&self) -> Self {
        Self::from(&**self)
    }
}

impl Deref for Aligned {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        &self.numbers[self.first..][..self.len]
    }
}

impl DerefMut for Aligned {
    fn deref_mut(&mut self) -> &mut [f32] {
        &mut self.numbers[self.first..][..self.len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_are_equal_and_aligned() {
        for len in [0, 1, 15, 16, 17, 1000] {
            let x: Vec<f32> = (0..len).map(|i| i as f32).collect();
            let first = Aligned::from(&*x);
            let second = first.clone();
            for copy in [&first, &second] {
                assert_eq!(**copy, *x);
                assert_eq!(copy.as_ptr() as usize % 64, 0);
            }
        }
    }
}
