//! The parts of a value prediction network for MinAtar, and where their parameters lie.
//!
//! ```text
//! encoding     h⁰ = tanh(S relu(T relu(conv x)))    c⁰ = 0
//! transition   h', c' = LSTM(one-hot a; h, c)
//! outcome      r̂(s, a) = MLP([h, one-hot a])
//! value        v̂(s) = MLP(h)
//! ```
//!
//! A latent state is (h, c). Rewards belong to the transition, values to what comes after: a k-step value is
//! `Σ_{i<k} γⁱ r̂ⁱ⁺¹ + γᵏ v̂(sᵏ)`. The value of a freshly encoded state is never trained (Oh et al., 2017).

use ive::Rng;

use crate::nn::cpu::head::{HEAD, Head};
use crate::nn::cpu::layout::{column_of_norm, he};
use crate::nn::cpu::lstm::{GATES, UNITS};
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
    /// `[TORSO, UNITS]`.
    pub start: Slot,
    /// `[UNITS]`.
    pub start_bias: Slot,
    /// `[actions, GATES]`.
    pub lstm_action: Slot,
    /// `[UNITS, GATES]`.
    pub lstm: Slot,
    /// `[GATES]`.
    pub lstm_bias: Slot,
    /// `[actions, HEAD]`.
    pub reward_action: Slot,
    /// r̂.
    pub reward: Head,
    /// v̂.
    pub value: Head,
}

impl Network {
    /// For boards with this many channels.
    pub fn new(channels: usize, actions: usize) -> Self {
        let mut all = Layout::default();
        Self {
            actions,
            torso: Torso::new(&mut all, channels),
            start: all.add("start", &[TORSO, UNITS]),
            start_bias: all.add("start.bias", &[UNITS]),
            lstm_action: all.add("lstm.action", &[actions, GATES]),
            lstm: all.add("lstm.recurrent", &[UNITS, GATES]),
            lstm_bias: all.add("lstm.bias", &[GATES]),
            reward_action: all.add("reward.action", &[actions, HEAD]),
            reward: Head::new(
                &mut all,
                ["reward.hidden", "reward.bias", "reward.output", "reward.output.bias"],
                UNITS,
            ),
            value: Head::new(
                &mut all,
                ["value.hidden", "value.bias", "value.output", "value.output.bias"],
                UNITS,
            ),
            layout: all,
        }
    }

    /// Initial parameters: He, with `input_scale` on the convolution and `action_scale` on the rows of the action, nearly
    /// zero outputs, biases zero (the forget gate has a constant one).
    pub fn initial(&self, input_scale: f64, action_scale: f64, rng: &mut Rng) -> Vec<f32> {
        let mut all = vec![0.0; self.layout.len()];
        self.torso.initialise(&mut all, he, false, rng);
        he(self.start.of_mut(&mut all), TORSO, rng);
        let inputs = UNITS + self.actions;
        for slot in [&self.lstm_action, &self.lstm, &self.reward_action, &self.reward.hidden] {
            he(slot.of_mut(&mut all), inputs, rng);
        }
        he(self.value.hidden.of_mut(&mut all), UNITS, rng);
        for head in [&self.reward, &self.value] {
            column_of_norm(head.output.of_mut(&mut all), 0.01, rng);
        }
        let scales = [
            (&self.torso.conv, input_scale),
            (&self.lstm_action, action_scale),
            (&self.reward_action, action_scale),
        ];
        for (slot, scale) in scales {
            slot.of_mut(&mut all).iter_mut().for_each(|w| *w *= scale as f32);
        }
        all
    }
}
