//! Environments in which to study implicit value ensembles.
//!
//! - [`Environment`]: the contract of one; [`BatchedEnvironment`]: that of many which take their steps together, such as
//!   [`VectorEnvironment`] of any or Procgen by itself; [`Environments`]: where either comes from; [`TimeLimit`] wraps one.
//! - [`registry`]: environments by name and `key=value` options, and what each offers.
//! - [`grid`]: the gridworld of Figures 3 and 5.
//! - [`minatar`]: five small Atari-like games, step by step equal to the original.
//! - [`procgen`]: sixteen games with generated levels, by the original library.
//! - [`walker`]: the planar walker of dm_control on the real MuJoCo.
//! - [`native`]: the libraries that these two need, found or fetched.

mod action;
mod batched;
mod environment;
pub mod grid;
pub mod minatar;
mod mt19937;
pub mod native;
mod nearest;
pub mod procgen;
mod random;
pub mod registry;
mod state;
mod vector;
pub mod walker;
mod wrappers;

pub use action::Action;
pub use batched::{Batch, BatchedEnvironment, BoxedBatch, Environments};
pub use environment::{
    BoxedEnvironment, ByteEnvironment, Environment, Sight, Spec, StepError, StepKind, TimeStep,
};
pub use nearest::nearest;
pub use registry::OptionError;
pub use state::{StateError, fnv1a};
pub use vector::VectorEnvironment;
pub use wrappers::TimeLimit;
