//! AUROC with an interval for states that are not independent: those of one episode resemble each other, so episodes are
//! resampled, not states.

use ive::{Rng, quantile};

use crate::exit::{Failure, Outcome};

/// How often episodes are resampled.
const REPLICATES: usize = 1000;
/// With fewer episodes a bootstrap interval is too narrow to be believed.
pub const MIN_EPISODES: usize = 10;
/// The stream of resampling, the same for every score: differences between scores are then not those of the draw.
const SEED: u64 = 95;

/// Scores of ordinary and of corrupted states in order, so that AUROC under any weights takes one walk.
#[derive(Clone, Debug)]
struct Ranking {
    /// Groups of equal scores, from low to high: each entry is a state and whether it is the corrupted one.
    groups: Vec<Vec<(usize, bool)>>,
}

impl Ranking {
    /// `ordinary` and `corrupted` hold a score for each state, in the same order.
    fn new(ordinary: &[f64], corrupted: &[f64]) -> Outcome<Self> {
        if ordinary.iter().chain(corrupted).any(|x| !x.is_finite()) {
            return Err(Failure::internal("a score of a state is not finite"));
        }
        let mark = |scores: &[f64], corrupted| {
            scores.iter().enumerate().map(move |(i, &x)| (x, (i, corrupted))).collect::<Vec<_>>()
        };
        let mut all = [mark(ordinary, false), mark(corrupted, true)].concat();
        all.sort_by(|a, b| a.0.total_cmp(&b.0));
        let groups = all.chunk_by(|a, b| a.0 == b.0).map(|group| group.iter().map(|entry| entry.1).collect());
        Ok(Self { groups: groups.collect() })
    }

    /// The probability that a corrupted state scores higher than an ordinary one, ties counted half, when state i is there
    /// `weights[i]` times.
    fn auroc(&self, weights: &[f64]) -> f64 {
        let (mut below, mut total, mut wins) = (0.0, 0.0, 0.0);
        for group in &self.groups {
            let sum = |wanted| group.iter().filter(|e| e.1 == wanted).map(|e| weights[e.0]).sum::<f64>();
            let (ordinary, corrupted) = (sum(false), sum(true));
            wins += corrupted * (below + ordinary / 2.0);
            below += ordinary;
            total += corrupted;
        }
        wins / (below * total)
    }
}

/// AUROC and its 95 % interval, if there are enough episodes for one. `episodes[i]` is the episode of state i, counted
/// from 0.
pub fn auroc(ordinary: &[f64], corrupted: &[f64], episodes: &[usize]) -> Outcome<(f64, Option<(f64, f64)>)> {
    let ranking = Ranking::new(ordinary, corrupted)?;
    let area = ranking.auroc(&vec![1.0; ordinary.len()]);
    let number = episodes.iter().max().map_or(0, |last| last + 1);
    if number < MIN_EPISODES {
        return Ok((area, None));
    }
    let rng = &mut Rng::from_seed(SEED);
    let mut areas = Vec::with_capacity(REPLICATES);
    for _ in 0..REPLICATES {
        let mut times = vec![0.0; number];
        (0..number).for_each(|_| times[rng.below(number)] += 1.0);
        let weights: Vec<f64> = episodes.iter().map(|&e| times[e]).collect();
        areas.push(ranking.auroc(&weights));
    }
    let end = |q| quantile(&areas, q).map_err(|e| Failure::internal(format!("interval of an AUROC: {e}")));
    Ok((area, Some((end(0.025)?, end(0.975)?))))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against the AUROC of the library on lists in which states are repeated as often as their weights say.
    #[test]
    fn weights_repeat_states() {
        let rng = &mut Rng::from_seed(3);
        let mut scores = || (0..40).map(|_| rng.below(12) as f64).collect::<Vec<f64>>();
        let (ordinary, corrupted) = (scores(), scores());
        let weights: Vec<f64> = (0..40).map(|i| (i % 4) as f64).collect();
        let repeated = |x: &[f64]| {
            x.iter().zip(&weights).flat_map(|(&x, &w)| std::iter::repeat_n(x, w as usize)).collect::<Vec<_>>()
        };
        let expected = ive::auroc(&repeated(&ordinary), &repeated(&corrupted)).unwrap();
        let ranking = Ranking::new(&ordinary, &corrupted).unwrap();
        assert!((ranking.auroc(&weights) - expected).abs() < 1e-12);
        assert!(Ranking::new(&[f64::NAN], &[1.0]).is_err());
    }

    /// Copies of a state inside its episode say nothing new: the interval stays, where one over states would shrink.
    #[test]
    fn copies_within_an_episode_do_not_narrow_the_interval() {
        let rng = &mut Rng::from_seed(4);
        let draw = |rng: &mut Rng, shift: f64| (0..30).map(|_| rng.uniform() + shift).collect::<Vec<f64>>();
        let (ordinary, corrupted) = (draw(rng, 0.0), draw(rng, 0.3));
        let episodes: Vec<usize> = (0..30).collect();
        let once = auroc(&ordinary, &corrupted, &episodes).unwrap();
        let copied = auroc(&ordinary.repeat(20), &corrupted.repeat(20), &episodes.repeat(20)).unwrap();
        assert!((once.0 - copied.0).abs() < 1e-12);
        let ((a, b), (c, d)) = (once.1.unwrap(), copied.1.unwrap());
        assert!(
            (a - c).abs() < 1e-12 && (b - d).abs() < 1e-12 && a < once.0 && once.0 < b,
            "{once:?} {copied:?}"
        );
        let few: Vec<usize> = (0..30).map(|i| i % 9).collect();
        assert_eq!(auroc(&ordinary, &corrupted, &few).unwrap().1, None);
    }
}
