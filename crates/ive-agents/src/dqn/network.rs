//! The parameters of a deep Q-network for MinAtar: `Q = O relu(T relu(conv x))`.

use ive::Rng;

use crate::nn::cpu::layout::uniform_fan_in;
use crate::nn::cpu::torso::{TORSO, Torso};
use crate::nn::cpu::{Layout, Slot};

/// Where the parameters lie.
#[derive(Clone, Debug)]
pub struct Network {
    /// Their names in order.
    pub layout: Layout,
    /// How many actions there are.
    pub actions: usize,
    /// Boards to features.
    pub torso: Torso,
    /// `[actions, TORSO]`: a row per action, since an update concerns one action of each transition.
    pub output: Slot,
    /// `[actions]`.
    pub output_bias: Slot,
}

impl Network {
    /// For boards with this many channels.
    pub fn new(channels: usize, actions: usize) -> Self {
        let mut all = Layout::default();
        Self {
            actions,
            torso: Torso::new(&mut all, channels),
            output: all.add("output", &[actions, TORSO]),
            output_bias: all.add("output.bias", &[actions]),
            layout: all,
        }
    }

    /// Initial parameters, weights and biases uniform in ±1/√fan_in: the default of the library in which the example is
    /// written.
    pub fn initial(&self, rng: &mut Rng) -> Vec<f32> {
        let mut all = vec![0.0; self.layout.len()];
        self.torso.initialise(&mut all, uniform_fan_in, true, rng);
        uniform_fan_in(self.output.of_mut(&mut all), TORSO, rng);
        uniform_fan_in(self.output_bias.of_mut(&mut all), TORSO, rng);
        all
    }

    /// Q of all actions, from the outputs of the torso.
    pub fn values(&self, x: &[f32], torso: &[f32], q: &mut Vec<f32>) {
        q.clear();
        for row in torso.chunks_exact(TORSO) {
            for (weights, bias) in self.output.of(x).chunks_exact(TORSO).zip(self.output_bias.of(x)) {
                q.push(dot(row, weights) + bias);
            }
        }
    }
}

/// A product of two vectors, in eight parallel sums.
pub(crate) fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [0.0f32; 8];
    let ((a, _), (b, _)) = (a.as_chunks::<8>(), b.as_chunks::<8>());
    for (a, b) in a.iter().zip(b) {
        for l in 0..8 {
            sums[l] += a[l] * b[l];
        }
    }
    sums.iter().sum()
}

/// The first of the largest.
pub(crate) fn argmax(q: &[f32]) -> usize {
    (1..q.len()).fold(0, |best, a| if q[a] > q[best] { a } else { best })
}
