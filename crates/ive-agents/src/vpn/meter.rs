//! What a value prediction network tells of itself in its metrics.

use super::batch::Batch;
use super::loss::Losses;
use crate::archive::{Archive, ArchiveError};

/// The explained variance of predicted rewards, by how many steps ahead they were predicted.
const EXPLAINED: [&str; 16] = [
    "reward_explained_1",
    "reward_explained_2",
    "reward_explained_3",
    "reward_explained_4",
    "reward_explained_5",
    "reward_explained_6",
    "reward_explained_7",
    "reward_explained_8",
    "reward_explained_9",
    "reward_explained_10",
    "reward_explained_11",
    "reward_explained_12",
    "reward_explained_13",
    "reward_explained_14",
    "reward_explained_15",
    "reward_explained_16",
];

/// Sums of a quantity and its prediction: how many, r, r², r − r̂, (r − r̂)².
#[derive(Clone, Copy, Debug, Default)]
struct Fit([f64; 5]);

impl Fit {
    fn add(&mut self, truth: f64, said: f64) {
        let error = truth - said;
        let terms = [1.0, truth, truth * truth, error, error * error];
        self.0.iter_mut().zip(terms).for_each(|(sum, term)| *sum += term);
    }

    /// `1 − Var(r − r̂) / Var(r)`: one is perfect, zero as good as a constant. None if all are the same.
    fn explained(self) -> Option<f64> {
        let [n, r, rr, e, ee] = self.0;
        let variance = |sum: f64, squares: f64| squares / n - (sum / n) * (sum / n);
        let all = variance(r, rr);
        (n > 0.0 && all > 1e-12).then(|| 1.0 - variance(e, ee) / all)
    }
}

/// Sums since the last line of metrics.
#[derive(Clone, Debug, Default)]
pub(super) struct Meter {
    updates: f64,
    /// Losses per prediction.
    reward: f64,
    value: f64,
    length: f64,
    decisions: f64,
    sigma: f64,
    /// How well rewards are predicted, depth by depth, in fresh windows before they are learnt.
    rewards: [Fit; EXPLAINED.len()],
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

    /// Notes the rewards that were predicted of a batch whose first window is fresh.
    pub fn rewards(&mut self, batch: &Batch, said: &[f32]) {
        for &(row, depth) in &batch.first {
            let row = row as usize;
            if let Some(fit) = self.rewards.get_mut(depth as usize) {
                fit.add(batch.rewards[row].into(), said[row].into());
            }
        }
    }

    /// Adds the means to a line of metrics; the loss is `w L_r + L_v`, w the weight of rewards.
    pub fn report(self, reward_weight: f64, values: &mut Vec<(&'static str, f64)>) {
        if self.updates > 0.0 {
            values.push(("loss", (reward_weight * self.reward + self.value) / self.updates));
            values.push(("loss_reward", self.reward / self.updates));
            values.push(("loss_value", self.value / self.updates));
            values.push(("gradient_norm", self.length / self.updates));
        }
        if self.decisions > 0.0 {
            values.push(("sigma", self.sigma / self.decisions));
        }
        let explained = EXPLAINED.iter().zip(self.rewards);
        values.extend(explained.filter_map(|(name, fit)| Some((*name, fit.explained()?))));
    }

    pub fn archive(&mut self, archive: &mut Archive) -> Result<(), ArchiveError> {
        let mut sums = [self.updates, self.reward, self.value, self.length, self.decisions, self.sigma];
        archive.f64("meter", &mut sums)?;
        [self.updates, self.reward, self.value, self.length, self.decisions, self.sigma] = sums;
        let mut fits = self.rewards.map(|fit| fit.0);
        // Checkpoints from before these sums were kept have none.
        if !archive.is_loading() || archive.contains("reward_fit") {
            archive.f64("reward_fit", fits.as_flattened_mut())?;
        }
        self.rewards = fits.map(Fit);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: rewards 0, 0, 1, 3 have variance 1.5; errors 0, 0, 1, 1 have 0.25. A constant error changes nothing.
    #[test]
    fn explained_variance_is_that_of_the_definition() {
        let fit = |shift: f64| {
            let mut fit = Fit::default();
            for (truth, said) in [(0.0, 0.0), (0.0, 0.0), (1.0, 0.0), (3.0, 2.0)] {
                fit.add(truth, said + shift);
            }
            fit.explained()
        };
        for shift in [0.0, -7.0] {
            assert!((fit(shift).unwrap() - (1.0 - 0.25 / 1.5)).abs() < 1e-12);
        }
        let mut same = Fit::default();
        (0..3).for_each(|_| same.add(2.0, 1.0));
        assert_eq!((same.explained(), Fit::default().explained()), (None, None));
    }
}
