//! What Dreamer learns from: the losses of its model, its actor and its value. Spec: Hafner et al., 2020.

use super::network::{Actor, Dynamics, Latent, Model, Normal, Value};
use crate::nn::{Activation, Block, Graph, Loss, Over, Var};

/// Sequences that were lived through, time by time: row `t · batch + b`.
#[derive(Clone, Debug, Default)]
pub struct Sequences {
    /// How many sequences there are.
    pub batch: usize,
    /// Standardised observations.
    pub observations: Vec<f32>,
    /// The action that led to each observation.
    pub actions: Vec<f32>,
    /// The reward that came with it.
    pub rewards: Vec<f32>,
}

/// What the losses of a model weigh.
#[derive(Clone, Copy, Debug)]
pub struct Weights {
    /// Of the divergence between posterior and prior.
    pub divergence: f64,
    /// A divergence below so many nats is free.
    pub free_nats: f64,
    /// Of the observation.
    pub observation: f64,
    /// Of the reward.
    pub reward: f64,
}

/// The losses of a model, and the posterior states, `[length · batch, ·]`.
#[derive(Clone, Copy, Debug)]
pub struct ModelLoss {
    /// Their weighted sum.
    pub total: Loss,
    /// `KL(posterior ‖ prior)`, mean over all steps.
    pub divergence: Loss,
    /// `½ ‖ô − o‖²`.
    pub observation: Loss,
    /// `½ (r̂ − r)²`.
    pub reward: Loss,
    /// The states.
    pub states: Latent,
    /// The distributions that their z are drawn from.
    pub posterior: Normal,
}

/// `w_kl max(KL, free) + w_o ½‖ô − o‖² + w_r ½(r̂ − r)²`, means over all steps, from states filtered with given noise.
/// Each sequence begins in a state of zeros.
pub fn of_model(
    model: &Model,
    g: &mut dyn Graph,
    p: Block,
    data: &Sequences,
    noise: &[f32],
    weights: &Weights,
) -> ModelLoss {
    let steps = data.rewards.len();
    let observations = g.input(&data.observations, data.observations.len() / steps);
    let embeddings = model.encode(g, p, observations);
    let zs = model.latent[0];
    let mut state = zeros(g, data.batch, model.latent);
    let (mut z, mut d, mut mean, mut std) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let width = data.actions.len() / steps;
    for start in (0..steps).step_by(data.batch) {
        let rows = start..start + data.batch;
        let action = g.input(&data.actions[rows.start * width..rows.end * width], width);
        let next = model.dynamics.advance(g, p, state, action);
        let embedding = g.rows(embeddings, rows.clone());
        let (m, s) = model.posterior(g, p, next, embedding);
        state = Latent { z: g.normal(m, s, &noise[rows.start * zs..rows.end * zs]), d: next };
        z.push(state.z);
        d.push(state.d);
        mean.push(m);
        std.push(s);
    }
    let states = Latent { z: g.stack(&z), d: g.stack(&d) };
    let posterior = (g.stack(&mean), g.stack(&std));
    let prior = model.dynamics.prior(g, p, states.d);
    let features = states.features(g);
    let (decoded, rewarded) = (model.decode(g, p, features), model.dynamics.reward(g, p, features));
    let rewards = g.input(&data.rewards, 1);
    let divergence = g.kl(posterior, prior, Over::Mean);
    let observation = g.gaussian(decoded, observations, Over::Mean);
    let reward = g.gaussian(rewarded, rewards, Over::Mean);
    let bounded = g.at_least(divergence, weights.free_nats);
    let total = g.total(&[
        (weights.divergence as f32, bounded),
        (weights.observation as f32, observation),
        (weights.reward as f32, reward),
    ]);
    ModelLoss { total, divergence, observation, reward, states, posterior }
}

/// Posterior states of the agent's own model, one after the other, and what led to them: row `t · batch + b`.
#[derive(Clone, Debug, Default)]
pub struct Filtered {
    /// z.
    pub z: Vec<f32>,
    /// d.
    pub d: Vec<f32>,
    /// Mean of the distribution of z.
    pub mean: Vec<f32>,
    /// Its standard deviation.
    pub std: Vec<f32>,
}

/// What a further model of an explicit ensemble learns from the states of the agent's own, which it does not change: from each state and
/// action the next d, z and reward, `½‖d̂ − d‖² + w_kl KL(posterior ‖ prior) + w_r ½(r̂ − r)²`.
pub fn of_further_model(
    dynamics: &Dynamics,
    g: &mut dyn Graph,
    p: Block,
    data: &Sequences,
    states: &Filtered,
    weights: &Weights,
) -> Loss {
    let steps = data.rewards.len();
    let [z, d] = [&states.z, &states.d].map(|x| x.len() / steps);
    // Each sequence begins in a state of zeros.
    let shifted = |g: &mut dyn Graph, x: &[f32], columns: usize| {
        let mut before = vec![0.0; data.batch * columns];
        before.extend_from_slice(&x[..x.len() - data.batch * columns]);
        g.input(&before, columns)
    };
    let before = Latent { z: shifted(g, &states.z, z), d: shifted(g, &states.d, d) };
    let actions = g.input(&data.actions, data.actions.len() / steps);
    let next = dynamics.advance(g, p, before, actions);
    let prior = dynamics.prior(g, p, next);
    let now = Latent { z: g.input(&states.z, z), d: g.input(&states.d, d) };
    let features = now.features(g);
    let rewarded = dynamics.reward(g, p, features);
    let rewards = g.input(&data.rewards, 1);
    let posterior = (g.input(&states.mean, z), g.input(&states.std, z));
    let followed = g.gaussian(next, now.d, Over::Mean);
    let divergence = g.kl(posterior, prior, Over::Mean);
    let bounded = g.at_least(divergence, weights.free_nats);
    let reward = g.gaussian(rewarded, rewards, Over::Mean);
    g.total(&[(1.0, followed), (weights.divergence as f32, bounded), (weights.reward as f32, reward)])
}

/// States of zeros, as at the beginning of a sequence.
pub fn zeros(g: &mut dyn Graph, rows: usize, [stochastic, deterministic]: [usize; 2]) -> Latent {
    Latent {
        z: g.input(&vec![0.0; rows * stochastic], stochastic),
        d: g.input(&vec![0.0; rows * deterministic], deterministic),
    }
}

/// λ-returns of states 1 to H whose value contains their own reward: `R_τ = r_τ + γ [(1 − λ) v_{τ+1} + λ R_{τ+1}]`,
/// `R_H = v_H`; gives R_1 to R_{H−1}, one below the other. Rows: all starts of τ = 1, then of τ = 2, …
pub fn lambda_returns(
    g: &mut dyn Graph,
    rewards: Var,
    values: Var,
    starts: usize,
    discount: f64,
    lambda: f64,
) -> Var {
    let horizon = g.shape(values)[0] / starts;
    let part = |g: &mut dyn Graph, x, t: usize| g.rows(x, t * starts..(t + 1) * starts);
    let mut returns = vec![part(g, values, horizon - 1)];
    for t in (0..horizon - 1).rev() {
        let (reward, value) = (part(g, rewards, t), part(g, values, t + 1));
        let (ahead, gain) = (returns[returns.len() - 1], discount * lambda);
        let mixed = [(1.0, reward), ((discount - gain) as f32, value), (gain as f32, ahead)];
        returns.push(g.linear(&mixed, 0.0));
    }
    returns.reverse();
    returns.pop();
    g.stack(&returns)
}

/// Noise of an imagination: of actions `[horizon · starts, motors]` and of latent states `[horizon · starts, stochastic]`.
#[derive(Clone, Debug, Default)]
pub struct Noise {
    /// Of the actions.
    pub actions: Vec<f32>,
    /// Of the latent states.
    pub states: Vec<f32>,
}

/// Three networks on one graph, and where their parameters are.
#[derive(Clone, Copy, Debug)]
pub struct Networks<'a> {
    /// The model.
    pub model: (&'a Model, Block),
    /// The values: one, or an explicit ensemble of them.
    pub values: &'a [(&'a Value, Block)],
    /// The actor.
    pub actor: (&'a Actor, Block),
}

/// What was imagined.
#[derive(Clone, Copy, Debug)]
pub struct Imagined {
    /// The features of states 1 to H, one below the other.
    pub features: Var,
    /// Standard deviations of the first actions, before they are squashed.
    pub std: Var,
}

/// Imagines so many steps. The actor does not see that its actions change what it will see: gradients flow through states and
/// actions, not through what it looks at.
pub fn imagine(
    nets: Networks<'_>,
    g: &mut dyn Graph,
    mut state: Latent,
    horizon: usize,
    noise: &Noise,
) -> Imagined {
    let ((model, m), (actor, a)) = (nets.model, nets.actor);
    let (motors, latents) = (noise.actions.len() / horizon, noise.states.len() / horizon);
    let (mut features, mut first) = (Vec::with_capacity(horizon), None);
    for t in 0..horizon {
        let seen = state.features(g);
        let seen = g.stop(seen);
        let (mean, std) = actor.distribution(g, a, seen);
        let sample = g.normal(mean, std, &noise.actions[t * motors..][..motors]);
        let action = g.activate(sample, Activation::Tanh);
        state = model.dynamics.imagine(g, m, state, action, Some(&noise.states[t * latents..][..latents]));
        features.push(state.features(g));
        first.get_or_insert(std);
    }
    Imagined { features: g.stack(&features), std: first.expect("a horizon is at least one step") }
}

/// What an imagination was worth.
#[derive(Clone, Debug)]
pub struct ActorLoss {
    /// `−mean(w R)`.
    pub loss: Loss,
    /// What was imagined.
    pub imagined: Imagined,
    /// λ-returns of states 1 to H − 1, by each value from its own bootstraps.
    pub returns: Vec<Var>,
}

/// `−mean(γ^{τ−1} R_τ)` over all imagined states; with several values, R is the mean of their returns.
pub fn of_actor(
    nets: Networks<'_>,
    g: &mut dyn Graph,
    starts: Latent,
    horizon: usize,
    noise: &Noise,
    [discount, lambda]: [f64; 2],
) -> ActorLoss {
    let count = g.shape(starts.d)[0];
    let imagined = imagine(nets, g, starts, horizon, noise);
    let rewards = nets.model.0.dynamics.reward(g, nets.model.1, imagined.features);
    let weights = weights(count, horizon, discount, -1.0);
    let share = 1.0 / nets.values.len() as f32;
    let (mut returns, mut losses) = (Vec::new(), Vec::new());
    for (value, p) in nets.values {
        let values = value.value(g, *p, imagined.features);
        let own = lambda_returns(g, rewards, values, count, discount, lambda);
        losses.push((share, g.sum(own, Over::Weights(&weights))));
        returns.push(own);
    }
    ActorLoss { loss: g.total(&losses), imagined, returns }
}

/// `mean(γ^{τ−1} ½ (v̂_τ − R_τ)²)`, from the features and returns of an imagination.
pub fn of_value(
    (value, p): (&Value, Block),
    g: &mut dyn Graph,
    features: &[f32],
    returns: &[f32],
    horizon: usize,
    discount: f64,
) -> Loss {
    let (rows, starts) = (returns.len(), returns.len() / (horizon - 1));
    let columns = features.len() / (rows + starts);
    let seen = g.input(&features[..rows * columns], columns);
    let values = value.value(g, p, seen);
    let wanted = g.input(returns, 1);
    g.gaussian(values, wanted, Over::Weights(&weights(starts, horizon, discount, 1.0)))
}

/// `sign γ^{τ−1} / count` for the states 1 to H − 1 of all starts.
fn weights(starts: usize, horizon: usize, discount: f64, sign: f64) -> Vec<f32> {
    let count = (starts * (horizon - 1)) as f64;
    let weight = |t: usize| (sign * discount.powi(t as i32) / count) as f32;
    (0..horizon - 1).flat_map(|t| std::iter::repeat_n(weight(t), starts)).collect()
}
