//! What can go wrong with the toy.

use std::fmt;

/// A setting that makes no sense, a loss that blew up, or an ensemble that could not be built.
#[derive(Debug)]
#[non_exhaustive]
pub enum ToyError {
    /// A setting lies outside the range in which it has a meaning.
    Setting {
        /// The field of [`ToyConfig`](super::ToyConfig).
        field: &'static str,
        /// Its value.
        value: f64,
        /// The smallest value allowed.
        min: f64,
        /// The largest value allowed.
        max: f64,
    },
    /// The loss is NaN or infinite, and training has stopped.
    LossNotFinite {
        /// The step, counted from one, whose gradient would have been taken.
        step: usize,
        /// The loss.
        loss: f64,
    },
    /// The library refused something: usually a state or a prediction that is not finite.
    Library(ive::Error),
}

impl fmt::Display for ToyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Setting { field, value, min, max } => {
                write!(f, "toy setting {field}: {value} is outside the range {min} to {max}")
            }
            Self::LossNotFinite { step, loss } => {
                write!(f, "toy training: the loss at step {step} is {loss}; a smaller learning_rate may help")
            }
            Self::Library(cause) => write!(f, "toy: {cause}"),
        }
    }
}

impl std::error::Error for ToyError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Library(cause) => Some(cause),
            _ => None,
        }
    }
}

impl From<ive::Error> for ToyError {
    fn from(cause: ive::Error) -> Self {
        Self::Library(cause)
    }
}
