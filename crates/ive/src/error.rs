//! What can go wrong in the library, with the operands that went wrong.

use std::fmt;

use crate::Members;

/// Result of a fallible function of this library.
pub type Result<T> = std::result::Result<T, Error>;

/// An error of the user's own model, value function or policy, kept as it is.
pub type ModelError = Box<dyn std::error::Error + Send + Sync>;

/// Everything that the library refuses, each with the numbers needed to find the cause.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// Two things that must have the same length do not.
    Shape {
        /// What was being put together.
        what: &'static str,
        /// The length it must have.
        expected: usize,
        /// The length it has.
        got: usize,
    },
    /// Something that must not be empty is.
    Empty {
        /// What is empty.
        what: &'static str,
    },
    /// There are fewer of something than a statistic needs.
    TooFew {
        /// Of what.
        what: &'static str,
        /// How many are needed.
        needed: usize,
        /// How many there are.
        got: usize,
    },
    /// Two ensembles that are put together have other members.
    Members {
        /// What was being put together.
        what: &'static str,
        /// The unroll lengths of the first, none for an explicit ensemble.
        first: Option<Members>,
        /// Those of the other.
        other: Option<Members>,
    },
    /// A number is NaN or infinite.
    NotFinite {
        /// Which quantity holds it.
        what: &'static str,
        /// Where in that quantity.
        index: usize,
        /// The number itself.
        value: f64,
    },
    /// A number lies outside the range in which it has a meaning.
    OutOfRange {
        /// Which quantity.
        what: &'static str,
        /// Its value.
        value: f64,
        /// The smallest value allowed.
        min: f64,
        /// The largest value allowed.
        max: f64,
    },
    /// A probability or rate must be larger than 0 and smaller than 1.
    NotBetween {
        /// Which quantity.
        what: &'static str,
        /// Its value.
        value: f64,
    },
    /// A row of probabilities does not sum to one.
    NotADistribution {
        /// Which rows.
        what: &'static str,
        /// The row.
        row: usize,
        /// What it sums to.
        sum: f64,
    },
    /// The user's model, value function or policy failed.
    Model(ModelError),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shape { what, expected, got } => write!(f, "{what}: expected length {expected}, got {got}"),
            Self::Empty { what } => write!(f, "{what}: must not be empty"),
            Self::TooFew { what, needed, got } => {
                write!(f, "{what}: at least {needed} are needed, got {got}")
            }
            Self::Members { what, first, other } => {
                let name =
                    |m: &Option<Members>| m.as_ref().map_or("explicit".to_owned(), ToString::to_string);
                write!(f, "{what}: one has the members {}, another {}", name(first), name(other))
            }
            Self::NotFinite { what, index, value } => {
                write!(f, "{what}: entry {index} is {value}, not a finite number")
            }
            Self::OutOfRange { what, value, min, max } => {
                write!(f, "{what}: {value} is outside the range {min} to {max}")
            }
            Self::NotBetween { what, value } => {
                write!(f, "{what}: {value} is not between 0 and 1, such as 0.05")
            }
            Self::NotADistribution { what, row, sum } => {
                write!(f, "{what}: row {row} sums to {sum}, a distribution sums to 1")
            }
            Self::Model(cause) => write!(f, "the model failed: {cause}"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Model(cause) => Some(cause.as_ref()),
            _ => None,
        }
    }
}

impl From<ModelError> for Error {
    fn from(cause: ModelError) -> Self {
        Self::Model(cause)
    }
}

/// `Ok` when `got == expected`.
pub(crate) fn same_length(what: &'static str, expected: usize, got: usize) -> Result<()> {
    if expected == got { Ok(()) } else { Err(Error::Shape { what, expected, got }) }
}

/// `Ok` when there are at least `needed`.
pub(crate) fn at_least(what: &'static str, needed: usize, got: usize) -> Result<()> {
    if got >= needed { Ok(()) } else { Err(Error::TooFew { what, needed, got }) }
}

/// `Ok` when every number is finite.
pub(crate) fn finite(what: &'static str, values: &[f64]) -> Result<()> {
    // Eight at a time, without a branch for each: every table passes here.
    let all = |x: &[f64]| x.iter().fold(true, |all, x| all & x.is_finite());
    let (chunks, rest) = values.as_chunks::<8>();
    if chunks.iter().all(|chunk| all(chunk)) && all(rest) {
        return Ok(());
    }
    match values.iter().position(|x| !x.is_finite()) {
        None => Ok(()),
        Some(index) => Err(Error::NotFinite { what, index, value: values[index] }),
    }
}

/// `Ok` when `0 < value < 1`.
pub(crate) fn between(what: &'static str, value: f64) -> Result<()> {
    if value > 0.0 && value < 1.0 { Ok(()) } else { Err(Error::NotBetween { what, value }) }
}

/// `Ok` when `min ≤ value ≤ max`; NaN is outside every range. The same check, with the same words, for code around this
/// library.
///
/// ```
/// let error = ive::in_range("discount", 1.5, 0.0, 1.0).unwrap_err();
/// assert_eq!(error.to_string(), "discount: 1.5 is outside the range 0 to 1");
/// ```
///
/// # Errors
/// [`Error::OutOfRange`] with all four.
pub fn in_range(what: &'static str, value: f64, min: f64, max: f64) -> Result<()> {
    if value >= min && value <= max { Ok(()) } else { Err(Error::OutOfRange { what, value, min, max }) }
}
