//! Predictions to try things with: those of a small learned model, not made up.
//!
//! The paper's gridworld: a value table and a model are learned from the walks of a uniform policy, without all transitions
//! that touch the top-left cell. There are twenty times as many data as in the paper, so that this cell is the unknown. What the model predicts along the way is then logged for the states of new walks, some of
//! them under a wind that blows north-west. All true values are zero, so the error of a value is known.

use std::path::{Path, PathBuf};

use ive::{Backup, BellmanOperator, Rng};
use ive_agents::tabular::ensembles::state_values;
use ive_agents::tabular::{Dataset, Learned, Learner, Sgd, learn};
use ive_envs::grid::{self, ACTIONS, EPISODE, PAIRS, START, STATES, next_state};

use super::npz::Writer;
use crate::exit::{Failure, Outcome};
use crate::experiments::ours;
use crate::output::file;

/// γ of the example.
pub const GAMMA: f64 = 0.9;
/// Steps of the imagined paths.
const HORIZON: usize = 5;
/// Steps of data, and the wind while they are collected.
const DATA: (usize, f64) = (10_000, 0.1);
/// Learning from them takes a moment and leaves a little error everywhere.
const LEARNER: Learner = Learner::Sgd(Sgd { learning_rate: 5e-4, epochs: 500, batch: 128, shuffle: true });
/// Walks in each file.
const EPISODES: usize = 200;
/// The wind that blows north-west.
const SHIFTED_WIND: f64 = 0.6;
/// Actions with which it pushes.
const NORTH_WEST: [usize; 2] = [0, 1];

/// The agent: a value table and a model.
fn learned() -> Outcome<Learned> {
    let root = Rng::from_seed(0);
    let data = Dataset::new(grid::collect(DATA.0, DATA.1, &mut root.fold_in(0)));
    let learned = ours(learn(&data, LEARNER, GAMMA, 1, &root, &|| true))?;
    learned.ok_or_else(|| Failure::internal("nobody asked learning to stop"))
}

/// Rewards `[k, cell]` and values `[k + 1, cell]` that the model expects along paths from every cell.
struct Expected {
    rewards: Vec<Vec<f64>>,
    values: Vec<Vec<f64>>,
}

impl Expected {
    /// `E[rᵏ⁺¹ | s]` and `E[v̂(sᵏ) | s]` under the uniform policy: no sampling, so no noise.
    fn of(learned: &Learned) -> Outcome<Self> {
        let uniform = vec![1.0 / ACTIONS as f64; PAIRS];
        let operator = ours(learned.models[0].state_operator(Backup::Evaluation(&uniform), 1.0))?;
        // T v = r + P v, so P v = T v − T 0.
        let reward = operator.backup(&[0.0; STATES]);
        let step =
            |x: &Vec<f64>| operator.backup(x).iter().zip(&reward).map(|(a, b)| a - b).collect::<Vec<f64>>();
        let (mut values, mut rewards) = (vec![ours(state_values(&learned.values[0]))?], vec![reward.clone()]);
        for k in 0..HORIZON {
            values.push(step(&values[k]));
            rewards.push(step(&rewards[k]));
        }
        rewards.truncate(HORIZON);
        Ok(Self { rewards, values })
    }

    /// A log of the walks of the uniform policy.
    fn log(&self, shifted: bool, rng: &mut Rng) -> std::io::Result<Vec<u8>> {
        let mut cells = Vec::new();
        for _ in 0..EPISODES {
            let mut cell = START;
            for _ in 0..EPISODE {
                cells.push(cell);
                let action = rng.below(ACTIONS);
                let blown = rng.uniform() < if shifted { SHIFTED_WIND } else { DATA.1 };
                let wind = if shifted { NORTH_WEST[rng.below(2)] } else { rng.below(ACTIONS) };
                cell = next_state(cell, if blown { wind } else { action });
            }
        }
        let logged = |rows: &[Vec<f64>]| -> Vec<f64> {
            rows.iter().flat_map(|row| cells.iter().map(|&cell| row[cell])).collect()
        };
        let mut bytes = Vec::new();
        let mut archive = Writer::new(&mut bytes);
        archive.numbers("rewards", &[HORIZON, cells.len()], &logged(&self.rewards))?;
        archive.numbers("values", &[HORIZON + 1, cells.len()], &logged(&self.values))?;
        archive.whole("episode", (0..cells.len()).map(|i| (i / EPISODE) as i64))?;
        // The true value is zero everywhere.
        let errors: Vec<f64> = cells.iter().map(|&cell| self.values[0][cell].abs()).collect();
        archive.numbers("error", &[cells.len()], &errors)?;
        archive.finish()?;
        Ok(bytes)
    }
}

/// Writes `held-out.npz`, `ordinary.npz` and `shifted.npz` into a directory.
pub fn write(folder: &Path) -> Outcome<Vec<PathBuf>> {
    let (expected, rng) = (Expected::of(&learned()?)?, Rng::from_seed(1));
    let mut written = Vec::new();
    for (stream, (name, shifted)) in
        [("held-out.npz", false), ("ordinary.npz", false), ("shifted.npz", true)].into_iter().enumerate()
    {
        let log = expected.log(shifted, &mut rng.fold_in(stream as u64));
        let path = folder.join(name);
        file::write(&path, &log.map_err(|e| Failure::internal(format!("cannot make {name}: {e}")))?)?;
        written.push(path);
    }
    Ok(written)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ive::{Discounts, ExactIve, Members, Predictions};

    /// The logged predictions have the σ of the exact kernel for tables.
    #[test]
    fn logged_predictions_have_the_exact_sigma() {
        let learned = learned().unwrap();
        let expected = Expected::of(&learned).unwrap();
        let flat = |rows: &[Vec<f64>]| rows.concat();
        let (rewards, values) = (flat(&expected.rewards), flat(&expected.values));
        let logged = Predictions::new(&rewards, &values, Discounts::Constant(GAMMA), STATES).unwrap();
        let found = logged.statistics(&Members::up_to(5), 0).unwrap();
        let uniform = vec![0.25; PAIRS];
        let exact = learned.models[0]
            .inconsistency(&learned.values[0], &ExactIve::new(&uniform, GAMMA, Members::up_to(5)))
            .unwrap();
        for (a, b) in found.std.iter().zip(&exact.states) {
            assert!((a - b).abs() < 1e-12, "{a} {b}");
        }
        let others = found.std[1..].iter().copied().fold(0.0, f64::max);
        assert!(found.std[grid::UNSEEN] > others, "{:?}", found.std);
    }
}
