//! The draws that environments make, from our own generator or from NumPy's.

use crate::mt19937::Mt19937;
use crate::registry::OptionError;
use crate::state::{Archive, StateError};
use ive::Rng;

/// Where an environment draws from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Generator {
    /// Our own generator, [`ive::Rng`].
    Ive,
    /// NumPy's `RandomState`, for parity with the original.
    NumPy,
}

impl Generator {
    /// The name, as it is written in the option `rng`.
    pub fn name(self) -> &'static str {
        ["ive", "numpy"][self as usize]
    }

    /// The generator that the option `rng` names.
    pub(crate) fn from_option(value: &str) -> Result<Self, OptionError> {
        let known = [Self::Ive, Self::NumPy].into_iter().find(|generator| generator.name() == value);
        known.ok_or_else(|| OptionError::value("rng", value, "ive or numpy"))
    }

    /// Whether the generator takes this seed: NumPy's are below 2³².
    pub(crate) fn check(self, seed: u64) -> Result<(), OptionError> {
        if self == Self::NumPy && u32::try_from(seed).is_err() {
            return Err(OptionError::value("seed", &seed.to_string(), "at most 4294967295 with rng=numpy"));
        }
        Ok(())
    }
}

/// A source of the two kinds of draw that environments make.
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

/// A source that is chosen when the program runs, for environments that draw rarely.
#[derive(Clone, Debug)]
pub(crate) enum Stream {
    /// Our own generator.
    Ive(Rng),
    /// NumPy's.
    NumPy(Box<Mt19937>),
}

impl Stream {
    /// The source of a seed, which [`Generator::check`] has seen.
    pub(crate) fn new(generator: Generator, seed: u64) -> Self {
        match generator {
            Generator::Ive => Self::Ive(Random::from_seed(seed)),
            Generator::NumPy => Self::NumPy(Box::new(Random::from_seed(seed))),
        }
    }

    /// Uniform in [0, 1).
    pub(crate) fn uniform(&mut self) -> f64 {
        match self {
            Self::Ive(rng) => rng.uniform(),
            Self::NumPy(twister) => twister.rand(),
        }
    }

    /// Saves or restores the source.
    pub(crate) fn archive(&mut self, archive: &mut Archive) -> Result<(), StateError> {
        match self {
            Self::Ive(rng) => Random::archive(rng, archive),
            Self::NumPy(twister) => twister.archive(archive),
        }
    }
}
