//! The networks of Dreamer, and where their parameters lie.
//!
//! ```text
//! encoder      e = ELU MLP(o)                                or convolutions, for pictures (`senses.rs`)
//! state        d' = GRU(ELU(W [z, a]); d)                    deterministic
//! prior        z' ~ N(m, s²),  m, s = MLP(d')                what the model expects
//! posterior    z' ~ N(m, s²),  m, s = MLP([d', e])           what it makes of the observation
//! decoder      ô = MLP([z, d]),   reward  r̂ = MLP([z, d])
//! value        v̂ = MLP([z, d]),   actor   a = tanh(N(m, s²)),  m, s = MLP([z, d])
//! ```
//!
//! A latent state is (z, d), its features are [z, d]. Rewards belong to the *state*: v̂(s) contains the reward of s itself
//! (spec: Hafner et al., 2020, and its published code), so a k-step value is `Σ_{i<k} γⁱ r̂(sⁱ) + γᵏ v̂(sᵏ)`.

use ive::Rng;

use super::config::Sizes;
use super::senses::{Decoder, Encoder};
use crate::nn::layout::{glorot, orthogonal};
use crate::nn::{Activation, Block, Dense, Graph, Layout, Var};

/// The least standard deviation of a latent state.
const LATENT_STD: f32 = 0.1;
/// The actor's mean lies within ±this before it is squashed.
const ACTOR_MEAN: f32 = 5.0;
/// `ln(e⁵ − 1)`: an output of zero is a standard deviation of five.
const ACTOR_STD_SHIFT: f32 = 4.993_239;
/// The least standard deviation of an action.
const ACTOR_STD: f32 = 1e-4;

/// Hidden layers of ELUs and a linear output.
#[derive(Clone, Debug)]
pub struct Mlp(Vec<Dense>);

impl Mlp {
    /// Adds layers of these names and sizes to a layout.
    pub(super) fn new(
        layout: &mut Layout,
        names: &[[&'static str; 2]],
        sizes: &[usize],
        last: Activation,
    ) -> Self {
        assert_eq!(names.len() + 1, sizes.len(), "a name for each layer");
        let layer = |(i, names): (usize, &[&'static str; 2])| {
            let activation = if i + 1 == sizes.len() - 1 { last } else { Activation::Elu };
            Dense::new(layout, *names, [sizes[i], sizes[i + 1]], activation)
        };
        Self(names.iter().enumerate().map(layer).collect())
    }

    /// Its output.
    pub fn forward(&self, g: &mut dyn Graph, p: Block, x: Var) -> Var {
        self.0.iter().fold(x, |x, layer| g.dense(p, layer, x))
    }

    /// Glorot weights, biases zero.
    pub(super) fn initialise(&self, all: &mut [f32], rng: &mut Rng) {
        for layer in &self.0 {
            glorot(layer.weight.of_mut(all), layer.inputs(), layer.outputs(), rng);
        }
    }
}

/// A batch of latent states on a graph.
#[derive(Clone, Copy, Debug)]
pub struct Latent {
    /// z, `[states, stochastic]`.
    pub z: Var,
    /// d, `[states, deterministic]`.
    pub d: Var,
}

impl Latent {
    /// [z, d].
    pub fn features(self, g: &mut dyn Graph) -> Var {
        g.columns(&[self.z, self.d])
    }
}

/// A normal distribution of each row: mean and standard deviation.
pub type Normal = (Var, Var);

/// Mean and standard deviation `softplus(s) + least` of outputs [m, s].
fn normal(g: &mut dyn Graph, outputs: Var, least: f32) -> Normal {
    let [_, columns] = g.shape(outputs);
    let mean = g.slice(outputs, 0..columns / 2);
    let raw = g.slice(outputs, columns / 2..columns);
    let soft = g.activate(raw, Activation::Softplus);
    (mean, g.linear(&[(1.0, soft)], least))
}

/// What the model expects without looking: the deterministic state, the prior, and the reward.
#[derive(Clone, Debug)]
pub struct Dynamics {
    input: Dense,
    gru_input: Dense,
    gru_recurrent: Dense,
    prior: Mlp,
    reward: Mlp,
}

impl Dynamics {
    /// Adds its tensors to a layout.
    pub fn new(layout: &mut Layout, sizes: &Sizes) -> Self {
        let Sizes { action, stochastic: z, deterministic: d, width, .. } = *sizes;
        let linear = Activation::Linear;
        Self {
            input: Dense::new(layout, ["input", "input.bias"], [z + action, d], Activation::Elu),
            gru_input: Dense::new(layout, ["gru.input", "gru.input.bias"], [d, 3 * d], linear),
            gru_recurrent: Dense::new(layout, ["gru.recurrent", "gru.recurrent.bias"], [d, 3 * d], linear),
            prior: Mlp::new(
                layout,
                &[["prior.0", "prior.0.bias"], ["prior.1", "prior.1.bias"]],
                &[d, d, 2 * z],
                linear,
            ),
            reward: Mlp::new(
                layout,
                &[
                    ["reward.0", "reward.0.bias"],
                    ["reward.1", "reward.1.bias"],
                    ["reward.2", "reward.2.bias"],
                ],
                &[z + d, width, width, 1],
                linear,
            ),
        }
    }

    /// d' of a state and an action.
    pub fn advance(&self, g: &mut dyn Graph, p: Block, state: Latent, action: Var) -> Var {
        let recurrent = self.recurrent(g, p, state.d);
        self.advance_with(g, p, state, recurrent, action)
    }

    /// The product of the GRU with d, which no action changes.
    pub(super) fn recurrent(&self, g: &mut dyn Graph, p: Block, d: Var) -> Var {
        g.dense(p, &self.gru_recurrent, d)
    }

    fn advance_with(&self, g: &mut dyn Graph, p: Block, state: Latent, recurrent: Var, action: Var) -> Var {
        let both = g.columns(&[state.z, action]);
        let x = g.dense(p, &self.input, both);
        let input = g.dense(p, &self.gru_input, x);
        g.gru(input, recurrent, state.d)
    }

    /// z as the model expects it.
    pub fn prior(&self, g: &mut dyn Graph, p: Block, d: Var) -> Normal {
        let outputs = self.prior.forward(g, p, d);
        normal(g, outputs, LATENT_STD)
    }

    /// One imagined step: the prior, sampled with given noise. No noise is its mean.
    pub fn imagine(
        &self,
        g: &mut dyn Graph,
        p: Block,
        state: Latent,
        action: Var,
        noise: Option<&[f32]>,
    ) -> Latent {
        let recurrent = self.recurrent(g, p, state.d);
        self.imagine_with(g, p, state, recurrent, action, noise)
    }

    /// The same where the [`recurrent`](Self::recurrent) product is there already.
    pub(super) fn imagine_with(
        &self,
        g: &mut dyn Graph,
        p: Block,
        state: Latent,
        recurrent: Var,
        action: Var,
        noise: Option<&[f32]>,
    ) -> Latent {
        let d = self.advance_with(g, p, state, recurrent, action);
        let (mean, std) = self.prior(g, p, d);
        Latent { z: noise.map_or(mean, |noise| g.normal(mean, std, noise)), d }
    }

    /// r̂ of the state itself.
    pub fn reward(&self, g: &mut dyn Graph, p: Block, features: Var) -> Var {
        self.reward.forward(g, p, features)
    }

    /// Glorot weights, the recurrent products orthogonal, biases zero.
    pub fn initialise(&self, all: &mut [f32], rng: &mut Rng) {
        for layer in [&self.input, &self.gru_input] {
            glorot(layer.weight.of_mut(all), layer.inputs(), layer.outputs(), rng);
        }
        orthogonal(self.gru_recurrent.weight.of_mut(all), self.gru_recurrent.inputs(), rng);
        self.prior.initialise(all, rng);
        self.reward.initialise(all, rng);
    }
}

/// The recurrent state-space model.
#[derive(Clone, Debug)]
pub struct Model {
    /// Its tensors in order.
    pub layout: Layout,
    /// Numbers of an observation.
    pub observation: usize,
    /// Columns of z and d.
    pub latent: [usize; 2],
    /// What it expects.
    pub dynamics: Dynamics,
    encoder: Encoder,
    posterior: Mlp,
    decoder: Decoder,
}

impl Model {
    /// For so many observed numbers and motors.
    pub fn new(sizes: &Sizes) -> Self {
        let Sizes { observation, stochastic: z, deterministic: d, .. } = *sizes;
        let mut layout = Layout::default();
        let (encoder, embedding) = Encoder::new(&mut layout, sizes);
        let dynamics = Dynamics::new(&mut layout, sizes);
        let posterior = Mlp::new(
            &mut layout,
            &[["posterior.0", "posterior.0.bias"], ["posterior.1", "posterior.1.bias"]],
            &[d + embedding, d, 2 * z],
            Activation::Linear,
        );
        let decoder = Decoder::new(&mut layout, sizes);
        Self { layout, observation, latent: [z, d], dynamics, encoder, posterior, decoder }
    }

    /// e of observations.
    pub fn encode(&self, g: &mut dyn Graph, p: Block, observations: Var) -> Var {
        self.encoder.encode(g, p, observations)
    }

    /// z after the observation.
    pub fn posterior(&self, g: &mut dyn Graph, p: Block, d: Var, embedding: Var) -> Normal {
        let both = g.columns(&[d, embedding]);
        let outputs = self.posterior.forward(g, p, both);
        normal(g, outputs, LATENT_STD)
    }

    /// ô.
    pub fn decode(&self, g: &mut dyn Graph, p: Block, features: Var) -> Var {
        self.decoder.decode(g, p, features)
    }

    /// Initial parameters: Glorot, the recurrent products orthogonal, biases zero.
    pub fn initial(&self, rng: &mut Rng) -> Vec<f32> {
        let mut all = vec![0.0; self.layout.len()];
        self.encoder.initialise(&mut all, rng);
        self.posterior.initialise(&mut all, rng);
        self.decoder.initialise(&mut all, rng);
        self.dynamics.initialise(&mut all, rng);
        all
    }
}

/// v̂.
#[derive(Clone, Debug)]
pub struct Value {
    /// Its tensors in order.
    pub layout: Layout,
    mlp: Mlp,
}

impl Value {
    /// For latent states of these sizes.
    pub fn new(sizes: &Sizes) -> Self {
        let mut layout = Layout::default();
        let names = [["value.0", "value.0.bias"], ["value.1", "value.1.bias"], ["value.2", "value.2.bias"]];
        let mlp = Mlp::new(
            &mut layout,
            &names,
            &[sizes.features(), sizes.width, sizes.width, 1],
            Activation::Linear,
        );
        Self { layout, mlp }
    }

    /// v̂ of features.
    pub fn value(&self, g: &mut dyn Graph, p: Block, features: Var) -> Var {
        self.mlp.forward(g, p, features)
    }

    /// Initial parameters: Glorot, biases zero.
    pub fn initial(&self, rng: &mut Rng) -> Vec<f32> {
        let mut all = vec![0.0; self.layout.len()];
        self.mlp.initialise(&mut all, rng);
        all
    }
}

/// An action with given noise: tanh of a sample.
pub(super) fn drawn(g: &mut dyn Graph, (mean, std): Normal, noise: &[f32]) -> Var {
    let sample = g.normal(mean, std, noise);
    g.activate(sample, Activation::Tanh)
}

/// The actor.
#[derive(Clone, Debug)]
pub struct Actor {
    /// Its tensors in order.
    pub layout: Layout,
    /// Numbers of an action.
    pub motors: usize,
    mlp: Mlp,
}

impl Actor {
    /// For latent states of these sizes.
    pub fn new(sizes: &Sizes) -> Self {
        let mut layout = Layout::default();
        let names = [["actor.0", "actor.0.bias"], ["actor.1", "actor.1.bias"], ["actor.2", "actor.2.bias"]];
        let all = [sizes.features(), sizes.width, sizes.width, 2 * sizes.action];
        let mlp = Mlp::new(&mut layout, &names, &all, Activation::Linear);
        Self { layout, motors: sizes.action, mlp }
    }

    /// The distribution of an action before it is squashed: mean `5 tanh(m/5)`, standard deviation `softplus(s + ln(e⁵ − 1)) + 1e-4`.
    pub fn distribution(&self, g: &mut dyn Graph, p: Block, features: Var) -> Normal {
        let outputs = self.mlp.forward(g, p, features);
        let [_, columns] = g.shape(outputs);
        let mean = g.slice(outputs, 0..columns / 2);
        let scaled = g.linear(&[(1.0 / ACTOR_MEAN, mean)], 0.0);
        let bounded = g.activate(scaled, Activation::Tanh);
        let raw = g.slice(outputs, columns / 2..columns);
        let shifted = g.linear(&[(1.0, raw)], ACTOR_STD_SHIFT);
        let soft = g.activate(shifted, Activation::Softplus);
        (g.linear(&[(ACTOR_MEAN, bounded)], 0.0), g.linear(&[(1.0, soft)], ACTOR_STD))
    }

    /// An action: tanh of a sample with given noise. No noise is the mode.
    pub fn act(&self, g: &mut dyn Graph, p: Block, features: Var, noise: Option<&[f32]>) -> Var {
        let (mean, std) = self.distribution(g, p, features);
        match noise {
            Some(noise) => drawn(g, (mean, std), noise),
            None => g.activate(mean, Activation::Tanh),
        }
    }

    /// Initial parameters: Glorot, biases zero.
    pub fn initial(&self, rng: &mut Rng) -> Vec<f32> {
        let mut all = vec![0.0; self.layout.len()];
        self.mlp.initialise(&mut all, rng);
        all
    }
}
