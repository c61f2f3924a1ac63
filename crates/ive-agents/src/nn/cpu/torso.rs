//! The torso of the MinAtar networks: convolution and a dense layer, both with ReLU.

use ive::Rng;
use multiversion::multiversion;

use super::board::{Board, FEATURES, FILTERS};
use super::rows::{add_relu, sum_rows, through_relu};
use super::{Layout, Matrix, Packed, Slot, matmul, matmul_nt, matmul_tn};

/// Units of the torso.
pub const TORSO: usize = 128;

/// Where the parameters of a torso lie.
#[derive(Clone, Debug)]
pub struct Torso {
    /// The convolution.
    pub board: Board,
    /// `[3, 3, channels, FILTERS]`.
    pub conv: Slot,
    /// `[FILTERS]`.
    pub conv_bias: Slot,
    /// `[FEATURES, TORSO]`.
    pub dense: Slot,
    /// `[TORSO]`.
    pub dense_bias: Slot,
}

impl Torso {
    /// Adds its tensors to a layout.
    pub fn new(layout: &mut Layout, channels: usize) -> Self {
        Self {
            board: Board::new(channels),
            conv: layout.add("conv", &[3, 3, channels, FILTERS]),
            conv_bias: layout.add("conv.bias", &[FILTERS]),
            dense: layout.add("torso", &[FEATURES, TORSO]),
            dense_bias: layout.add("torso.bias", &[TORSO]),
        }
    }

    /// Draws initial weights: `draw(weights, fan_in, rng)` for weights and, if `biases`, for biases too.
    pub fn initialise(
        &self,
        x: &mut [f32],
        draw: fn(&mut [f32], usize, &mut Rng),
        biases: bool,
        rng: &mut Rng,
    ) {
        let inputs = 9 * self.board.channels();
        draw(self.conv.of_mut(x), inputs, rng);
        draw(self.dense.of_mut(x), FEATURES, rng);
        if biases {
            draw(self.conv_bias.of_mut(x), inputs, rng);
            draw(self.dense_bias.of_mut(x), FEATURES, rng);
        }
    }

    /// Features and outputs of boards one after the other.
    pub fn forward(&self, x: &[f32], boards: &[u64], features: &mut [f32], out: &mut [f32]) {
        let n = out.len() / TORSO;
        self.board.forward(self.conv.of(x), self.conv_bias.of(x), boards, features);
        let weight = Matrix::new(self.dense.of(x), FEATURES, TORSO);
        matmul(out, Matrix::new(features, n, FEATURES), weight);
        add_relu(out, self.dense_bias.of(x));
    }

    /// The same for one board, for weights that have just changed: rows of weights whose feature is zero are not read.
    pub fn forward_one(&self, x: &[f32], board: &[u64], features: &mut [f32], out: &mut [f32]) {
        self.board.forward(self.conv.of(x), self.conv_bias.of(x), board, features);
        out.fill(0.0);
        add_rows(self.dense.of(x), features, out);
        add_relu(out, self.dense_bias.of(x));
    }

    /// Gradients from those of the outputs, which are masked on the way; its part of `gradient` is overwritten.
    pub fn backward(
        &self,
        x: &[f32],
        boards: &[u64],
        (features, out): (&[f32], &[f32]),
        d_out: &mut [f32],
        d_features: &mut [f32],
        gradient: &mut [f32],
    ) {
        let n = out.len() / TORSO;
        through_relu(d_out, out);
        let d = Matrix::new(d_out, n, TORSO);
        matmul_tn(self.dense.of_mut(gradient), Matrix::new(features, n, FEATURES), d);
        matmul_nt(d_features, d, Matrix::new(self.dense.of(x), FEATURES, TORSO), false);
        sum_rows(d_out, self.dense_bias.of_mut(gradient));
        let (conv, bias) = (&self.conv.range, &self.conv_bias.range);
        let both = &mut gradient[conv.start..bias.end];
        both.fill(0.0);
        let (d_conv, d_bias) = both.split_at_mut(conv.len());
        self.board.backward(boards, features, d_features, d_conv, d_bias);
    }
}

/// Adds rows of weights, each times its feature.
#[multiversion(targets = "simd")]
fn add_rows(weight: &[f32], features: &[f32], out: &mut [f32]) {
    for (row, &f) in weight.chunks_exact(TORSO).zip(features) {
        if f != 0.0 {
            out.iter_mut().zip(row).for_each(|(o, w)| *o += f * w);
        }
    }
}

/// A torso with a copy of its weights in a form for many products.
#[derive(Clone, Debug)]
pub struct Inference {
    torso: Torso,
    conv: Vec<f32>,
    conv_bias: Vec<f32>,
    dense: Packed,
    dense_bias: Vec<f32>,
}

impl Inference {
    /// Without weights yet: [`load`](Self::load) them before use.
    pub fn new(torso: &Torso) -> Self {
        Self {
            torso: torso.clone(),
            conv: vec![0.0; torso.conv.range.len()],
            conv_bias: vec![0.0; FILTERS],
            dense: Packed::new(FEATURES, TORSO),
            dense_bias: vec![0.0; TORSO],
        }
    }

    /// Takes over the parameters of a network.
    pub fn load(&mut self, x: &[f32]) {
        self.conv.copy_from_slice(self.torso.conv.of(x));
        self.conv_bias.copy_from_slice(self.torso.conv_bias.of(x));
        self.dense.store(self.torso.dense.of(x), TORSO, 0, 1.0);
        self.dense_bias.copy_from_slice(self.torso.dense_bias.of(x));
    }

    /// Outputs of boards one after the other.
    pub fn forward(&self, boards: &[u64], features: &mut [f32], out: &mut [f32]) {
        self.torso.board.forward(&self.conv, &self.conv_bias, boards, features);
        self.dense.product(features, &self.dense_bias, out);
        out.iter_mut().for_each(|y| *y = y.max(0.0));
    }
}
