//! The paper's gridworld: 5×5 cells, no reward anywhere, and one corner the agent is never told about.
//!
//! An agent starts at the bottom right and moves N, W, S or E; off the grid it stays in place. With probability `wind`
//! the chosen action is replaced by one drawn uniformly from all four. Episodes last 20 steps. The data given to a
//! learner come from the uniform policy, without every transition that starts or ends in the top-left cell: that cell
//! is out of distribution. Paper: Sec. 4.1 (Fig. 3), Sec. 4.2 (Fig. 5), App. A.
//!
//! Cells are numbered row by row from the top left; all true values are zero, so whatever a learner believes elsewhere
//! is ignorance, not knowledge.

use ive::{Rng, TabularModel};

/// Cells along each side.
pub const SIDE: usize = 5;
/// Number of cells.
pub const STATES: usize = SIDE * SIDE;
/// N, W, S, E.
pub const ACTIONS: usize = 4;
/// Number of state-action pairs.
pub const PAIRS: usize = STATES * ACTIONS;
/// The top-left cell, which the data leave out.
pub const UNSEEN: usize = 0;
/// The bottom-right cell, where episodes start.
pub const START: usize = STATES - 1;
/// Steps of an episode.
pub const EPISODE: usize = 20;

/// The cell that an action leads to without wind.
pub const fn next_state(state: usize, action: usize) -> usize {
    let (row, column) = (state / SIDE, state % SIDE);
    match action {
        0 if row > 0 => state - SIDE,
        1 if column > 0 => state - 1,
        2 if row + 1 < SIDE => state + SIDE,
        3 if column + 1 < SIDE => state + 1,
        _ => state,
    }
}

/// One recorded step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transition {
    /// The cell before.
    pub state: usize,
    /// The action chosen, before the wind.
    pub action: usize,
    /// The cell after.
    pub next: usize,
}

/// `steps` steps of the uniform policy in episodes of [`EPISODE`], without those that touch [`UNSEEN`]. The walk itself
/// goes on through that cell; only the records are dropped (`docs/deviations.md`, 4). `rng` is consumed.
pub fn collect(steps: usize, wind: f64, rng: &mut Rng) -> Vec<Transition> {
    let mut data = Vec::with_capacity(steps);
    let mut state = START;
    for t in 0..steps {
        if t % EPISODE == 0 {
            state = START;
        }
        let action = rng.below(ACTIONS);
        let moved = if rng.uniform() < wind { rng.below(ACTIONS) } else { action };
        let next = next_state(state, moved);
        if state != UNSEEN && next != UNSEEN {
            data.push(Transition { state, action, next });
        }
        state = next;
    }
    data
}

/// The true model: zero reward and `p(s' | s, a) = (1−δ)·1[s' = move(s, a)] + δ/4 Σ_b 1[s' = move(s, b)]`.
///
/// # Errors
/// If the wind is not a probability.
pub fn true_model(wind: f64) -> ive::Result<TabularModel> {
    let mut p = vec![0.0; PAIRS * STATES];
    for pair in 0..PAIRS {
        let (s, a) = (pair / ACTIONS, pair % ACTIONS);
        p[pair * STATES + next_state(s, a)] += 1.0 - wind;
        (0..ACTIONS).for_each(|b| p[pair * STATES + next_state(s, b)] += wind / ACTIONS as f64);
    }
    TabularModel::dense(STATES, ACTIONS, vec![0.0; PAIRS], p)
}

/// What "reaching" the unseen cell at step l means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reaching {
    /// The probability of *being at* the cell after l steps, `(P^l)[start, unseen]`: what the paper plots.
    #[default]
    BeingAt,
    /// The probability of *having visited* it within l steps: the cell is made absorbing.
    FirstPassage,
}

/// The probability of reaching the unseen cell after l = 1..`steps` steps under a policy `[state, action]` and a wind.
/// Paper: Sec. 4.2, Fig. 5.
///
/// One step of the chain moves the probability of each cell to its four neighbours or, at a wall, leaves it: five
/// products of shifted rows, with zero weights where a shift would leave the grid.
///
/// # Panics
/// If the policy has not one entry for every pair.
pub fn reaching(policy: &[f64], wind: f64, steps: usize, kind: Reaching) -> Vec<f64> {
    assert_eq!(policy.len(), PAIRS, "a policy of the gridworld is [25, 4]");
    let absorbing = kind == Reaching::FirstPassage;
    // weights[d][t]: what of cell t + d − SIDE arrives in t. Shifts are 0 (from above) to 2·SIDE (from below).
    let mut weights = [[0.0; STATES]; 2 * SIDE + 1];
    for pair in 0..PAIRS {
        let (s, a) = (pair / ACTIONS, pair % ACTIONS);
        let next = next_state(s, a);
        let flow = (1.0 - wind) * policy[pair] + wind / ACTIONS as f64;
        if !(absorbing && s == UNSEEN) {
            weights[SIDE + s - next][next] += flow;
        }
    }
    if absorbing {
        weights[SIDE][UNSEEN] = 1.0;
    }
    let [up, left, stay, right, down] = [2 * SIDE, SIDE + 1, SIDE, SIDE - 1, 0].map(|d| &weights[d]);
    // A margin of empty cells on both sides, so that shifted rows exist everywhere.
    let mut x = [0.0; STATES + 2 * SIDE];
    x[SIDE + START] = 1.0;
    let mut curve = Vec::with_capacity(steps);
    for _ in 0..steps {
        let mut y = [0.0; STATES];
        for t in 0..STATES {
            let sideways = left[t] * x[t + SIDE + 1] + right[t] * x[t + SIDE - 1];
            let upright = up[t] * x[t + 2 * SIDE] + down[t] * x[t];
            y[t] = stay[t] * x[t + SIDE] + (sideways + upright);
        }
        x[SIDE..SIDE + STATES].copy_from_slice(&y);
        curve.push(y[UNSEEN]);
    }
    curve
}

#[cfg(test)]
mod tests {
    use super::*;

    fn golden() -> serde_json::Value {
        serde_json::from_str(include_str!("../../ive/tests/golden/tabular.json")).unwrap()
    }

    /// Against the NumPy program, for the uniform policy and for "N on even cells, W on odd ones".
    #[test]
    fn reaching_matches_numpy() {
        let uniform = vec![0.25; PAIRS];
        let mut zigzag = vec![0.0; PAIRS];
        (0..STATES).for_each(|s| zigzag[s * ACTIONS + s % 2] = 1.0);
        let golden = golden();
        for (name, policy) in [("uniform", uniform), ("n_even_w_odd", zigzag)] {
            for wind in ["0.0", "0.1", "0.5"] {
                for (word, kind) in [("being", Reaching::BeingAt), ("reached", Reaching::FirstPassage)] {
                    let curve = reaching(&policy, wind.parse().unwrap(), 150, kind);
                    for (l, want) in golden[format!("reach/{name}/wind={wind}/{word}")].as_object().unwrap() {
                        let got = curve[l.parse::<usize>().unwrap() - 1];
                        assert!(
                            (got - want.as_f64().unwrap()).abs() < 1e-13,
                            "{name} {wind} {word} l={l}: {got}"
                        );
                    }
                }
            }
        }
    }

    /// Over 400 data sets the spec's program kept 494.7 of 500 transitions on average; five standard errors allowed
    /// (their spread is about 6 per data set).
    #[test]
    fn data_have_the_expected_size_and_never_touch_the_unseen_cell() {
        let sizes: Vec<f64> = (0..400)
            .map(|seed| {
                let data = collect(500, 0.1, &mut Rng::from_seed(seed));
                assert!(data.iter().all(|t| t.state != UNSEEN && t.next != UNSEEN));
                data.len() as f64
            })
            .collect();
        let (mean, error) = ive::mean_and_error(&sizes);
        assert!((mean - 494.7).abs() < 5.0 * error, "{mean} ± {error}");
    }

    /// Drawn transitions follow the true model: chi-squared over the four outcomes of one pair in mid-grid.
    #[test]
    fn the_wind_blows_as_often_as_it_should() {
        let data = collect(400_000, 0.4, &mut Rng::from_seed(1));
        let seen: Vec<usize> =
            data.iter().filter(|t| t.state == 12 && t.action == 1).map(|t| t.next).collect();
        let n = seen.len() as f64;
        let chi2: f64 = (0..ACTIONS)
            .map(|b| {
                let expected = n * if b == 1 { 0.7 } else { 0.1 };
                (seen.iter().filter(|&&s| s == next_state(12, b)).count() as f64 - expected).powi(2)
                    / expected
            })
            .sum();
        assert!(chi2 < 21.1, "{chi2} beyond the 0.9999 quantile for 3 degrees of freedom ({n} draws)");
    }
}
