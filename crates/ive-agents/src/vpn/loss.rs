//! The loss of a value prediction network and its gradient, by hand.
//!
//! `L = Σ Huber(r̂ − r) + Huber(v̂ − R)` over all predictions of a [`Batch`]. Spec: Oh et al., 2017, Sec. 3.3.
//!
//! Predictions of depth l stand in a block of `reach[l]` rows; blocks stand one behind the other, so that everything
//! that does not depend on the previous depth is one matrix product over all of them.

use super::batch::Batch;
use super::network::Network;
use crate::nn::cpu::board::FEATURES;
use crate::nn::cpu::head::HEAD;
use crate::nn::cpu::lstm::{self, GATES, Kept, Outputs, UNITS};
use crate::nn::cpu::rows::{add_action_rows, add_tanh, sum_by_action, sum_rows, through_tanh};
use crate::nn::cpu::{Matrix, huber, matmul, matmul_nt, matmul_tn};

/// The losses of one update.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Losses {
    /// Of rewards.
    pub reward: f64,
    /// Of values.
    pub value: f64,
}

/// Buffers of the forward and backward pass, made once.
#[derive(Clone, Debug, Default)]
pub struct Workspace {
    features: Vec<f32>,
    torso: Vec<f32>,
    before: Vec<f32>,
    hidden: Vec<f32>,
    cell: Vec<f32>,
    cell_tanh: Vec<f32>,
    gates: Vec<f32>,
    reward_hidden: Vec<f32>,
    value_hidden: Vec<f32>,
    outputs: Vec<f32>,
    d_before: Vec<f32>,
    d_hidden: Vec<f32>,
    d_cell: Vec<f32>,
    d_gates: Vec<f32>,
    d_head: Vec<f32>,
    d_torso: Vec<f32>,
    d_features: Vec<f32>,
}

impl Workspace {
    fn fit(&mut self, starts: usize, rows: usize) {
        for (buffer, n) in [
            (&mut self.features, starts * FEATURES),
            (&mut self.d_features, starts * FEATURES),
            (&mut self.torso, starts * UNITS),
            (&mut self.d_torso, starts * UNITS),
            (&mut self.d_cell, starts * UNITS),
            (&mut self.before, rows * UNITS),
            (&mut self.hidden, rows * UNITS),
            (&mut self.cell, rows * UNITS),
            (&mut self.cell_tanh, rows * UNITS),
            (&mut self.d_before, rows * UNITS),
            (&mut self.d_hidden, rows * UNITS),
            (&mut self.gates, rows * GATES),
            (&mut self.d_gates, rows * GATES),
            (&mut self.reward_hidden, rows * HEAD),
            (&mut self.value_hidden, rows * HEAD),
            (&mut self.d_head, rows * HEAD),
            (&mut self.outputs, rows),
        ] {
            buffer.resize(n, 0.0);
        }
    }
}

/// Writes the gradient of the loss into `gradient` and returns the loss.
pub fn gradient(
    net: &Network,
    x: &[f32],
    batch: &Batch,
    work: &mut Workspace,
    gradient: &mut [f32],
) -> Losses {
    work.fit(batch.starts(), batch.predictions());
    encode(net, x, batch, work);
    predict(net, x, batch, work);
    let losses = heads(net, x, batch, work, gradient);
    unpredict(net, x, batch, work, gradient);
    unencode(net, x, batch, work, gradient);
    losses
}

/// h⁰ of all starts, into the first block of `before`.
fn encode(net: &Network, x: &[f32], batch: &Batch, work: &mut Workspace) {
    let n = batch.starts();
    net.torso.forward(x, &batch.boards, &mut work.features, &mut work.torso);
    let weight = Matrix::new(net.start.of(x), UNITS, UNITS);
    let first = &mut work.before[..n * UNITS];
    matmul(first, Matrix::new(&work.torso, n, UNITS), weight);
    add_tanh(first, net.start_bias.of(x));
}

/// The transitions, depth by depth.
fn predict(net: &Network, x: &[f32], batch: &Batch, work: &mut Workspace) {
    let weight = Matrix::new(net.lstm.of(x), UNITS, GATES);
    let mut at = 0;
    for (l, &m) in batch.reach.iter().enumerate() {
        let block = at * UNITS..(at + m) * UNITS;
        let gates = &mut work.gates[at * GATES..(at + m) * GATES];
        matmul(gates, Matrix::new(&work.before[block.clone()], m, UNITS), weight);
        add_action_rows(gates, net.lstm_action.of(x), net.lstm_bias.of(x), &batch.actions[at..at + m]);
        let (past, cell) = work.cell.split_at_mut(block.start);
        let past = if l == 0 { None } else { Some(&past[(at - batch.reach[l - 1]) * UNITS..]) };
        let out = Outputs {
            cell: &mut cell[..m * UNITS],
            cell_tanh: &mut work.cell_tanh[block.clone()],
            hidden: &mut work.hidden[block.clone()],
        };
        lstm::forward(gates, past, out);
        if let Some(&next) = batch.reach.get(l + 1) {
            let n = next * UNITS;
            work.before[block.end..][..n].copy_from_slice(&work.hidden[block.start..][..n]);
        }
        at += m;
    }
}

/// Both heads over all predictions: losses, their gradients, and what flows back into `d_before` and `d_hidden`.
fn heads(net: &Network, x: &[f32], batch: &Batch, work: &mut Workspace, gradient: &mut [f32]) -> Losses {
    let rows = batch.predictions();
    let mut losses = Losses::default();
    // r̂ looks at the state before the transition and at the action.
    let weight = Matrix::new(net.reward.hidden.of(x), UNITS, HEAD);
    matmul(&mut work.reward_hidden, Matrix::new(&work.before, rows, UNITS), weight);
    let bias = net.reward.bias.of(x);
    add_action_rows(&mut work.reward_hidden, net.reward_action.of(x), bias, &batch.actions);
    net.reward.forward(x, &mut work.reward_hidden, &mut work.outputs);
    for (y, target) in work.outputs.iter_mut().zip(&batch.rewards) {
        losses.reward += f64::from(huber(*y - target));
        *y = (*y - target).clamp(-1.0, 1.0);
    }
    let (hidden, d_out) = (&work.reward_hidden, &work.outputs);
    net.reward.backward(x, (hidden, d_out, &work.before), &mut work.d_head, &mut work.d_before, gradient);
    sum_by_action(&work.d_head, &batch.actions, net.reward_action.of_mut(gradient));
    // v̂ looks at the state after it.
    let weight = Matrix::new(net.value.hidden.of(x), UNITS, HEAD);
    matmul(&mut work.value_hidden, Matrix::new(&work.hidden, rows, UNITS), weight);
    add_action_rows(&mut work.value_hidden, &[], net.value.bias.of(x), &batch.actions);
    net.value.forward(x, &mut work.value_hidden, &mut work.outputs);
    for ((y, target), weight) in work.outputs.iter_mut().zip(&batch.values).zip(&batch.value_weights) {
        losses.value += f64::from(weight * huber(*y - target));
        *y = weight * (*y - target).clamp(-1.0, 1.0);
    }
    let (hidden, d_out) = (&work.value_hidden, &work.outputs);
    net.value.backward(x, (hidden, d_out, &work.hidden), &mut work.d_head, &mut work.d_hidden, gradient);
    losses
}

/// Back through the transitions; leaves the gradient with respect to h⁰ in the first block of `d_before`.
fn unpredict(net: &Network, x: &[f32], batch: &Batch, work: &mut Workspace, gradient: &mut [f32]) {
    let weight = Matrix::new(net.lstm.of(x), UNITS, GATES);
    work.d_cell.fill(0.0);
    let mut end = batch.predictions();
    for (l, &m) in batch.reach.iter().enumerate().rev() {
        let at = end - m;
        let block = at * UNITS..end * UNITS;
        if let Some(&next) = batch.reach.get(l + 1) {
            // What the next depth wants of this one's h.
            let wanted = &work.d_before[end * UNITS..][..next * UNITS];
            for (d, w) in work.d_hidden[block.start..].iter_mut().zip(wanted) {
                *d += w;
            }
        }
        let gates = at * GATES..end * GATES;
        let past = if l == 0 { None } else { Some(&work.cell[(at - batch.reach[l - 1]) * UNITS..]) };
        let kept =
            Kept { gates: &work.gates[gates.clone()], past, cell_tanh: &work.cell_tanh[block.clone()] };
        let d_hidden = &work.d_hidden[block.clone()];
        lstm::backward(kept, d_hidden, &mut work.d_cell, &mut work.d_gates[gates.clone()]);
        let d_gates = Matrix::new(&work.d_gates[gates], m, GATES);
        matmul_nt(&mut work.d_before[block], d_gates, weight, true);
        end = at;
    }
    let rows = batch.predictions();
    let d_gates = Matrix::new(&work.d_gates, rows, GATES);
    matmul_tn(net.lstm.of_mut(gradient), Matrix::new(&work.before, rows, UNITS), d_gates);
    sum_by_action(&work.d_gates, &batch.actions, net.lstm_action.of_mut(gradient));
    sum_rows(&work.d_gates, net.lstm_bias.of_mut(gradient));
}

/// Back through the encoding.
fn unencode(net: &Network, x: &[f32], batch: &Batch, work: &mut Workspace, gradient: &mut [f32]) {
    let n = batch.starts();
    let first = n * UNITS;
    let d_start = &mut work.d_before[..first];
    through_tanh(d_start, &work.before[..first]);
    let d = Matrix::new(d_start, n, UNITS);
    matmul_tn(net.start.of_mut(gradient), Matrix::new(&work.torso, n, UNITS), d);
    matmul_nt(&mut work.d_torso, d, Matrix::new(net.start.of(x), UNITS, UNITS), false);
    sum_rows(d_start, net.start_bias.of_mut(gradient));
    let kept = (&*work.features, &*work.torso);
    net.torso.backward(x, &batch.boards, kept, &mut work.d_torso, &mut work.d_features, gradient);
}
