//! Settings of a value prediction network.

use serde::{Deserialize, Serialize};

use super::loss::Goal;
use super::network::{Design, GATES, HEAD, UNITS};
use crate::AgentError;
use crate::agent::in_range;
use crate::memory::{self, Part};
use crate::nn::cpu::board::FEATURES;

/// What happens to predictions that run past the end of an episode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ends {
    /// They are not trained.
    Mask,
    /// They are trained to reward 0 and value 0: the end is a state that absorbs.
    Absorb,
}

/// How the losses of the predictions of one update are put together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reduction {
    /// Their sum, as in the original.
    Sum,
    /// Their mean.
    Mean,
}

/// The form of the network, whose formulas stand in [`network`](super::network).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// Squashed latent states and heads with a hidden layer.
    #[default]
    Paper,
    /// The torso itself as the first latent state, and linear heads, that of the reward with weights for each action.
    Relu,
}

/// Which predictions are compared with which returns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Compared {
    /// The value of each predicted state with the return that follows it, as in the original.
    #[default]
    Parts,
    /// Each k-step value, rewards and all, with the return of the state that it starts from.
    Members,
}

/// The loss of predicted rewards.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RewardLoss {
    /// Huber's.
    #[default]
    Huber,
    /// Cross-entropy of `r̂ = σ(z)`, for rewards between zero and one; what lies beyond counts as one of the two.
    CrossEntropy,
}

/// Where the value behind a window comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Bootstrap {
    /// The plan by which the agent acts.
    #[default]
    Plan,
    /// The largest 1-step value, whatever the agent acts on.
    V1,
}

/// One head.
fn one() -> usize {
    1
}

/// The weight of a plain sum.
fn plain() -> f64 {
    1.0
}

/// Settings of a value prediction network. Spec and origin of each number stand in the presets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Environment steps in all; schedules refer to it.
    pub steps: u64,
    /// Worlds that are played side by side.
    pub worlds: usize,
    /// γ.
    pub discount: f64,
    /// n: steps of a window, with one bootstrap at its end.
    pub window: usize,
    /// K: how many steps ahead rewards and values are predicted in training.
    pub prediction: usize,
    /// Weight of each k-step value in a plan, k = 1, 2, …; they are normalised. Uniform is μ-IVE.
    pub weights: Vec<f64>,
    /// How many actions are kept at each level of a plan.
    pub branching: Vec<usize>,
    /// Learning rate of Adam at the start.
    pub learning_rate: f64,
    /// Factor on the learning rate for every million steps.
    pub learning_rate_decay: f64,
    /// Whether the learning rate also falls linearly to zero over the run.
    pub learning_rate_linear: bool,
    /// ε of Adam.
    pub adam_epsilon: f64,
    /// Largest global norm of a gradient.
    pub clip: f64,
    /// How losses are put together.
    pub reduction: Reduction,
    /// Steps between copies of the network for bootstraps.
    pub target_every: u64,
    /// Probability of a random action at the end of exploration; it starts at one.
    pub exploration_final: f64,
    /// Share of the run over which exploration falls.
    pub exploration_fraction: f64,
    /// Past windows that join each fresh one in an update.
    pub replay: usize,
    /// Steps kept for that.
    pub replay_capacity: usize,
    /// Steps before it starts.
    pub replay_start: u64,
    /// Steps of a uniformly random policy collected before training, whose rewards every update also learns; 0 is none.
    pub random_steps: usize,
    /// What happens behind the ends of episodes.
    pub ends: Ends,
    /// Factor on the initial weights of the action in transition and reward.
    pub action_scale: f64,
    /// Factor on the initial weights of the convolution. Its inputs are nearly all zero, so that the usual scale makes
    /// all latent states nearly the same.
    pub input_scale: f64,
    // What follows came later. Runs from before have none of it in their settings and mean the defaults.
    /// The form of the network.
    #[serde(default)]
    pub network: Form,
    /// What the loss compares.
    #[serde(default)]
    pub loss: Compared,
    /// Weight of the loss of rewards beside that of values.
    #[serde(default = "plain")]
    pub reward_weight: f64,
    /// The loss of rewards.
    #[serde(default)]
    pub reward_loss: RewardLoss,
    /// Where the value behind a window comes from.
    #[serde(default)]
    pub bootstrap: Bootstrap,
    /// Whether the value of the state just encoded is trained too, so that k = 0 is a member like the others.
    #[serde(default)]
    pub train_zero: bool,
    /// Factor on random functions of the latent state that are added to rewards and values and never trained; 0 is none.
    #[serde(default)]
    pub prior_scale: f64,
    /// Value heads with the same targets: an explicit ensemble, of which plans use the mean.
    #[serde(default = "one")]
    pub value_heads: usize,
    /// Steps between two lines of metrics.
    pub log_every: u64,
}

impl Config {
    /// Refuses what makes no sense.
    pub fn check(&self) -> Result<(), AgentError> {
        in_range("steps", self.steps as f64, 1.0, 1e12)?;
        in_range("worlds", self.worlds as f64, 1.0, 4096.0)?;
        in_range("discount", self.discount, 0.0, 1.0)?;
        in_range("window", self.window as f64, 1.0, 1000.0)?;
        in_range("prediction", self.prediction as f64, 1.0, 100.0)?;
        in_range("learning_rate", self.learning_rate, 1e-12, 1.0)?;
        in_range("learning_rate_decay", self.learning_rate_decay, 1e-6, 1.0)?;
        in_range("adam_epsilon", self.adam_epsilon, 1e-16, 1.0)?;
        in_range("clip", self.clip, 1e-12, 1e12)?;
        in_range("target_every", self.target_every as f64, 1.0, 1e12)?;
        in_range("exploration_final", self.exploration_final, 0.0, 1.0)?;
        in_range("exploration_fraction", self.exploration_fraction, 0.0, 1.0)?;
        in_range("replay", self.replay as f64, 0.0, 1000.0)?;
        in_range("replay_capacity", self.replay_capacity as f64, self.window as f64, 1e9)?;
        in_range("random_steps", self.random_steps as f64, 0.0, 1e7)?;
        in_range("action_scale", self.action_scale, 0.0, 1e3)?;
        in_range("input_scale", self.input_scale, 0.0, 1e3)?;
        in_range("reward_weight", self.reward_weight, 0.0, 1e6)?;
        in_range("prior_scale", self.prior_scale, 0.0, 1e3)?;
        in_range("value_heads", self.value_heads as f64, 1.0, 64.0)?;
        in_range("log_every", self.log_every as f64, 1.0, 1e12)?;
        self.check_plan()
    }

    /// What of the settings makes the network.
    pub fn design(&self) -> Design {
        Design {
            form: self.network,
            reward_loss: self.reward_loss,
            value_heads: self.value_heads,
            prior_scale: self.prior_scale as f32,
        }
    }

    /// What of the settings makes the loss.
    pub fn goal(&self) -> Goal {
        Goal {
            compared: self.loss,
            reward_weight: self.reward_weight as f32,
            train_zero: self.train_zero,
            discount: self.discount as f32,
        }
    }

    fn check_plan(&self) -> Result<(), AgentError> {
        let wrong = |key, problem: String| Err(AgentError::Setting { key, problem });
        let depth = self.weights.len();
        if !(1..=16).contains(&depth) {
            return wrong("weights", format!("must name between 1 and 16 depths, got {depth}"));
        }
        let total: f64 = self.weights.iter().sum();
        if self.weights.iter().any(|w| !(0.0..=1e6).contains(w)) || total <= 0.0 {
            return wrong("weights", "must be at least zero and not all of them zero".to_owned());
        }
        if self.branching.len() != depth || self.branching.contains(&0) {
            let problem =
                format!("must name one positive number for each of the {depth} depths of `weights`");
            return wrong("branching", problem);
        }
        // A level of a plan keeps the product of the numbers up to it.
        let nodes = self.branching.iter().try_fold(1usize, |n, &b| n.checked_mul(b));
        if nodes.is_none_or(|n| n > 1 << 16) {
            return wrong("branching", "makes more than 65536 leaves".to_owned());
        }
        memory::check(&self.memory())
    }

    /// What the settings ask of memory: experience that is kept, plans, and the buffers of an update.
    fn memory(&self) -> Vec<Part> {
        let kept =
            |steps: usize| memory::kept(memory::window(self.window) * steps.div_ceil(self.window) as f64);
        let (worlds, windows) = (self.worlds as f64, self.replay as f64 + 1.0);
        // The plans of all worlds, of all bootstraps, and of the greedy episodes at the end.
        let roots = worlds + worlds * windows + 16.0;
        let (mut level, mut nodes) = (1.0, 0.0);
        for &kept in &self.branching {
            nodes += level;
            level *= kept as f64;
        }
        // h and c of each node; boards, features and a little more of each root.
        let plans = roots * (nodes * 8.0 * (UNITS + 8) as f64 + 4.0 * (FEATURES + 2 * UNITS) as f64);
        let starts = (windows + 1.0) * self.window as f64;
        let rows = starts * self.prediction.min(self.window) as f64;
        let update = starts * 4.0 * (2 * FEATURES + 3 * UNITS + 64) as f64
            + rows * 4.0 * (6 * UNITS + 2 * GATES + 3 * HEAD + 8) as f64;
        let replayed = if self.replay > 0 { kept(self.replay_capacity) } else { 0.0 };
        vec![
            Part {
                key: "worlds",
                what: "a window of each".to_owned(),
                bytes: worlds * memory::window(self.window),
            },
            Part { key: "window", what: format!("updates of {starts} steps each"), bytes: update },
            Part { key: "replay_capacity", what: "the replay".to_owned(), bytes: replayed },
            Part {
                key: "random_steps",
                what: "the steps of the random policy".to_owned(),
                bytes: kept(self.random_steps),
            },
            Part {
                key: "branching",
                what: format!("plans of {nodes} nodes from {roots} states (worlds and replay)"),
                bytes: plans,
            },
        ]
    }

    /// The settings whose schedules refer to `steps`: with another number they would differ from the first step on.
    pub fn schedules(&self) -> Vec<&'static str> {
        let all = [
            ("exploration_fraction", self.exploration_fraction > 0.0),
            ("learning_rate_linear", self.learning_rate_linear),
        ];
        all.into_iter().filter(|(_, refers)| *refers).map(|(name, _)| name).collect()
    }

    /// Probability of a random action after this many steps.
    pub fn exploration(&self, step: u64) -> f64 {
        let length = self.exploration_fraction * self.steps as f64;
        let gone = if length > 0.0 { (step as f64 / length).min(1.0) } else { 1.0 };
        1.0 + gone * (self.exploration_final - 1.0)
    }

    /// Learning rate after this many steps.
    pub fn learning_rate(&self, step: u64) -> f64 {
        let left = (1.0 - step as f64 / self.steps as f64).max(0.0);
        let linear = if self.learning_rate_linear { left } else { 1.0 };
        self.learning_rate * linear * self.learning_rate_decay.powf(step as f64 / 1e6)
    }
}
