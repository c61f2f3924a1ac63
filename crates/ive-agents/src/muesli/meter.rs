//! What Muesli tells of itself in its metrics.

use super::batch::Batch;
use super::loss::Losses;
use super::targets::{Said, Targets};
use crate::archive::{Archive, ArchiveError};
use crate::categorical::{Support, compress};

/// Means over updates since the last line of metrics.
const UPDATES: [&str; 14] = [
    "loss",
    "loss_gradient",
    "loss_improvement",
    "loss_model",
    "loss_value",
    "loss_reward",
    "entropy",
    "importance",
    "deviation",
    "q_spread",
    "advantages_clipped",
    "values_clipped",
    "rewards_clipped",
    "gradient_norm",
];

/// Sums over what was predicted and what was to be predicted: errors squared, numbers, their squares.
#[derive(Clone, Copy, Debug, Default)]
struct Explained {
    count: f64,
    errors: f64,
    sum: f64,
    squares: f64,
}

impl Explained {
    fn note(&mut self, predicted: f32, real: f32) {
        let (p, r) = (f64::from(predicted), f64::from(real));
        self.count += 1.0;
        self.errors += (r - p).powi(2);
        self.sum += r;
        self.squares += r * r;
    }

    /// `1 − mean((x − x̂)²) / var(x)`; nothing while all x are the same.
    fn share(&self) -> Option<f64> {
        let variance = self.squares / self.count - (self.sum / self.count).powi(2);
        (variance > 1e-10).then(|| 1.0 - self.errors / self.count / variance)
    }

    fn parts(&mut self) -> [&mut f64; 4] {
        [&mut self.count, &mut self.errors, &mut self.sum, &mut self.squares]
    }
}

/// Sums since the last line of metrics.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Meter {
    updates: f64,
    sums: [f64; UPDATES.len()],
    returns: Explained,
    rewards: Explained,
    values: f64,
    /// Lengths of steps, and of how many: not of all.
    moved: [f64; 2],
    /// Decisions, and those whose value no return can have.
    decisions: f64,
    beyond: f64,
}

impl Meter {
    /// Notes decisions, and how many of their values are larger than any return can be.
    pub fn decisions(&mut self, count: usize, beyond: usize) {
        self.decisions += count as f64;
        self.beyond += beyond as f64;
    }

    /// Notes how far an update moved the parameters.
    pub fn moved(&mut self, length: f64) {
        self.moved[0] += length;
        self.moved[1] += 1.0;
    }

    /// Notes an update.
    pub fn update(
        &mut self,
        batch: &Batch,
        said: &Said,
        targets: &Targets,
        losses: &Losses,
        supports: &[Support; 2],
        (clip, length): (f64, f64),
    ) {
        let (starts, actions) = (batch.starts(), said.policy.len() / batch.states());
        let share = |n: usize, of: usize| n as f64 / of as f64;
        let rows = || said.action_values.chunks_exact(actions);
        let spread = |q: &[f32]| {
            let mean = q.iter().sum::<f32>() / actions as f32;
            (q.iter().map(|x| (x - mean).powi(2)).sum::<f32>() / actions as f32).sqrt()
        };
        let far = |q: &f32, v: &f32| f64::from((q - v).abs()) > clip * targets.deviation;
        let clipped = rows().zip(&said.values).map(|(q, v)| q.iter().filter(|q| far(q, v)).count()).sum();
        let outside = |numbers: &[f32], support: &Support| {
            let beyond = |x: &&f32| compress(f64::from(**x)).abs() > support.atom(support.atoms() - 1);
            share(numbers.iter().filter(beyond).count(), numbers.len())
        };
        let numbers = [
            losses.total,
            losses.gradient,
            losses.improvement,
            losses.model,
            losses.value,
            losses.reward,
            losses.entropy,
            losses.weight,
            targets.deviation,
            rows().map(|q| f64::from(spread(q))).sum::<f64>() / batch.states() as f64,
            share(clipped, said.action_values.len()),
            outside(&targets.returns[..starts], &supports[0]),
            outside(&batch.rewards, &supports[1]),
            length,
        ];
        self.updates += 1.0;
        self.sums.iter_mut().zip(numbers).for_each(|(sum, x)| *sum += x);
        for i in 0..starts {
            self.returns.note(said.values[i], targets.returns[i]);
            self.values += f64::from(said.values[i]);
            let at = i * actions + usize::from(batch.actions[i]);
            self.rewards.note(said.rewards[at], batch.rewards[i]);
        }
    }

    /// Adds the means to a line of metrics.
    pub fn report(&self, values: &mut Vec<(&'static str, f64)>) {
        if self.updates > 0.0 {
            values.extend(UPDATES.into_iter().zip(self.sums).map(|(name, sum)| (name, sum / self.updates)));
            values.push(("value_mean", self.values / self.returns.count));
            values.push(("return_mean", self.returns.sum / self.returns.count));
            values.extend(self.returns.share().map(|share| ("explained_variance", share)));
            values.extend(self.rewards.share().map(|share| ("reward_explained_variance", share)));
        }
        if self.moved[1] > 0.0 {
            values.push(("update_norm", self.moved[0] / self.moved[1]));
        }
        if self.decisions > 0.0 {
            values.push(("values_impossible", self.beyond / self.decisions));
        }
    }

    pub fn archive(&mut self, archive: &mut Archive) -> Result<(), ArchiveError> {
        let [moved, of] = &mut self.moved;
        let own = [&mut self.updates, &mut self.values, moved, of, &mut self.decisions, &mut self.beyond];
        let explained = self.returns.parts().into_iter().chain(self.rewards.parts());
        let mut all: Vec<&mut f64> = own.into_iter().chain(&mut self.sums).chain(explained).collect();
        let mut numbers: Vec<f64> = all.iter().map(|x| **x).collect();
        archive.f64("meter", &mut numbers)?;
        all.iter_mut().zip(numbers).for_each(|(x, number)| **x = number);
        Ok(())
    }
}
