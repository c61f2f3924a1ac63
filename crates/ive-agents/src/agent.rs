//! The contract between an agent that learns by acting and whoever runs it.
//!
//! An [`Agent`] owns its worlds, networks, optimiser, replay and generators. A run asks it again and again to
//! [`advance`](Agent::advance), and between two rounds may [`archive`](Agent::archive) its *complete* state: an agent
//! made from the same settings that loads the archive continues bit by bit.

use std::fmt;

use ive_envs::StepError;

use crate::archive::{Archive, ArchiveError};
use crate::clock::Clock;

/// Numbers of interest at one moment of training.
#[derive(Clone, Debug, PartialEq)]
pub struct Metrics {
    /// Environment steps so far.
    pub step: u64,
    /// Names and numbers, always finite, in a fixed order.
    pub values: Vec<(&'static str, f64)>,
}

/// What an agent would do, and what it expects of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// The greedy action.
    pub action: usize,
    /// The predicted value of that action, by which it was chosen.
    pub value: f64,
    /// The k-step model-predicted values of that action along a plan, k = 1 to as far as the model was trained to
    /// predict, even if the plan by which the action was chosen is shorter; a model-free agent has none.
    pub members: Vec<f64>,
}

/// An agent in training.
pub trait Agent: Send {
    /// Environment steps so far.
    fn steps(&self) -> u64;

    /// Acts and learns for one round, a few hundred environment steps at most, and appends what there is to report.
    /// Rounds that only collect experience before training begins leave [`steps`](Self::steps) as it is.
    fn advance(&mut self, log: &mut Vec<Metrics>) -> Result<(), AgentError>;

    /// Saves or restores everything, in one walk.
    fn archive(&mut self, archive: &mut Archive) -> Result<(), ArchiveError>;

    /// Mean return of the last 100 training episodes (of all, while there are fewer); `None` before the first.
    fn recent_return(&self) -> Option<f64>;

    /// Where the time of all rounds went, if the agent tells.
    fn clock(&self) -> Option<&Clock> {
        None
    }

    /// Greedy decisions for a batch of observations, one after the other in memory.
    fn decide(&mut self, observations: &[u8]) -> Vec<Decision>;

    /// The values of the observations just encoded, without a step of the model: the member k = 0, which
    /// [`decide`](Self::decide) leaves out because a value prediction network never trains it. Empty without a model.
    fn encoded_values(&self, observations: &[u8]) -> Vec<f64> {
        let _ = observations;
        Vec::new()
    }

    /// The actions of [`decide`](Self::decide) alone, for those who do not ask what is expected of them.
    fn act(&mut self, observations: &[u8]) -> Vec<usize> {
        self.decide(observations).into_iter().map(|decision| decision.action).collect()
    }
}

/// What can go wrong with an agent.
#[derive(Clone, Debug, PartialEq)]
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
    /// The world cut an episode off without ending it. What agents learn from cannot tell the two apart yet.
    CutOff {
        /// Environment steps so far.
        step: u64,
    },
    /// The world refused an action or a buffer.
    World(StepError),
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
                "the world cut an episode off at step {step} without ending it; \
                 the agent would learn that nothing comes after: train it in a world without a limit of steps"
            ),
            Self::World(cause) => write!(f, "{cause}"),
        }
    }
}

impl std::error::Error for AgentError {}

impl From<StepError> for AgentError {
    fn from(cause: StepError) -> Self {
        Self::World(cause)
    }
}

/// Refuses a setting outside of a range.
pub(crate) fn in_range(key: &'static str, value: f64, min: f64, max: f64) -> Result<(), AgentError> {
    if (min..=max).contains(&value) {
        return Ok(());
    }
    Err(AgentError::Setting { key, problem: format!("must lie between {min} and {max}, got {value}") })
}
