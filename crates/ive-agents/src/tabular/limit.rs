//! The point to which the learners converge, in closed form.
//!
//! Visited pairs: p̂ is the frequency of each next state, r̂ = 0, and q̂ solves `q = γ P̂ mean_a' q`. Unvisited pairs keep
//! their random start. On visited pairs `T q̂ = q̂` then holds exactly, so σ-IVE(1) vanishes exactly there, and each
//! further step spreads the disagreement of the unvisited pairs by one move: the diffusion seen in Figure 3.

use ive_envs::grid::{ACTIONS, PAIRS, STATES};

use super::Dataset;

/// The fixed points of expected SARSA under the uniform policy, one for each random start, `[state, action]`.
///
/// With ū(s) = mean_a q(s, a), visited pairs obey q(s, a) = γ Σ P̂ ū(s'), so the unknowns are the 25 numbers ū:
/// `ū(s) − γ/4 Σ_{a visited} Σ_s' P̂(s' | s, a) ū(s') = ¼ Σ_{a unvisited} q⁰(s, a)`.
pub fn values(data: &Dataset, discount: f64, starts: impl Iterator<Item = Vec<f64>>) -> Vec<Vec<f64>> {
    let share = 1.0 / ACTIONS as f64;
    let mut matrix = [[0.0; STATES]; STATES];
    for pair in (0..PAIRS).filter(|&p| data.visited(p)) {
        let scale = discount * share / f64::from(data.pair_counts[pair]);
        for (m, &n) in matrix[pair / ACTIONS].iter_mut().zip(&data.counts[pair * STATES..]) {
            *m -= scale * f64::from(n);
        }
    }
    (0..STATES).for_each(|s| matrix[s][s] += 1.0);
    let starts: Vec<Vec<f64>> = starts.collect();
    let kept = |q: &[f64], s: usize| {
        (s * ACTIONS..(s + 1) * ACTIONS).filter(|&p| !data.visited(p)).map(|p| share * q[p]).sum::<f64>()
    };
    let right: Vec<[f64; STATES]> = starts.iter().map(|q| std::array::from_fn(|s| kept(q, s))).collect();
    let means = solve(matrix, right);
    starts
        .into_iter()
        .zip(means)
        .map(|(mut q, mean)| {
            for pair in (0..PAIRS).filter(|&p| data.visited(p)) {
                let counts = &data.counts[pair * STATES..(pair + 1) * STATES];
                let sum: f64 = counts.iter().zip(&mean).map(|(&n, u)| f64::from(n) * u).sum();
                q[pair] = discount * sum / f64::from(data.pair_counts[pair]);
            }
            q
        })
        .collect()
}

/// The maximum-likelihood model: sets r̂ of visited pairs to zero and returns p̂, `[state, action, next]`.
/// `start(pair)` gives the random logits of an unvisited pair.
pub fn model(data: &Dataset, reward: &mut [f64], start: impl Fn(usize) -> [f64; STATES]) -> Vec<f64> {
    let mut p = Vec::with_capacity(PAIRS * STATES);
    for pair in 0..PAIRS {
        if data.visited(pair) {
            reward[pair] = 0.0;
            let total = f64::from(data.pair_counts[pair]);
            p.extend(data.counts[pair * STATES..(pair + 1) * STATES].iter().map(|&n| f64::from(n) / total));
        } else {
            p.extend(ive::softmax(&start(pair)));
        }
    }
    p
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
