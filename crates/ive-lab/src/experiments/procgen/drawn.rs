//! How uncertain an effect is because levels are drawn, too.
//!
//! All seeds of a game are trained and tested on the same levels, so what is particular to these levels does not average out over seeds; with ten training levels
//! it is the larger part. Levels are drawn with replacement, the same ones for all seeds, and the variance of the effect that
//! comes of it is added to that over seeds. The interval is Student's t with the degrees of freedom of Welch and Satterthwaite. The part of a seed
//! that differs from level to level is in both variances, so the interval is rather too wide than too narrow.

use std::collections::BTreeMap;

use ive::{Rng, StratifiedMean, mean, standard_deviation, student_quantile};

use super::evaluate::Set;
use super::run::Tested;
use crate::exit::Outcome;
use crate::experiments::ours;

/// The stream of draws.
const STREAM: u64 = 95;

/// What one seed contributes: its run, or one for each number of levels, or one beside its control.
pub type Unit<'a> = Vec<&'a Tested>;

/// How often each level was drawn; each once, if nothing is said.
#[derive(Clone, Debug, Default)]
pub struct Draw {
    /// Training levels, by their number.
    seen: BTreeMap<u32, Vec<f64>>,
    unseen: Vec<f64>,
}

impl Draw {
    /// Levels of the runs of a game.
    fn of(units: &[Unit<'_>], rng: &mut Rng) -> Self {
        let mut some = |count: usize| {
            let mut times = vec![0.0; count];
            (0..count).for_each(|_| times[rng.below(count)] += 1.0);
            times
        };
        let mut draw = Self::default();
        for run in units.iter().flatten() {
            let [seen, unseen] = [Set::Seen, Set::Unseen].map(|set| run.set(set).levels.len());
            draw.seen.entry(run.cell().levels).or_insert_with(|| some(seen));
            if draw.unseen.is_empty() {
                draw.unseen = some(unseen);
            }
        }
        draw
    }

    fn times(&self, run: &Tested, set: Set, place: usize) -> f64 {
        let drawn = if set == Set::Seen { self.seen.get(&run.cell().levels) } else { Some(&self.unseen) };
        drawn.and_then(|times| times.get(place)).copied().unwrap_or(1.0)
    }
}

impl Tested {
    /// ln of the mean of a score over states, each as often as its level was drawn. None without the score, or where the mean is zero.
    pub fn log_mean(&self, score: &str, set: Set, draw: &Draw) -> Option<f64> {
        let scores = self.set(set).score(score)?;
        let (mut sum, mut count) = (0.0, 0.0);
        for (score, &place) in scores.iter().zip(&self.set(set).places) {
            let times = draw.times(self, set, place);
            sum += times * score;
            count += times;
        }
        Some((sum / count).ln()).filter(|x| x.is_finite())
    }

    /// ln of the ratio of its means, unseen over seen.
    pub fn log_ratio(&self, score: &str, draw: &Draw) -> Option<f64> {
        Some(self.log_mean(score, Set::Unseen, draw)? - self.log_mean(score, Set::Seen, draw)?)
    }
}

/// The 95 % interval of the mean over games of the mean over seeds of a statistic, seeds and levels drawn. `[game][seed]`.
pub fn interval(
    games: &[Vec<Unit<'_>>],
    statistic: &dyn Fn(&[&Tested], &Draw) -> Option<f64>,
    replicates: usize,
) -> Outcome<(f64, f64)> {
    // None where the statistic of a seed is none: a draw of levels without any σ says nothing.
    let of_game = |units: &Vec<Unit<'_>>, draw: &Draw| -> Option<Vec<f64>> {
        units.iter().map(|unit| statistic(unit, draw)).collect()
    };
    let values = games.iter().map(|units| of_game(units, &Draw::default())).collect::<Option<Vec<_>>>();
    let seeds = ours(StratifiedMean::new(&values.unwrap_or_default()))?;
    let rng = &mut Rng::from_seed(STREAM);
    let mut drawn = || -> Option<f64> {
        let of_one = |units| of_game(units, &Draw::of(units, rng)).map(|all| mean(&all));
        games.iter().map(of_one).collect::<Option<Vec<f64>>>().map(|games| mean(&games))
    };
    let effects: Vec<f64> = (0..replicates).filter_map(|_| drawn()).collect();
    let over_levels = ours(standard_deviation(&effects, 1))?;
    let sizes = games
        .iter()
        .flatten()
        .flatten()
        .flat_map(|run| [Set::Seen, Set::Unseen].map(|set| run.set(set).levels.len()));
    let fewest = sizes.min().unwrap_or(1).max(2) - 1;
    let [of_seeds, of_levels] = [seeds.error, over_levels].map(|error| error * error);
    let total = of_seeds + of_levels;
    let freedom = if total > 0.0 {
        total * total / (of_seeds * of_seeds / seeds.freedom + of_levels * of_levels / fewest as f64)
    } else {
        seeds.freedom
    };
    let half = ours(student_quantile(0.975, freedom))? * total.sqrt();
    Ok((seeds.mean - half, seeds.mean + half))
}

#[cfg(test)]
mod tests {
    use super::super::evaluate::SIGMA;
    use super::super::made_up::tested;
    use super::super::sweep::{Cell, Variant};
    use super::*;
    use ive_envs::procgen::Game;

    /// Seeds that are all alike leave the variance over levels. By hand: the mean over 8 levels drawn with replacement of levels whose means are
    /// σ (1 + 0.05 (i − 3.5)) has the variance `σ² 0.05² · 5.25 / 8`, and the logarithm of such a mean nearly the square of its relative error.
    #[test]
    fn levels_are_a_source_of_error_of_their_own() {
        let cell = Cell { game: Game::FruitBot, levels: 10, variant: Variant::Prior, seed: 0 };
        let one = tested(cell, 0.8, 5.0, 2.0);
        let games = vec![vec![vec![&one]; 5]];
        let (low, high) =
            interval(&games, &|unit, draw| unit[0].log_mean(SIGMA, Set::Unseen, draw), 20_000).unwrap();
        let error = 0.05 * (5.25f64 / 8.0).sqrt();
        let half = student_quantile(0.975, 7.0).unwrap() * error;
        assert!(((high - low) / 2.0 / half - 1.0).abs() < 0.03, "{} and {half}", (high - low) / 2.0);
        let centre = one.log_mean(SIGMA, Set::Unseen, &Draw::default()).unwrap();
        assert!((f64::midpoint(low, high) - centre).abs() < 1e-12);
        assert!((one.log_ratio(SIGMA, &Draw::default()).unwrap() - 2.0f64.ln()).abs() < 1e-9);
        // Training levels are drawn by themselves.
        let both = interval(&games, &|unit, draw| unit[0].log_ratio(SIGMA, draw), 20_000).unwrap();
        assert!(((both.1 - both.0) / (high - low) / 2.0f64.sqrt() - 1.0).abs() < 0.03);
    }
}
