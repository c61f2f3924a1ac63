//! WORLDS in which to study implicit value ensembles.
mod environment;
pub mod minatar;
mod nearest;
pub mod registry;
mod state;
mod vector;
mod wrappers;

pub use environment::{Environment, Spec, StepError, StepKind, TimeStep};
pub use nearest::nearest;
pub use registry::OptionError;
pub use state::{StateError, fnv1a};
pub use vector::{Batch, VectorEnvironment};
pub use wrappers::TimeLimit;
