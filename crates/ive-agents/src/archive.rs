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
use std::ops::Range;

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

/// A number that tensors and experience consist of.
pub trait Element: Copy + Default + PartialEq + fmt::Debug + Send + Sync + 'static {
    /// Its type in an archive.
    const KIND: Kind;
    /// How many bytes it has.
    const BYTES: usize;
    /// Whether it is neither NaN nor infinite.
    fn is_finite(self) -> bool;
    /// Adds numbers to bytes, little endian.
    fn encode(numbers: &[Self], bytes: &mut Vec<u8>);
    /// Adds numbers to others; what is not a whole number at the end of the bytes is left out.
    fn decode(bytes: &[u8], numbers: &mut Vec<Self>);
}

impl Element for u8 {
    const KIND: Kind = Kind::U8;
    const BYTES: usize = 1;

    fn is_finite(self) -> bool {
        true
    }

    fn encode(numbers: &[Self], bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(numbers);
    }

    fn decode(bytes: &[u8], numbers: &mut Vec<Self>) {
        numbers.extend_from_slice(bytes);
    }
}

impl Element for u64 {
    const KIND: Kind = Kind::U64;
    const BYTES: usize = 8;

    fn is_finite(self) -> bool {
        true
    }

    fn encode(numbers: &[Self], bytes: &mut Vec<u8>) {
        encode_words(numbers, bytes, Self::to_le_bytes);
    }

    fn decode(bytes: &[u8], numbers: &mut Vec<Self>) {
        numbers.extend(bytes.as_chunks().0.iter().map(|&word| Self::from_le_bytes(word)));
    }
}

impl Element for f32 {
    const KIND: Kind = Kind::F32;
    const BYTES: usize = 4;

    fn is_finite(self) -> bool {
        self.is_finite()
    }

    fn encode(numbers: &[Self], bytes: &mut Vec<u8>) {
        encode_words(numbers, bytes, Self::to_le_bytes);
    }

    fn decode(bytes: &[u8], numbers: &mut Vec<Self>) {
        numbers.extend(bytes.as_chunks().0.iter().map(|&word| Self::from_le_bytes(word)));
    }
}

/// Room first: adding byte by byte would check for it each time.
fn encode_words<T: Copy, const N: usize>(numbers: &[T], bytes: &mut Vec<u8>, to: impl Fn(T) -> [u8; N]) {
    let start = bytes.len();
    bytes.resize(start + N * numbers.len(), 0);
    for (word, &number) in bytes[start..].as_chunks_mut().0.iter_mut().zip(numbers) {
        *word = to(number);
    }
}

/// Tensors by name.
pub type Tensors = BTreeMap<String, Stored>;

/// Reading or writing a log has failed; the one who reads or writes it knows why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stopped;

/// Takes the bytes of logs. A log is what only grows at its end and is forgotten at its beginning; its bytes have positions
/// that never change, so that what was taken once need not be taken again.
pub trait LogWriter: fmt::Debug {
    /// The log of this name has these bytes; says from which of them on it wants them.
    fn begin(&mut self, log: &str, live: Range<u64>) -> Result<u64, Stopped>;
    /// The next bytes.
    fn write(&mut self, bytes: &[u8]) -> Result<(), Stopped>;
}

/// Gives the bytes of logs.
pub trait LogReader: fmt::Debug {
    /// Begins with the first of these bytes of a log.
    fn begin(&mut self, log: &str, live: Range<u64>) -> Result<(), Stopped>;
    /// The next bytes.
    fn read(&mut self, bytes: &mut [u8]) -> Result<(), Stopped>;
}

/// A walk over the state of an agent, to save it or to load it.
#[derive(Debug)]
pub struct Archive<'a> {
    tensors: Tensors,
    direction: Direction<'a>,
}

#[derive(Debug)]
enum Direction<'a> {
    Saving(Option<&'a mut dyn LogWriter>),
    Loading(Option<&'a mut dyn LogReader>),
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
    /// A log could not be read or written.
    Log {
        /// Its name.
        name: String,
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
            Self::Log { name } => write!(f, "log `{name}`: it is not there as it was saved"),
        }
    }
}

impl std::error::Error for ArchiveError {}

impl<'a> Archive<'a> {
    /// An empty archive, to be filled with everything.
    pub fn saving() -> Self {
        Self { tensors: Tensors::new(), direction: Direction::Saving(None) }
    }

    /// An empty archive, to be filled with everything but the logs, which are written on the way.
    pub fn saving_to(logs: &'a mut dyn LogWriter) -> Self {
        Self { tensors: Tensors::new(), direction: Direction::Saving(Some(logs)) }
    }

    /// An archive to be read.
    pub fn loading(tensors: Tensors) -> Self {
        Self { tensors, direction: Direction::Loading(None) }
    }

    /// An archive to be read, and its logs.
    pub fn loading_from(tensors: Tensors, logs: &'a mut dyn LogReader) -> Self {
        Self { tensors, direction: Direction::Loading(Some(logs)) }
    }

    /// The tensors collected.
    pub fn into_tensors(self) -> Tensors {
        self.tensors
    }

    /// Whether it hands out what was saved.
    pub fn is_loading(&self) -> bool {
        matches!(self.direction, Direction::Loading(_))
    }

    /// Whether there is a tensor of this name.
    pub fn contains(&self, name: &str) -> bool {
        self.tensors.contains_key(name)
    }

    /// Who takes the bytes of logs, if anybody does.
    pub fn log_writer(&mut self) -> Option<&mut (dyn LogWriter + 'a)> {
        match &mut self.direction {
            Direction::Saving(Some(logs)) => Some(&mut **logs),
            _ => None,
        }
    }

    /// Who gives the bytes of logs, if anybody does.
    pub fn log_reader(&mut self) -> Option<&mut (dyn LogReader + 'a)> {
        match &mut self.direction {
            Direction::Loading(Some(logs)) => Some(&mut **logs),
            _ => None,
        }
    }

    /// Bytes of any number.
    pub fn bytes(&mut self, name: &str, bytes: &mut Vec<u8>) -> Result<(), ArchiveError> {
        self.list(name, bytes)
    }

    /// Unsigned words of any number.
    pub fn u64s(&mut self, name: &str, words: &mut Vec<u64>) -> Result<(), ArchiveError> {
        self.list(name, words)
    }

    /// Single-precision numbers of any number.
    pub fn f32s(&mut self, name: &str, numbers: &mut Vec<f32>) -> Result<(), ArchiveError> {
        self.list(name, numbers)
    }

    /// Single-precision numbers, exactly as many as there are.
    pub fn f32(&mut self, name: &str, numbers: &mut [f32]) -> Result<(), ArchiveError> {
        let mut all = if self.is_loading() { Vec::new() } else { numbers.to_vec() };
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

    /// Numbers of any number.
    pub fn list<T: Element>(&mut self, name: &str, numbers: &mut Vec<T>) -> Result<(), ArchiveError> {
        if !self.is_loading() {
            self.save_parts(name, [&numbers[..]]);
            return Ok(());
        }
        let found = self.tensors.get(name).filter(|t| t.kind == T::KIND);
        let found = found.ok_or_else(|| ArchiveError::Missing { name: name.to_owned() })?;
        let whole = found.bytes.len() / T::BYTES * T::BYTES;
        same_length(name, whole, found.bytes.len())?;
        numbers.clear();
        T::decode(&found.bytes, numbers);
        Ok(())
    }

    /// Saves a tensor whose parts lie in several places; does nothing while loading.
    pub fn save_parts<'b, T: Element>(&mut self, name: &str, parts: impl IntoIterator<Item = &'b [T]>) {
        if self.is_loading() {
            return;
        }
        let mut bytes = Vec::new();
        parts.into_iter().for_each(|part| T::encode(part, &mut bytes));
        let old = self.tensors.insert(name.to_owned(), Stored { kind: T::KIND, bytes });
        assert!(old.is_none(), "two tensors are called `{name}`");
    }
}

fn same_length(name: &str, expected: usize, got: usize) -> Result<(), ArchiveError> {
    if expected == got { Ok(()) } else { Err(ArchiveError::Length { name: name.to_owned(), expected, got }) }
}
