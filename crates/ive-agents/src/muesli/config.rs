//! Settings of Muesli.

use serde::{Deserialize, Serialize};

use super::network::MOST_HEADS;
use super::signals::ROWS;
use crate::AgentError;
use crate::agent::in_range;
use crate::bonus::{Bonus, Signal, Space};
use crate::categorical::Support;
use crate::experience::Shape;
use crate::memory::{self, Part};
use crate::nn::cpu::descent::linear_decay;

/// Bytes of the largest observation there is: a picture of Procgen.
const PICTURE: usize = 64 * 64 * 3;
/// The largest number of actions there is: Procgen's.
const ACTIONS: usize = 15;

/// What pictures pass through first. Boards have a convolution of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Seeing {
    /// Half size, two convolutions.
    Small,
    /// Three residual blocks (Espeholt et al., 2018).
    Impala,
}

/// What leads from one latent state to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Modelling {
    /// A residual layer.
    Residual,
    /// An LSTM.
    Lstm,
}

/// How an agent that explores no more acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Acting {
    /// It draws from its policy.
    Sample,
    /// It takes the most probable action.
    Mode,
}

/// Whether it acts on what it does not know while it learns, and where the signal enters its policy. Paper: App. D.3.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Optimism {
    /// It draws from its policy.
    #[default]
    None,
    /// From `(1 − β) π + β d / Σ d`.
    Probability,
    /// From `softmax(z_π + β d)`.
    Logit,
}

/// Settings of Muesli. Spec and origin of each number stand in the presets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Environment steps in all; the learning rate falls over them.
    pub steps: u64,
    /// Environments that are played side by side.
    pub worlds: usize,
    /// Steps of a window: every environment is played for one, then there are updates.
    pub window: usize,
    /// Updates after each round of windows.
    pub updates: usize,
    /// Windows of an update that were just played.
    pub fresh: usize,
    /// Windows of an update that come from replay.
    pub replayed: usize,
    /// Environment steps kept for that.
    pub replay_capacity: usize,
    /// Environment steps before the first update.
    pub learning_start: u64,
    /// K: how many steps ahead the model is trained.
    pub unroll: usize,
    /// γ.
    pub discount: f64,
    /// λ of Retrace.
    pub retrace: f64,
    /// c: normalised advantages are clipped to ±c where they improve a policy.
    pub advantage_clip: f64,
    /// β of the mean square of advantages.
    pub advantage_decay: f64,
    /// Share of the policy that acted in the prior policy.
    pub behaviour_share: f64,
    /// Share of the uniform policy in the prior policy.
    pub uniform_share: f64,
    /// Weight of the policy gradient.
    pub gradient_weight: f64,
    /// λ: weight of the improved policy.
    pub improvement_weight: f64,
    /// Weight of the improved policies along the model.
    pub model_weight: f64,
    /// Weight of the value.
    pub value_weight: f64,
    /// Weight of the reward.
    pub reward_weight: f64,
    /// Learning rate at the start.
    pub learning_rate: f64,
    /// Learning rate at the end; it falls in a straight line.
    pub learning_rate_final: f64,
    /// Decoupled weight decay.
    pub weight_decay: f64,
    /// ε of Adam.
    pub adam_epsilon: f64,
    /// α: how far the target network moves towards the network with each update.
    pub target_rate: f64,
    /// What pictures pass through first.
    pub torso: Seeing,
    /// Filters of its convolutions or blocks.
    pub channels: Vec<usize>,
    /// Whether a residual torso sees pictures of half size.
    pub halve: bool,
    /// Units behind the torso.
    pub features: usize,
    /// What the model is.
    pub model: Modelling,
    /// Units of a latent state.
    pub latent: usize,
    /// Hidden units of a head.
    pub head: usize,
    /// Atoms of the distributions of value and reward.
    pub atoms: usize,
    /// The largest value is h⁻¹ of this.
    pub value_support: f64,
    /// The largest reward is h⁻¹ of this.
    pub reward_support: f64,
    /// Scale of the frozen random priors of value and reward; 0 is none.
    pub prior: f64,
    /// Whether outputs start at minus the mean of their prior.
    pub centre: bool,
    /// Updates of value and reward heads alone, without bootstrap, before all else.
    pub warm_up: u64,
    /// Learning rate of these.
    pub warm_up_rate: f64,
    /// Value heads. The first is v̂; all are trained on the same returns, for σ-EVE.
    pub value_heads: usize,
    /// How it acts in evaluation.
    pub evaluate: Acting,
    // What follows came later. Runs from before have none of it in their settings and mean the defaults.
    /// Who acts in training: the policy, or the policy mixed with a signal of each action.
    #[serde(default)]
    pub optimism: Optimism,
    /// Which signal d.
    #[serde(default)]
    pub optimism_signal: Signal,
    /// β: its weight.
    #[serde(default = "beta")]
    pub optimism_beta: f64,
    /// n: how long its paths are, which may be longer than `unroll`; or how many value heads there are in its explicit ensemble.
    #[serde(default = "depth")]
    pub optimism_depth: usize,
    /// Steps between two lines of metrics.
    pub log_every: u64,
}

fn beta() -> f64 {
    1.0
}

fn depth() -> usize {
    5
}

impl Config {
    /// Refuses what makes no sense.
    pub fn check(&self) -> Result<(), AgentError> {
        let large = 1e12;
        let ranges = [
            ("steps", self.steps as f64, 1.0, large),
            ("worlds", self.worlds as f64, 1.0, 4096.0),
            ("window", self.window as f64, 1.0, 1000.0),
            ("updates", self.updates as f64, 0.0, 1e4),
            ("fresh", self.fresh as f64, 0.0, self.worlds as f64),
            ("replayed", self.replayed as f64, 0.0, 1e4),
            ("replay_capacity", self.replay_capacity as f64, (self.worlds * self.window) as f64, 1e9),
            ("learning_start", self.learning_start as f64, 0.0, large),
            ("unroll", self.unroll as f64, 1.0, self.window.min(100) as f64),
            ("discount", self.discount, 0.0, 1.0),
            ("retrace", self.retrace, 0.0, 1.0),
            ("advantage_clip", self.advantage_clip, 0.0, 20.0),
            ("advantage_decay", self.advantage_decay, 0.0, 0.999_999),
            ("behaviour_share", self.behaviour_share, 0.0, 1.0),
            ("uniform_share", self.uniform_share, 0.0, 1.0 - self.behaviour_share),
            ("gradient_weight", self.gradient_weight, 0.0, 1e3),
            ("improvement_weight", self.improvement_weight, 0.0, 1e3),
            ("model_weight", self.model_weight, 0.0, 1e3),
            ("value_weight", self.value_weight, 0.0, 1e3),
            ("reward_weight", self.reward_weight, 0.0, 1e3),
            ("learning_rate", self.learning_rate, 1e-12, 1.0),
            ("learning_rate_final", self.learning_rate_final, 0.0, 1.0),
            ("weight_decay", self.weight_decay, 0.0, 1.0),
            ("adam_epsilon", self.adam_epsilon, 1e-16, 1.0),
            ("target_rate", self.target_rate, 1e-6, 1.0),
            ("features", self.features as f64, 1.0, 8192.0),
            ("latent", self.latent as f64, 1.0, 8192.0),
            ("head", self.head as f64, 1.0, 8192.0),
            ("atoms", self.atoms as f64, 2.0, 10_001.0),
            ("value_support", self.value_support, 1e-3, 1e4),
            ("reward_support", self.reward_support, 1e-3, 1e4),
            ("prior", self.prior, 0.0, 1e3),
            ("warm_up", self.warm_up as f64, 0.0, large),
            ("warm_up_rate", self.warm_up_rate, 1e-12, 1.0),
            ("value_heads", self.value_heads as f64, 1.0, MOST_HEADS as f64),
            ("log_every", self.log_every as f64, 1.0, large),
        ];
        ranges.into_iter().try_for_each(|(key, value, min, max)| in_range(key, value, min, max))?;
        self.mixing().check("optimism_beta", "optimism_depth")?;
        in_range("optimism_beta", self.optimism_beta, 0.0, f64::MAX)?;
        self.bonus().iter().try_for_each(|bonus| bonus.check_heads(self.value_heads, "optimism_depth"))?;
        let wrong = |key, problem: String| Err(AgentError::Setting { key, problem });
        let wanted = if self.torso == Seeing::Small { 2 } else { 3 };
        if self.channels.len() != wanted || self.channels.iter().any(|c| !(1..=1024).contains(c)) {
            let problem =
                format!("must be {wanted} numbers from 1 to 1024 for this torso, got {:?}", self.channels);
            return wrong("channels", problem);
        }
        if self.fresh + self.replayed == 0 {
            return wrong(
                "fresh",
                "and replayed must not both be 0: an update would learn from nothing".into(),
            );
        }
        memory::check(&self.memory())
    }

    /// What the settings ask of memory, for pictures of Procgen: experience that is kept, and the buffers of an update.
    fn memory(&self) -> Vec<Part> {
        let shape = Shape { observation: PICTURE, action: 1, policy: ACTIONS };
        let window = shape.window_bytes::<u8, u8>(self.window);
        let states = ((self.fresh + self.replayed) * (self.window + 1)) as f64;
        // A picture of full size and what 16 filters make of it, there and back; latent states and heads at all depths.
        let filters = self.channels.iter().max().copied().unwrap_or(1) as f64;
        let seen = if self.torso == Seeing::Small { 4.0e3 } else { 64.0 * 64.0 * (3.0 + 6.0 * filters) };
        let imagined = self.unroll as f64 + ACTIONS as f64;
        let units = (8 * self.latent + 6 * self.head + 8 * self.atoms * (1 + self.value_heads)) as f64;
        let update = states * 8.0 * (seen + self.features as f64 + imagined * units);
        let rows = if self.optimism == Optimism::None { 0 } else { ROWS.min(self.worlds * ACTIONS) };
        let paths = (rows * (1 + self.optimism_depth)) as f64 * 4.0 * units;
        vec![
            Part { key: "worlds", what: "a window of each".to_owned(), bytes: self.worlds as f64 * window },
            Part {
                key: "replay_capacity",
                what: "the replay".to_owned(),
                bytes: memory::kept(window * self.replay_windows() as f64),
            },
            Part { key: "replayed", what: format!("updates of {states} states each"), bytes: update },
            Part { key: "optimism_depth", what: format!("{rows} paths at a time"), bytes: paths },
        ]
    }

    /// How the signal enters the policy that acts in training; none without optimism.
    pub fn bonus(&self) -> Option<Bonus> {
        (self.optimism != Optimism::None).then(|| self.mixing())
    }

    fn mixing(&self) -> Bonus {
        let share = self.optimism == Optimism::Probability;
        Bonus {
            space: if share { Space::Probability } else { Space::Logit },
            signal: self.optimism_signal,
            depth: self.optimism_depth,
            beta: self.optimism_beta,
        }
    }

    /// Windows of the replay: whole rounds.
    pub fn replay_windows(&self) -> usize {
        self.replay_capacity / (self.worlds * self.window) * self.worlds
    }

    /// The settings whose schedules refer to `steps`.
    pub fn schedules(&self) -> Vec<&'static str> {
        if self.learning_rate == self.learning_rate_final { Vec::new() } else { vec!["learning_rate_final"] }
    }

    /// Learning rate after so many steps.
    pub fn learning_rate(&self, step: u64) -> f64 {
        linear_decay(self.learning_rate, self.learning_rate_final, step as f64 / self.steps as f64)
    }

    /// The atoms of the value and of the reward.
    ///
    /// # Panics
    /// If the settings were not checked.
    pub fn supports(&self) -> [Support; 2] {
        [self.value_support, self.reward_support]
            .map(|largest| Support::new(largest, self.atoms).expect("settings were checked"))
    }
}
