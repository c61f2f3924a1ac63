//! The contract between an agent that learns by acting and whoever runs it.
//!
//! An [`Agent`] owns its environments, networks, optimiser, replay and generators. A run asks it again and again to
//! [`advance`](Agent::advance), and between two rounds may [`archive`](Agent::archive) its *complete* state: an agent
//! made from the same settings that loads the archive continues bit by bit. Nobody outside sees an observation or an
//! action: what an agent does and expects is shown as [`Moment`](crate::Moment)s, by [`Evaluate`].

use std::fmt;

use ive::Members;
use ive_envs::{OptionError, StepError};

use crate::archive::{Archive, ArchiveError};
use crate::clock::Clock;
use crate::evaluation::Evaluate;

/// Numbers of interest at one moment of training.
#[derive(Clone, Debug, PartialEq)]
pub struct Metrics {
    /// Environment steps so far.
    pub step: u64,
    /// Names and numbers, always finite, in a fixed order.
    pub values: Vec<(&'static str, f64)>,
}

/// How an agent stands.
#[derive(Clone, Debug)]
pub struct Summary {
    /// Mean return of the last 100 training episodes (of all, while there are fewer); `None` before the first.
    pub recent_return: Option<f64>,
    /// γ.
    pub discount: f64,
    /// Where the time of all rounds went, if the agent tells.
    pub clock: Option<Clock>,
}

/// An agent in training.
pub trait Agent: Evaluate + Send {
    /// Environment steps so far.
    fn steps(&self) -> u64;

    /// Acts and learns for one round, a few hundred environment steps at most, and appends what there is to report.
    /// Rounds that only collect experience before training begins may leave [`steps`](Self::steps) as it is.
    fn advance(&mut self, log: &mut Vec<Metrics>) -> Result<(), AgentError>;

    /// Saves or restores everything, in one walk.
    fn archive(&mut self, archive: &mut Archive) -> Result<(), ArchiveError>;

    /// How it stands.
    fn summary(&self) -> Summary;

    /// The parameters of its model, for those who write them down in another format; none without a model, or if there is no
    /// other format for it.
    fn weights(&self) -> Option<Vec<Weights<'_>>> {
        None
    }
}

/// A tensor of a network.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weights<'a> {
    /// Its name, as in "lstm.recurrent".
    pub name: &'static str,
    /// Its shape.
    pub shape: &'a [usize],
    /// Its numbers, row by row.
    pub numbers: &'a [f32],
}

/// What can go wrong with an agent.
#[derive(Debug)]
#[non_exhaustive]
pub enum AgentError {
    /// A setting lies outside the range in which it has a meaning.
    Setting {
        /// Its name.
        key: &'static str,
        /// What is wrong with it, as in "must be positive, got -1".
        problem: String,
    },
    /// A number is NaN or infinite. The state of the agent is not to be saved any more.
    NotFinite {
        /// Which one: "reward", "observation", "loss_value", "gradient of lstm.recurrent".
        what: String,
        /// Environment steps so far.
        step: u64,
    },
    /// An observation holds something other than zeros and ones.
    Observation {
        /// Environment steps so far.
        step: u64,
    },
    /// The environment cut an episode off without ending it. What agents learn from cannot tell the two apart yet.
    CutOff {
        /// Environment steps so far.
        step: u64,
    },
    /// The environment ended an episode for good. The agent has no notion of ends.
    Ended {
        /// Environment steps so far.
        step: u64,
    },
    /// A value that is predicted of a state is NaN or infinite.
    Prediction,
    /// The agent does not have the members that were wished for.
    Members {
        /// Those that were.
        wish: Members,
        /// How many steps it was trained to predict; 0 without a model.
        trained: usize,
    },
    /// The environment has no action of this name.
    Action {
        /// The name.
        name: String,
        /// Those that there are.
        known: Vec<&'static str>,
    },
    /// There is no way of this name to corrupt what this agent sees.
    Corruption {
        /// The name.
        name: String,
        /// Those that there are.
        known: Vec<&'static str>,
    },
    /// The observations are not of the type or the number that the agent sees.
    Observations {
        /// What is wrong with them, as in "400 entries each, got 10 in all".
        problem: String,
    },
    /// The agent carries something from step to step, so that a single observation says nothing.
    Recurrent,
    /// An environment has other observations or actions than the one that the agent was made for.
    Form {
        /// Its name.
        name: String,
    },
    /// The environment cannot be had.
    Environment(OptionError),
    /// The environment refused an action or a buffer.
    Step(StepError),
}

impl fmt::Display for AgentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Setting { key, problem } => write!(f, "{key} {problem}"),
            Self::NotFinite { what, step } => {
                write!(f, "{what} is not finite at step {step}; a smaller learning_rate may help")
            }
            Self::Observation { step } => {
                write!(f, "the observation at step {step} holds something other than zeros and ones")
            }
            Self::CutOff { step } => write!(
                f,
                "the environment cut an episode off at step {step} without ending it; \
                 the agent would learn that nothing comes after: train it in an environment without a limit of steps"
            ),
            Self::Ended { step } => write!(
                f,
                "the environment ended an episode at step {step}; this agent learns only where episodes are cut off, \
                 not where they end"
            ),
            Self::Prediction => write!(f, "the agent predicts values that are not finite"),
            Self::Members { wish, trained: 0 } => {
                write!(f, "this agent has no model, so there are no members {wish}")
            }
            Self::Members { wish, trained: n } => {
                write!(f, "this agent was trained to predict {n} steps, so there are k=0..{n}, not {wish}")
            }
            Self::Action { name, known } => {
                write!(f, "there is no action `{name}`; there are {}", known.join(", "))
            }
            Self::Corruption { name, known } => {
                write!(f, "there is no corruption `{name}`; there are {}", known.join(", "))
            }
            Self::Observations { problem } => write!(f, "observations: {problem}"),
            Self::Recurrent => write!(
                f,
                "this agent carries a state from step to step of an episode; it cannot be asked about single observations"
            ),
            Self::Form { name } => {
                write!(f, "{name} has other observations or actions than the agent was trained with")
            }
            Self::Environment(cause) => cause.fmt(f),
            Self::Step(cause) => cause.fmt(f),
        }
    }
}

impl std::error::Error for AgentError {}

impl From<StepError> for AgentError {
    fn from(cause: StepError) -> Self {
        Self::Step(cause)
    }
}

impl From<OptionError> for AgentError {
    fn from(cause: OptionError) -> Self {
        Self::Environment(cause)
    }
}

/// Refuses a setting outside of a range.
pub(crate) fn in_range(key: &'static str, value: f64, min: f64, max: f64) -> Result<(), AgentError> {
    ive::in_range(key, value, min, max).map_err(|_| AgentError::Setting {
        key,
        problem: format!("must lie between {min} and {max}, got {value}"),
    })
}
