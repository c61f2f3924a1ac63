//! The torso of the MinAtar networks on the tensor engine: convolution and a dense layer, both with ReLU.

use burn::module::{Module, Param};
use burn::tensor::activation::relu;
use burn::tensor::ops::ConvOptions;
use burn::tensor::{Tensor, module};
use ive::Rng;

use super::cpu::board::{Board, FEATURES, FILTERS, SIZE};
use super::cpu::torso::TORSO;
use super::{Device, Linear, truncated_normal};

/// `relu(T relu(conv x))`. Parameters in the order and shapes of the hand-written [`Torso`](super::cpu::torso::Torso):
/// kernel `[3, 3, channel, filter]`, its bias `[filter]`, `T` `[feature, unit]`, its bias `[unit]`.
#[derive(Module, Debug)]
pub struct Torso {
    kernel: Param<Tensor<4>>,
    bias: Param<Tensor<1>>,
    dense: Linear,
}

impl Torso {
    /// Truncated normal weights, zero biases. `rng` is consumed.
    pub fn new(channels: usize, device: &Device, rng: &mut Rng) -> Self {
        let inputs = 9 * channels;
        let kernel = device.matrix(&truncated_normal(inputs * FILTERS, inputs, rng), [inputs, FILTERS]);
        Self {
            kernel: Param::from_tensor(kernel.reshape([3, 3, channels, FILTERS])),
            bias: Param::from_tensor(device.vector(&[0.0; FILTERS])),
            dense: Linear::new(FEATURES, TORSO, device, rng),
        }
    }

    /// `[b, row, column, channel]` to `[b, TORSO]`.
    pub fn forward(&self, boards: Tensor<4>) -> Tensor<2> {
        // The engine wants channels first, in boards and kernels; features are counted row, column, filter.
        let boards = boards.permute([0, 3, 1, 2]);
        let kernel = self.kernel.val().permute([3, 2, 0, 1]);
        let plain = ConvOptions::new([1, 1], [0, 0], [1, 1], 1);
        let features = relu(module::conv2d(boards, kernel, Some(self.bias.val()), plain));
        let count = features.dims()[0];
        let features = features.permute([0, 2, 3, 1]).reshape([count, FEATURES]);
        relu(self.dense.forward(features))
    }
}

/// Boards of bits, one after the other, as a tensor `[b, row, column, channel]`.
pub fn boards(board: &Board, bits: &[u64], device: &Device) -> Tensor<4> {
    let cells: Vec<f64> = board.unpack_all(bits).into_iter().map(f64::from).collect();
    let (length, channels) = (SIZE * SIZE * board.channels(), board.channels());
    let count = cells.len() / length;
    device.matrix(&cells, [count, length]).reshape([count, SIZE, SIZE, channels])
}

/// Actions as rows of zeros with a one at the action, `[b, actions]`.
pub fn one_hot(chosen: &[u8], actions: usize, device: &Device) -> Tensor<2> {
    let mut rows = vec![0.0; chosen.len() * actions];
    for (row, &action) in rows.chunks_exact_mut(actions).zip(chosen) {
        row[usize::from(action)] = 1.0;
    }
    device.matrix(&rows, [chosen.len(), actions])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::cpu::torso::{Inference, Torso as HandWritten};
    use crate::nn::cpu::{Layout, layout::uniform_fan_in};
    use crate::nn::{Precision, set_flat_parameters, to_host};

    /// All three hand-written forms, for numbers of order one in single precision.
    #[test]
    fn hand_written_torso_equals_the_convolution_of_the_engine() {
        let mut rng = Rng::from_seed(61);
        for channels in [4, 7, 10] {
            let mut layout = Layout::default();
            let torso = HandWritten::new(&mut layout, channels);
            let mut x = vec![0.0; layout.len()];
            torso.initialise(&mut x, uniform_fan_in, true, &mut rng);
            let (count, mut bits) = (3, Vec::new());
            let seen: Vec<u8> = (0..count * 100 * channels).map(|_| u8::from(rng.uniform() < 0.2)).collect();
            torso.board.pack_all(&seen, &mut bits);

            let device = Device::cpu().with_precision(Precision::Double);
            let wide: Vec<f64> = x.iter().copied().map(f64::from).collect();
            let module = set_flat_parameters(Torso::new(channels, &device, &mut rng), &wide).unwrap();
            let expected = to_host(module.forward(boards(&torso.board, &bits, &device)));
            assert!(expected.iter().any(|y| *y > 0.05), "nothing passes");

            let (mut features, mut out) =
                (vec![0.0; count * FEATURES], [(); 3].map(|()| vec![0.0; count * TORSO]));
            torso.forward(&x, &bits, &mut features, &mut out[0]);
            let words = torso.board.words();
            for (bits, out) in bits.chunks_exact(words).zip(out[1].chunks_exact_mut(TORSO)) {
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
