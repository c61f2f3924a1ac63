//! A head: one hidden layer of ELUs and one output.

use multiversion::multiversion;

use super::functions::{elu, elu_slope};
use super::rows::sum_rows;
use super::{Layout, Matrix, Slot, matmul_nt, matmul_tn};

/// Hidden units of a head.
pub const HEAD: usize = 64;

/// Where the parameters of a head lie.
#[derive(Clone, Debug)]
pub struct Head {
    /// `[inputs, HEAD]`.
    pub hidden: Slot,
    /// `[HEAD]`.
    pub bias: Slot,
    /// `[HEAD]`.
    pub output: Slot,
    /// `[1]`.
    pub output_bias: Slot,
}

impl Head {
    /// Adds its tensors to a layout.
    pub fn new(layout: &mut Layout, names: [&'static str; 4], inputs: usize) -> Self {
        Self {
            hidden: layout.add(names[0], &[inputs, HEAD]),
            bias: layout.add(names[1], &[HEAD]),
            output: layout.add(names[2], &[HEAD]),
            output_bias: layout.add(names[3], &[1]),
        }
    }

    /// The outputs, from the hidden layer before its ELU, which is applied in place.
    pub fn forward(&self, x: &[f32], hidden: &mut [f32], y: &mut [f32]) {
        rows_forward(hidden, self.output.of(x), self.output_bias.of(x)[0], y);
    }

    /// Gradients from those of the outputs; `d_input` and its part of `gradient` are overwritten, `d_hidden` keeps the gradient before the ELU.
    pub fn backward(
        &self,
        x: &[f32],
        (hidden, d_out, input): (&[f32], &[f32], &[f32]),
        d_hidden: &mut [f32],
        d_input: &mut [f32],
        gradient: &mut [f32],
    ) {
        let (rows, inputs) = (d_out.len(), self.hidden.shape[0]);
        self.output_bias.of_mut(gradient)[0] = d_out.iter().sum();
        rows_backward(hidden, d_out, self.output.of(x), self.output.of_mut(gradient), d_hidden);
        sum_rows(d_hidden, self.bias.of_mut(gradient));
        let d = Matrix::new(d_hidden, rows, HEAD);
        matmul_tn(self.hidden.of_mut(gradient), Matrix::new(input, rows, inputs), d);
        matmul_nt(d_input, d, Matrix::new(self.hidden.of(x), inputs, HEAD), false);
    }
}

#[multiversion(targets = "simd")]
fn rows_forward(hidden: &mut [f32], output: &[f32], bias: f32, y: &mut [f32]) {
    for (row, y) in hidden.chunks_exact_mut(HEAD).zip(y) {
        let mut sums = [0.0f32; 8];
        for (part, weights) in row.chunks_exact_mut(8).zip(output.chunks_exact(8)) {
            for ((h, w), s) in part.iter_mut().zip(weights).zip(&mut sums) {
                *h = elu(*h);
                *s += *h * w;
            }
        }
        *y = sums.iter().sum::<f32>() + bias;
    }
}

#[multiversion(targets = "simd")]
fn rows_backward(hidden: &[f32], d_out: &[f32], output: &[f32], d_output: &mut [f32], d_hidden: &mut [f32]) {
    d_output.fill(0.0);
    for ((row, d_row), &d) in hidden.chunks_exact(HEAD).zip(d_hidden.chunks_exact_mut(HEAD)).zip(d_out) {
        for (((h, dh), w), dw) in row.iter().zip(d_row).zip(output).zip(d_output.iter_mut()) {
            *dw += d * h;
            *dh = d * w * elu_slope(*h);
        }
    }
}
