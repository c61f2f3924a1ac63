//! What a value prediction network tells of itself in its metrics.

use super::loss::Losses;
use crate::archive::{Archive, ArchiveError};

/// Sums since the last line of metrics.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Meter {
    updates: f64,
    /// Losses per prediction.
    reward: f64,
    value: f64,
    length: f64,
    decisions: f64,
    sigma: f64,
}

impl Meter {
    /// Notes a decision and the σ-IVE of its plan.
    pub fn decision(&mut self, sigma: f64) {
        self.decisions += 1.0;
        self.sigma += sigma;
    }

    /// Notes an update from this many predictions and the length of its gradient.
    pub fn update(&mut self, losses: Losses, predictions: f64, length: f64) {
        self.updates += 1.0;
        self.reward += losses.reward / predictions;
        self.value += losses.value / predictions;
        self.length += length;
    }

    /// Adds the means to a line of metrics.
    pub fn report(self, values: &mut Vec<(&'static str, f64)>) {
        if self.updates > 0.0 {
            values.push(("loss", (self.reward + self.value) / self.updates));
            values.push(("loss_reward", self.reward / self.updates));
            values.push(("loss_value", self.value / self.updates));
            values.push(("gradient_norm", self.length / self.updates));
        }
        if self.decisions > 0.0 {
            values.push(("sigma", self.sigma / self.decisions));
        }
    }

    pub fn archive(&mut self, archive: &mut Archive) -> Result<(), ArchiveError> {
        let mut sums = [self.updates, self.reward, self.value, self.length, self.decisions, self.sigma];
        archive.f64("meter", &mut sums)?;
        [self.updates, self.reward, self.value, self.length, self.decisions, self.sigma] = sums;
        Ok(())
    }
}
