//! How Muesli learns: policy gradient, improved policies, values and rewards along the model. Spec: Hessel et al., 2021, Eqs. 5 to 11.
//!
//! From every state of a window the model is unrolled along the actions taken, for as long as the states really visited lie within the
//! window. Behind the end of the world rewards and values are trained to be zero, and nothing is learned of the policy; behind a cut
//! nothing is learned at all.

use ive_envs::StepKind;

use super::batch::Batch;
use super::network::Network;
use super::targets::Targets;
use crate::categorical::{Support, compress};
use crate::nn::{Executor, Graph, Loss, Over, Parameters, Var};

/// What the parts of the loss weigh.
#[derive(Clone, Copy, Debug)]
pub struct Weights {
    /// Of the policy gradient.
    pub gradient: f64,
    /// Of the improved policy of the state itself.
    pub improvement: f64,
    /// Of improved policies along the model.
    pub model: f64,
    /// Of the values.
    pub value: f64,
    /// Of the rewards.
    pub reward: f64,
}

/// The parts of a loss, and what came by on the way.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Losses {
    /// `−mean(min(1, π/π_b) log π(a) adv)`.
    pub gradient: f64,
    /// `mean KL(π_CMPO ‖ π)`.
    pub improvement: f64,
    /// The same along the model, mean over depths.
    pub model: f64,
    /// Cross-entropy of values, mean over depths and heads.
    pub value: f64,
    /// Cross-entropy of rewards, mean over depths.
    pub reward: f64,
    /// Their weighted sum.
    pub total: f64,
    /// Mean entropy of π.
    pub entropy: f64,
    /// Mean of min(1, π/π_b).
    pub weight: f64,
}

/// Targets and weights of all rows, depth by depth: 0 to K for values, 1 to K for rewards.
#[derive(Debug, Default)]
struct Rows {
    values: Vec<f32>,
    value_weights: Vec<f32>,
    rewards: Vec<f32>,
    reward_weights: Vec<f32>,
    /// Of policies: the state whose improved policy is wanted, and what it weighs. Depth 0 has weights of its own.
    states: Vec<usize>,
    policy_weights: Vec<f32>,
}

/// Which targets belong to which row.
fn rows(batch: &Batch, targets: &Targets, depth: usize) -> Rows {
    let (n, starts) = (batch.sequences, batch.starts());
    let mut rows = Rows::default();
    rows.values.extend_from_slice(&targets.returns[..starts]);
    rows.value_weights.resize(starts, 1.0 / (starts as f32 * (depth + 1) as f32));
    rows.states.extend(0..starts);
    rows.policy_weights.resize(starts, 1.0 / starts as f32);
    // Whether the world of a start ended, or its episode was cut off, before the depth reached.
    let (mut ended, mut cut) = (vec![false; starts], vec![false; starts]);
    for k in 1..=depth {
        let (count, first) = (batch.reach(k), [rows.values.len(), rows.rewards.len()]);
        for i in 0..count {
            let (step, state) = (i + (k - 1) * n, i + k * n);
            rows.rewards.push(if ended[i] { 0.0 } else { batch.rewards[step] });
            rows.reward_weights.push(if cut[i] { 0.0 } else { 1.0 });
            if !ended[i] && !cut[i] {
                ended[i] = batch.kinds[step] == StepKind::Terminated;
                cut[i] = batch.kinds[step] == StepKind::Truncated;
            }
            rows.values.push(if ended[i] { 0.0 } else { targets.returns[state] });
            rows.value_weights.push(if cut[i] { 0.0 } else { 1.0 });
            rows.states.push(state);
            rows.policy_weights.push(if cut[i] || ended[i] { 0.0 } else { 1.0 });
        }
        share(&mut rows.value_weights[first[0]..], depth + 1, 0.0);
        share(&mut rows.reward_weights[first[1]..], depth, 0.0);
        share(&mut rows.policy_weights[first[0]..], depth, 1e-6);
    }
    rows
}

/// Divides the weights of one depth by their sum and the number of depths.
fn share(weights: &mut [f32], depths: usize, least: f32) {
    let sum: f32 = weights.iter().sum::<f32>() + least;
    if sum > 0.0 {
        weights.iter_mut().for_each(|w| *w /= sum * depths as f32);
    }
}

/// The distributions over atoms whose means are these numbers.
fn distributions(g: &mut dyn Graph, numbers: &[f32], support: &Support) -> Var {
    let mut all = vec![0.0; numbers.len() * support.atoms()];
    for (number, out) in numbers.iter().zip(all.chunks_exact_mut(support.atoms())) {
        support.two_hot(compress(f64::from(*number)), out);
    }
    g.input(&all, support.atoms())
}

/// What is learned from.
#[derive(Clone, Copy, Debug)]
pub struct Lesson<'a> {
    /// What happened.
    pub batch: &'a Batch,
    /// What is learned towards.
    pub targets: &'a Targets,
    /// Atoms of value and reward.
    pub supports: &'a [Support; 2],
    /// K.
    pub depth: usize,
    /// What the parts weigh.
    pub weights: Weights,
    /// Whether only values and rewards are learned: the warm-up.
    pub warm_up: bool,
}

/// The loss of a lesson, and its gradient.
pub fn gradient(
    net: &Network,
    [x, priors]: [&[f32]; 2],
    lesson: &Lesson<'_>,
    executor: &mut Executor,
    gradient: &mut [f32],
) -> Losses {
    executor.run(&[Parameters::trained(x), Parameters::frozen(priors)], |g| {
        let (total, losses) = loss(net, g, lesson);
        g.backward(total, &mut [gradient]);
        losses
    })
}

/// The loss of a lesson on a graph.
pub fn loss(net: &Network, g: &mut dyn Graph, lesson: &Lesson<'_>) -> (Loss, Losses) {
    let Lesson { batch, targets, supports, depth, weights, warm_up } = *lesson;
    let starts = batch.starts();
    let rows = rows(batch, targets, depth);
    let mut state = net.root(g, &batch.seen, [0, starts]);
    let mut all = vec![state.z];
    for k in 1..=depth {
        let count = batch.reach(k);
        let here = state.first(g, count);
        state = net.step(g, here, &batch.actions[(k - 1) * batch.sequences..][..count]);
        all.push(state.z);
    }
    let (every, arrived) = (g.stack(&all), g.stack(&all[1..]));
    let wanted = distributions(g, &rows.values, &supports[0]);
    let heads: Vec<(f32, Loss)> = (0..net.num_heads())
        .map(|head| {
            let logits = net.value(g, every, head);
            let loss = g.cross_entropy(logits, wanted, Over::Weights(&rows.value_weights));
            (1.0 / net.num_heads() as f32, loss)
        })
        .collect();
    let value = g.total(&heads);
    let wanted = distributions(g, &rows.rewards, &supports[1]);
    let logits = net.reward(g, arrived);
    let reward = g.cross_entropy(logits, wanted, Over::Weights(&rows.reward_weights));
    let mut parts = vec![(weights.value as f32, value), (weights.reward as f32, reward)];
    let mut losses = Losses { value: g.loss(value), reward: g.loss(reward), ..Losses::default() };
    if !warm_up {
        let policies = net.policy(g, every);
        let (here, ahead) = (g.rows(policies, 0..starts), g.rows(policies, starts..rows.states.len()));
        let taken = taken(g, here, batch, targets, &mut losses);
        let near = towards(g, here, targets, &rows, 0..starts);
        let far = towards(g, ahead, targets, &rows, starts..rows.states.len());
        losses.gradient = g.loss(taken);
        losses.improvement = g.loss(near.0) - near.1;
        losses.model = g.loss(far.0) - far.1;
        parts.extend([
            (weights.gradient as f32, taken),
            (weights.improvement as f32, near.0),
            (weights.model as f32, far.0),
        ]);
    }
    let total = g.total(&parts);
    losses.total = weights.gradient * losses.gradient
        + weights.improvement * losses.improvement
        + weights.model * losses.model
        + weights.value * losses.value
        + weights.reward * losses.reward;
    (total, losses)
}

/// The policy gradient with the clipped weight outside: `−mean(min(1, π(a)/π_b(a)) log π(a) adv)`.
fn taken(g: &mut dyn Graph, logits: Var, batch: &Batch, targets: &Targets, losses: &mut Losses) -> Loss {
    let (log, mut said) = (g.log_softmax(logits), Vec::new());
    g.read(log, &mut said);
    let (starts, actions) = (batch.starts(), said.len() / batch.starts());
    let at = |i: usize| i * actions + usize::from(batch.actions[i]);
    let ratio = |i: usize| (said[at(i)].exp() / batch.behaviour[at(i)]).min(1.0);
    let ratios: Vec<f32> = (0..starts).map(ratio).collect();
    let weights: Vec<f32> =
        ratios.iter().zip(&targets.advantages).map(|(r, adv)| -r * adv / starts as f32).collect();
    losses.weight = ratios.iter().map(|&r| f64::from(r)).sum::<f64>() / starts as f64;
    losses.entropy = -said.iter().map(|&l| f64::from(l.exp() * l)).sum::<f64>() / starts as f64;
    let log_of_taken = g.pick(log, &batch.actions);
    g.sum(log_of_taken, Over::Weights(&weights))
}

/// The cross-entropy of some rows of policies with improved ones, and what it is less than: with it subtracted, the divergence.
fn towards(
    g: &mut dyn Graph,
    logits: Var,
    targets: &Targets,
    all: &Rows,
    rows: std::ops::Range<usize>,
) -> (Loss, f64) {
    let actions = g.shape(logits)[1];
    let (states, weights) = (&all.states[rows.clone()], &all.policy_weights[rows]);
    let policy = |state: usize| &targets.improved[state * actions..][..actions];
    let wanted: Vec<f32> = states.iter().flat_map(|&state| policy(state)).copied().collect();
    let entropy = |row: &[f32]| -> f64 { row.iter().map(|&p| f64::from(-p * (p + 1e-12).ln())).sum() };
    let each = wanted.chunks_exact(actions).zip(weights);
    let least = each.map(|(row, &w)| if w > 0.0 { f64::from(w) * entropy(row) } else { 0.0 }).sum();
    let wanted = g.input(&wanted, actions);
    (g.cross_entropy(logits, wanted, Over::Weights(weights)), least)
}
