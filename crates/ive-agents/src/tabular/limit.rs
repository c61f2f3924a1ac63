//! The point to which the learners converge, in closed form.
//!
//! Visited pairs: p̂ is the frequency of each next state, r̂ = 0, and q̂ solves `q = γ P̂ mean_a' q`. Unvisited pairs keep
//! their random start. On visited pairs `T q̂ = q̂` then holds exactly, so σ-IVE(1) vanishes exactly there, and each
//! further step spreads the disagreement of the unvisited pairs by one move: the diffusion seen in Figure 3.

use ive_envs::grid::{ACTIONS, PAIRS, STATES};

use super::Dataset;

/// What the data say about the next state, from which every limit follows.
#[derive(Clone, Debug)]
pub struct Limit<'a> {
    data: &'a Dataset,
    /// How often each next state follows a visited pair, `[state, action, next]`.
    frequency: Vec<f64>,
    /// The same without the zeros: pair, next state, frequency.
    seen: Vec<(usize, usize, f64)>,
}

impl<'a> Limit<'a> {
    /// Counts.
    pub fn new(data: &'a Dataset) -> Self {
        let (mut frequency, mut seen) = (vec![0.0; PAIRS * STATES], Vec::new());
        for (i, &n) in data.counts.iter().enumerate().filter(|(_, n)| **n > 0) {
            let share = f64::from(n) / f64::from(data.pair_counts[i / STATES]);
            frequency[i] = share;
            seen.push((i / STATES, i % STATES, share));
        }
        Self { data, frequency, seen }
    }

    /// The fixed points of expected SARSA under the uniform policy, one for each random start, `[state, action]`.
    ///
    /// With ū(s) = mean_a q(s, a), visited pairs obey q(s, a) = γ Σ P̂ ū(s'), so the unknowns are the 25 numbers ū:
    /// `ū(s) − γ/4 Σ_{a visited} Σ_s' P̂(s' | s, a) ū(s') = ¼ Σ_{a unvisited} q⁰(s, a)`.
    pub fn values(&self, discount: f64, starts: impl Iterator<Item = Vec<f64>>) -> Vec<Vec<f64>> {
        let share = 1.0 / ACTIONS as f64;
        let mut matrix = [[0.0; STATES]; STATES];
        (0..STATES).for_each(|s| matrix[s][s] = 1.0);
        self.seen.iter().for_each(|&(pair, next, f)| matrix[pair / ACTIONS][next] -= discount * share * f);
        let mut all: Vec<Vec<f64>> = starts.collect();
        for q in &mut all {
            (0..PAIRS).filter(|&p| self.data.visited(p)).for_each(|p| q[p] = 0.0);
        }
        let kept = |q: &Vec<f64>| {
            std::array::from_fn(|s| share * q[s * ACTIONS..(s + 1) * ACTIONS].iter().sum::<f64>())
        };
        let means = solve(matrix, all.iter().map(kept).collect());
        for (q, mean) in all.iter_mut().zip(means) {
            self.seen.iter().for_each(|&(pair, next, f)| q[pair] += discount * f * mean[next]);
        }
        all
    }

    /// The maximum-likelihood model: sets r̂ of visited pairs to zero and returns p̂, `[state, action, next]`.
    /// `start(pair)` gives the random logits of an unvisited pair.
    pub fn model(&self, reward: &mut [f64], start: impl Fn(usize) -> [f64; STATES]) -> Vec<f64> {
        let mut p = self.frequency.clone();
        for (pair, row) in p.chunks_exact_mut(STATES).enumerate() {
            if self.data.visited(pair) {
                reward[pair] = 0.0;
            } else {
                row.copy_from_slice(&ive::softmax(&start(pair)));
            }
        }
        p
    }
}

/// Solves `M x = b` for several b by elimination. Rows of M are diagonally dominant (γ < 1), so no pivoting is needed.
fn solve(mut m: [[f64; STATES]; STATES], mut right: Vec<[f64; STATES]>) -> Vec<[f64; STATES]> {
    for i in 0..STATES {
        let pivot = m[i];
        for j in i + 1..STATES {
            let factor = m[j][i] / pivot[i];
            if factor != 0.0 {
                (i..STATES).for_each(|k| m[j][k] -= factor * pivot[k]);
                right.iter_mut().for_each(|b| b[j] -= factor * b[i]);
            }
        }
    }
    for b in &mut right {
        for i in (0..STATES).rev() {
            let known: f64 = (i + 1..STATES).map(|k| m[i][k] * b[k]).sum();
            b[i] = (b[i] - known) / m[i][i];
        }
    }
    right
}
