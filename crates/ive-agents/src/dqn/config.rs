//! Settings of a deep Q-network.

use serde::{Deserialize, Serialize};

use crate::AgentError;
use crate::agent::in_range;
use crate::memory::{self, Part};
use crate::nn::cpu::board::FEATURES;
use crate::nn::cpu::torso::TORSO;

/// Settings of a deep Q-network. The origin of each number stands in the preset.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Environment steps in all.
    pub steps: u64,
    /// γ.
    pub discount: f64,
    /// Transitions of an update.
    pub batch: usize,
    /// Transitions kept for replay.
    pub replay_capacity: usize,
    /// Steps of uniformly random actions before learning starts.
    pub replay_start: u64,
    /// Steps between updates.
    pub update_every: u64,
    /// Updates between copies of the network for targets.
    pub target_every: u64,
    /// Learning rate of RMSProp.
    pub learning_rate: f64,
    /// Smoothing of its means.
    pub smoothing: f64,
    /// ε of RMSProp, added outside the root.
    pub rms_epsilon: f64,
    /// Probability of a random action at the end of exploration; it starts at one.
    pub exploration_final: f64,
    /// Steps, after learning starts, over which exploration falls.
    pub exploration_steps: u64,
    /// Steps between two lines of metrics.
    pub log_every: u64,
}

impl Config {
    /// Refuses what makes no sense.
    pub fn check(&self) -> Result<(), AgentError> {
        in_range("steps", self.steps as f64, 1.0, 1e12)?;
        in_range("discount", self.discount, 0.0, 1.0)?;
        in_range("batch", self.batch as f64, 1.0, 1e5)?;
        in_range("replay_capacity", self.replay_capacity as f64, 1.0, 1e9)?;
        in_range("update_every", self.update_every as f64, 1.0, 1e9)?;
        in_range("target_every", self.target_every as f64, 1.0, 1e12)?;
        in_range("learning_rate", self.learning_rate, 1e-12, 1.0)?;
        in_range("smoothing", self.smoothing, 0.0, 1.0)?;
        in_range("rms_epsilon", self.rms_epsilon, 1e-16, 1.0)?;
        in_range("exploration_final", self.exploration_final, 0.0, 1.0)?;
        in_range("log_every", self.log_every as f64, 1.0, 1e12)?;
        memory::check(&self.memory())
    }

    /// What the settings ask of memory: the replay, and the buffers of an update.
    fn memory(&self) -> Vec<Part> {
        let replay = memory::kept(self.replay_capacity as f64 * memory::window(1));
        let update = self.batch as f64 * 4.0 * (3 * FEATURES + 3 * TORSO + 128) as f64;
        vec![
            Part { key: "replay_capacity", what: "the replay".to_owned(), bytes: replay },
            Part { key: "batch", what: "the transitions of an update".to_owned(), bytes: update },
        ]
    }

    /// Probability of a random action after this many steps.
    pub fn exploration(&self, step: u64) -> f64 {
        let gone = step.saturating_sub(self.replay_start) as f64 / self.exploration_steps.max(1) as f64;
        1.0 + gone.min(1.0) * (self.exploration_final - 1.0)
    }
}
