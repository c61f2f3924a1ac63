//! What the agent does not know: members over many paths, σ of each action, and how far distributions of values lie apart.
//! Paper: Sec. 4.1, App. D.2 and D.3.

use ive::{Rng, Weighting, jensen_shannon, standard_deviation};

use super::acting::drawn;
use super::agent::Muesli;
use super::predict::{Ahead, Paths};
use super::torso::Seen;
use crate::AgentError;
use crate::bonus::Signal;
use crate::categorical::{Support, compress, expand};

/// Rows of paths that are imagined at a time.
pub(super) const ROWS: usize = 1600;

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
    let mut out = vec![0.0; p.len()];
    for (j, mass) in p.iter().enumerate() {
        let (low, share) = support.neighbours(compress(gained + factor * expand(support.atom(j))));
        out[low] += mass * f64::from(1.0 - share);
        out[low + 1] += mass * f64::from(share);
    }
    let total: f64 = out.iter().sum();
    out.iter().map(|o| o / total).collect()
}

/// How little the members k = 1 to n of one row agree: their σ, or how far their distributions lie apart, the distribution of v̂ at depth k moved
/// by the rewards on the way and γᵏ.
fn disagreement(
    said: &Paths,
    row: usize,
    weighting: Option<Weighting>,
    support: &Support,
    discount: f64,
) -> Result<f64, AgentError> {
    let found = match weighting {
        None => standard_deviation(&said.members_of(row..row + 1, discount)[0][1..], 0),
        Some(weighting) => {
            let atoms = support.atoms();
            let member = |k: usize| {
                let p = softmax(&said.logits[k][row * atoms..][..atoms]);
                moved(support, &p, said.gained(row, k, discount), discount.powi(k as i32))
            };
            jensen_shannon(&(1..=said.rewards.len()).map(member).collect::<Vec<_>>(), weighting)
        }
    };
    found.map_err(|_| AgentError::Prediction)
}

/// How little the first n value heads agree on `r̂ + γ v̂` behind one action of one state, a row: σ, or how far the distributions lie apart.
fn between_heads(
    ahead: &Ahead,
    row: usize,
    n: usize,
    weighting: Option<Weighting>,
    support: &Support,
    discount: f64,
) -> Result<f64, AgentError> {
    let (atoms, gained) = (support.atoms(), f64::from(ahead.rewards[row]));
    let logits = ahead.heads[..n].iter().map(|head| &head[row * atoms..][..atoms]);
    let found = match weighting {
        None => {
            let mut values = Vec::new();
            support.numbers(&logits.flatten().copied().collect::<Vec<f32>>(), &mut values);
            let members: Vec<f64> = values.iter().map(|v| gained + discount * f64::from(*v)).collect();
            standard_deviation(&members, 0)
        }
        Some(weighting) => {
            let members = logits.map(|head| moved(support, &softmax(head), gained, discount));
            jensen_shannon(&members.collect::<Vec<_>>(), weighting)
        }
    };
    found.map_err(|_| AgentError::Prediction)
}

/// What is said of a state and of each of its actions.
#[derive(Clone, Debug, PartialEq)]
pub struct Weighed {
    /// ln π̂ of each action.
    pub log_policy: Vec<f32>,
    /// v̂.
    pub value: f32,
    /// The signal of each action.
    pub signal: Vec<f64>,
}

impl Muesli {
    /// Paths of the target network from each observation, `copies` of each; `first` may name the first action of a copy. `draw` gives a number
    /// from 0 to 1 for each further action, by the number of the state. `take` gets paths, and the place of each state among them, by turns.
    fn paths<R>(
        &mut self,
        observations: &[u8],
        copies: usize,
        depth: usize,
        mut draw: impl FnMut(usize) -> f64,
        first: impl Fn(usize) -> Option<u8>,
        mut take: impl FnMut(&Paths, usize) -> R,
    ) -> Vec<R> {
        let bytes = self.observation_bytes();
        let mut out = Vec::new();
        for some in observations.chunks(bytes * (ROWS / copies).max(1)) {
            let (mut seen, states) = (Seen::default(), some.len() / bytes);
            self.net.torso.prepare(some, &mut seen);
            let (before, (target, executor)) = (out.len(), self.target());
            let paths = target.imagine(&seen, [states, copies], depth, executor, |step, row, policy| {
                let chosen = if step == 0 { first(row % copies) } else { None };
                chosen.unwrap_or_else(|| drawn(policy, draw(before + row / copies)) as u8)
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
            |_| rng.uniform(),
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

    /// π̂, v̂ and the signal of every action of each observation: that action first, then one path drawn from the policy, its members k = 1 to
    /// `depth`. All states and actions go one step deeper in one call. `draw` gives a number from 0 to 1 for each further action, by the
    /// number of the state. An explicit signal compares the first `depth` value heads behind each action, and draws nothing.
    ///
    /// # Errors
    /// If a prediction is not finite, or there are fewer value heads.
    pub fn weighed(
        &mut self,
        observations: &[u8],
        signal: Signal,
        depth: usize,
        draw: impl FnMut(usize) -> f64,
    ) -> Result<Vec<Weighed>, AgentError> {
        if signal.is_explicit() {
            return self.weighed_by_heads(observations, signal, depth);
        }
        let (actions, discount, support) = (self.net.actions, self.config().discount, self.supports[0]);
        let all = self.paths(
            observations,
            actions,
            depth,
            draw,
            |copy| Some(copy as u8),
            |said, state| {
                let of = |row| disagreement(said, row, signal.weighting(), &support, discount);
                let first = state * actions;
                Ok(Weighed {
                    log_policy: said.log_policy[first * actions..][..actions].to_vec(),
                    value: said.values[0][first],
                    signal: (first..first + actions).map(of).collect::<Result<_, AgentError>>()?,
                })
            },
        );
        all.into_iter().collect()
    }

    fn weighed_by_heads(
        &mut self,
        observations: &[u8],
        signal: Signal,
        heads: usize,
    ) -> Result<Vec<Weighed>, AgentError> {
        if heads > self.net.num_heads() {
            let problem = format!("must be at most {}, the number of value heads", self.net.num_heads());
            return Err(AgentError::Setting { key: "optimism_depth", problem });
        }
        let (actions, discount, support) = (self.net.actions, self.config().discount, self.supports[0]);
        let (bytes, mut all) = (self.observation_bytes(), Vec::new());
        for some in observations.chunks(bytes * (ROWS / actions).max(1)) {
            let (mut seen, states) = (Seen::default(), some.len() / bytes);
            self.net.torso.prepare(some, &mut seen);
            let (target, executor) = self.target();
            let ahead = target.ahead(&seen, states, executor);
            for state in 0..states {
                let rows = state * actions..(state + 1) * actions;
                let of = |row| between_heads(&ahead, row, heads, signal.weighting(), &support, discount);
                all.push(Weighed {
                    log_policy: ahead.log_policy[rows.clone()].to_vec(),
                    value: ahead.values[state],
                    signal: rows.map(of).collect::<Result<_, AgentError>>()?,
                });
            }
        }
        Ok(all)
    }

    /// σ(s, a) over k = 1 to `depth` for every action of each observation, `[state][action]`.
    ///
    /// # Errors
    /// If a prediction is not finite.
    pub fn action_sigmas(
        &mut self,
        observations: &[u8],
        depth: usize,
        rng: &mut Rng,
    ) -> Result<Vec<Vec<f64>>, AgentError> {
        let weighed = self.weighed(observations, Signal::Sigma, depth, |_| rng.uniform())?;
        Ok(weighed.into_iter().map(|state| state.signal).collect())
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
    /// policy.
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
        let of = |said: &Paths, state: usize| disagreement(said, state, Some(weighting), &support, discount);
        self.paths(observations, 1, depth, |_| rng.uniform(), |_| None, of).into_iter().collect()
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
