//! The complete state of an agent as named tensors.
//!
//! An agent lists its state once, in a function that an [`Archive`] walks in either direction, so that saving and
//! restoring cannot drift apart. What becomes of the tensors (files, checksums, generations) is the business of the run.
//!
//! ```
//! use ive_agents::{Archive, ArchiveError};
//! fn state(weights: &mut [f32], count: &mut u64, archive: &mut Archive) -> Result<(), ArchiveError> {
//!     archive.f32("weights", weights)?;
//!     archive.u64("count", count)
//! }
//! let mut saving = Archive::saving();
//! state(&mut [1.0, 2.0], &mut 7, &mut saving)?;
//! let (mut weights, mut count) = ([0.0; 2], 0);
//! state(&mut weights, &mut count, &mut Archive::loading(saving.into_tensors()))?;
//! assert_eq!((weights, count), ([1.0, 2.0], 7));
//! # Ok::<(), ArchiveError>(())
//! ```

use std::collections::BTreeMap;
use std::fmt;

use ive::Rng;

/// The type of the entries of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Bytes.
    U8,
    /// Unsigned words.
    U64,
    /// Single precision.
    F32,
}

/// A tensor as bytes, little endian, one axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// The type of its entries.
    pub kind: Kind,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// Tensors by name.
pub type Tensors = BTreeMap<String, Stored>;

/// A walk over the state of an agent, to save it or to load it.
#[derive(Debug)]
pub enum Archive {
    /// Collects tensors.
    Saving(Tensors),
    /// Hands them out again.
    Loading(Tensors),
}

/// The tensors are not those of this agent.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ArchiveError {
    /// There is no tensor of this name and type.
    Missing {
        /// Its name.
        name: String,
    },
    /// It has another length.
    Length {
        /// Its name.
        name: String,
        /// In bytes, as this agent has it.
        expected: usize,
        /// In bytes, as found.
        got: usize,
    },
    /// Its content makes no sense.
    Content {
        /// Its name.
        name: String,
        /// What is wrong.
        problem: String,
    },
}

impl fmt::Display for ArchiveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing { name } => write!(f, "there is no tensor `{name}` of the expected type"),
            Self::Length { name, expected, got } => {
                write!(f, "tensor `{name}`: expected {expected} bytes, found {got}")
            }
            Self::Content { name, problem } => write!(f, "tensor `{name}`: {problem}"),
        }
    }
}

impl std::error::Error for ArchiveError {}

impl Archive {
    /// An empty archive, to be filled.
    pub fn saving() -> Self {
        Self::Saving(Tensors::new())
    }

    /// An archive to be read.
    pub fn loading(tensors: Tensors) -> Self {
        Self::Loading(tensors)
    }

    /// The tensors collected.
    pub fn into_tensors(self) -> Tensors {
        match self {
            Self::Saving(tensors) | Self::Loading(tensors) => tensors,
        }
    }

    /// Bytes of any number.
    pub fn bytes(&mut self, name: &str, bytes: &mut Vec<u8>) -> Result<(), ArchiveError> {
        self.words(name, Kind::U8, bytes, |b| [b], |[b]| b)
    }

    /// Unsigned words of any number.
    pub fn u64s(&mut self, name: &str, words: &mut Vec<u64>) -> Result<(), ArchiveError> {
        self.words(name, Kind::U64, words, u64::to_le_bytes, u64::from_le_bytes)
    }

    /// Single-precision numbers of any number.
    pub fn f32s(&mut self, name: &str, numbers: &mut Vec<f32>) -> Result<(), ArchiveError> {
        self.words(name, Kind::F32, numbers, f32::to_le_bytes, f32::from_le_bytes)
    }

    /// Single-precision numbers, exactly as many as there are.
    pub fn f32(&mut self, name: &str, numbers: &mut [f32]) -> Result<(), ArchiveError> {
        let mut all = if matches!(self, Self::Saving(_)) { numbers.to_vec() } else { Vec::new() };
        self.f32s(name, &mut all)?;
        same_length(name, 4 * numbers.len(), 4 * all.len())?;
        numbers.copy_from_slice(&all);
        Ok(())
    }

    /// One unsigned word.
    pub fn u64(&mut self, name: &str, word: &mut u64) -> Result<(), ArchiveError> {
        let mut one = vec![*word];
        self.u64s(name, &mut one)?;
        same_length(name, 8, 8 * one.len())?;
        *word = one[0];
        Ok(())
    }

    /// A position or a count.
    pub fn index(&mut self, name: &str, index: &mut usize) -> Result<(), ArchiveError> {
        let mut word = *index as u64;
        self.u64(name, &mut word)?;
        *index = word as usize;
        Ok(())
    }

    /// Double-precision numbers, exactly as many as there are.
    pub fn f64(&mut self, name: &str, numbers: &mut [f64]) -> Result<(), ArchiveError> {
        let mut bits: Vec<u64> = numbers.iter().map(|x| x.to_bits()).collect();
        self.u64s(name, &mut bits)?;
        same_length(name, 8 * numbers.len(), 8 * bits.len())?;
        numbers.iter_mut().zip(bits).for_each(|(x, b)| *x = f64::from_bits(b));
        Ok(())
    }

    /// A generator.
    pub fn rng(&mut self, name: &str, rng: &mut Rng) -> Result<(), ArchiveError> {
        let mut words = rng.to_words().to_vec();
        self.u64s(name, &mut words)?;
        let words: [u64; 5] = words.try_into().map_err(|w: Vec<u64>| ArchiveError::Length {
            name: name.to_owned(),
            expected: 40,
            got: 8 * w.len(),
        })?;
        *rng = Rng::from_words(words);
        Ok(())
    }

    fn words<T: Copy, const N: usize>(
        &mut self,
        name: &str,
        kind: Kind,
        values: &mut Vec<T>,
        to: impl Fn(T) -> [u8; N],
        from: impl Fn([u8; N]) -> T,
    ) -> Result<(), ArchiveError> {
        match self {
            Self::Saving(tensors) => {
                let bytes = values.iter().flat_map(|&v| to(v)).collect();
                let old = tensors.insert(name.to_owned(), Stored { kind, bytes });
                assert!(old.is_none(), "two tensors are called `{name}`");
            }
            Self::Loading(tensors) => {
                let found = tensors.get(name).filter(|t| t.kind == kind);
                let found = found.ok_or_else(|| ArchiveError::Missing { name: name.to_owned() })?;
                let (whole, rest) = found.bytes.as_chunks::<N>();
                same_length(name, found.bytes.len() - rest.len(), found.bytes.len())?;
                values.clear();
                values.extend(whole.iter().map(|&b| from(b)));
            }
        }
        Ok(())
    }
}

fn same_length(name: &str, expected: usize, got: usize) -> Result<(), ArchiveError> {
    if expected == got { Ok(()) } else { Err(ArchiveError::Length { name: name.to_owned(), expected, got }) }
}
