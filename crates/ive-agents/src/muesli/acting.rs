//! Muesli as it plays in training: one window in every environment, by the policy of the target network, or by that policy mixed with what it
//! does not know of each action. What is drawn from is what is stored: returns and weights of past actions need it. Paper: App. D.3.

use ive::Rng;

use super::agent::Muesli;
use super::signals::Weighed;
use super::torso::{Torso, View};
use crate::AgentError;
use crate::archive::{Archive, ArchiveError};
use crate::bonus::Bonus;
use crate::clock::Part;
use crate::streams::IMAGINING;

/// An action drawn from probabilities, by a number from 0 to 1. Rounding may leave them short of one: then it is the last that has any.
pub(super) fn drawn(policy: &[f32], uniform: f64) -> usize {
    let mut rest = uniform;
    for (action, &p) in policy.iter().enumerate() {
        rest -= f64::from(p);
        if rest < 0.0 {
            return action;
        }
    }
    policy.iter().rposition(|&p| p > 0.0).unwrap_or(0)
}

/// Half the sum of differences between two policies: the largest difference of the probability of any set of actions.
fn apart(one: &[f32], other: &[f32]) -> f64 {
    one.iter().zip(other).map(|(a, b)| f64::from((a - b).abs())).sum::<f64>() / 2.0
}

/// The policy of training, mixed with a signal.
#[derive(Debug)]
pub(super) struct Optimist {
    bonus: Bonus,
    /// From where paths are drawn.
    imagining: Rng,
    /// Decisions since the last line of metrics; sums of their mean signal, and of how far the mixed policy lies from the policy.
    sums: [f64; 3],
}

impl Optimist {
    /// With a stream of its own.
    pub(super) fn new(bonus: Bonus, root: &Rng) -> Self {
        Self { bonus, imagining: root.fold_in(IMAGINING), sums: [0.0; 3] }
    }

    /// The policies that act, `[states, actions]`, and v̂.
    fn mixed(&mut self, muesli: &mut Muesli, observations: &[u8]) -> Result<[Vec<f32>; 2], AgentError> {
        let Bonus { signal, depth, .. } = self.bonus;
        muesli.clock.lap(Part::Other);
        let weighed = muesli.weighed(observations, signal, depth, |_| self.imagining.uniform())?;
        let mut policies = Vec::with_capacity(weighed.len() * muesli.net.actions);
        for Weighed { log_policy, signal, .. } in &weighed {
            let mixed = self.bonus.mixed(log_policy, signal)?;
            let policy: Vec<f32> = log_policy.iter().map(|x| x.exp()).collect();
            let noted = [1.0, ive::mean(signal), apart(&policy, &mixed)];
            self.sums.iter_mut().zip(noted).for_each(|(sum, x)| *sum += x);
            policies.extend(mixed);
        }
        muesli.clock.lap(Part::Decisions);
        Ok([policies, weighed.iter().map(|state| state.value).collect()])
    }

    /// Adds to a line of metrics, and begins anew.
    pub(super) fn report(&mut self, values: &mut Vec<(&'static str, f64)>) {
        let [decisions, signal, shift] = std::mem::take(&mut self.sums);
        if decisions > 0.0 {
            values.push(("action_signal", signal / decisions));
            values.push(("policy_shift", shift / decisions));
        }
    }

    pub(super) fn archive(&mut self, archive: &mut Archive) -> Result<(), ArchiveError> {
        archive.rng("imagining", &mut self.imagining)?;
        archive.f64("meter_optimism", &mut self.sums)
    }
}

impl Muesli {
    /// The policy of the target network, `[states, actions]`, and v̂.
    fn believed(&mut self, states: usize) -> [Vec<f32>; 2] {
        Torso::clear(&mut self.scratch.seen);
        self.net.torso.prepare(self.environments.batch().observations, &mut self.scratch.seen);
        self.clock.lap(Part::Other);
        let seen = std::mem::take(&mut self.scratch.seen);
        let (target, executor) = self.target();
        let said = target.act(&seen, states, executor);
        self.scratch.seen = seen;
        self.clock.lap(Part::Decisions);
        said
    }

    /// Plays one window in every environment.
    pub(super) fn play(&mut self) -> Result<(), AgentError> {
        let (n, bytes) = (self.config.worlds, self.view.bytes());
        for t in 0..=self.config.window {
            let observations = self.environments.batch().observations;
            #[cfg(test)]
            let observations = &*crate::poison::observations(self.steps, observations);
            if matches!(self.view, View::Board(_)) && observations.iter().any(|&b| b > 1) {
                return Err(AgentError::Observation { step: self.steps });
            }
            for i in 0..n {
                self.fresh.set_observation(i, t, &observations[i * bytes..][..bytes]);
            }
            let [policy, values] = match self.optimist.take() {
                None => self.believed(n),
                Some(mut optimist) => {
                    let observations = observations.to_vec();
                    let mixed = optimist.mixed(self, &observations);
                    self.optimist = Some(optimist);
                    mixed.map_err(|_| self.not_finite("signal of an action"))?
                }
            };
            if !policy.iter().chain(&values).all(|x| x.is_finite()) {
                return Err(self.not_finite("policy or value"));
            }
            let actions = self.net.actions;
            for (i, policy) in policy.chunks_exact(actions).enumerate() {
                self.fresh.set_policy(i, t, policy);
            }
            if t == self.config.window {
                break;
            }
            let draw = |policy: &[f32]| drawn(policy, self.acting.uniform());
            self.scratch.actions.clear();
            self.scratch.actions.extend(policy.chunks_exact(actions).map(draw));
            if self.largest > 0.0 {
                let beyond = values.iter().filter(|v| f64::from(v.abs()) > self.largest).count();
                self.meter.decisions(n, beyond);
            }
            self.clock.lap(Part::Other);
            let now = self.environments.step(&self.scratch.actions)?;
            self.clock.lap(Part::Worlds);
            for i in 0..n {
                let (reward, kind) = (now.rewards[i] as f32, now.kinds[i]);
                #[cfg(test)]
                let reward = crate::poison::number("reward", self.steps, reward.into()) as f32;
                if !reward.is_finite() {
                    return Err(AgentError::NotFinite { what: "reward".to_owned(), step: self.steps });
                }
                self.fresh.set_step(i, t, &[self.scratch.actions[i] as u8], reward, kind);
                self.episodes.predict(i, values[i]);
                self.episodes.step(i, reward, kind.is_last());
                self.gains[i] += f64::from(reward.abs());
                if kind.is_last() {
                    self.largest = self.largest.max(std::mem::take(&mut self.gains[i]));
                }
            }
        }
        for i in 0..n {
            self.replay.push(self.fresh.get(i));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
