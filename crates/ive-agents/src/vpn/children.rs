//! The children of nodes of a plan: what every action leads to, at the price of one matrix product per node.
//!
//! The action enters the transition and the reward through one row of weights each, so the matrix products are made once
//! per node and not once per child; and since `e^{x+y} = eˣ eʸ`, so are the exponentials of the gates: a child costs
//! multiplications, two divisions and one exponential per unit. That is right while the rows of the actions are small, as
//! they are in every network we have trained; a network with larger ones is worked out child by child.

use multiversion::multiversion;

use super::network::Network;
use crate::nn::cpu::Packed;
use crate::nn::cpu::board::FEATURES;
use crate::nn::cpu::functions::{elu, exp_within, least, tanh};
use crate::nn::cpu::head::HEAD;
use crate::nn::cpu::lstm::{GATES, UNITS};
use crate::nn::cpu::torso::{Inference, TORSO};

/// Columns of the matrix product of a node: gates and the hidden layer of the reward.
const NODE: usize = GATES + HEAD;
/// Exponents of gates, and of the rows of an action, are limited to this, where a sigmoid has long been zero or one.
const LIMIT: f32 = 40.0;
/// Products of the two exponentials are right as long as the rows of the action keep within this in the exponent (a weight
/// of 20, or of 10 for tanh): beyond it a large row and a large gate of opposite signs no longer cancel. Initial rows are
/// of order one.
const LARGEST_ROW: f32 = 20.0;
/// `e²⁵`: the cube of one plus it is still a number.
const LARGE: f32 = 7.2e10;

/// The weights of a network in the form that planning likes.
#[derive(Clone, Debug)]
pub(super) struct Weights {
    torso: Inference,
    start: Packed,
    start_bias: Vec<f32>,
    node: Packed,
    node_bias: Vec<f32>,
    /// Whether an action has a row beyond [`LARGEST_ROW`], so that exponentials are not shared.
    apart: bool,
    /// Exponentials of the rows of each action, `[actions, NODE]`; the exponents themselves if they are not shared.
    action: Vec<f32>,
    /// The row of each action in the reward head itself, `[actions, HEAD]`.
    reward_action: Vec<f32>,
    reward_output: Vec<f32>,
    reward_bias: f32,
    value: Packed,
    value_hidden_bias: Vec<f32>,
    value_output: Vec<f32>,
    value_bias: f32,
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

impl Weights {
    pub(super) fn new(net: &Network) -> Self {
        Self {
            torso: Inference::new(&net.torso),
            start: Packed::new(TORSO, UNITS),
            start_bias: Vec::new(),
            node: Packed::new(UNITS, NODE),
            node_bias: vec![0.0; NODE],
            apart: false,
            action: vec![0.0; net.actions * NODE],
            reward_action: Vec::new(),
            reward_output: Vec::new(),
            reward_bias: 0.0,
            value: Packed::new(UNITS, HEAD),
            value_hidden_bias: Vec::new(),
            value_output: Vec::new(),
            value_bias: 0.0,
        }
    }

    /// Gates are stored as what goes into the exponential: −x for a sigmoid, −2x for tanh.
    pub(super) fn load(&mut self, net: &Network, x: &[f32]) {
        let keep = |to: &mut Vec<f32>, from: &[f32]| {
            to.clear();
            to.extend_from_slice(from);
        };
        self.torso.load(x);
        self.start.store(net.start.of(x), UNITS, 0, 1.0);
        keep(&mut self.start_bias, net.start_bias.of(x));
        let sign = |j: usize| if (UNITS..2 * UNITS).contains(&j) { -2.0 } else { -1.0 };
        for gate in 0..4 {
            self.node.store_columns(
                net.lstm.of(x),
                GATES,
                gate * UNITS..(gate + 1) * UNITS,
                sign(gate * UNITS),
            );
        }
        self.node.store(net.reward.hidden.of(x), HEAD, GATES, 1.0);
        for (j, (to, b)) in self.node_bias.iter_mut().zip(net.lstm_bias.of(x)).enumerate() {
            let forget = if (2 * UNITS..3 * UNITS).contains(&j) { 1.0 } else { 0.0 };
            *to = sign(j) * (b + forget);
        }
        self.node_bias[GATES..].copy_from_slice(net.reward.bias.of(x));
        for (a, row) in self.action.chunks_exact_mut(NODE).enumerate() {
            let gates = &net.lstm_action.of(x)[a * GATES..][..GATES];
            let reward = &net.reward_action.of(x)[a * HEAD..][..HEAD];
            for (j, (to, w)) in row.iter_mut().zip(gates.iter().chain(reward)).enumerate() {
                *to = if j < GATES { sign(j) * w } else { *w };
            }
        }
        self.apart = self.action.iter().any(|w| w.abs() > LARGEST_ROW);
        if !self.apart {
            self.action.iter_mut().for_each(|w| *w = exp_within(*w));
        }
        keep(&mut self.reward_action, net.reward_action.of(x));
        keep(&mut self.reward_output, net.reward.output.of(x));
        self.reward_bias = net.reward.output_bias.of(x)[0];
        self.value.store(net.value.hidden.of(x), HEAD, 0, 1.0);
        keep(&mut self.value_hidden_bias, net.value.bias.of(x));
        keep(&mut self.value_output, net.value.output.of(x));
        self.value_bias = net.value.output_bias.of(x)[0];
    }
}

impl Children {
    /// h⁰ of boards one after the other.
    pub(super) fn encode(&mut self, w: &Weights, boards: &[u64], count: usize, hidden: &mut Vec<f32>) {
        self.features.resize(count * FEATURES, 0.0);
        self.torso.resize(count * TORSO, 0.0);
        hidden.resize(count * UNITS, 0.0);
        w.torso.forward(boards, &mut self.features, &mut self.torso);
        w.start.product(&self.torso, &w.start_bias, hidden);
        tanh_all(hidden);
    }

    /// All children of some nodes: `[nodes, actions]` of latent states, rewards and values.
    pub(super) fn expand(&mut self, w: &Weights, hidden: &[f32], cell: &[f32], actions: usize) {
        let nodes = hidden.len() / UNITS;
        let children = nodes * actions;
        self.node.resize(nodes * NODE, 0.0);
        self.hidden.resize(children * UNITS, 0.0);
        self.cell.resize(children * UNITS, 0.0);
        self.head.resize(children * HEAD, 0.0);
        self.reward.resize(children, 0.0);
        self.value.resize(children, 0.0);
        w.node.product(hidden, &w.node_bias, &mut self.node);
        for n in 0..nodes {
            let node = &mut self.node[n * NODE..][..NODE];
            let units = n * actions * UNITS..(n + 1) * actions * UNITS;
            let (hidden, _) = self.hidden[units.clone()].as_chunks_mut();
            let (out, _) = self.cell[units].as_chunks_mut();
            let past = &cell[n * UNITS..][..UNITS];
            let rewards = &mut self.reward[n * actions..][..actions];
            if w.apart {
                transitions_apart(&node[..GATES], past, &w.action, hidden, out);
                outcomes_apart(&node[GATES..], &w.reward_action, &w.reward_output, w.reward_bias, rewards);
                continue;
            }
            transitions(&mut node[..GATES], past, &w.action, hidden, out);
            outcomes(
                &mut node[GATES..],
                &w.action,
                &w.reward_action,
                &w.reward_output,
                w.reward_bias,
                rewards,
            );
        }
        w.value.product(&self.hidden, &w.value_hidden_bias, &mut self.head);
        values(&self.head, &w.value_output, w.value_bias, &mut self.value);
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
    hidden: &mut [[f32; UNITS]],
    cell: &mut [[f32; UNITS]],
) {
    gates.iter_mut().for_each(|x| *x = exp_within(x.clamp(-LIMIT, LIMIT)));
    // Arrays of known length: the compiler then sees that they neither overlap nor end early.
    let ([i, g, f, o], [past]) = (gates.as_chunks::<UNITS>().0, past.as_chunks::<UNITS>().0) else { return };
    for ((action, hidden), cell) in action.chunks_exact(NODE).zip(hidden).zip(cell) {
        let [ai, ag, af, ao, ..] = action.as_chunks::<UNITS>().0 else { return };
        for j in 0..UNITS {
            // With e = exp(−x): σ(x) = 1/(1+e), and with e = exp(−2x): tanh(x) = (1−e)/(1+e).
            let ei = least(i[j] * ai[j], LARGE);
            let eg = least(g[j] * ag[j], LARGE);
            let ef = least(f[j] * af[j], LARGE);
            let both = (1.0 + ei) * (1.0 + eg);
            cell[j] = past[j].mul_add(both, (1.0 - eg) * (1.0 + ef)) / (both * (1.0 + ef));
        }
        // |c| grows by at most one with each step, so that its exponential is far from both ends.
        for j in 0..UNITS {
            let eo = least(o[j] * ao[j], LARGE);
            let ec = exp_within(-2.0 * cell[j]);
            hidden[j] = (1.0 - ec) / ((1.0 + eo) * (1.0 + ec));
        }
    }
}

/// [`transitions`] of rows of any size: `action` holds exponents, and each sum has an exponential of its own.
fn transitions_apart(
    gates: &[f32],
    past: &[f32],
    action: &[f32],
    hidden: &mut [[f32; UNITS]],
    cell: &mut [[f32; UNITS]],
) {
    for ((action, hidden), cell) in action.chunks_exact(NODE).zip(hidden).zip(cell) {
        for j in 0..UNITS {
            // A number beyond e⁴⁰ or below e⁻⁴⁰ makes no difference to one plus it, or to its reciprocal.
            let e = |gate: usize| {
                exp_within((gates[gate * UNITS + j] + action[gate * UNITS + j]).clamp(-LIMIT, LIMIT))
            };
            let [ei, eg, ef, eo] = [e(0), e(1), e(2), e(3)];
            cell[j] = past[j] / (1.0 + ef) + (1.0 - eg) / (1.0 + eg) / (1.0 + ei);
            hidden[j] = tanh(cell[j]) / (1.0 + eo);
        }
    }
}

/// [`outcomes`] of rows of any size.
fn outcomes_apart(node: &[f32], row: &[f32], output: &[f32], bias: f32, rewards: &mut [f32]) {
    for (reward, row) in rewards.iter_mut().zip(row.chunks_exact(HEAD)) {
        let units = node.iter().zip(row).zip(output);
        *reward = units.map(|((x, row), output)| output * elu(x + row)).sum::<f32>() + bias;
    }
}

/// r̂ of a node for every action.
#[multiversion(targets = "simd")]
fn outcomes(node: &mut [f32], action: &[f32], row: &[f32], output: &[f32], bias: f32, rewards: &mut [f32]) {
    let mut powers = [0.0f32; HEAD];
    for (p, x) in powers.iter_mut().zip(node.iter()) {
        *p = exp_within(x.clamp(-LIMIT, LIMIT));
    }
    let (node, output) = (&node[..HEAD], &output[..HEAD]);
    for ((reward, action), row) in
        rewards.iter_mut().zip(action.chunks_exact(NODE)).zip(row.chunks_exact(HEAD))
    {
        let (action, mut sums) = (&action[GATES..][..HEAD], [0.0f32; 8]);
        for j in (0..HEAD).step_by(8) {
            for (l, sum) in sums.iter_mut().enumerate() {
                let j = j + l;
                // elu(x) = max(x, 0) + min(eˣ, 1) − 1
                let x = node[j] + row[j];
                *sum +=
                    output[j] * ((if x > 0.0 { x } else { 0.0 }) + (least(powers[j] * action[j], 1.0) - 1.0));
            }
        }
        *reward = sums.iter().sum::<f32>() + bias;
    }
}

#[multiversion(targets = "simd")]
fn values(head: &[f32], output: &[f32], bias: f32, values: &mut [f32]) {
    let output = &output[..HEAD];
    for (value, row) in values.iter_mut().zip(head.chunks_exact(HEAD)) {
        let mut sums = [0.0f32; 8];
        for j in (0..HEAD).step_by(8) {
            for (l, sum) in sums.iter_mut().enumerate() {
                *sum += output[j + l] * elu(row[j + l]);
            }
        }
        *value = sums.iter().sum::<f32>() + bias;
    }
}
