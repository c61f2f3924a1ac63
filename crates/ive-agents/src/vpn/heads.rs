//! The heads of a network in the form that planning likes. Of several value heads a plan needs the mean, which is a head
//! whose outputs have the mean of their weights.

use multiversion::multiversion;

use super::children::LIMIT;
use super::network::{HEAD, Head, UNITS};
use crate::nn::cpu::Packed;
use crate::nn::cpu::functions::{elu, exp_within, least, sigmoid};
use crate::nn::{Dense, Readout, Slot};

/// Products of two exponentials are right as long as the rows of the action keep within this in the exponent (a weight of
/// 20, or of 10 for tanh): beyond it a large row and a large gate of opposite signs no longer cancel. Initial rows are of
/// order one.
const LARGEST_ROW: f32 = 20.0;

/// What actions add to exponents: their exponentials, or, if one of them is too large to share, the exponents themselves.
#[derive(Clone, Debug, Default)]
pub(super) struct Rows(pub(super) Vec<f32>, bool);

impl Rows {
    pub(super) fn load(&mut self, exponents: impl Iterator<Item = f32>) {
        self.0.clear();
        self.0.extend(exponents);
        self.1 = self.0.iter().any(|w| w.abs() > LARGEST_ROW);
        if !self.1 {
            self.0.iter_mut().for_each(|w| *w = exp_within(*w));
        }
    }

    /// Whether they are exponents.
    pub(super) fn apart(&self) -> bool {
        self.1
    }
}

/// Mean over outputs of their weights and biases, times `scale`.
fn mean_output(output: &Readout, scale: f32, x: &[f32], weight: &mut Vec<f32>) -> f32 {
    let (rows, bias) = (output.weight.of(x), output.bias.of(x));
    let (inputs, scale) = (rows.len() / bias.len(), scale / bias.len() as f32);
    weight.clear();
    weight.resize(inputs, 0.0);
    for row in rows.chunks_exact(inputs) {
        weight.iter_mut().zip(row).for_each(|(to, w)| *to += scale * w);
    }
    scale * bias.iter().sum::<f32>()
}

/// Values that are linear in h.
#[derive(Clone, Debug, Default)]
pub(super) struct Linear {
    weight: Vec<f32>,
    bias: f32,
}

impl Linear {
    pub(super) fn load(&mut self, output: &Readout, x: &[f32]) {
        self.bias = mean_output(output, 1.0, x, &mut self.weight);
    }

    /// Of each row of h.
    pub(super) fn write(&self, hidden: &[f32], values: &mut [f32]) {
        linear(hidden, &self.weight, self.bias, values);
    }
}

/// Values by way of a hidden layer.
#[derive(Clone, Debug)]
pub(super) struct Values {
    layer: Dense,
    readout: Readout,
    scale: f32,
    hidden: Packed,
    hidden_bias: Vec<f32>,
    output: Vec<f32>,
    bias: f32,
}

impl Values {
    /// None for a head without a hidden layer.
    pub(super) fn new(head: &Head, scale: f32) -> Option<Self> {
        let layer = head.hidden.clone()?;
        let (hidden, readout) = (Packed::new(UNITS, HEAD), head.output.clone());
        Some(Self { layer, readout, scale, hidden, hidden_bias: Vec::new(), output: Vec::new(), bias: 0.0 })
    }

    pub(super) fn load(&mut self, x: &[f32]) {
        self.hidden.store(self.layer.weight.of(x), HEAD, 0, 1.0);
        self.hidden_bias.clear();
        self.hidden_bias.extend_from_slice(self.layer.bias_of(x));
        self.bias = mean_output(&self.readout, self.scale, x, &mut self.output);
    }

    /// Adds those of each row of h; `units` is a buffer.
    pub(super) fn add(&self, hidden: &[f32], units: &mut Vec<f32>, values: &mut [f32]) {
        units.resize(values.len() * HEAD, 0.0);
        self.hidden.product(hidden, &self.hidden_bias, units);
        add_values(units, &self.output, self.bias, values);
    }
}

/// Rewards by way of a hidden layer, to which each action adds a row.
#[derive(Clone, Debug)]
pub(super) struct Outcomes {
    head: Head,
    scale: f32,
    /// Where its hidden layer begins in the product of a node.
    at: usize,
    powers: Rows,
    /// The rows themselves, `[actions, HEAD]`.
    rows: Vec<f32>,
    output: Vec<f32>,
    bias: f32,
}

impl Outcomes {
    pub(super) fn new(head: &Head, scale: f32, at: usize) -> Self {
        let (head, powers) = (head.clone(), Rows::default());
        Self { head, scale, at, powers, rows: Vec::new(), output: Vec::new(), bias: 0.0 }
    }

    /// Also writes the columns of the node.
    pub(super) fn load(&mut self, x: &[f32], node: &mut Packed, node_bias: &mut [f32]) {
        if let Some(layer) = &self.head.hidden {
            node.store(layer.weight.of(x), HEAD, self.at, 1.0);
            node_bias[self.at..self.at + HEAD].copy_from_slice(layer.bias_of(x));
        }
        self.rows.clear();
        self.rows.extend_from_slice(self.head.action.as_ref().map_or(&[], |slot: &Slot| slot.of(x)));
        self.powers.load(self.rows.iter().copied());
        self.bias = mean_output(&self.head.output, self.scale, x, &mut self.output);
    }

    /// Adds those of every action of a node.
    pub(super) fn add(&self, node: &[f32], rewards: &mut [f32]) {
        let node = &node[self.at..self.at + HEAD];
        if self.powers.apart() {
            outcomes_apart(node, &self.rows, &self.output, self.bias, rewards);
        } else {
            outcomes(node, &self.powers.0, &self.rows, &self.output, self.bias, rewards);
        }
    }
}

/// [`outcomes`] of rows of any size.
fn outcomes_apart(node: &[f32], row: &[f32], output: &[f32], bias: f32, rewards: &mut [f32]) {
    for (reward, row) in rewards.iter_mut().zip(row.chunks_exact(HEAD)) {
        let units = node.iter().zip(row).zip(output);
        *reward += units.map(|((x, row), output)| output * elu(x + row)).sum::<f32>() + bias;
    }
}

/// Adds r̂ of a node for every action.
#[multiversion(targets = "simd")]
fn outcomes(node: &[f32], action: &[f32], row: &[f32], output: &[f32], bias: f32, rewards: &mut [f32]) {
    let mut powers = [0.0f32; HEAD];
    for (p, x) in powers.iter_mut().zip(node.iter()) {
        *p = exp_within(x.clamp(-LIMIT, LIMIT));
    }
    let (node, output) = (&node[..HEAD], &output[..HEAD]);
    for ((reward, action), row) in
        rewards.iter_mut().zip(action.chunks_exact(HEAD)).zip(row.chunks_exact(HEAD))
    {
        let mut sums = [0.0f32; 8];
        for j in (0..HEAD).step_by(8) {
            for (l, sum) in sums.iter_mut().enumerate() {
                let j = j + l;
                // elu(x) = max(x, 0) + min(eˣ, 1) − 1
                let x = node[j] + row[j];
                *sum +=
                    output[j] * ((if x > 0.0 { x } else { 0.0 }) + (least(powers[j] * action[j], 1.0) - 1.0));
            }
        }
        *reward += sums.iter().sum::<f32>() + bias;
    }
}

/// Adds v̂ of each row of hidden units.
#[multiversion(targets = "simd")]
fn add_values(units: &[f32], output: &[f32], bias: f32, values: &mut [f32]) {
    let output = &output[..HEAD];
    for (value, row) in values.iter_mut().zip(units.chunks_exact(HEAD)) {
        let mut sums = [0.0f32; 8];
        for j in (0..HEAD).step_by(8) {
            for (l, sum) in sums.iter_mut().enumerate() {
                *sum += output[j + l] * elu(row[j + l]);
            }
        }
        *value += sums.iter().sum::<f32>() + bias;
    }
}

/// `w · h + b` of each row.
#[multiversion(targets = "simd")]
fn linear(hidden: &[f32], weight: &[f32], bias: f32, values: &mut [f32]) {
    let weight = &weight[..UNITS];
    for (value, row) in values.iter_mut().zip(hidden.chunks_exact(UNITS)) {
        let mut sums = [0.0f32; 16];
        for j in (0..UNITS).step_by(16) {
            for (l, sum) in sums.iter_mut().enumerate() {
                *sum += weight[j + l] * row[j + l];
            }
        }
        *value = sums.iter().sum::<f32>() + bias;
    }
}

/// σ of each.
#[multiversion(targets = "simd")]
pub(super) fn squash(rewards: &mut [f32]) {
    rewards.iter_mut().for_each(|r| *r = sigmoid(*r));
}
