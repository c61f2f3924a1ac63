//! Normalised scores, their average over games, and the paired comparison behind H6.
//!
//! **Scale.** `(score − random) / (best − random)` per game, where `random` is the uniform policy, measured by us, and `best`
//! the best mean in the paper's Table 2 for that game. Both are constants, so no agent of ours sets the scale by which
//! it is judged, nothing is divided by a small noisy number, and 1 means "as good as the best published agent".
//!
//! **Unit.** A pair of runs with the same game and seed. The five games are what the paper's claim is about and are
//! held fixed; only seeds are random. So the effect is the mean over games of the mean difference within a game, its
//! spread is measured within games, and its interval is Student's t with the degrees of freedom that three seeds leave
//! ([`ive::StratifiedMean`]). Nothing follows for other games: five are too few for that.

use ive::{Rng, StratifiedMean, interquartile_mean, mean, probability_of_improvement, stratified_bootstrap};
use ive_envs::minatar::Game;

use super::published::{Method, best};
use super::record::{Measure, Record, of};
use crate::claim::MIN_SEEDS;
pub use crate::claim::UNBOUNDED;
use crate::exit::Outcome;
use crate::experiments::ours;

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

/// Normalised scores with their seeds, `[game][run]`.
pub type Strata = Vec<Vec<(u64, f64)>>;

/// Normalised scores of one agent.
pub fn strata(records: &[Record], scales: &[Scale], method: Method, measure: Measure) -> Strata {
    let run = |scale: &Scale, r: &Record| Some((r.seed, scale.normalised(r.score(measure)?)));
    scales.iter().map(|s| of(records, s.game, method).filter_map(|r| run(s, r)).collect()).collect()
}

fn values(strata: &Strata) -> Vec<Vec<f64>> {
    strata.iter().map(|runs| runs.iter().map(|(_, x)| *x).collect()).collect()
}

/// How intervals by resampling are made.
#[derive(Clone, Copy, Debug)]
pub struct Resampling {
    pub replicates: usize,
    pub seed: u64,
}

impl Resampling {
    /// A 95 % interval of a statistic of `[game][run]`, runs resampled within games. Unbounded where a game has fewer
    /// than two runs.
    fn interval(self, strata: &[Vec<f64>], statistic: impl Fn(&[Vec<f64>]) -> f64) -> Outcome<(f64, f64)> {
        if strata.iter().any(|runs| runs.len() < 2) {
            return Ok(UNBOUNDED);
        }
        let rng = &mut Rng::from_seed(self.seed);
        ours(stratified_bootstrap(strata, statistic, 0.95, self.replicates, rng))
    }
}

/// An average with the ends of its interval.
pub type Ranged = (f64, (f64, f64));

/// Interquartile mean over all runs of all games, and its stratified bootstrap interval (as rliable reports it). None
/// while a game has no run.
pub fn iqm(strata: &Strata, resampling: Resampling) -> Outcome<Option<Ranged>> {
    let strata = values(strata);
    if strata.is_empty() || strata.iter().any(Vec::is_empty) {
        return Ok(None);
    }
    // What is not a number makes the bootstrap fail as a whole.
    let of = |s: &[Vec<f64>]| interquartile_mean(&s.concat()).unwrap_or(f64::NAN);
    let value = ours(interquartile_mean(&strata.concat()))?;
    Ok(Some((value, resampling.interval(&strata, of)?)))
}

/// One agent against another, by normalised scores.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// Games with at least one pair, and pairs in all.
    pub games: usize,
    pub pairs: usize,
    /// Mean over games of the mean difference within a game.
    pub effect: f64,
    /// Its 95 % t interval.
    pub interval: (f64, f64),
    /// Why nothing can be decided, where there are too few pairs for an interval.
    pub undecided: Option<String>,
    /// Probability that a run of the one is better than a run of the other on the same game.
    pub improvement: f64,
    /// Its 95 % stratified bootstrap interval.
    pub improvement_interval: (f64, f64),
}

/// Differences `ours − theirs` of runs with the same seed, `[game][pair]`.
pub fn paired(ours: &Strata, theirs: &Strata) -> Vec<Vec<f64>> {
    let of_game = |a: &Vec<(u64, f64)>, b: &Vec<(u64, f64)>| {
        let other = |seed: u64| b.iter().find(|(s, _)| *s == seed).map(|(_, x)| *x);
        a.iter().filter_map(|(seed, x)| Some(x - other(*seed)?)).collect()
    };
    ours.iter().zip(theirs).map(|(a, b)| of_game(a, b)).collect()
}

/// The paired comparison. None without a pair. The interval is unbounded, and so decides nothing, with fewer than
/// [`MIN_SEEDS`] pairs in all or fewer than two in a game.
pub fn compare(one: &Strata, other: &Strata, resampling: Resampling) -> Outcome<Option<Comparison>> {
    let (one, other): (Strata, Strata) =
        one.iter().cloned().zip(other.iter().cloned()).filter(|(a, b)| shares_a_seed(a, b)).unzip();
    let differences = paired(&one, &other);
    let pairs = differences.iter().map(Vec::len).sum();
    if pairs == 0 {
        return Ok(None);
    }
    let means: Vec<f64> = differences.iter().map(|d| mean(d)).collect();
    let few = pairs < MIN_SEEDS || differences.iter().any(|d| d.len() < 2);
    let interval =
        if few { UNBOUNDED } else { ours(StratifiedMean::new(&differences).and_then(|m| m.interval(0.95)))? };
    let undecided = few.then(|| {
        format!("too few seeds: {pairs} pairs of runs, at least {MIN_SEEDS} and two on each game are needed")
    });
    let (x, y) = (values(&one), values(&other));
    let improvement = ours(probability_of_improvement(&x, &y))?;
    let games = x.len();
    // Both sides are resampled, each by itself.
    let both = [x, y].concat();
    let improvement_interval = resampling.interval(&both, |sample| {
        probability_of_improvement(&sample[..games], &sample[games..]).unwrap_or(f64::NAN)
    })?;
    let effect = mean(&means);
    Ok(Some(Comparison { games, pairs, effect, interval, undecided, improvement, improvement_interval }))
}

fn shares_a_seed(a: &[(u64, f64)], b: &[(u64, f64)]) -> bool {
    a.iter().any(|(seed, _)| b.iter().any(|(s, _)| s == seed))
}

#[cfg(test)]
mod tests {
    use super::super::made_up::{fixture, records, scales};
    use super::*;
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
        records.retain(|r| (r.method, r.game, r.seed) != (Method::Dqn, Game::Freeway, 1));
        let c = both(&records).unwrap();
        assert!(c.pairs == 14 && c.games == 5 && c.interval.0.is_finite() && c.undecided.is_none());
        records.retain(|r| (r.method, r.game, r.seed) != (Method::MeanOfMembers, Game::Freeway, 2));
        assert_eq!(both(&records).unwrap().interval, UNBOUNDED, "one pair has no spread");
        records.retain(|r| r.game != Game::Freeway);
        let c = both(&records).unwrap();
        assert!(c.games == 4 && c.pairs == 12 && c.interval.0.is_finite());
        records.retain(|r| r.game == Game::Breakout);
        let c = both(&records).unwrap();
        assert_eq!(c.interval, UNBOUNDED, "three pairs are too few");
        assert!(c.undecided.unwrap().starts_with("too few seeds: 3 pairs of runs"));
        records.retain(|r| r.method == Method::Dqn);
        assert!(both(&records).is_none());
    }
}
