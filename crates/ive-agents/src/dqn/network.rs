//! The parameters of a deep Q-network for MinAtar: `Q = O relu(T relu(conv x))`.

use ive::Rng;

use crate::nn::cpu::rows::readout;
use crate::nn::cpu::torso::{TORSO, Torso};
use crate::nn::layout::uniform_fan_in;
use crate::nn::{Block, Graph, Layout, Readout, Var};

/// Where the parameters lie.
#[derive(Clone, Debug)]
pub struct Network {
    /// Their names in order.
    pub layout: Layout,
    /// How many actions there are.
    pub actions: usize,
    /// Boards to features.
    pub torso: Torso,
    /// Features to Q of each action.
    pub output: Readout,
}

impl Network {
    /// For boards with this many channels.
    pub fn new(channels: usize, actions: usize) -> Self {
        let mut all = Layout::default();
        Self {
            actions,
            torso: Torso::new(&mut all, channels),
            output: Readout::new(&mut all, ["output", "output.bias"], [TORSO, actions]),
            layout: all,
        }
    }

    /// Q of all actions for boards one after the other, `[boards, actions]`.
    pub fn values(&self, g: &mut dyn Graph, p: Block, boards: &[u64]) -> Var {
        let features = self.torso.forward(g, p, boards);
        g.readout(p, &self.output, features)
    }

    /// Initial parameters, weights and biases uniform in ±1/√fan_in: the default of the library in which the example is
    /// written.
    pub fn initial(&self, rng: &mut Rng) -> Vec<f32> {
        let mut all = vec![0.0; self.layout.len()];
        self.torso.initialise(&mut all, uniform_fan_in, true, rng);
        uniform_fan_in(self.output.weight.of_mut(&mut all), TORSO, rng);
        uniform_fan_in(self.output.bias.of_mut(&mut all), TORSO, rng);
        all
    }

    /// Q of all actions, from outputs of the torso that were worked out in another way.
    pub fn values_of(&self, x: &[f32], torso: &[f32], q: &mut Vec<f32>) {
        q.resize(torso.len() / TORSO * self.actions, 0.0);
        readout(torso, self.output.weight.of(x), self.output.bias.of(x), q);
    }
}

/// The first of the largest.
pub(crate) fn argmax(q: &[f32]) -> usize {
    (1..q.len()).fold(0, |best, a| if q[a] > q[best] { a } else { best })
}
