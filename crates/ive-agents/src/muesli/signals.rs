//! What the agent does not know: members over many paths, σ of each action, and how far distributions of values lie apart.
//! Paper: Sec. 4.1, App. D.2 and D.3.

use ive::{Rng, Weighting, jensen_shannon, standard_deviation};

use super::agent::{Muesli, drawn};
use super::predict::Paths;
use super::torso::Seen;
use crate::AgentError;
use crate::categorical::{Support, compress, expand};

/// Rows of paths that are imagined at a time.
const ROWS: usize = 1600;

/// The probabilities of a row of logits.
fn softmax(logits: &[f32]) -> Vec<f64> {
    let largest = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let mass: Vec<f64> = logits.iter().map(|x| f64::from(x - largest).exp()).collect();
    let total: f64 = mass.iter().sum();
    mass.iter().map(|m| m / total).collect()
}

/// The distribution of `gained + factor · v` where v has this distribution over atoms: each atom is moved, and its mass shared by its
/// new neighbours.
fn moved(support: &Support, p: &[f64], gained: f64, factor: f64) -> Vec<f64> {
    let (mut out, mut shares) = (vec![0.0; p.len()], vec![0.0f32; p.len()]);
    for (j, mass) in p.iter().enumerate() {
        support.two_hot(compress(gained + factor * expand(support.atom(j))), &mut shares);
        out.iter_mut().zip(&shares).for_each(|(o, s)| *o += mass * f64::from(*s));
    }
    let total: f64 = out.iter().sum();
    out.iter().map(|o| o / total).collect()
}

/// The population standard deviation of each list.
fn deviations(lists: impl Iterator<Item = Vec<f64>>) -> Result<Vec<f64>, AgentError> {
    lists.map(|list| standard_deviation(&list, 0).map_err(|_| AgentError::Prediction)).collect()
}

impl Muesli {
    /// Paths of the target network from each observation, `copies` of each; `first` may name the first action of a copy. `take` gets the
    /// number of a state and its paths by turns.
    fn paths<R>(
        &mut self,
        observations: &[u8],
        copies: usize,
        depth: usize,
        rng: &mut Rng,
        first: impl Fn(usize) -> Option<u8>,
        mut take: impl FnMut(&Paths, usize) -> R,
    ) -> Vec<R> {
        let bytes = self.observation_bytes();
        let mut out = Vec::new();
        for some in observations.chunks(bytes * (ROWS / copies).max(1)) {
            let (mut seen, states) = (Seen::default(), some.len() / bytes);
            self.net.torso.prepare(some, &mut seen);
            let (target, executor) = self.target();
            let paths = target.imagine(&seen, [states, copies], depth, executor, |step, row, policy| {
                let chosen = if step == 0 { first(row % copies) } else { None };
                chosen.unwrap_or_else(|| drawn(policy, rng.uniform()) as u8)
            });
            out.extend((0..states).map(|state| take(&paths, state)));
        }
        out
    }

    fn observation_bytes(&self) -> usize {
        crate::player::Player::spec(self).shape.iter().product()
    }

    /// Members k = 0 to `depth` of each observation, each k-step value averaged over so many paths drawn from the policy along the model.
    ///
    /// # Errors
    /// If a prediction is not finite.
    pub fn members(
        &mut self,
        observations: &[u8],
        depth: usize,
        paths: usize,
        rng: &mut Rng,
    ) -> Result<Vec<Vec<f64>>, AgentError> {
        let discount = self.config().discount;
        let all = self.paths(
            observations,
            paths,
            depth,
            rng,
            |_| None,
            |said, state| {
                let members = said.members_of(state * paths..(state + 1) * paths, discount);
                let mean = |k: usize| members.iter().map(|m| m[k]).sum::<f64>() / paths as f64;
                (0..=depth).map(mean).collect::<Vec<f64>>()
            },
        );
        let finite = all.iter().flatten().all(|x| x.is_finite());
        if finite { Ok(all) } else { Err(AgentError::Prediction) }
    }

    /// σ(s, a) over k = 1 to `depth` for every action of each observation, `[state][action]`: that action first, then one path drawn from
    /// the policy.
    ///
    /// # Errors
    /// If a prediction is not finite.
    pub fn action_sigmas(
        &mut self,
        observations: &[u8],
        depth: usize,
        rng: &mut Rng,
    ) -> Result<Vec<Vec<f64>>, AgentError> {
        let (actions, discount) = (self.net.actions, self.config().discount);
        let all = self.paths(
            observations,
            actions,
            depth,
            rng,
            |copy| Some(copy as u8),
            |said, state| {
                let members = said.members_of(state * actions..(state + 1) * actions, discount);
                deviations(members.into_iter().map(|m| m[1..].to_vec()))
            },
        );
        all.into_iter().collect()
    }

    /// The value of each head for each observation, `[state][head]`: members of the explicit ensemble.
    pub fn head_values(&mut self, observations: &[u8]) -> Vec<Vec<f64>> {
        let support = self.supports[0];
        let of = |logits: &Vec<f32>| {
            let mut numbers = Vec::new();
            support.numbers(logits, &mut numbers);
            numbers
        };
        let heads: Vec<Vec<f32>> = self.heads(observations).iter().map(of).collect();
        let states = heads[0].len();
        (0..states).map(|i| heads.iter().map(|head| f64::from(head[i])).collect()).collect()
    }

    /// How far the distributions of the value heads lie apart, for each observation (Jensen and Shannon).
    ///
    /// # Errors
    /// If a prediction is not finite.
    pub fn head_divergences(
        &mut self,
        observations: &[u8],
        weighting: Weighting,
    ) -> Result<Vec<f64>, AgentError> {
        let (heads, atoms) = (self.heads(observations), self.supports[0].atoms());
        let state = |i: usize| {
            let members: Vec<Vec<f64>> = heads.iter().map(|h| softmax(&h[i * atoms..][..atoms])).collect();
            jensen_shannon(&members, weighting).map_err(|_| AgentError::Prediction)
        };
        (0..heads[0].len() / atoms).map(state).collect()
    }

    /// How far the distributions of the k-step values lie apart, k = 1 to `depth`, for each observation along one path drawn from the
    /// policy: the distribution of v̂ at depth k, moved by the rewards on the way and γᵏ.
    ///
    /// # Errors
    /// If a prediction is not finite.
    pub fn member_divergences(
        &mut self,
        observations: &[u8],
        depth: usize,
        weighting: Weighting,
        rng: &mut Rng,
    ) -> Result<Vec<f64>, AgentError> {
        let (support, discount) = (self.supports[0], self.config().discount);
        let atoms = support.atoms();
        let all = self.paths(
            observations,
            1,
            depth,
            rng,
            |_| None,
            |said, state| {
                let member = |k: usize| {
                    let p = softmax(&said.logits[k][state * atoms..][..atoms]);
                    moved(&support, &p, said.gained(state, k, discount), discount.powi(k as i32))
                };
                let members: Vec<Vec<f64>> = (1..=depth).map(member).collect();
                jensen_shannon(&members, weighting).map_err(|_| AgentError::Prediction)
            },
        );
        all.into_iter().collect()
    }

    fn heads(&mut self, observations: &[u8]) -> Vec<Vec<f32>> {
        let (mut seen, bytes) = (Seen::default(), self.observation_bytes());
        self.net.torso.prepare(observations, &mut seen);
        let (target, executor) = self.target();
        target.heads(&seen, observations.len() / bytes, executor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Not moved at all, a distribution stays what it is; moved, its mean (of what is inside the support) moves with it.
    #[test]
    fn distributions_move_with_rewards_and_discounts() {
        let support = Support::new(4.0, 41).unwrap();
        let mut p = vec![0.0; 41];
        (p[18], p[20], p[25]) = (0.2, 0.5, 0.3);
        for (ours, theirs) in moved(&support, &p, 0.0, 1.0).iter().zip(&p) {
            assert!((ours - theirs).abs() < 1e-6);
        }
        // One atom at zero, moved by 3: h(3) = 1.003 lies between the atoms 1.0 and 1.2.
        let mut one = vec![0.0; 41];
        one[20] = 1.0;
        let there = moved(&support, &one, 3.0, 0.9);
        let mean: f64 = there.iter().enumerate().map(|(j, p)| p * support.atom(j)).sum();
        assert!((mean - 1.003).abs() < 1e-6, "{mean}");
        assert!(there.iter().filter(|p| **p > 0.0).count() == 2);
    }
}
