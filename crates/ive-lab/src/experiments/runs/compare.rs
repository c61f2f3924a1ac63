//! Agents compared by the scores of their runs: averages, and differences of runs with the same seed.
//!
//! Scores come in strata, one for each environment. The environments are what a claim is about and are held fixed; only
//! seeds are random. So the effect is the mean over environments of the mean difference within one, its spread is measured
//! within environments, and its interval is Student's t with the degrees of freedom that the seeds leave
//! ([`ive::StratifiedMean`]). Nothing follows for other environments.

use ive::{Rng, StratifiedMean, interquartile_mean, mean, probability_of_improvement, stratified_bootstrap};

use crate::claim::MIN_SEEDS;
pub use crate::claim::UNBOUNDED;
use crate::exit::Outcome;
use crate::experiments::ours;

/// Scores with their seeds, `[environment][run]`.
pub type Strata = Vec<Vec<(u64, f64)>>;

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

/// The mean over strata of the means within, and its 95 % t interval; unbounded where one has a single run. None while one has
/// none.
pub fn average(strata: &[Vec<f64>]) -> Outcome<Option<Ranged>> {
    if strata.is_empty() || strata.iter().any(Vec::is_empty) {
        return Ok(None);
    }
    let effect = mean(&strata.iter().map(|runs| mean(runs)).collect::<Vec<_>>());
    let single = strata.iter().any(|runs| runs.len() < 2);
    let interval =
        if single { UNBOUNDED } else { ours(StratifiedMean::new(strata).and_then(|m| m.interval(0.95)))? };
    Ok(Some((effect, interval)))
}

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

/// With fewer pairs in a game an interval of [`compare`] decides nothing: with two its coverage falls to nine in ten where one game dominates.
pub const MIN_PAIRS: usize = 3;

/// The paired comparison. None without a pair. The interval is unbounded, and so decides nothing, with fewer than
/// [`MIN_SEEDS`] pairs in all or fewer than [`MIN_PAIRS`] in a game.
pub fn compare(one: &Strata, other: &Strata, resampling: Resampling) -> Outcome<Option<Comparison>> {
    let (one, other): (Strata, Strata) =
        one.iter().cloned().zip(other.iter().cloned()).filter(|(a, b)| shares_a_seed(a, b)).unzip();
    let differences = paired(&one, &other);
    let pairs = differences.iter().map(Vec::len).sum();
    let Some((effect, interval)) = average(&differences)? else { return Ok(None) };
    let few = pairs < MIN_SEEDS || differences.iter().any(|d| d.len() < MIN_PAIRS);
    let interval = if few { UNBOUNDED } else { interval };
    let undecided = few.then(|| {
        format!("too few seeds: {pairs} pairs of runs, at least {MIN_SEEDS} and {MIN_PAIRS} on each game are needed")
    });
    let (x, y) = (values(&one), values(&other));
    let improvement = ours(probability_of_improvement(&x, &y))?;
    let games = x.len();
    // Both sides are resampled, each by itself.
    let both = [x, y].concat();
    let improvement_interval = resampling.interval(&both, |sample| {
        probability_of_improvement(&sample[..games], &sample[games..]).unwrap_or(f64::NAN)
    })?;
    Ok(Some(Comparison { games, pairs, effect, interval, undecided, improvement, improvement_interval }))
}

fn shares_a_seed(a: &[(u64, f64)], b: &[(u64, f64)]) -> bool {
    a.iter().any(|(seed, _)| b.iter().any(|(s, _)| s == seed))
}

/// With fewer runs of each side in a column an interval of [`difference`] decides nothing.
pub const MIN_RUNS: usize = 5;

/// One agent against another, runs not paired.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// Runs of the one and of the other.
    pub runs: [usize; 2],
    /// Mean over strata of the difference of the means within one.
    pub effect: f64,
    /// Its 95 % interval (Welch).
    pub interval: (f64, f64),
    /// Why nothing can be decided, where there are too few runs for an interval.
    pub undecided: Option<String>,
}

/// The mean over strata `[stratum][run]` of `mean(one) − mean(other)`, strata without a run of each left out, and its 95 % interval
/// by Student's t with the degrees of freedom of Welch and Satterthwaite. None without any stratum. The interval is unbounded with
/// fewer than [`MIN_RUNS`] runs of either side in a stratum.
pub fn difference(one: &[Vec<f64>], other: &[Vec<f64>]) -> Outcome<Option<Difference>> {
    let both: Vec<(&Vec<f64>, &Vec<f64>)> =
        one.iter().zip(other).filter(|(a, b)| !a.is_empty() && !b.is_empty()).collect();
    if both.is_empty() {
        return Ok(None);
    }
    let effect = mean(&both.iter().map(|(a, b)| mean(a) - mean(b)).collect::<Vec<_>>());
    let runs = [0, 1].map(|side| both.iter().map(|pair| [pair.0, pair.1][side].len()).sum::<usize>());
    let few = both.iter().any(|(a, b)| a.len() < MIN_RUNS || b.len() < MIN_RUNS);
    let undecided = few.then(|| {
        format!(
            "too few runs: {} and {}, at least {MIN_RUNS} of each are needed in every column",
            runs[0], runs[1]
        )
    });
    // The mean over all means, those of the other side negated, is half of the difference.
    let negated = |x: &[f64]| x.iter().map(|x| -x).collect::<Vec<f64>>();
    let sides: Vec<Vec<f64>> = both.iter().flat_map(|(a, b)| [(*a).clone(), negated(b)]).collect();
    let interval = if few {
        UNBOUNDED
    } else {
        let (low, high) = ours(StratifiedMean::new(&sides).and_then(|m| m.interval(0.95)))?;
        (2.0 * low, 2.0 * high)
    };
    Ok(Some(Difference { runs, effect, interval, undecided }))
}

/// A mean and its standard error with two digits; nothing for no run.
pub fn pair((mean, error): (f64, f64)) -> String {
    match (mean.is_finite(), error.is_finite()) {
        (false, _) => "–".into(),
        (true, false) => format!("{mean:.2}"),
        (true, true) => format!("{mean:.2} ± {error:.2}"),
    }
}

/// `0.12 [−0.03, 0.27]`, without the interval where there is none.
pub fn ranged(value: f64, (low, high): (f64, f64)) -> String {
    if low.is_finite() { format!("{value:.3} [{low:.3}, {high:.3}]") } else { format!("{value:.3}") }
}
