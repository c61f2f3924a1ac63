//! The torso of the MinAtar networks: convolution and a dense layer, both with ReLU.

use ive::Rng;
use multiversion::multiversion;

use super::Packed;
use super::board::{Board, FEATURES, FILTERS};
use super::rows::{activate, add_row};
use crate::nn::{Activation, Block, Dense, Graph, Layout, Slot, Var};

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
    /// FEATURES to TORSO, ReLU.
    pub dense: Dense,
}

impl Torso {
    /// Adds its tensors to a layout.
    pub fn new(layout: &mut Layout, channels: usize) -> Self {
        Self {
            board: Board::new(channels),
            conv: layout.add("conv", &[3, 3, channels, FILTERS]),
            conv_bias: layout.add("conv.bias", &[FILTERS]),
            dense: Dense::new(layout, ["torso", "torso.bias"], [FEATURES, TORSO], Activation::Relu),
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
        draw(self.dense.weight.of_mut(x), FEATURES, rng);
        if biases {
            draw(self.conv_bias.of_mut(x), inputs, rng);
            self.dense.bias.iter().for_each(|bias| draw(bias.of_mut(x), FEATURES, rng));
        }
    }

    /// The outputs for boards one after the other, `[boards, TORSO]`.
    pub fn forward(&self, g: &mut dyn Graph, p: Block, boards: &[u64]) -> Var {
        let features = g.boards(p, &self.board, &self.conv, &self.conv_bias, boards);
        g.dense(p, &self.dense, features)
    }

    /// The same for one board, for weights that have just changed: rows of weights whose feature is zero are not read.
    pub fn forward_one(&self, x: &[f32], board: &[u64], features: &mut [f32], out: &mut [f32]) {
        self.board.forward(self.conv.of(x), self.conv_bias.of(x), board, features);
        out.fill(0.0);
        add_rows(self.dense.weight.of(x), features, out);
        add_row(out, self.dense.bias_of(x));
        activate(out, Activation::Relu);
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
        self.dense.store(self.torso.dense.weight.of(x), TORSO, 0, 1.0);
        self.dense_bias.copy_from_slice(self.torso.dense.bias_of(x));
    }

    /// Outputs of boards one after the other.
    pub fn forward(&self, boards: &[u64], features: &mut [f32], out: &mut [f32]) {
        self.torso.board.forward(&self.conv, &self.conv_bias, boards, features);
        self.dense.product(features, &self.dense_bias, out);
        out.iter_mut().for_each(|y| *y = y.max(0.0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::layout::uniform_fan_in;
    use crate::nn::{Device, Engine, Executor, Parameters, Precision};

    /// The layer of the graph and both forms for inference, for numbers of order one in single precision.
    #[test]
    fn every_form_of_the_torso_equals_the_convolution_of_the_engine() {
        let mut rng = Rng::from_seed(61);
        for channels in [4, 7, 10] {
            let mut layout = Layout::default();
            let torso = Torso::new(&mut layout, channels);
            let mut x = vec![0.0; layout.len()];
            torso.initialise(&mut x, uniform_fan_in, true, &mut rng);
            let (count, mut bits) = (3, Vec::new());
            let seen: Vec<u8> = (0..count * 100 * channels).map(|_| u8::from(rng.uniform() < 0.2)).collect();
            torso.board.pack_all(&seen, &mut bits);

            let wide = x.iter().copied().map(f64::from).collect();
            let mut g = Engine::wide(&Device::cpu().with_precision(Precision::Double), vec![(wide, false)]);
            let y = torso.forward(&mut g, Block(0), &bits);
            let expected = g.numbers(y);
            assert!(expected.iter().any(|y| *y > 0.05), "nothing passes");

            let (mut features, mut out) =
                (vec![0.0; count * FEATURES], [(); 3].map(|()| vec![0.0; count * TORSO]));
            Executor::default().run(&[Parameters::frozen(&x)], |g| {
                let y = torso.forward(g, Block(0), &bits);
                g.read(y, &mut out[0]);
            });
            for (bits, out) in bits.chunks_exact(torso.board.words()).zip(out[1].chunks_exact_mut(TORSO)) {
                torso.forward_one(&x, bits, &mut features[..FEATURES], out);
            }
            let mut packed = Inference::new(&torso);
            packed.load(&x);
            packed.forward(&bits, &mut features, &mut out[2]);
            for (form, out) in out.iter().enumerate() {
                for (ours, theirs) in out.iter().zip(&expected) {
                    assert!((f64::from(*ours) - theirs).abs() < 1e-6, "form {form}: {ours} and {theirs}");
                }
            }
        }
    }
}
