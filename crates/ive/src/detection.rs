//! How well a score tells states out of distribution from ordinary ones, with intervals and paired comparisons.

use crate::error::{finite, same_length};
use crate::{ClusterBootstrap, Error, Estimate, Result};

/// Measures of a detector: negatives are in distribution, positives out of it, and a good score is higher for positives.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Detection<T = f64> {
    /// [`auroc`](crate::auroc): 0.5 is chance, 1 is perfect.
    pub auroc: T,
    /// [`aupr`](crate::aupr): chance is the share of positives.
    pub aupr: T,
    /// [`fpr95`](crate::fpr95): 0 is perfect.
    pub fpr95: T,
}

impl<T> Detection<T> {
    fn from_array([auroc, aupr, fpr95]: [T; 3]) -> Self {
        Self { auroc, aupr, fpr95 }
    }
}

/// Scores of negatives and positives in order, so that all measures under any weights take one walk.
#[derive(Clone, Debug)]
pub struct Ranking {
    /// All states from high scores to low.
    entries: Vec<Entry>,
    /// Where each group of equal scores ends.
    ends: Vec<usize>,
    negatives: usize,
    positives: usize,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    score: f64,
    state: usize,
    positive: bool,
}

impl Ranking {
    /// Ranks a score of every negative and positive.
    ///
    /// # Errors
    /// If a class is empty or a score is not finite.
    pub fn new(negatives: &[f64], positives: &[f64]) -> Result<Self> {
        let mut entries = Vec::with_capacity(negatives.len() + positives.len());
        for (what, scores, positive) in
            [("scores of the negatives", negatives, false), ("scores of the positives", positives, true)]
        {
            if scores.is_empty() {
                return Err(Error::Empty { what });
            }
            finite(what, scores)?;
            entries.extend(scores.iter().enumerate().map(|(state, &score)| Entry { score, state, positive }));
        }
        entries.sort_unstable_by(|a, b| b.score.total_cmp(&a.score));
        let mut ends = Vec::new();
        for group in entries.chunk_by(|a, b| a.score == b.score) {
            ends.push(ends.last().unwrap_or(&0) + group.len());
        }
        Ok(Self { entries, ends, negatives: negatives.len(), positives: positives.len() })
    }

    /// The measures of the states as they are.
    pub fn detection(&self) -> Detection {
        Detection::from_array(self.walk(&vec![1.0; self.negatives], &vec![1.0; self.positives]))
    }

    /// The AUROC when state i is there `negatives[i]` or `positives[i]` times; NaN if none is.
    ///
    /// # Panics
    /// If there are fewer weights than states.
    pub fn weighted_auroc(&self, negatives: &[f64], positives: &[f64]) -> f64 {
        self.walk(negatives, positives)[0]
    }

    /// The ROC curve, `(false-positive rate, true-positive rate)` for every threshold from high to low, from (0, 0).
    pub fn roc(&self) -> Vec<(f64, f64)> {
        let (mut alarms, mut hits, mut curve) = (0.0, 0.0, vec![(0.0, 0.0)]);
        self.groups(&vec![1.0; self.negatives], &vec![1.0; self.positives], |negatives, positives| {
            (alarms, hits) = (alarms + negatives, hits + positives);
            curve.push((alarms / self.negatives as f64, hits / self.positives as f64));
        });
        curve
    }

    /// The measures with intervals by resampling clusters.
    ///
    /// The bootstrap has two groups, negatives and positives; or one for both, if positive i *is* negative i under a shift
    /// and goes with it.
    ///
    /// # Errors
    /// If the groups of the bootstrap do not have as many states as there are scores.
    pub fn estimate(&self, bootstrap: &ClusterBootstrap) -> Result<Detection<Estimate>> {
        self.check(bootstrap)?;
        Ok(Detection::from_array(bootstrap.estimate(|w| self.walk(&w[0], &w[w.len() - 1]))?))
    }

    /// By how much the measures of this score exceed those of another on the same states, with intervals by resampling in
    /// pairs.
    ///
    /// # Errors
    /// As [`estimate`](Self::estimate), for both scores.
    pub fn difference(&self, other: &Self, bootstrap: &ClusterBootstrap) -> Result<Detection<Estimate>> {
        self.check(bootstrap)?;
        other.check(bootstrap)?;
        let difference = |w: &[Vec<f64>]| {
            let (own, other) = (self.walk(&w[0], &w[w.len() - 1]), other.walk(&w[0], &w[w.len() - 1]));
            [own[0] - other[0], own[1] - other[1], own[2] - other[2]]
        };
        Ok(Detection::from_array(bootstrap.estimate(difference)?))
    }

    fn check(&self, bootstrap: &ClusterBootstrap) -> Result<()> {
        let states = bootstrap.states();
        crate::error::in_range("groups of the bootstrap", states.len() as f64, 1.0, 2.0)?;
        same_length("clusters of the negatives", self.negatives, states[0])?;
        same_length("clusters of the positives", self.positives, states[states.len() - 1])
    }

    /// Calls `see` with the weights of the negatives and positives of each group of equal scores, from high to low.
    fn groups(&self, negatives: &[f64], positives: &[f64], mut see: impl FnMut(f64, f64)) {
        let mut start = 0;
        for &end in &self.ends {
            let (mut n, mut p) = (0.0, 0.0);
            for entry in &self.entries[start..end] {
                if entry.positive {
                    p += positives[entry.state];
                } else {
                    n += negatives[entry.state];
                }
            }
            see(n, p);
            start = end;
        }
    }

    /// AUROC, AUPR and FPR95 when state i is there `negatives[i]` or `positives[i]` times.
    fn walk(&self, negatives: &[f64], positives: &[f64]) -> [f64; 3] {
        let (all_negatives, all_positives) = (negatives.iter().sum::<f64>(), positives.iter().sum::<f64>());
        // So many positives must be found at 95 %; a hair less than a whole number is that number.
        let wanted = all_positives - (0.05 * all_positives + 1e-9).floor();
        let (mut alarms, mut hits, mut wins, mut aupr, mut fpr95) = (0.0, 0.0, 0.0, 0.0, None);
        self.groups(negatives, positives, |n, p| {
            wins += p * (all_negatives - alarms - n / 2.0);
            (alarms, hits) = (alarms + n, hits + p);
            if p > 0.0 {
                aupr += p * hits / (hits + alarms);
            }
            if fpr95.is_none() && hits >= wanted {
                fpr95 = Some(alarms / all_negatives);
            }
        });
        [wins / (all_negatives * all_positives), aupr / all_positives, fpr95.unwrap_or(1.0)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Rng, aupr, auroc, fpr95};

    fn scores(rng: &mut Rng, n: usize, shift: usize) -> Vec<f64> {
        (0..n).map(|_| (rng.below(30) + shift) as f64).collect()
    }

    /// Against the functions on plain lists, in which states are repeated as often as their weights say.
    #[test]
    fn weights_repeat_states() {
        let rng = &mut Rng::from_seed(3);
        let (negatives, positives) = (scores(rng, 60, 0), scores(rng, 45, 5));
        let weights = |n: usize| (0..n).map(|i| (i % 4) as f64).collect::<Vec<f64>>();
        let repeated = |x: &[f64]| {
            let each = x.iter().zip(weights(x.len()));
            each.flat_map(|(&x, w)| std::iter::repeat_n(x, w as usize)).collect::<Vec<f64>>()
        };
        let ranking = Ranking::new(&negatives, &positives).unwrap();
        let (n, p) = (repeated(&negatives), repeated(&positives));
        let got = ranking.walk(&weights(60), &weights(45));
        let expected = [auroc(&n, &p).unwrap(), aupr(&n, &p).unwrap(), fpr95(&n, &p).unwrap()];
        got.iter().zip(expected).for_each(|(g, e)| assert!((g - e).abs() < 1e-12, "{got:?} {expected:?}"));
        assert_eq!(ranking.weighted_auroc(&weights(60), &weights(45)), got[0]);
    }

    #[test]
    fn the_roc_curve_ends_in_its_corners_and_has_the_area() {
        let rng = &mut Rng::from_seed(5);
        let (negatives, positives) = (scores(rng, 100, 0), scores(rng, 80, 6));
        let ranking = Ranking::new(&negatives, &positives).unwrap();
        let curve = ranking.roc();
        assert_eq!((curve[0], curve[curve.len() - 1]), ((0.0, 0.0), (1.0, 1.0)));
        let trapezoid = |p: &[(f64, f64)]| (p[1].0 - p[0].0) * f64::midpoint(p[0].1, p[1].1);
        let area: f64 = curve.windows(2).map(trapezoid).sum();
        assert!((area - ranking.detection().auroc).abs() < 1e-12);
    }

    /// A score against itself differs by nothing, in every resample; against its negative, by 2 · AUROC − 1.
    #[test]
    fn differences_are_taken_in_pairs() {
        let rng = &mut Rng::from_seed(6);
        let (negatives, positives) = (scores(rng, 60, 0), scores(rng, 60, 4));
        let minus = |x: &[f64]| x.iter().map(|x| -x).collect::<Vec<f64>>();
        let own = Ranking::new(&negatives, &positives).unwrap();
        let mirrored = Ranking::new(&minus(&negatives), &minus(&positives)).unwrap();
        let episodes: Vec<usize> = (0..60).map(|i| i / 3).collect();
        let bootstrap = ClusterBootstrap::new(&[&episodes], 0.95, 200, rng).unwrap();
        let none = own.difference(&own, &bootstrap).unwrap().auroc;
        assert_eq!((none.value, none.low, none.high), (0.0, 0.0, 0.0));
        let area = own.estimate(&bootstrap).unwrap().auroc;
        let twice = own.difference(&mirrored, &bootstrap).unwrap().auroc;
        for (a, d) in [(area.value, twice.value), (area.low, twice.low), (area.high, twice.high)] {
            assert!((2.0 * a - 1.0 - d).abs() < 1e-12, "{area:?} {twice:?}");
        }
        assert!(area.low < area.value && area.value < area.high);
    }

    #[test]
    fn wrong_lengths_and_broken_scores_are_refused() {
        assert!(Ranking::new(&[], &[1.0]).is_err() && Ranking::new(&[1.0], &[f64::NAN]).is_err());
        let ranking = Ranking::new(&[1.0, 2.0], &[3.0]).unwrap();
        let bootstrap = ClusterBootstrap::new(&[&[0, 1], &[0, 1]], 0.95, 10, &Rng::from_seed(0)).unwrap();
        let refused = ranking.estimate(&bootstrap).unwrap_err().to_string();
        assert_eq!(refused, "clusters of the positives: expected length 1, got 2");
    }
}
