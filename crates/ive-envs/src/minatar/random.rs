//! The draws that the games make, from our own generator or from NumPy's.

use super::mt19937::Mt19937;
use crate::state::{Archive, StateError};
use ive::Rng;

/// A source of the two kinds of draw in MinAtar.
pub(crate) trait Random: Clone + std::fmt::Debug + Send {
    /// The source of a seed.
    fn from_seed(seed: u64) -> Self;
    /// Uniform in [0, 1).
    fn uniform(&mut self) -> f64;
    /// Uniform in 0..n, with n > 0.
    fn below(&mut self, n: u32) -> u32;
    /// Saves or restores the source.
    fn archive(&mut self, archive: &mut Archive) -> Result<(), StateError>;
}

impl Random for Rng {
    fn from_seed(seed: u64) -> Self {
        Self::from_seed(seed)
    }
    #[inline]
    fn uniform(&mut self) -> f64 {
        self.uniform()
    }
    #[inline]
    fn below(&mut self, n: u32) -> u32 {
        self.below(n as usize) as u32
    }
    fn archive(&mut self, archive: &mut Archive) -> Result<(), StateError> {
        let mut words = self.to_words();
        words.iter_mut().try_for_each(|word| archive.word(word))?;
        *self = Self::from_words(words);
        Ok(())
    }
}

impl Random for Mt19937 {
    /// NumPy takes seeds below 2³²; larger ones are refused before they get here.
    fn from_seed(seed: u64) -> Self {
        Self::from_seed(seed as u32)
    }
    #[inline]
    fn uniform(&mut self) -> f64 {
        self.rand()
    }
    #[inline]
    fn below(&mut self, n: u32) -> u32 {
        self.randint(n)
    }
    fn archive(&mut self, archive: &mut Archive) -> Result<(), StateError> {
        self.archive(archive)
    }
}
