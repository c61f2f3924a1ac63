//! Learners: agents that learn a model and a value, and are [`ive::Model`] and [`ive::ValueFunction`] afterwards.
//!
//! - [`Agent`]: the contract between an agent that learns by acting and a run; [`Archive`]: its complete state; [`Clock`]: where
//!   its time goes.
//! - [`nn`]: the only place that knows the tensor engine (layers, initialisation, optimisers, flat parameters).
//! - [`vpn`], [`dqn`]: value prediction networks and the deep Q-network on MinAtar, Table 2.
//! - [`tabular`]: tables for the gridworld of Figures 3 and 5.
//! - [`toy`]: the one-dimensional Markov reward process of Figure 1.

mod agent;
mod archive;
mod clock;
pub mod dqn;
mod episodes;
mod memory;
mod minatar;
pub mod nn;
#[cfg(test)]
mod poison;
pub mod tabular;
pub mod toy;
pub mod vpn;
pub mod windows;

pub use agent::{Agent, AgentError, Decision, Metrics};
pub use archive::{Archive, ArchiveError, Kind, Stored, Tensors};
pub use clock::{Clock, Part};

/// The examples of the project's README, compiled and run as tests of its topmost library.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
mod readme {}
