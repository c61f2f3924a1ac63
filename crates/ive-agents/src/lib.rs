//! Learners: agents that learn a model and a value, and are [`ive::Model`] and [`ive::ValueFunction`] afterwards.
//!
//! - [`Agent`]: the contract between an agent that learns by acting and a run; [`Archive`]: its complete state; [`Clock`]: where
//!   its time goes.
//! - [`Player`]: the same agent in its own types, for those who write one; [`evaluation`]: what every player can be asked.
//! - [`experience`]: what an agent has seen and done, kept in a ring and drawn as windows or sequences.
//! - [`nn`]: how networks are written, and who carries them out; [`learner`], [`returns`], [`categorical`]: what they share in training.
//! - [`vpn`], [`dqn`]: value prediction networks and the deep Q-network on MinAtar, Table 2; [`dreamer`]: Dreamer on the walker, Table 1.
//! - [`muesli`]: Muesli on Procgen, Figure 4.
//! - [`tabular`]: tables for the gridworld of Figures 3 and 5.
//! - [`toy`]: the one-dimensional Markov reward process of Figure 1.

mod agent;
mod archive;
mod bonus;
pub mod categorical;
mod clock;
pub mod dqn;
pub mod dreamer;
mod environments;
mod episodes;
pub mod evaluation;
pub mod experience;
pub mod learner;
mod memory;
mod minatar;
pub mod muesli;
pub mod nn;
mod player;
#[cfg(test)]
mod poison;
pub mod returns;
mod streams;
pub mod tabular;
pub mod toy;
pub mod vpn;

pub use agent::{Agent, AgentError, Metrics, Summary, Weights};
pub use archive::{Archive, ArchiveError, Element, Kind, LogReader, LogWriter, Stopped, Stored, Tensors};
pub use bonus::{Bonus, Signal, Space};
pub use clock::{Clock, Part};
pub use evaluation::{End, Evaluate, Manner, Moment, Start};
pub use player::{Decision, Estimates, Further, Memory, Player, Source, Wish};

/// The examples of the project's README, compiled and run as tests of its topmost library.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
mod readme {}
