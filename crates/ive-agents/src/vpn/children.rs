//! The children of nodes of a plan: what every action leads to, at the price of one matrix product per node.
//!
//! The action enters the transition and the reward through one row of weights each, so the matrix products are made once
//! per node and not once per child; and since `e^{x+y} = eˣ eʸ`, so are the exponentials of the gates: a child costs
//! multiplications, two divisions and, where its cell is squashed by tanh, one exponential per unit. That is right while the
//! rows of the actions are small, as they are in every network we have trained; a network with larger ones is worked out
//! child by child.

use multiversion::multiversion;

use super::config::{Form, RewardLoss};
use super::heads::{Linear, Outcomes, Rows, Values, squash};
use super::network::{GATES, HEAD, Network, UNITS};
use crate::nn::cpu::Packed;
use crate::nn::cpu::board::FEATURES;
use crate::nn::cpu::functions::{exp_within, least, tanh};
use crate::nn::cpu::matmul::PANEL;
use crate::nn::cpu::torso::{Inference, TORSO};

/// Exponents of gates, and of the rows of an action, are limited to this, where a sigmoid has long been zero or one.
pub(super) const LIMIT: f32 = 40.0;
/// `e²⁵`: the cube of one plus it is still a number.
const LARGE: f32 = 7.2e10;

/// The weights of a network in the form that planning likes.
#[derive(Clone, Debug)]
pub(super) struct Weights {
    torso: Inference,
    /// Torso to h⁰; none if it is h⁰.
    start: Option<(Packed, Vec<f32>)>,
    relu: bool,
    /// The matrix product of a node: gates, linear rewards, hidden layers of rewards.
    node: Packed,
    node_bias: Vec<f32>,
    /// The rows of each action in the gates.
    action: Rows,
    /// Heads of rewards with a hidden layer: r̂ itself, and its prior.
    outcomes: Vec<Outcomes>,
    /// The column at which rewards begin that are linear in h.
    linear_rewards: Option<usize>,
    /// Whether r̂ is the sigmoid of what its heads say.
    squashed: bool,
    /// Heads of values, of which there may be both kinds.
    values: Vec<Values>,
    linear_value: Option<Linear>,
}

/// Buffers, made once, and the children that were imagined last.
#[derive(Clone, Debug, Default)]
pub(super) struct Children {
    features: Vec<f32>,
    torso: Vec<f32>,
    node: Vec<f32>,
    /// h of each child, `[nodes, actions, UNITS]`.
    pub(super) hidden: Vec<f32>,
    /// c of each child.
    pub(super) cell: Vec<f32>,
    head: Vec<f32>,
    /// r̂ of each child, `[nodes, actions]`.
    pub(super) reward: Vec<f32>,
    /// v̂ of each child.
    pub(super) value: Vec<f32>,
}

/// What goes into the exponential of a gate: −x for a sigmoid, −2x for tanh.
fn sign(column: usize) -> f32 {
    if (UNITS..2 * UNITS).contains(&column) { -2.0 } else { -1.0 }
}

impl Weights {
    pub(super) fn new(net: &Network) -> Self {
        let (scale, mut columns) = (net.design.prior_scale, GATES);
        let linear_rewards = net.reward.hidden.is_none().then_some(columns);
        if linear_rewards.is_some() {
            columns += net.actions.next_multiple_of(PANEL);
        }
        let priors = net.priors.as_ref();
        let mut outcomes = Vec::new();
        for (head, scale) in [(&net.reward, 1.0)].into_iter().chain(priors.map(|[prior, _]| (prior, scale))) {
            if head.hidden.is_some() {
                outcomes.push(Outcomes::new(head, scale, columns));
                columns += HEAD;
            }
        }
        let values = [(&net.value, 1.0)].into_iter().chain(priors.map(|[_, prior]| (prior, scale)));
        Self {
            torso: Inference::new(&net.torso),
            start: net.start.as_ref().map(|_| (Packed::new(TORSO, UNITS), Vec::new())),
            relu: net.design.form == Form::Relu,
            node: Packed::new(UNITS, columns),
            node_bias: vec![0.0; columns],
            action: Rows::default(),
            outcomes,
            linear_rewards,
            squashed: net.design.reward_loss == RewardLoss::CrossEntropy,
            values: values.filter_map(|(head, scale)| Values::new(head, scale)).collect(),
            linear_value: net.value.hidden.is_none().then(Linear::default),
        }
    }

    pub(super) fn load(&mut self, net: &Network, x: &[f32]) {
        self.torso.load(x);
        if let (Some((weight, bias)), Some(start)) = (&mut self.start, &net.start) {
            weight.store(start.weight.of(x), UNITS, 0, 1.0);
            bias.clear();
            bias.extend_from_slice(start.bias_of(x));
        }
        for gate in 0..4 {
            let columns = gate * UNITS..(gate + 1) * UNITS;
            self.node.store_columns(net.lstm.weight.of(x), GATES, columns, sign(gate * UNITS));
        }
        for (j, (to, b)) in self.node_bias.iter_mut().zip(net.lstm.bias_of(x)).enumerate() {
            let forget = if (2 * UNITS..3 * UNITS).contains(&j) { 1.0 } else { 0.0 };
            *to = sign(j) * (b + forget);
        }
        let rows = net.lstm_action.of(x).iter().enumerate();
        self.action.load(rows.map(|(i, w)| sign(i % GATES) * w));
        if let Some(at) = self.linear_rewards {
            let (weight, n) = (net.reward.output.weight.of(x), net.actions);
            let turned: Vec<f32> = (0..UNITS * n).map(|i| weight[i % n * UNITS + i / n]).collect();
            self.node.store(&turned, n, at, 1.0);
            self.node_bias[at..at + n].copy_from_slice(net.reward.output.bias.of(x));
        }
        for head in &mut self.outcomes {
            head.load(x, &mut self.node, &mut self.node_bias);
        }
        self.values.iter_mut().for_each(|head| head.load(x));
        if let Some(head) = &mut self.linear_value {
            head.load(&net.value.output, x);
        }
    }
}

impl Children {
    /// h⁰ and c⁰ of boards one after the other.
    pub(super) fn encode(
        &mut self,
        w: &Weights,
        boards: &[u64],
        count: usize,
        hidden: &mut Vec<f32>,
        cell: &mut Vec<f32>,
    ) {
        self.features.resize(count * FEATURES, 0.0);
        hidden.resize(count * UNITS, 0.0);
        cell.clear();
        let Some((start, bias)) = &w.start else {
            w.torso.forward(boards, &mut self.features, hidden);
            return cell.extend_from_slice(hidden);
        };
        self.torso.resize(count * TORSO, 0.0);
        w.torso.forward(boards, &mut self.features, &mut self.torso);
        start.product(&self.torso, bias, hidden);
        tanh_all(hidden);
        cell.resize(count * UNITS, 0.0);
    }

    /// All children of some nodes: `[nodes, actions]` of latent states, rewards and values.
    pub(super) fn expand(&mut self, w: &Weights, hidden: &[f32], cell: &[f32], actions: usize) {
        let (nodes, columns) = (hidden.len() / UNITS, w.node_bias.len());
        let children = nodes * actions;
        self.node.resize(nodes * columns, 0.0);
        self.hidden.resize(children * UNITS, 0.0);
        self.cell.resize(children * UNITS, 0.0);
        self.reward.resize(children, 0.0);
        self.value.resize(children, 0.0);
        w.node.product(hidden, &w.node_bias, &mut self.node);
        for n in 0..nodes {
            let node = &mut self.node[n * columns..][..columns];
            let units = n * actions * UNITS..(n + 1) * actions * UNITS;
            let (hidden, _) = self.hidden[units.clone()].as_chunks_mut();
            let (out, _) = self.cell[units].as_chunks_mut();
            let past = &cell[n * UNITS..][..UNITS];
            let (gates, rows) = (&mut node[..GATES], &w.action.0);
            if w.action.apart() {
                transitions_apart(gates, past, rows, w.relu, hidden, out);
            } else {
                transitions(gates, past, rows, w.relu, hidden, out);
            }
            let rewards = &mut self.reward[n * actions..][..actions];
            match w.linear_rewards {
                Some(at) => rewards.copy_from_slice(&node[at..at + actions]),
                None => rewards.fill(0.0),
            }
            w.outcomes.iter().for_each(|head| head.add(node, rewards));
            if w.squashed {
                squash(rewards);
            }
        }
        match &w.linear_value {
            Some(head) => head.write(&self.hidden, &mut self.value),
            None => self.value.fill(0.0),
        }
        for head in &w.values {
            head.add(&self.hidden, &mut self.head, &mut self.value);
        }
    }
}

#[multiversion(targets = "simd")]
fn tanh_all(x: &mut [f32]) {
    x.iter_mut().for_each(|x| *x = tanh(*x));
}

/// The latent states that follow a node, for every action. The gates of the node are replaced by their exponentials.
#[multiversion(targets = "simd")]
fn transitions(
    gates: &mut [f32],
    past: &[f32],
    action: &[f32],
    relu: bool,
    hidden: &mut [[f32; UNITS]],
    cell: &mut [[f32; UNITS]],
) {
    gates.iter_mut().for_each(|x| *x = exp_within(x.clamp(-LIMIT, LIMIT)));
    // Arrays of known length: the compiler then sees that they neither overlap nor end early.
    let ([i, g, f, o], [past]) = (gates.as_chunks::<UNITS>().0, past.as_chunks::<UNITS>().0) else { return };
    for ((action, hidden), cell) in action.chunks_exact(GATES).zip(hidden).zip(cell) {
        let [ai, ag, af, ao] = action.as_chunks::<UNITS>().0 else { return };
        for j in 0..UNITS {
            // With e = exp(−x): σ(x) = 1/(1+e), and with e = exp(−2x): tanh(x) = (1−e)/(1+e).
            let ei = least(i[j] * ai[j], LARGE);
            let eg = least(g[j] * ag[j], LARGE);
            let ef = least(f[j] * af[j], LARGE);
            let both = (1.0 + ei) * (1.0 + eg);
            cell[j] = past[j].mul_add(both, (1.0 - eg) * (1.0 + ef)) / (both * (1.0 + ef));
        }
        if relu {
            for j in 0..UNITS {
                let eo = least(o[j] * ao[j], LARGE);
                hidden[j] = above_zero(cell[j]) / (1.0 + eo);
            }
            continue;
        }
        // |c| grows by at most one with each step, so that its exponential is far from both ends.
        for j in 0..UNITS {
            let eo = least(o[j] * ao[j], LARGE);
            let ec = exp_within(-2.0 * cell[j]);
            hidden[j] = (1.0 - ec) / ((1.0 + eo) * (1.0 + ec));
        }
    }
}

/// max(x, 0); what is not a number stays so.
#[inline(always)]
fn above_zero(x: f32) -> f32 {
    if x < 0.0 { 0.0 } else { x }
}

/// [`transitions`] of rows of any size: `action` holds exponents, and each sum has an exponential of its own.
fn transitions_apart(
    gates: &[f32],
    past: &[f32],
    action: &[f32],
    relu: bool,
    hidden: &mut [[f32; UNITS]],
    cell: &mut [[f32; UNITS]],
) {
    for ((action, hidden), cell) in action.chunks_exact(GATES).zip(hidden).zip(cell) {
        for j in 0..UNITS {
            // A number beyond e⁴⁰ or below e⁻⁴⁰ makes no difference to one plus it, or to its reciprocal.
            let e = |gate: usize| {
                exp_within((gates[gate * UNITS + j] + action[gate * UNITS + j]).clamp(-LIMIT, LIMIT))
            };
            let [ei, eg, ef, eo] = [e(0), e(1), e(2), e(3)];
            cell[j] = past[j] / (1.0 + ef) + (1.0 - eg) / (1.0 + eg) / (1.0 + ei);
            hidden[j] = if relu { above_zero(cell[j]) } else { tanh(cell[j]) } / (1.0 + eo);
        }
    }
}
