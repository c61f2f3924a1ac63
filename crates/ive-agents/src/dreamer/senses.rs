//! How observations enter and leave the latent state: dense layers for a few numbers, convolutions for pictures of 64 × 64 pixels.
//!
//! ```text
//! pictures   encoder   4 convolutions 4 × 4, stride 2, ReLU: c, 2c, 4c, 8c channels, 2 × 2 places at the end
//!            decoder   linear to 32c, then transposed convolutions 5, 5, 6, 6 wide, stride 2, ReLU but for the last: 4c, 2c, c, 3 channels
//! ```

use ive::Rng;

use super::config::Sizes;
use super::network::Mlp;
use crate::nn::layout::glorot;
use crate::nn::{Activation, Block, Conv, Dense, Graph, Layout, Pool, Var};

/// Pixels a side.
const SIDE: usize = 64;
/// Numbers of a picture.
pub const PICTURE: usize = SIDE * SIDE * 3;

/// From an observation to its embedding.
#[derive(Clone, Debug)]
pub(super) enum Encoder {
    Numbers(Mlp),
    Picture(Vec<Conv>),
}

/// From features to an observation.
#[derive(Clone, Debug)]
pub(super) enum Decoder {
    Numbers(Mlp),
    Picture(Dense, Vec<Conv>),
}

/// A window without padding that moves by two.
fn pool(picture: [usize; 3], window: usize) -> Pool {
    Pool { picture, window: [window; 2], stride: [2, 2], padding: [[0, 0], [0, 0]] }
}

/// Glorot weights of a convolution, biases zero.
fn initialise(conv: &Conv, all: &mut [f32], rng: &mut Rng) {
    let [height, width, channels, filters] = conv.weight.shape[..] else { return };
    glorot(conv.weight.of_mut(all), height * width * channels, height * width * filters, rng);
}

impl Encoder {
    /// Adds its tensors to a layout; says how long embeddings are.
    pub(super) fn new(layout: &mut Layout, sizes: &Sizes) -> (Self, usize) {
        let Sizes { observation, width, channels, .. } = *sizes;
        if observation != PICTURE {
            let names = [["encoder.0", "encoder.0.bias"], ["encoder.1", "encoder.1.bias"]];
            let mlp = Mlp::new(layout, &names, &[observation, width, width], Activation::Elu);
            return (Self::Numbers(mlp), width);
        }
        let names = [
            ["encoder.0", "encoder.0.bias"],
            ["encoder.1", "encoder.1.bias"],
            ["encoder.2", "encoder.2.bias"],
            ["encoder.3", "encoder.3.bias"],
        ];
        let (mut picture, mut layers) = ([SIDE, SIDE, 3], Vec::new());
        for (i, names) in names.into_iter().enumerate() {
            let window = pool(picture, 4);
            layers.push(Conv::new(layout, names, window, channels << i, Activation::Relu));
            let [high, wide] = window.places();
            picture = [high, wide, channels << i];
        }
        (Self::Picture(layers), picture.iter().product())
    }

    pub(super) fn encode(&self, g: &mut dyn Graph, p: Block, observations: Var) -> Var {
        match self {
            Self::Numbers(mlp) => mlp.forward(g, p, observations),
            Self::Picture(layers) => layers.iter().fold(observations, |x, layer| g.conv(p, layer, x)),
        }
    }

    pub(super) fn initialise(&self, all: &mut [f32], rng: &mut Rng) {
        match self {
            Self::Numbers(mlp) => mlp.initialise(all, rng),
            Self::Picture(layers) => layers.iter().for_each(|layer| initialise(layer, all, rng)),
        }
    }
}

impl Decoder {
    /// Adds its tensors to a layout.
    pub(super) fn new(layout: &mut Layout, sizes: &Sizes) -> Self {
        let Sizes { observation, width, channels, .. } = *sizes;
        if observation != PICTURE {
            let names = [
                ["decoder.0", "decoder.0.bias"],
                ["decoder.1", "decoder.1.bias"],
                ["decoder.2", "decoder.2.bias"],
            ];
            let all = [sizes.features(), width, width, observation];
            return Self::Numbers(Mlp::new(layout, &names, &all, Activation::Linear));
        }
        let linear = Activation::Linear;
        let first =
            Dense::new(layout, ["decoder.0", "decoder.0.bias"], [sizes.features(), 32 * channels], linear);
        // Pictures as they grow, and the windows that make them: 1 → 5 → 13 → 30 → 64.
        let steps = [
            (["decoder.1", "decoder.1.bias"], 5, 5, 4 * channels),
            (["decoder.2", "decoder.2.bias"], 13, 5, 2 * channels),
            (["decoder.3", "decoder.3.bias"], 30, 6, channels),
            (["decoder.4", "decoder.4.bias"], SIDE, 6, 3),
        ];
        let (mut filters, mut layers) = (32 * channels, Vec::new());
        for (names, side, window, out) in steps {
            let activation = if side == SIDE { Activation::Linear } else { Activation::Relu };
            layers.push(Conv::transposed(
                layout,
                names,
                pool([side, side, out], window),
                filters,
                activation,
            ));
            filters = out;
        }
        Self::Picture(first, layers)
    }

    pub(super) fn decode(&self, g: &mut dyn Graph, p: Block, features: Var) -> Var {
        match self {
            Self::Numbers(mlp) => mlp.forward(g, p, features),
            Self::Picture(first, layers) => {
                let start = g.dense(p, first, features);
                layers.iter().fold(start, |x, layer| g.conv_transposed(p, layer, x))
            }
        }
    }

    pub(super) fn initialise(&self, all: &mut [f32], rng: &mut Rng) {
        match self {
            Self::Numbers(mlp) => mlp.initialise(all, rng),
            Self::Picture(first, layers) => {
                glorot(first.weight.of_mut(all), first.inputs(), first.outputs(), rng);
                layers.iter().for_each(|layer| initialise(layer, all, rng));
            }
        }
    }
}
