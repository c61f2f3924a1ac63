//! Settings of Dreamer.

use serde::{Deserialize, Serialize};

use super::senses::PICTURE;
use crate::AgentError;
use crate::agent::in_range;
use crate::experience::Shape;
use crate::memory::{Part, kept};

/// How large the networks are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Numbers of an observation.
    pub observation: usize,
    /// Motors.
    pub action: usize,
    /// Columns of z.
    pub stochastic: usize,
    /// Columns of d.
    pub deterministic: usize,
    /// Hidden units of encoder, decoder and heads.
    pub width: usize,
    /// Channels of the first convolution, where observations are pictures.
    pub channels: usize,
}

impl Sizes {
    /// Columns of [z, d].
    pub fn features(&self) -> usize {
        self.stochastic + self.deterministic
    }
}

/// Who chooses the actions with which data are collected. What is learned from them does not depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Behaviour {
    /// The actor.
    Actor,
    /// A plan that climbs the utility along its gradient with respect to the actions (♢ in Table 1).
    Gradient,
    /// The best of several plans drawn from the actor (♣).
    Sample,
}

/// What a plan is judged by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Utility {
    /// Dreamer's own λ-return of the first state.
    LambdaReturn,
    /// μ + βσ over the k-step values of one model and one value, k = 1 to `plan_horizon`.
    Ive,
    /// μ + βσ over the values of several value networks at the end of the plan.
    Eve,
    /// μ + βσ over the plans of several models with one value network.
    Emve,
}

/// Where the latent noise of plans comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PlanNoise {
    /// No noise: states are the means of the prior.
    Mean,
    /// The same noise for every plan of a decision, so that plans differ by their actions only.
    Common,
    /// Noise of its own for every plan, as printed in the paper: plans are then chosen mostly by luck.
    Independent,
}

/// How a plan follows the gradient g of its utility with respect to its actions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ascent {
    /// By `plan_step · g`. Where little reward has been found utilities are small, and so are the steps.
    #[default]
    Gradient,
    /// By `plan_step · g / |g|`, the length taken over all actions of a sequence: plans move as far whatever the unit of rewards.
    Unit,
}

impl Ascent {
    /// In settings.
    pub fn word(self) -> &'static str {
        ["gradient", "unit"][self as usize]
    }
}

/// Settings of Dreamer. Spec and origin of each number stand in the presets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Environment steps in all; an action that is held for two steps counts as two.
    pub steps: u64,
    /// Environment steps of uniformly random actions before training.
    pub prefill: u64,
    /// Agent steps that are kept; the oldest episodes go first.
    pub replay_capacity: usize,
    /// Environment steps between two rounds of updates.
    pub train_every: u64,
    /// Updates in a round.
    pub updates: usize,
    /// Sequences of an update.
    pub batch: usize,
    /// Agent steps of a sequence.
    pub length: usize,
    /// Posterior states from which an update imagines; 0 is all of them.
    pub starts: usize,
    /// Imagined steps.
    pub horizon: usize,
    /// Columns of the stochastic part of a latent state.
    pub stochastic: usize,
    /// Columns of its deterministic part.
    pub deterministic: usize,
    /// Hidden units of encoder, decoder and heads.
    pub width: usize,
    /// Channels of the first convolution, where observations are pictures.
    pub channels: usize,
    /// γ.
    pub discount: f64,
    /// λ.
    pub lambda: f64,
    /// Weight of the divergence between posterior and prior.
    pub divergence_weight: f64,
    /// A divergence below so many nats is free.
    pub free_nats: f64,
    /// Weight of the loss of observations.
    pub observation_weight: f64,
    /// Weight of the loss of rewards.
    pub reward_weight: f64,
    /// Learning rate of the model.
    pub model_rate: f64,
    /// Learning rate of the value.
    pub value_rate: f64,
    /// Learning rate of the actor.
    pub actor_rate: f64,
    /// ε of Adam.
    pub adam_epsilon: f64,
    /// Largest global norm of each gradient.
    pub clip: f64,
    /// Standard deviation of the noise that is added to actions while collecting.
    pub exploration: f64,
    /// Who collects.
    pub behaviour: Behaviour,
    /// What plans are judged by.
    pub utility: Utility,
    /// β in μ + βσ.
    pub beta: f64,
    /// Steps of a plan; its members are k = 1 to this.
    pub plan_horizon: usize,
    /// Where the latent noise of plans comes from.
    pub plan_noise: PlanNoise,
    /// Steps of gradient ascent.
    pub plan_iterations: usize,
    /// Their length: a factor on the gradient, or on its direction.
    pub plan_step: f64,
    /// Which of the two. It came later: runs from before do not have it and mean the default.
    #[serde(default)]
    pub plan_ascent: Ascent,
    /// Plans of which the best is taken.
    pub candidates: usize,
    /// Value networks or models, for the explicit ensembles.
    pub ensemble: usize,
    /// Environment steps between two lines of metrics.
    pub log_every: u64,
    /// Environment steps between two evaluations of the actor; 0 is none.
    pub evaluate_every: u64,
    /// Episodes of an evaluation.
    pub evaluation_episodes: usize,
}

impl Config {
    /// Refuses what makes no sense.
    pub fn check(&self) -> Result<(), AgentError> {
        in_range("steps", self.steps as f64, 1.0, 1e12)?;
        in_range("prefill", self.prefill as f64, 1.0, 1e9)?;
        in_range("replay_capacity", self.replay_capacity as f64, 1.0, 1e9)?;
        in_range("train_every", self.train_every as f64, 1.0, 1e9)?;
        in_range("updates", self.updates as f64, 1.0, 1e6)?;
        in_range("batch", self.batch as f64, 1.0, 1024.0)?;
        in_range("length", self.length as f64, 2.0, 500.0)?;
        in_range("starts", self.starts as f64, 0.0, (self.batch * self.length) as f64)?;
        in_range("horizon", self.horizon as f64, 2.0, 100.0)?;
        in_range("stochastic", self.stochastic as f64, 1.0, 1024.0)?;
        in_range("deterministic", self.deterministic as f64, 1.0, 4096.0)?;
        in_range("width", self.width as f64, 1.0, 4096.0)?;
        in_range("channels", self.channels as f64, 1.0, 256.0)?;
        in_range("discount", self.discount, 0.0, 1.0)?;
        in_range("lambda", self.lambda, 0.0, 1.0)?;
        in_range("divergence_weight", self.divergence_weight, 0.0, 1e6)?;
        in_range("free_nats", self.free_nats, 0.0, 1e6)?;
        in_range("observation_weight", self.observation_weight, 0.0, 1e6)?;
        in_range("reward_weight", self.reward_weight, 0.0, 1e6)?;
        for (key, rate) in [
            ("model_rate", self.model_rate),
            ("value_rate", self.value_rate),
            ("actor_rate", self.actor_rate),
        ] {
            in_range(key, rate, 1e-12, 1.0)?;
        }
        in_range("adam_epsilon", self.adam_epsilon, 1e-16, 1.0)?;
        in_range("clip", self.clip, 1e-12, 1e12)?;
        in_range("exploration", self.exploration, 0.0, 10.0)?;
        in_range("beta", self.beta, -1e6, 1e6)?;
        in_range("plan_horizon", self.plan_horizon as f64, 1.0, 100.0)?;
        in_range("plan_iterations", self.plan_iterations as f64, 0.0, 1e4)?;
        in_range("plan_step", self.plan_step, 0.0, 1e3)?;
        in_range("candidates", self.candidates as f64, 1.0, 1e4)?;
        in_range("ensemble", self.ensemble as f64, 1.0, 64.0)?;
        in_range("log_every", self.log_every as f64, 1.0, 1e12)?;
        in_range("evaluation_episodes", self.evaluation_episodes as f64, 1.0, 1e4)
    }

    /// How many models are trained.
    pub fn model_networks(&self) -> usize {
        if self.utility == Utility::Emve { self.ensemble } else { 1 }
    }

    /// The memory that these settings ask for: experience, the numbers of the larger half of an update with their gradients, and plans. A step of
    /// the model keeps some 18 rows of d and 8 of hidden units, and pictures as they grow and shrink; arenas have twice the room they need.
    pub(super) fn memory(&self, shape: &Shape, entry: usize) -> [Part; 3] {
        let latent = 18 * self.deterministic + 8 * self.width + 20 * self.stochastic;
        let picture = if shape.observation == PICTURE { 3 * 30 * 30 * self.channels } else { 0 };
        let of = |rows: usize, row: usize| 16.0 * rows as f64 * row as f64;
        let steps = self.batch * self.length;
        let starts = if self.starts == 0 { steps } else { self.starts };
        let lived = of(steps, latent + picture + 3 * shape.observation);
        let imagined = of(starts * self.horizon, latent);
        let replay = kept(self.replay_capacity as f64 * entry as f64);
        let update = if lived > imagined {
            Part {
                key: "batch",
                what: format!("{} sequences of {} steps", self.batch, self.length),
                bytes: lived,
            }
        } else {
            Part {
                key: "starts",
                what: format!("{starts} imaginations of {} steps", self.horizon),
                bytes: imagined,
            }
        };
        let plans = of(self.candidates * self.plan_horizon * self.model_networks(), latent);
        let planned = format!("{} plans of {} steps", self.candidates, self.plan_horizon);
        [
            Part { key: "replay_capacity", what: format!("{} steps", self.replay_capacity), bytes: replay },
            update,
            Part { key: "candidates", what: planned, bytes: plans },
        ]
    }

    /// How many value networks are trained.
    pub fn value_networks(&self) -> usize {
        if self.utility == Utility::Eve { self.ensemble } else { 1 }
    }
}
