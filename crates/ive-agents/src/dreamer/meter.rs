//! What Dreamer tells of itself in its metrics.

use super::planner::Planned;
use super::update::Updated;
use crate::archive::{Archive, ArchiveError};

/// Names of the sums, in the order in which they are told.
const UPDATES: [&str; 10] = [
    "kl",
    "loss_observation",
    "loss_reward",
    "loss_actor",
    "loss_value",
    "gradient_norm_model",
    "gradient_norm_actor",
    "gradient_norm_value",
    "actor_std",
    "imagined",
];
const DECISIONS: [&str; 2] = ["mu", "sigma"];
const PLANS: [&str; 2] = ["sigma_flips", "moved"];
const SHARE: &str = "action_share";

/// Sums since the last line of metrics, each with how many there were.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Meter {
    updates: Sums<10>,
    decisions: Sums<2>,
    plans: Sums<2>,
    shares: Sums<1>,
    /// Of rewards in episodes that are over, and of returns.
    rewards: Sums<1>,
    returns: Sums<1>,
}

#[derive(Clone, Copy, Debug)]
struct Sums<const N: usize> {
    count: f64,
    sums: [f64; N],
}

impl<const N: usize> Default for Sums<N> {
    fn default() -> Self {
        Self { count: 0.0, sums: [0.0; N] }
    }
}

impl<const N: usize> Sums<N> {
    fn add(&mut self, numbers: [f64; N]) {
        self.count += 1.0;
        self.sums.iter_mut().zip(numbers).for_each(|(sum, x)| *sum += x);
    }

    fn tell(&self, names: [&'static str; N], values: &mut Vec<(&'static str, f64)>) {
        if self.count > 0.0 {
            values.extend(names.into_iter().zip(self.sums.map(|sum| sum / self.count)));
        }
    }

    fn archive(&mut self, name: &str, archive: &mut Archive) -> Result<(), ArchiveError> {
        let mut all: Vec<f64> = std::iter::once(self.count).chain(self.sums).collect();
        archive.f64(&format!("meter.{name}"), &mut all)?;
        self.count = all[0];
        self.sums.copy_from_slice(&all[1..]);
        Ok(())
    }
}

impl Meter {
    /// Notes an update.
    pub fn update(&mut self, said: &Updated) {
        let Updated { divergence, observation, reward, actor, value, imagined, actor_std, norms } = *said;
        let [model, of_actor, of_value] = norms;
        let all =
            [divergence, observation, reward, actor, value, model, of_actor, of_value, actor_std, imagined];
        self.updates.add(all);
    }

    /// Notes μ and σ of a decision.
    pub fn decision(&mut self, mean: f64, std: f64) {
        self.decisions.add([mean, std]);
    }

    /// Notes a plan.
    pub fn plan(&mut self, plan: &Planned) {
        self.decision(plan.mean, plan.std);
        self.plans.add([f64::from(u8::from(plan.flipped)), plan.moved]);
    }

    /// Notes how much of the variance of a utility is due to actions.
    pub fn share(&mut self, share: f64) {
        self.shares.add([share]);
    }

    /// Notes an episode.
    pub fn episode(&mut self, rewards: &[f32]) {
        rewards.iter().for_each(|&r| self.rewards.add([r.into()]));
        self.returns.add([rewards.iter().map(|&r| f64::from(r)).sum()]);
    }

    /// Adds the means to a line of metrics. What was realised is told as what was imagined, a discounted sum: mean reward / (1 − γ).
    pub fn report(self, discount: f64, values: &mut Vec<(&'static str, f64)>) {
        self.returns.tell(["return"], values);
        self.updates.tell(UPDATES, values);
        if discount < 1.0 && self.rewards.count > 0.0 {
            values.push(("realised", self.rewards.sums[0] / self.rewards.count / (1.0 - discount)));
        }
        self.decisions.tell(DECISIONS, values);
        self.plans.tell(PLANS, values);
        self.shares.tell([SHARE], values);
    }

    pub fn archive(&mut self, archive: &mut Archive) -> Result<(), ArchiveError> {
        self.updates.archive("updates", archive)?;
        self.decisions.archive("decisions", archive)?;
        self.plans.archive("plans", archive)?;
        self.shares.archive("shares", archive)?;
        self.rewards.archive("rewards", archive)?;
        self.returns.archive("returns", archive)
    }
}
