//! The parts of a value prediction network for MinAtar, and where their parameters lie.
//!
//! ```text
//!              paper                                       relu
//! encoding     h⁰ = tanh(S relu(T relu(conv x))), c⁰ = 0   h⁰ = c⁰ = relu(T relu(conv x))
//! transition   c' = σ(f + 1) c + σ(i) tanh(g)              the same
//!              h' = σ(o) tanh(c')                          h' = σ(o) relu(c')
//! outcome      r̂(s, a) = MLP([h, one-hot a])               r̂(s, a) = O_a · h + b_a
//! value        v̂(s) = MLP(h)                               v̂(s) = w · h + b
//! ```
//!
//! with the gates i, g, f, o linear in h and the one-hot action. A latent state is (h, c). Rewards belong to the
//! transition, values to what comes after: a k-step value is `Σ_{i<k} γⁱ r̂ⁱ⁺¹ + γᵏ v̂(sᵏ)`. The value of a freshly encoded
//! state is not trained (Oh et al., 2017), unless `train_zero` says so.
//!
//! Two additions, both absent by default. Several value heads with the same targets are an explicit ensemble; plans use
//! their mean. Random priors (Osband et al., 2018) add a frozen MLP to every head, `r̂ + β p(h, a)` and `v̂ + β p(h)`; their
//! parameters are read from [`PRIORS`].

use ive::Rng;

use super::batch::Batch;
use super::config::{Form, RewardLoss};
use crate::nn::cpu::torso::{TORSO, Torso};
use crate::nn::layout::{column_of_norm, he};
use crate::nn::{Activation, Block, Dense, Graph, Layout, Readout, Slot, Squash, Var};

/// Units of the LSTM.
pub const UNITS: usize = 128;
/// Its four gates.
pub const GATES: usize = 4 * UNITS;
/// Hidden units of a head.
pub const HEAD: usize = 64;

/// Where the parameters of random priors are read: give a graph the same parameters twice, the second time frozen.
pub const PRIORS: Block = Block(1);

/// How a network is made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Design {
    /// Its formulas.
    pub form: Form,
    /// With cross-entropy rewards are `σ(z)`, within zero and one.
    pub reward_loss: RewardLoss,
    /// How many value heads there are.
    pub value_heads: usize,
    /// β, the factor on random priors; 0 is none.
    pub prior_scale: f32,
}

/// The network as published.
impl Default for Design {
    fn default() -> Self {
        Self { form: Form::Paper, reward_loss: RewardLoss::Huber, value_heads: 1, prior_scale: 0.0 }
    }
}

/// Where the parameters lie.
#[derive(Clone, Debug)]
pub struct Network {
    /// Their names in order.
    pub layout: Layout,
    /// How it was made.
    pub design: Design,
    /// How many actions there are.
    pub actions: usize,
    /// Boards to features.
    pub torso: Torso,
    /// Features to h⁰; none if they are h⁰.
    pub start: Option<Dense>,
    /// What an action adds to the gates, `[actions, GATES]`.
    pub lstm_action: Slot,
    /// h to gates.
    pub lstm: Dense,
    /// r̂: of the action that is put in, or one output for each action.
    pub reward: Head,
    /// v̂, one output for each value head.
    pub value: Head,
    /// Random priors of r̂ and v̂.
    pub priors: Option<[Head; 2]>,
}

/// Outputs that are linear in h, or in a hidden layer of ELUs.
#[derive(Clone, Debug)]
pub struct Head {
    /// UNITS to HEAD.
    pub hidden: Option<Dense>,
    /// What an action adds to the hidden layer, `[actions, HEAD]`; a head of values has none.
    pub action: Option<Slot>,
    /// The outputs.
    pub output: Readout,
}

impl Head {
    fn linear(layout: &mut Layout, names: [&'static str; 2], outputs: usize) -> Self {
        Self { hidden: None, action: None, output: Readout::new(layout, names, [UNITS, outputs]) }
    }

    /// With a hidden layer, and a table of that name if there are actions.
    fn hidden(
        layout: &mut Layout,
        [hidden, bias, output, output_bias]: [&'static str; 4],
        table: Option<(&'static str, usize)>,
        outputs: usize,
    ) -> Self {
        Self {
            action: table.map(|(name, actions)| layout.add(name, &[actions, HEAD])),
            hidden: Some(Dense::new(layout, [hidden, bias], [UNITS, HEAD], Activation::Elu)),
            output: Readout::new(layout, [output, output_bias], [HEAD, outputs]),
        }
    }

    /// `[states, outputs]`.
    fn forward(&self, g: &mut dyn Graph, p: Block, hidden: Var, actions: &[u8]) -> Var {
        let units = match (&self.hidden, &self.action) {
            (None, _) => hidden,
            (Some(layer), None) => g.dense(p, layer, hidden),
            (Some(layer), Some(table)) => g.dense_with_action(p, layer, table, hidden, actions),
        };
        g.readout(p, &self.output, units)
    }

    /// He for what comes before the outputs, for so many inputs.
    fn initialise(&self, all: &mut [f32], inputs: usize, rng: &mut Rng) {
        let before = [self.action.as_ref(), self.hidden.as_ref().map(|layer| &layer.weight)];
        before.into_iter().flatten().for_each(|slot| he(slot.of_mut(all), inputs, rng));
    }

    /// The weights of each output.
    fn rows<'a>(&self, all: &'a mut [f32]) -> impl Iterator<Item = &'a mut [f32]> {
        let outputs = self.output.outputs();
        self.output.weight.of_mut(all).chunks_exact_mut(self.output.weight.range.len() / outputs)
    }
}

/// A batch of latent states on a graph.
#[derive(Clone, Copy, Debug)]
pub struct Latent {
    /// h, `[states, UNITS]`.
    pub hidden: Var,
    /// c; none is zero.
    pub cell: Option<Var>,
}

/// What a network says of a [`Batch`].
#[derive(Clone, Copy, Debug)]
pub struct Predictions {
    /// r̂ of each step, `[predictions, 1]`.
    pub rewards: Var,
    /// What r̂ is the sigmoid of, where it is one.
    pub logits: Option<Var>,
    /// v̂ of each start, if it was asked for, and behind each step, `[starts + predictions, value heads]`.
    pub values: Var,
}

impl Network {
    /// As published, for boards with this many channels.
    pub fn new(channels: usize, actions: usize) -> Self {
        Self::designed(channels, actions, Design::default())
    }

    /// Made in another way.
    pub fn designed(channels: usize, actions: usize, design: Design) -> Self {
        let mut all = Layout::default();
        let (relu, heads) = (design.form == Form::Relu, design.value_heads);
        let torso = Torso::new(&mut all, channels);
        let start =
            (!relu).then(|| Dense::new(&mut all, ["start", "start.bias"], [TORSO, UNITS], Activation::Tanh));
        let lstm_action = all.add("lstm.action", &[actions, GATES]);
        let lstm = Dense::new(&mut all, ["lstm.recurrent", "lstm.bias"], [UNITS, GATES], Activation::Linear);
        let (reward, value) = if relu {
            (
                Head::linear(&mut all, ["reward.output", "reward.output.bias"], actions),
                Head::linear(&mut all, ["value.output", "value.output.bias"], heads),
            )
        } else {
            let reward = ["reward.hidden", "reward.bias", "reward.output", "reward.output.bias"];
            let value = ["value.hidden", "value.bias", "value.output", "value.output.bias"];
            (
                Head::hidden(&mut all, reward, Some(("reward.action", actions)), 1),
                Head::hidden(&mut all, value, None, heads),
            )
        };
        let priors = (design.prior_scale > 0.0).then(|| {
            let reward =
                ["prior.reward", "prior.reward.bias", "prior.reward.output", "prior.reward.output.bias"];
            let value = ["prior.value", "prior.value.bias", "prior.value.output", "prior.value.output.bias"];
            [
                Head::hidden(&mut all, reward, Some(("prior.reward.action", actions)), 1),
                Head::hidden(&mut all, value, None, heads),
            ]
        });
        Self { layout: all, design, actions, torso, start, lstm_action, lstm, reward, value, priors }
    }

    /// h⁰ and c⁰ of boards one after the other.
    pub fn encode(&self, g: &mut dyn Graph, p: Block, boards: &[u64]) -> Latent {
        let features = self.torso.forward(g, p, boards);
        match &self.start {
            Some(start) => Latent { hidden: g.dense(p, start, features), cell: None },
            None => Latent { hidden: features, cell: Some(features) },
        }
    }

    /// The states that actions lead to.
    pub fn transition(&self, g: &mut dyn Graph, p: Block, state: Latent, actions: &[u8]) -> Latent {
        let gates = g.dense_with_action(p, &self.lstm, &self.lstm_action, state.hidden, actions);
        let squash = if self.design.form == Form::Relu { Squash::Relu } else { Squash::Tanh };
        let (hidden, cell) = g.lstm(gates, state.cell, squash);
        Latent { hidden, cell: Some(cell) }
    }

    /// r̂(s, a), from h of s, `[states, 1]`.
    pub fn reward(&self, g: &mut dyn Graph, p: Block, hidden: Var, actions: &[u8]) -> Var {
        let z = self.reward_before_squashing(g, p, hidden, actions);
        self.squashed(g, z)
    }

    /// z, of which r̂ may be the sigmoid.
    fn reward_before_squashing(&self, g: &mut dyn Graph, p: Block, hidden: Var, actions: &[u8]) -> Var {
        let all = self.reward.forward(g, p, hidden, actions);
        let one = if self.reward.action.is_some() { all } else { g.pick(all, actions) };
        match &self.priors {
            None => one,
            Some([prior, _]) => {
                let prior = prior.forward(g, PRIORS, hidden, actions);
                g.linear(&[(1.0, one), (self.design.prior_scale, prior)], 0.0)
            }
        }
    }

    fn squashed(&self, g: &mut dyn Graph, z: Var) -> Var {
        match self.design.reward_loss {
            RewardLoss::Huber => z,
            RewardLoss::CrossEntropy => g.activate(z, Activation::Sigmoid),
        }
    }

    /// v̂(s) of each value head, from h of s, `[states, value heads]`.
    pub fn values(&self, g: &mut dyn Graph, p: Block, hidden: Var) -> Var {
        let heads = self.value.forward(g, p, hidden, &[]);
        match &self.priors {
            None => heads,
            Some([_, prior]) => {
                let prior = prior.forward(g, PRIORS, hidden, &[]);
                g.linear(&[(1.0, heads), (self.design.prior_scale, prior)], 0.0)
            }
        }
    }

    /// v̂(s), the mean of the value heads, `[states, 1]`.
    pub fn value(&self, g: &mut dyn Graph, p: Block, hidden: Var) -> Var {
        let heads = self.values(g, p, hidden);
        if self.design.value_heads == 1 { heads } else { g.row_mean(heads) }
    }

    /// All predictions of a batch, depth by depth, and if `zero` the values of its starts before them. Starts with the most
    /// depths come first, so those that go on are the first rows; the heads look at all depths at once.
    pub fn unroll(&self, g: &mut dyn Graph, p: Block, batch: &Batch, zero: bool) -> Predictions {
        let mut state = self.encode(g, p, &batch.boards);
        let mut after = if zero { vec![state.hidden] } else { Vec::new() };
        let (mut before, mut rest) = (Vec::new(), &*batch.actions);
        for &count in &batch.reach {
            let (actions, behind) = rest.split_at(count);
            let here = Latent {
                hidden: g.rows(state.hidden, 0..count),
                cell: state.cell.map(|cell| g.rows(cell, 0..count)),
            };
            state = self.transition(g, p, here, actions);
            before.push(here.hidden);
            after.push(state.hidden);
            rest = behind;
        }
        // Rewards belong to the state before a step, values to the one behind it.
        let (before, after) = (g.stack(&before), g.stack(&after));
        let z = self.reward_before_squashing(g, p, before, &batch.actions);
        let logits = (self.design.reward_loss == RewardLoss::CrossEntropy).then_some(z);
        Predictions { rewards: self.squashed(g, z), logits, values: self.values(g, p, after) }
    }

    /// Initial parameters: He, with `input_scale` on the convolution and `action_scale` on the rows of the action, nearly
    /// zero outputs, biases zero (the forget gate has a constant one). Several value heads and priors, which are there to
    /// differ, have outputs of order one.
    pub fn initial(&self, input_scale: f64, action_scale: f64, rng: &mut Rng) -> Vec<f32> {
        let mut all = vec![0.0; self.layout.len()];
        self.torso.initialise(&mut all, he, false, rng);
        if let Some(start) = &self.start {
            he(start.weight.of_mut(&mut all), TORSO, rng);
        }
        let inputs = UNITS + self.actions;
        for slot in [&self.lstm_action, &self.lstm.weight] {
            he(slot.of_mut(&mut all), inputs, rng);
        }
        self.reward.initialise(&mut all, inputs, rng);
        self.value.initialise(&mut all, UNITS, rng);
        let spread = if self.design.value_heads > 1 { 1.0 } else { 0.01 };
        for (head, norm) in [(&self.reward, 0.01), (&self.value, spread)] {
            head.rows(&mut all).for_each(|row| column_of_norm(row, norm, rng));
        }
        let rows = [Some(&self.lstm_action), self.reward.action.as_ref()].into_iter().flatten();
        let scales = rows.map(|slot| (slot, action_scale)).chain([(&self.torso.conv, input_scale)]);
        for (slot, scale) in scales {
            slot.of_mut(&mut all).iter_mut().for_each(|w| *w *= scale as f32);
        }
        for (prior, inputs) in self.priors.iter().flatten().zip([inputs, UNITS]) {
            prior.initialise(&mut all, inputs, rng);
            prior.rows(&mut all).for_each(|row| column_of_norm(row, 1.0, rng));
        }
        all
    }
}
