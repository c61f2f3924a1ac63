//! The guard on the paper's gridworld, when the wind shifts.
//!
//! A value table and a model are learned without all transitions that touch the top-left cell. Walks of the uniform policy then
//! meet a wind that blows towards that cell, and every step there costs 1: nobody knows what is there. A guard that was
//! calibrated on ordinary walks judges σ-IVE of each cell; at an alarm the fallback walks back south. All true values are zero, so σ is
//! ignorance and nothing else.

use ive::{ExactIve, Guard, Members, Rng};
use ive_agents::tabular::{Dataset, Learner, Sgd, learn};
use ive_envs::grid::{self, ACTIONS, EPISODE, PAIRS, START, UNSEEN, next_state};
use serde::{Deserialize, Serialize};

use crate::exit::{Failure, Outcome as Result};
use crate::experiments::ours;

/// γ, and steps of the imagined paths.
const GAMMA: f64 = 0.9;
const HORIZON: u16 = 5;
/// Steps of data, and the wind while they are collected.
const DATA: (usize, f64) = (10_000, 0.1);
/// Learning from them takes a moment and leaves a little error everywhere.
const LEARNER: Learner = Learner::Sgd(Sgd { learning_rate: 5e-4, epochs: 500, batch: 128, shuffle: true });
/// The wind that blows north-west.
const SHIFTED_WIND: f64 = 0.6;
const NORTH_WEST: [usize; 2] = [0, 1];
/// What the fallback does: south.
const FALLBACK: usize = 2;
/// Streams of a seed.
const WALKS: u64 = 0x7761_6c6b;

/// What came of one seed. Costs are steps in the unseen cell, mean over walks.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// Under the usual wind, without and with the guard.
    pub usual: [f64; 2],
    /// Under the shifted wind, without and with the guard.
    pub shifted: [f64; 2],
    /// The share of walks with an alarm, usual and shifted.
    pub alarmed: [f64; 2],
}

/// One seed: data, learning, calibration, walks.
pub fn seed(seed: u64, walks: usize, rate: f64) -> Result<Outcome> {
    let root = Rng::from_seed(seed);
    let data = Dataset::new(grid::collect(DATA.0, DATA.1, &mut root.fold_in(0)));
    let learned = ours(learn(&data, LEARNER, GAMMA, 1, &root, &|| true))?;
    let learned = learned.ok_or_else(|| Failure::internal("nobody asked learning to stop"))?;
    let uniform = vec![1.0 / ACTIONS as f64; PAIRS];
    let exact = ExactIve::new(&uniform, GAMMA, Members::up_to(HORIZON));
    let sigma = ours(learned.models[0].inconsistency(&learned.values[0], &exact))?.states;
    let walking = root.fold_in(WALKS);
    let (mut scores, mut episodes) = (Vec::new(), Vec::new());
    for number in 0..walks {
        let rng = &mut walking.fold_in(0).fold_in(number as u64);
        walk(
            false,
            rng,
            |_| None,
            |cell| {
                scores.push(sigma[cell]);
                episodes.push(number);
            },
        );
    }
    let guard = ours(Guard::calibrate_episodes(&scores, &episodes, rate))?;
    let condition = |stream: u64, shifted: bool, guarded: bool| {
        let (mut cost, mut alarmed) = (0, 0);
        for number in 0..walks {
            let rng = &mut walking.fold_in(stream).fold_in(number as u64);
            let mut alarm = false;
            walk(
                shifted,
                rng,
                |cell| (guarded && guard.is_alarm(sigma[cell])).then_some(FALLBACK),
                |cell| {
                    cost += usize::from(cell == UNSEEN);
                    alarm |= guard.is_alarm(sigma[cell]);
                },
            );
            alarmed += usize::from(alarm);
        }
        [cost, alarmed].map(|n| n as f64 / walks as f64)
    };
    let [usual, shifted] =
        [(1, false), (2, true)].map(|(stream, wind)| [false, true].map(|on| condition(stream, wind, on)));
    Ok(Outcome {
        usual: usual.map(|both| both[0]),
        shifted: shifted.map(|both| both[0]),
        alarmed: [usual[0][1], shifted[0][1]],
    })
}

/// A walk of the uniform policy; `replace` may do something else, `see` sees every cell in which something is to be done. The same
/// numbers are drawn whoever decides.
fn walk(shifted: bool, rng: &mut Rng, replace: impl Fn(usize) -> Option<usize>, mut see: impl FnMut(usize)) {
    let mut cell = START;
    for _ in 0..EPISODE {
        see(cell);
        let action = rng.below(ACTIONS);
        let blown = rng.uniform() < if shifted { SHIFTED_WIND } else { DATA.1 };
        let wind = if shifted { NORTH_WEST[rng.below(2)] } else { rng.below(ACTIONS) };
        let action = replace(cell).unwrap_or(action);
        cell = next_state(cell, if blown { wind } else { action });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The fallback cannot make things worse where it only acts in the unseen cell and beside it, and the shift leads there
    /// far more often. 200 walks: the share of false alarms has a standard error of 2 %.
    #[test]
    fn a_guard_leaves_the_unseen_cell_sooner() {
        let found = seed(0, 200, 0.1).unwrap();
        assert!(found.shifted[0] > 5.0 * found.usual[0].max(0.01), "{found:?}");
        assert!(found.shifted[1] < found.shifted[0] && found.usual[1] <= found.usual[0], "{found:?}");
        assert!(found.alarmed[0] < 0.1 + 4.0 * 0.021 && found.alarmed[1] > found.alarmed[0], "{found:?}");
        assert_eq!(seed(0, 200, 0.1).unwrap(), found);
    }
}
