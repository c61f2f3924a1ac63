//! The loss of a deep Q-network and its gradient, by hand.

use super::network::{Network, dot};
use crate::nn::cpu::board::FEATURES;
use crate::nn::cpu::huber;
use crate::nn::cpu::torso::TORSO;

/// Transitions of an update, with the targets `y = r + γ max_a' Q⁻(s', a')` worked out.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// Boards, `[transitions, words]`.
    pub boards: Vec<u64>,
    /// Actions taken.
    pub actions: Vec<u8>,
    /// What Q of them should be.
    pub targets: Vec<f32>,
}

/// Buffers of the forward and backward pass, made once.
#[derive(Clone, Debug, Default)]
pub struct Workspace {
    features: Vec<f32>,
    torso: Vec<f32>,
    d_torso: Vec<f32>,
    d_features: Vec<f32>,
}

/// Writes the gradient of the mean of `Huber(Q(s, a) − y)` into `gradient` and returns that mean.
pub fn gradient(net: &Network, x: &[f32], batch: &Batch, work: &mut Workspace, gradient: &mut [f32]) -> f64 {
    let n = batch.actions.len();
    for (buffer, width) in [
        (&mut work.features, FEATURES),
        (&mut work.d_features, FEATURES),
        (&mut work.torso, TORSO),
        (&mut work.d_torso, TORSO),
    ] {
        buffer.resize(n * width, 0.0);
    }
    net.output.of_mut(gradient).fill(0.0);
    net.output_bias.of_mut(gradient).fill(0.0);
    net.torso.forward(x, &batch.boards, &mut work.features, &mut work.torso);
    let mut loss = 0.0;
    let rows = work.torso.chunks_exact(TORSO).zip(work.d_torso.chunks_exact_mut(TORSO));
    for ((row, d_row), (&action, target)) in rows.zip(batch.actions.iter().zip(&batch.targets)) {
        let action = usize::from(action);
        let at = action * TORSO..(action + 1) * TORSO;
        let weights = &net.output.of(x)[at.clone()];
        let error = dot(row, weights) + net.output_bias.of(x)[action] - target;
        loss += f64::from(huber(error));
        let d = error.clamp(-1.0, 1.0) / n as f32;
        net.output_bias.of_mut(gradient)[action] += d;
        net.output.of_mut(gradient)[at].iter_mut().zip(row).for_each(|(g, y)| *g += d * y);
        d_row.iter_mut().zip(weights).for_each(|(g, w)| *g = d * w);
    }
    let kept = (&*work.features, &*work.torso);
    net.torso.backward(x, &batch.boards, kept, &mut work.d_torso, &mut work.d_features, gradient);
    loss / n as f64
}
