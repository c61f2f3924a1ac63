//! The convolution over a board of bits against its dense definition in double precision.

use ive::Rng;
use ive_agents::nn::cpu::board::{Board, FEATURES, FILTERS, OUT, SIZE};

/// Everything that enters the test of one layer.
struct Case {
    channels: usize,
    count: usize,
    seen: Vec<u8>,
    weight: Vec<f32>,
    bias: Vec<f32>,
    d_out: Vec<f32>,
}

impl Case {
    fn new(channels: usize, count: usize, density: f64, rng: &mut Rng) -> Self {
        let mut normal = |n: usize| (0..n).map(|_| rng.normal() as f32).collect::<Vec<_>>();
        let (weight, bias) = (normal(9 * channels * FILTERS), normal(FILTERS));
        let d_out = normal(count * FEATURES);
        let seen = (0..count * SIZE * SIZE * channels).map(|_| u8::from(rng.uniform() < density)).collect();
        Self { channels, count, seen, weight, bias, d_out }
    }

    /// Calls `each` with the places of board, weight and output of every product in the definition
    /// `y[b, row, column, filter] = Σ x[b, row + i, column + j, channel] W[i, j, channel, filter]`.
    fn products(&self, mut each: impl FnMut(usize, usize, usize)) {
        for b in 0..self.count {
            for (row, column, filter) in (0..FEATURES).map(|o| (o / 128, o / FILTERS % OUT, o % FILTERS)) {
                let out = ((b * OUT + row) * OUT + column) * FILTERS + filter;
                for (i, j) in (0..9).map(|k| (k / 3, k % 3)) {
                    for channel in 0..self.channels {
                        let seen = ((b * SIZE + row + i) * SIZE + column + j) * self.channels + channel;
                        each(seen, ((i * 3 + j) * self.channels + channel) * FILTERS + filter, out);
                    }
                }
            }
        }
    }

    /// Outputs, and the gradient of the weight.
    fn dense(&self) -> [Vec<f64>; 2] {
        let mut out: Vec<f64> =
            (0..self.count * FEATURES).map(|o| f64::from(self.bias[o % FILTERS])).collect();
        self.products(|x, w, o| out[o] += f64::from(self.seen[x]) * f64::from(self.weight[w]));
        let open = |o: usize| if out[o] > 0.0 { f64::from(self.d_out[o]) } else { 0.0 };
        let mut d_weight = vec![0.0; self.weight.len()];
        self.products(|x, w, o| d_weight[w] += f64::from(self.seen[x]) * open(o));
        [out.into_iter().map(|y| y.max(0.0)).collect(), d_weight]
    }

    fn sparse(&self) -> [Vec<f32>; 2] {
        let (board, mut bits) = (Board::new(self.channels), Vec::new());
        board.pack_all(&self.seen, &mut bits);
        assert_eq!(board.unpack_all(&bits), self.seen);
        let mut out = vec![f32::NAN; self.count * FEATURES];
        board.forward(&self.weight, &self.bias, &bits, &mut out);
        let open = |(d, y): (&f32, &f32)| if *y > 0.0 { *d } else { 0.0 };
        let d_out: Vec<f32> = self.d_out.iter().zip(&out).map(open).collect();
        let mut d_weight = vec![0.0; self.weight.len()];
        board.backward(&bits, &d_out, &mut d_weight);
        [out, d_weight]
    }
}

/// Sums of some dozen to some hundred terms of order one in single precision.
#[test]
fn sparse_convolution_equals_the_dense_definition_both_ways() {
    let mut rng = Rng::from_seed(41);
    for (channels, count, density) in [(4, 3, 0.1), (7, 2, 0.3), (10, 2, 0.05), (6, 1, 1.0), (4, 1, 0.0)] {
        let case = Case::new(channels, count, density, &mut rng);
        for (what, (ours, theirs)) in
            ["output", "weight"].into_iter().zip(case.sparse().iter().zip(case.dense()))
        {
            assert_eq!(ours.len(), theirs.len());
            for (i, (o, t)) in ours.iter().zip(theirs).enumerate() {
                assert!((f64::from(*o) - t).abs() < 3e-5, "{channels} channels, {what} {i}: {o}, not {t}");
            }
        }
    }
}
