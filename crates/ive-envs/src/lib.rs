//! WORLDS in which to study implicit value ensembles.
//!
//! - [`Environment`]: the contract of a world; [`VectorEnvironment`] steps many at once, [`TimeLimit`] wraps one.
//! - [`registry`]: worlds by name and `key=value` options.
//! - [`grid`]: the gridworld of Figures 3 and 5.
//! - [`minatar`]: five small Atari-like games, step by step equal to the original.
//! - [`walker`]: the planar walker of the DeepMind Control Suite.

mod environment;
pub mod grid;
pub mod minatar;
mod nearest;
pub mod registry;
mod state;
mod vector;
pub mod walker;
mod wrappers;

pub use environment::{Environment, Spec, StepError, StepKind, TimeStep};
pub use nearest::nearest;
pub use registry::OptionError;
pub use state::{StateError, fnv1a};
pub use vector::{Batch, VectorEnvironment};
pub use wrappers::TimeLimit;
