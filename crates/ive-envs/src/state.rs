//! Saved states: bytes with a header that says whose they are and a checksum that says whether they are whole.
//!
//! Layout: `IVEW`, version (u16), owner (u16 length and UTF-8), the fields, FNV-1a 64 of all that. Numbers are little
//! endian. An environment lists its fields once, in a function that an [`Archive`] walks in either direction, so that saving
//! and restoring cannot drift apart; every number carries the range in which it has a meaning, so that no bytes
//! whatever can put an environment into a state it cannot reach.

use crate::environment::StepKind;
use std::fmt;
use std::ops::RangeInclusive;

const MAGIC: &[u8; 4] = b"IVEW";
const VERSION: u16 = 1;

/// Why a saved state was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StateError {
    /// These bytes are no saved state at all.
    NotAState,
    /// Saved by another version of the format.
    Version {
        /// The version found.
        found: u16,
        /// The version that we read.
        supported: u16,
    },
    /// Saved by another environment, or with other options.
    Foreign {
        /// The environment that was to be restored.
        expected: String,
        /// The environment that was saved.
        found: String,
    },
    /// The bytes were changed or cut since they were saved.
    Corrupt {
        /// What does not fit.
        what: &'static str,
    },
}

impl fmt::Display for StateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAState => write!(f, "not a saved state"),
            Self::Version { found, supported } => {
                write!(f, "saved state of format version {found}, this program reads version {supported}")
            }
            Self::Foreign { expected, found } => {
                write!(f, "saved state of `{found}`, expected one of `{expected}`")
            }
            Self::Corrupt { what } => write!(f, "damaged saved state: {what}"),
        }
    }
}

impl std::error::Error for StateError {}

/// 64-bit FNV-1a.
///
/// ```
/// assert_eq!(ive_envs::fnv1a(b"foobar"), 0x8594_4171_f739_67e8); // from the definition's own test vectors
/// ```
pub fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |h, &b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3))
}

/// A walk over the fields of a state, to write them or to read them.
#[derive(Debug)]
pub(crate) enum Archive<'a> {
    /// Fields are appended.
    Saving(Vec<u8>),
    /// Fields are taken from the front.
    Loading(&'a [u8]),
}

impl<'a> Archive<'a> {
    /// A state of `owner` to be written.
    pub(crate) fn saving(owner: &str) -> Self {
        let mut bytes = MAGIC.to_vec();
        bytes.extend(VERSION.to_le_bytes());
        bytes.extend((owner.len() as u16).to_le_bytes());
        bytes.extend(owner.as_bytes());
        Self::Saving(bytes)
    }

    /// A state to be read, if it is whole and belongs to `owner`.
    pub(crate) fn loading(owner: &str, bytes: &'a [u8]) -> Result<Self, StateError> {
        let rest = bytes.strip_prefix(MAGIC).ok_or(StateError::NotAState)?;
        let truncated = StateError::Corrupt { what: "it is too short" };
        let (version, rest) = rest.split_first_chunk().ok_or(truncated.clone())?;
        let found = u16::from_le_bytes(*version);
        if found != VERSION {
            return Err(StateError::Version { found, supported: VERSION });
        }
        let (content, sum) = bytes.split_last_chunk().ok_or(truncated.clone())?;
        if u64::from_le_bytes(*sum) != fnv1a(content) {
            return Err(StateError::Corrupt { what: "the checksum differs" });
        }
        let (length, rest) = rest[..rest.len() - sum.len()].split_first_chunk().ok_or(truncated.clone())?;
        let length = usize::from(u16::from_le_bytes(*length));
        let (found, fields) = rest.split_at_checked(length).ok_or(truncated)?;
        if found != owner.as_bytes() {
            let found = String::from_utf8_lossy(found).into_owned();
            return Err(StateError::Foreign { expected: owner.to_string(), found });
        }
        Ok(Self::Loading(fields))
    }

    /// Ends the walk: the bytes that were written (none when reading).
    pub(crate) fn finish(self) -> Result<Vec<u8>, StateError> {
        match self {
            Self::Saving(mut bytes) => {
                bytes.extend(fnv1a(&bytes).to_le_bytes());
                Ok(bytes)
            }
            Self::Loading([]) => Ok(Vec::new()),
            Self::Loading(_) => Err(StateError::Corrupt { what: "bytes are left over" }),
        }
    }

    fn raw<const N: usize>(&mut self, value: &mut [u8; N]) -> Result<(), StateError> {
        match self {
            Self::Saving(bytes) => bytes.extend(*value),
            Self::Loading(bytes) => {
                let (head, rest) =
                    bytes.split_first_chunk().ok_or(StateError::Corrupt { what: "it is too short" })?;
                (*value, *bytes) = (*head, rest);
            }
        }
        Ok(())
    }

    /// A small number that must lie in `range`.
    pub(crate) fn int<T>(&mut self, value: &mut T, range: RangeInclusive<i32>) -> Result<(), StateError>
    where
        T: Copy + Into<i32> + TryFrom<i32>,
    {
        let mut raw = (*value).into().to_le_bytes();
        self.raw(&mut raw)?;
        let read = i32::from_le_bytes(raw);
        if matches!(self, Self::Loading(_)) && !range.contains(&read) {
            return Err(StateError::Corrupt { what: "a number is out of range" });
        }
        *value = T::try_from(read).map_err(|_| StateError::Corrupt { what: "a number is out of range" })?;
        Ok(())
    }

    /// Yes or no.
    pub(crate) fn flag(&mut self, value: &mut bool) -> Result<(), StateError> {
        let mut byte = u8::from(*value);
        self.int(&mut byte, 0..=1)?;
        *value = byte == 1;
        Ok(())
    }

    /// Where in an episode a step lies.
    pub(crate) fn kind(&mut self, value: &mut StepKind) -> Result<(), StateError> {
        const KINDS: [StepKind; 4] =
            [StepKind::First, StepKind::Mid, StepKind::Terminated, StepKind::Truncated];
        let mut number = *value as u8;
        self.int(&mut number, 0..=3)?;
        *value = KINDS[usize::from(number)];
        Ok(())
    }

    /// Any 64 bits.
    pub(crate) fn word(&mut self, value: &mut u64) -> Result<(), StateError> {
        let mut raw = value.to_le_bytes();
        self.raw(&mut raw)?;
        *value = u64::from_le_bytes(raw);
        Ok(())
    }

    /// A finite number, by its bits.
    pub(crate) fn number(&mut self, value: &mut f64) -> Result<(), StateError> {
        let mut bits = value.to_bits();
        self.word(&mut bits)?;
        *value = f64::from_bits(bits);
        if matches!(self, Self::Loading(_)) && !value.is_finite() {
            return Err(StateError::Corrupt { what: "a number is not finite" });
        }
        Ok(())
    }

    /// A set of cells, all of them within `mask`.
    pub(crate) fn cells(&mut self, value: &mut u128, mask: u128) -> Result<(), StateError> {
        let mut raw = value.to_le_bytes();
        self.raw(&mut raw)?;
        *value = u128::from_le_bytes(raw);
        if *value & !mask == 0 {
            Ok(())
        } else {
            Err(StateError::Corrupt { what: "a cell lies outside the board" })
        }
    }

    /// Bytes of whatever form, with their number.
    pub(crate) fn bytes(&mut self, value: &mut Vec<u8>) -> Result<(), StateError> {
        let mut length = value.len() as u64;
        self.word(&mut length)?;
        match self {
            Self::Saving(bytes) => bytes.extend_from_slice(value),
            Self::Loading(bytes) => {
                let length = usize::try_from(length).unwrap_or(usize::MAX);
                let split = bytes.split_at_checked(length);
                let (head, rest) = split.ok_or(StateError::Corrupt { what: "it is too short" })?;
                (*value, *bytes) = (head.to_vec(), rest);
            }
        }
        Ok(())
    }

    /// All that is left, of whatever form.
    pub(crate) fn rest(&mut self, value: &mut Vec<u8>) {
        match self {
            Self::Saving(bytes) => bytes.extend_from_slice(value),
            Self::Loading(bytes) => *value = std::mem::take(bytes).to_vec(),
        }
    }

    /// A list of at most 65,535 items, each walked by `item`.
    pub(crate) fn list<T: Clone>(
        &mut self,
        items: &mut Vec<T>,
        blank: &T,
        mut item: impl FnMut(&mut Self, &mut T) -> Result<(), StateError>,
    ) -> Result<(), StateError> {
        let mut length = items.len() as i32;
        self.int(&mut length, 0..=i32::from(u16::MAX))?;
        items.resize(length as usize, blank.clone());
        items.iter_mut().try_for_each(|each| item(self, each))
    }
}
