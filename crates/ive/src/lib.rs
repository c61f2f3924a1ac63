//! Implicit value ensembles.
mod error;
mod rng;
pub use error::{Error, ModelError, Result};
pub use rng::Rng;
