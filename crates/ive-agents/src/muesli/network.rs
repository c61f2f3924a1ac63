//! The network of Muesli, and where its parameters lie.
//!
//! ```text
//! root      x = relu(LN(F torso(o)))     z⁰ = LN(P x)                       residual model
//!                                        c⁰, o = P x;  z⁰ = σ(o) tanh(c⁰)   LSTM model
//! model     z' = LN(z + W₂ relu(W₁ z + E[a]))      or   z', c' = LSTM(W z + E[a]; c)
//! heads     π̂ = softmax MLP(z)     v̂, r̂ = h⁻¹(Σ p · atoms),  p = softmax(MLP(z) + s · MLP'(z))
//! ```
//!
//! MLP' are frozen random networks, the priors (Osband et al., 2018), at scale s; nothing flows back through them. Rewards belong to the
//! step: r̂ of the latent state behind an action is the reward of that action, so that a k-step value is
//! `Σ_{i=1..k} γⁱ⁻¹ r̂(zⁱ) + γᵏ v̂(zᵏ)`. W₁ z does not depend on the action and is worked out once for all of them.

use ive::Rng;

use super::config::{Config, Modelling};
use super::torso::{Seen, Torso, View};
use crate::nn::layout::normal;
use crate::nn::{Activation, Block, Dense, Graph, Layout, Slot, Squash, Var};

/// The parameters in training, or their moving average.
pub const ONLINE: Block = Block(0);
/// The frozen parameters of the priors.
pub const PRIORS: Block = Block(1);
/// Most value heads.
pub const MOST_HEADS: usize = 5;

const ROOT_2: f64 = std::f64::consts::SQRT_2;
/// The size of the last layer of a head at the start: nearly zero outputs.
const SMALL_OUTPUT: f64 = 0.01;

type HeadNames = [[&'static str; 2]; 2];
const POLICY: HeadNames = [["policy.hidden", "policy.hidden.bias"], ["policy.output", "policy.output.bias"]];
const REWARD: HeadNames = [["reward.hidden", "reward.hidden.bias"], ["reward.output", "reward.output.bias"]];
const VALUES: [HeadNames; MOST_HEADS] = [
    [["value.hidden", "value.hidden.bias"], ["value.output", "value.output.bias"]],
    [["value.1.hidden", "value.1.hidden.bias"], ["value.1.output", "value.1.output.bias"]],
    [["value.2.hidden", "value.2.hidden.bias"], ["value.2.output", "value.2.output.bias"]],
    [["value.3.hidden", "value.3.hidden.bias"], ["value.3.output", "value.3.output.bias"]],
    [["value.4.hidden", "value.4.hidden.bias"], ["value.4.output", "value.4.output.bias"]],
];

/// A hidden layer of ReLUs and a linear output.
#[derive(Clone, Debug)]
pub struct Head {
    /// Latent to hidden units.
    pub hidden: Dense,
    /// Hidden units to logits.
    pub output: Dense,
}

impl Head {
    fn new(layout: &mut Layout, names: HeadNames, [inputs, units, outputs]: [usize; 3]) -> Self {
        Self {
            hidden: Dense::new(layout, names[0], [inputs, units], Activation::Relu),
            output: Dense::new(layout, names[1], [units, outputs], Activation::Linear),
        }
    }

    /// Its logits.
    pub fn forward(&self, g: &mut dyn Graph, p: Block, z: Var) -> Var {
        let hidden = g.dense(p, &self.hidden, z);
        g.dense(p, &self.output, hidden)
    }

    fn initialise(&self, all: &mut [f32], output: f64, rng: &mut Rng) {
        draw(&self.hidden, all, ROOT_2, rng);
        draw(&self.output, all, output, rng);
    }
}

/// Normal weights of standard deviation `scale / √inputs`.
fn draw(layer: &Dense, all: &mut [f32], scale: f64, rng: &mut Rng) {
    normal(layer.weight.of_mut(all), scale / (layer.inputs() as f64).sqrt(), rng);
}

/// What leads from one latent state to the next.
#[derive(Clone, Debug)]
enum Model {
    Residual { action: Slot, hidden: Dense, output: Dense },
    Lstm { action: Slot, gates: Dense },
}

/// A batch of latent states on a graph.
#[derive(Clone, Copy, Debug)]
pub struct Latent {
    /// z, which heads look at, `[states, latent]`.
    pub z: Var,
    /// The cell of an LSTM.
    cell: Option<Var>,
}

impl Latent {
    /// The first so many states.
    #[must_use]
    pub fn first(self, g: &mut dyn Graph, count: usize) -> Self {
        Self { z: g.rows(self.z, 0..count), cell: self.cell.map(|cell| g.rows(cell, 0..count)) }
    }

    /// States by number, any number of times.
    #[must_use]
    pub fn gather(self, g: &mut dyn Graph, rows: &[u32]) -> Self {
        Self { z: g.gather(self.z, rows), cell: self.cell.map(|cell| g.gather(cell, rows)) }
    }
}

/// Frozen networks whose logits are added to those of value and reward.
#[derive(Clone, Debug)]
struct Priors {
    layout: Layout,
    values: Vec<Head>,
    reward: Head,
    scale: f32,
}

/// Where the parameters lie.
#[derive(Clone, Debug)]
pub struct Network {
    /// Their names in order.
    pub layout: Layout,
    /// How many actions there are.
    pub actions: usize,
    /// How observations are seen.
    pub torso: Torso,
    features: Dense,
    latent: Dense,
    model: Model,
    policy: Head,
    values: Vec<Head>,
    reward: Head,
    priors: Priors,
}

impl Network {
    /// For observations of this form and so many actions.
    pub fn new(view: View, actions: usize, config: &Config) -> Self {
        let mut layout = Layout::default();
        let torso = Torso::new(&mut layout, view, config);
        Self::with_torso(layout, torso, actions, config)
    }

    /// The same behind any torso, whose tensors the layout holds.
    pub fn with_torso(mut layout: Layout, torso: Torso, actions: usize, config: &Config) -> Self {
        let Config { features, latent: z, head, atoms, .. } = *config;
        let all = &mut layout;
        let linear = Activation::Linear;
        let seen = Dense::new(all, ["torso", "torso.bias"], [torso.sizes()[1], features], linear);
        let projected = if config.model == Modelling::Lstm { 2 * z } else { z };
        let latent = Dense::new(all, ["latent", "latent.bias"], [features, projected], linear);
        let model = match config.model {
            Modelling::Residual => Model::Residual {
                action: all.add("model.action", &[actions, z]),
                hidden: Dense::new(all, ["model.hidden", "model.hidden.bias"], [z, z], Activation::Relu),
                output: Dense::new(all, ["model.output", "model.output.bias"], [z, z], linear),
            },
            Modelling::Lstm => Model::Lstm {
                action: all.add("model.action", &[actions, 4 * z]),
                gates: Dense::new(all, ["model.gates", "model.gates.bias"], [z, 4 * z], linear),
            },
        };
        let policy = Head::new(all, POLICY, [z, head, actions]);
        let heads = &VALUES[..config.value_heads];
        let values = heads.iter().map(|&names| Head::new(all, names, [z, head, atoms])).collect();
        let reward = Head::new(all, REWARD, [z, head, atoms]);
        let mut still = Layout::default();
        let priors = Priors {
            values: heads.iter().map(|&names| Head::new(&mut still, names, [z, head, atoms])).collect(),
            reward: Head::new(&mut still, REWARD, [z, head, atoms]),
            layout: still,
            scale: config.prior as f32,
        };
        Self { layout, actions, torso, features: seen, latent, model, policy, values, reward, priors }
    }

    /// Where the frozen parameters of the priors lie.
    pub fn prior_layout(&self) -> &Layout {
        &self.priors.layout
    }

    /// How many value heads there are.
    pub fn num_heads(&self) -> usize {
        self.values.len()
    }

    /// Latent states of observations `from` to `to` of those seen.
    pub fn root(&self, g: &mut dyn Graph, seen: &Seen, range: [usize; 2]) -> Latent {
        let x = self.torso.forward(g, ONLINE, seen, range);
        let x = g.dense(ONLINE, &self.features, x);
        let x = g.layer_norm(x);
        let x = g.activate(x, Activation::Relu);
        let y = g.dense(ONLINE, &self.latent, x);
        match &self.model {
            Model::Residual { .. } => Latent { z: g.layer_norm(y), cell: None },
            Model::Lstm { .. } => {
                let [_, columns] = g.shape(y);
                let (cell, open) = (g.slice(y, 0..columns / 2), g.slice(y, columns / 2..columns));
                let (inner, open) =
                    (g.activate(cell, Activation::Tanh), g.activate(open, Activation::Sigmoid));
                Latent { z: g.mul(open, inner), cell: Some(cell) }
            }
        }
    }

    /// The states that one action each leads to.
    pub fn step(&self, g: &mut dyn Graph, state: Latent, actions: &[u8]) -> Latent {
        match &self.model {
            Model::Residual { action, hidden, output } => {
                let hidden = g.dense_with_action(ONLINE, hidden, action, state.z, actions);
                arrive(g, state.z, hidden, output)
            }
            Model::Lstm { action, gates } => {
                let gates = g.dense_with_action(ONLINE, gates, action, state.z, actions);
                let (z, cell) = g.lstm(gates, state.cell, Squash::Tanh);
                Latent { z, cell: Some(cell) }
            }
        }
    }

    /// The states that every action leads to, `[states · actions, latent]`.
    pub fn step_all(&self, g: &mut dyn Graph, state: Latent) -> Latent {
        let (states, actions) = (g.shape(state.z)[0] as u32, self.actions as u32);
        let each: Vec<u32> = (0..states * actions).map(|i| i / actions).collect();
        let which: Vec<u32> = (0..states * actions).map(|i| i % actions).collect();
        let (layer, table) = match &self.model {
            Model::Residual { action, hidden, .. } => (hidden, action),
            Model::Lstm { action, gates } => (gates, action),
        };
        let linear = Dense { activation: Activation::Linear, ..layer.clone() };
        let (of_state, of_action) = (g.dense(ONLINE, &linear, state.z), g.parameter(ONLINE, table));
        let (of_state, of_action) = (g.gather(of_state, &each), g.gather(of_action, &which));
        let both = g.linear(&[(1.0, of_state), (1.0, of_action)], 0.0);
        match &self.model {
            Model::Residual { output, .. } => {
                let (hidden, z) = (g.activate(both, Activation::Relu), g.gather(state.z, &each));
                arrive(g, z, hidden, output)
            }
            Model::Lstm { .. } => {
                let cell = state.cell.map(|cell| g.gather(cell, &each));
                let (z, cell) = g.lstm(both, cell, Squash::Tanh);
                Latent { z, cell: Some(cell) }
            }
        }
    }

    /// Logits of π̂.
    pub fn policy(&self, g: &mut dyn Graph, z: Var) -> Var {
        self.policy.forward(g, ONLINE, z)
    }

    /// Logits of v̂ of one of the heads.
    pub fn value(&self, g: &mut dyn Graph, z: Var, head: usize) -> Var {
        self.with_prior(g, &self.values[head], &self.priors.values[head], z)
    }

    /// Logits of r̂.
    pub fn reward(&self, g: &mut dyn Graph, z: Var) -> Var {
        self.with_prior(g, &self.reward, &self.priors.reward, z)
    }

    fn with_prior(&self, g: &mut dyn Graph, head: &Head, prior: &Head, z: Var) -> Var {
        let own = head.forward(g, ONLINE, z);
        if self.priors.scale == 0.0 {
            return own;
        }
        let still = g.stop(z);
        let random = prior.forward(g, PRIORS, still);
        g.linear(&[(1.0, own), (self.priors.scale, random)], 0.0)
    }

    /// Whether a tensor belongs to a value or reward head, the only ones that move in the warm-up.
    pub fn is_predictor(slot: &Slot) -> bool {
        slot.name.starts_with("value.") || slot.name.starts_with("reward.")
    }

    /// The outputs of the priors for latent states: those of each value head, then that of the reward.
    pub fn prior_logits(&self, g: &mut dyn Graph, z: Var) -> Vec<Var> {
        let heads = self.priors.values.iter().chain([&self.priors.reward]);
        heads.map(|head| head.forward(g, PRIORS, z)).collect()
    }

    /// Starts the output of each value head and of the reward, in this order, at minus the given mean logits of its prior, times its scale.
    pub fn centre(&self, all: &mut [f32], means: &[Vec<f32>]) {
        for (head, means) in self.values.iter().chain([&self.reward]).zip(means) {
            if let Some(bias) = &head.output.bias {
                bias.of_mut(all).iter_mut().zip(means).for_each(|(b, m)| *b = -self.priors.scale * m);
            }
        }
    }

    /// Initial parameters: normal, of variance `2 / fan_in` before a ReLU; nearly zero outputs, biases zero.
    pub fn initial(&self, rng: &mut Rng) -> Vec<f32> {
        let mut all = vec![0.0; self.layout.len()];
        self.torso.initialise(&mut all, rng);
        draw(&self.features, &mut all, ROOT_2, rng);
        draw(&self.latent, &mut all, 1.0, rng);
        match &self.model {
            Model::Residual { action, hidden, output } => {
                normal(action.of_mut(&mut all), 1.0, rng);
                draw(hidden, &mut all, ROOT_2, rng);
                draw(output, &mut all, 0.5, rng);
            }
            Model::Lstm { action, gates } => {
                normal(action.of_mut(&mut all), 0.5, rng);
                draw(gates, &mut all, 1.0, rng);
            }
        }
        for head in [&self.policy, &self.reward].into_iter().chain(&self.values) {
            head.initialise(&mut all, SMALL_OUTPUT, rng);
        }
        all
    }

    /// The frozen parameters of the priors, whose outputs have the size of their inputs.
    pub fn initial_priors(&self, rng: &mut Rng) -> Vec<f32> {
        let mut all = vec![0.0; self.priors.layout.len()];
        for head in self.priors.values.iter().chain([&self.priors.reward]) {
            head.initialise(&mut all, 1.0, rng);
        }
        all
    }
}

/// `LN(z + W₂ hidden)`.
fn arrive(g: &mut dyn Graph, z: Var, hidden: Var, output: &Dense) -> Latent {
    let change = g.dense(ONLINE, output, hidden);
    let next = g.linear(&[(1.0, z), (1.0, change)], 0.0);
    Latent { z: g.layer_norm(next), cell: None }
}
