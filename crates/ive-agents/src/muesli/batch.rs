//! What an update learns from: windows side by side, time by time. Row `t · sequences + b` is step t of window b, so that what lies k
//! steps ahead of row i is row `i + k · sequences`.

use ive_envs::StepKind;

use super::torso::{Seen, Torso};
use crate::experience::Window;

/// Windows of one length.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// B: how many windows there are.
    pub sequences: usize,
    /// T: how many steps each has.
    pub steps: usize,
    /// What was seen, `(T + 1) B` states.
    pub seen: Seen,
    /// What was done, `T B`.
    pub actions: Vec<u8>,
    /// What followed.
    pub rewards: Vec<f32>,
    /// How the steps ended.
    pub kinds: Vec<StepKind>,
    /// The probabilities of all actions when each state was acted upon, `[(T + 1) B, actions]`.
    pub behaviour: Vec<f32>,
}

impl Batch {
    /// Takes over windows of `steps` steps.
    pub fn fill(&mut self, windows: &[Window<'_, u8, u8>], steps: usize, torso: &Torso) {
        (self.sequences, self.steps) = (windows.len(), steps);
        Torso::clear(&mut self.seen);
        self.actions.clear();
        self.rewards.clear();
        self.kinds.clear();
        self.behaviour.clear();
        for t in 0..=steps {
            for window in windows {
                let (o, p) = (window.observations.len() / (steps + 1), window.policies.len() / (steps + 1));
                torso.prepare(&window.observations[t * o..][..o], &mut self.seen);
                self.behaviour.extend_from_slice(&window.policies[t * p..][..p]);
                if t < steps {
                    self.actions.push(window.actions[t]);
                    self.rewards.push(window.rewards[t]);
                    self.kinds.push(window.kinds[t]);
                }
            }
        }
    }

    /// States from which something is learned: all but the last of each window.
    pub fn starts(&self) -> usize {
        self.steps * self.sequences
    }

    /// All states.
    pub fn states(&self) -> usize {
        (self.steps + 1) * self.sequences
    }

    /// Starts whose state k steps ahead lies within their window; they are the first rows.
    pub fn reach(&self, k: usize) -> usize {
        (self.steps + 1 - k.max(1)) * self.sequences
    }
}
