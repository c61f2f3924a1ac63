//! Normalised scores: the scale on which agents are averaged over games and compared (H6).
//!
//! **Scale.** `(score − random) / (best − random)` per game, where `random` is the uniform policy, measured by us, and `best`
//! the best mean in the paper's Table 2 for that game. Both are constants, so no agent of ours sets the scale by which
//! it is judged, nothing is divided by a small noisy number, and 1 means "as good as the best published agent".

use ive_envs::minatar::Game;

use super::published::{Method, best};
use super::run::{Record, of};
use crate::experiments::runs::compare::Strata;
use crate::experiments::runs::record::Measure;

/// The scale of a game.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    pub game: Game,
    /// Mean return of the uniform policy, and its standard error.
    pub random: (f64, f64),
}

impl Scale {
    /// `(score − random) / (best − random)`.
    pub fn normalised(&self, score: f64) -> f64 {
        (score - self.random.0) / (best(self.game) - self.random.0)
    }
}

/// Normalised scores of one agent.
pub fn strata(records: &[Record], scales: &[Scale], method: Method, measure: Measure) -> Strata {
    let run = |scale: &Scale, r: &Record| Some((r.cell.seed, scale.normalised(r.score(measure)?)));
    scales.iter().map(|s| of(records, s.game, method).filter_map(|r| run(s, r)).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::super::made_up::{fixture, records, scales};
    use super::*;
    use crate::experiments::runs::compare::{Resampling, UNBOUNDED, compare, iqm};
    use ive::mean_and_error;
    use serde_json::Value;

    const RESAMPLING: Resampling = Resampling { replicates: 20_000, seed: 1 };

    fn close(got: f64, expected: &Value, tolerance: f64) {
        let expected = expected.as_f64().unwrap();
        assert!((got - expected).abs() < tolerance, "{got} is not {expected}");
    }

    #[test]
    fn scores_match_numpy() {
        let (f, expected) = (fixture(), &fixture()["expected"]);
        let (records, scales) = (records(&f), scales(&f));
        for method in Method::ALL {
            let strata = strata(&records, &scales, method, Measure::Training);
            for game in Game::ALL {
                let g = game as usize;
                let raw: Vec<f64> = of(&records, game, method).filter_map(|r| r.training).collect();
                let (mean, error) = mean_and_error(&raw);
                close(mean, &expected["mean"][method.word()][g], 1e-12);
                close(error, &expected["error"][method.word()][g], 1e-12);
                for (seed, x) in &strata[g] {
                    close(*x, &expected["normalised"][method.word()][g][*seed as usize], 1e-12);
                }
            }
        }
    }

    /// Effects and t intervals to rounding; bootstrap ends within 5 % of the width, several times the Monte-Carlo error
    /// of the two programs (20 000 and 200 000 replicates).
    #[test]
    fn comparisons_match_scipy() {
        let (f, expected) = (fixture(), &fixture()["expected"]);
        let of_method = |m| strata(&records(&f), &scales(&f), m, Measure::Training);
        for method in Method::ALL {
            let (value, (low, high)) = iqm(&of_method(method), RESAMPLING).unwrap().unwrap();
            close(value, &expected["iqm"][method.word()], 1e-12);
            let ends = &expected["iqm_interval"][method.word()];
            close(low, &ends[0], 0.05 * (high - low));
            close(high, &ends[1], 0.05 * (high - low));
        }
        for other in &Method::ALL[..3] {
            let compared = compare(&of_method(Method::MeanOfMembers), &of_method(*other), RESAMPLING);
            let c = compared.unwrap().unwrap();
            let expected = &expected["mu-ive against"][other.word()];
            close(c.effect, &expected["effect"], 1e-12);
            close(c.interval.0, &expected["interval"][0], 1e-9);
            close(c.interval.1, &expected["interval"][1], 1e-9);
            close(c.improvement, &expected["improvement"], 1e-12);
            assert_eq!((c.games, c.pairs), (5, 15));
            assert!(c.improvement_interval.0 <= c.improvement && c.improvement <= c.improvement_interval.1);
        }
    }

    /// What is missing is left out, and too little decides nothing.
    #[test]
    fn missing_runs_leave_pairs_out() {
        let f = fixture();
        let mut records = records(&f);
        let scales = scales(&f);
        let both = |records: &[Record]| {
            let of = |m| strata(records, &scales, m, Measure::Greedy);
            compare(&of(Method::MeanOfMembers), &of(Method::Dqn), RESAMPLING).unwrap()
        };
        records.retain(|r| (r.cell.method, r.cell.game, r.cell.seed) != (Method::Dqn, Game::Freeway, 1));
        let c = both(&records).unwrap();
        assert!(c.pairs == 14 && c.games == 5 && c.interval == UNBOUNDED, "two pairs on a game are too few");
        assert!(
            c.undecided.unwrap().ends_with("14 pairs of runs, at least 10 and 3 on each game are needed")
        );
        records.retain(|r| {
            (r.cell.method, r.cell.game, r.cell.seed) != (Method::MeanOfMembers, Game::Freeway, 2)
        });
        assert_eq!(both(&records).unwrap().interval, UNBOUNDED, "one pair has no spread");
        records.retain(|r| r.cell.game != Game::Freeway);
        let c = both(&records).unwrap();
        assert!(c.games == 4 && c.pairs == 12 && c.interval.0.is_finite());
        records.retain(|r| r.cell.game == Game::Breakout);
        let c = both(&records).unwrap();
        assert_eq!(c.interval, UNBOUNDED, "three pairs are too few");
        assert!(c.undecided.unwrap().starts_with("too few seeds: 3 pairs of runs"));
        records.retain(|r| r.cell.method == Method::Dqn);
        assert!(both(&records).is_none());
    }
}
