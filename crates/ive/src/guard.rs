//! A run-time alarm with a stated false-alarm rate.
//!
//! Split-conformal calibration: scores that nobody trained on set a threshold, and that is all. The guarantee needs no
//! assumption about the distribution of the scores, only that new ones in distribution are *exchangeable* with the
//! held-out ones. It says nothing about how many shifted states are found; [`Ranking`](crate::Ranking) measures that.

use std::collections::BTreeMap;

use crate::error::{at_least, between, finite, same_length};
use crate::{Error, Result, beta};

/// Which of n held-out scores, counted from the smallest, is the threshold: `⌈(n + 1)(1 − rate)⌉`, written as
/// `n + 1 − ⌊(n + 1) rate⌋`. Beyond n there is none.
fn threshold_rank(n: usize, rate: f64) -> usize {
    n + 1 - allowed_above(n, rate)
}

/// `⌊(n + 1) rate⌋`. A rate in decimals is not exactly a double: 100 · 0.29 is a little less than 29, and means 29.
fn allowed_above(n: usize, rate: f64) -> usize {
    ((n as f64 + 1.0) * rate * (1.0 + 4.0 * f64::EPSILON)) as usize
}

/// What a guard counts false alarms by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum GuardUnit {
    /// Single states. They must be exchangeable, as independent draws are and neighbours in an episode are not.
    Step,
    /// Whole episodes: the rate is that of ordinary episodes with one alarm or more.
    Episode,
}

/// A threshold for a score such as σ-IVE, with a stated false-alarm rate.
///
/// Of n held-out scores in distribution the `⌈(n + 1)(1 − rate)⌉`-th smallest is the threshold, and a larger score is an
/// alarm. Then for a new score that is exchangeable with them
///
/// `P(alarm) ≤ rate`, and `P(alarm) > rate − 1/(n + 1)` if scores are never equal,
///
/// exactly, for any n and any distribution; the probability is over the held-out scores and the new one. With the held-out
/// scores fixed, the rate of this one guard is random: Beta distributed with the parameters `⌊(n + 1) rate⌋` and
/// `⌈(n + 1)(1 − rate)⌉` ([`rate_interval`](Self::rate_interval)). Vovk, Gammerman and Shafer (2005), *Algorithmic
/// Learning in a Random World*; Papadopoulos et al. (2002) for the split form.
///
/// ```
/// use ive::Guard;
/// let held_out: Vec<f64> = (1..=199).map(f64::from).collect();
/// let guard = Guard::calibrate(&held_out, 0.01)?;
/// assert_eq!(guard.threshold(), 198.0); // ⌈200 · 0.99⌉ = 198
/// assert!(!guard.is_alarm(198.0) && guard.is_alarm(198.5) && guard.is_alarm(f64::NAN));
/// # Ok::<(), ive::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Guard {
    threshold: f64,
    rate: f64,
    n: usize,
    unit: GuardUnit,
}

impl Guard {
    /// A guard for single states from one score of each of n held-out states in distribution.
    ///
    /// # Errors
    /// If the rate is not strictly between 0 and 1, there are fewer than [`needed`](Self::needed) scores, or one is not
    /// finite.
    pub fn calibrate(scores: &[f64], rate: f64) -> Result<Self> {
        Self::of(scores.to_vec(), rate, GuardUnit::Step, "held-out scores for this false-alarm rate")
    }

    /// A guard for whole episodes: `episodes[i]` names the episode of score i, in any order, and the score of an episode
    /// is the largest of its steps. Ordinary episodes then raise one alarm or more with a probability of at most `rate`.
    ///
    /// States of one episode resemble each other, so they are not exchangeable and [`calibrate`](Self::calibrate) promises
    /// nothing for them; whole episodes of one policy in one environment are. They must be complete: an episode cut
    /// short has a smaller maximum.
    ///
    /// # Errors
    /// As [`calibrate`](Self::calibrate), with episodes in place of scores; and if the lengths differ.
    pub fn calibrate_episodes(scores: &[f64], episodes: &[usize], rate: f64) -> Result<Self> {
        same_length("episodes, one for each score", scores.len(), episodes.len())?;
        finite("held-out scores", scores)?;
        let mut largest = BTreeMap::new();
        for (&score, &episode) in scores.iter().zip(episodes) {
            largest.entry(episode).and_modify(|most: &mut f64| *most = most.max(score)).or_insert(score);
        }
        let largest = largest.into_values().collect();
        Self::of(largest, rate, GuardUnit::Episode, "held-out episodes for this false-alarm rate")
    }

    fn of(mut scores: Vec<f64>, rate: f64, unit: GuardUnit, what: &'static str) -> Result<Self> {
        at_least(what, Self::needed(rate)?, scores.len())?;
        finite("held-out scores", &scores)?;
        let at = threshold_rank(scores.len(), rate) - 1;
        let threshold = *scores.select_nth_unstable_by(at, f64::total_cmp).1;
        Ok(Self { threshold, rate, n: scores.len(), unit })
    }

    /// A guard that was calibrated elsewhere, from its parts.
    ///
    /// # Errors
    /// If the threshold is not finite, the rate is not strictly between 0 and 1, or n is too small for it.
    pub fn from_parts(threshold: f64, rate: f64, n: usize, unit: GuardUnit) -> Result<Self> {
        finite("threshold of a guard", &[threshold])?;
        at_least("scores behind a guard with this false-alarm rate", Self::needed(rate)?, n)?;
        Ok(Self { threshold, rate, n, unit })
    }

    /// How many held-out scores (or episodes) a rate needs at least: `⌈1/rate⌉ − 1`, 99 for one in a hundred.
    ///
    /// # Errors
    /// If the rate is not strictly between 0 and 1.
    pub fn needed(rate: f64) -> Result<usize> {
        between("false-alarm rate", rate)?;
        let about = (1.0 / rate) as usize;
        // Rounding may be off by one; what counts is that one score may lie above the threshold.
        let enough =
            (about.saturating_sub(2)..=about.saturating_add(1)).find(|&n| allowed_above(n, rate) >= 1);
        enough.ok_or(Error::OutOfRange { what: "false-alarm rate", value: rate, min: 1e-15, max: 1.0 })
    }

    /// Whether a score is an alarm: it is above the threshold, or it is not finite. A model that diverges must never pass
    /// as certain.
    pub fn is_alarm(&self, score: f64) -> bool {
        !score.is_finite() || score > self.threshold
    }

    /// Scores up to this one raise no alarm.
    pub fn threshold(&self) -> f64 {
        self.threshold
    }

    /// The stated false-alarm rate.
    pub fn rate(&self) -> f64 {
        self.rate
    }

    /// How many held-out scores or episodes it was calibrated on.
    pub fn n(&self) -> usize {
        self.n
    }

    /// What false alarms are counted by.
    pub fn unit(&self) -> GuardUnit {
        self.unit
    }

    /// Where the false-alarm rate of *this* guard lies, given that its held-out scores are what they are: an equal-tailed
    /// interval of Beta(`⌊(n + 1) rate⌋`, `⌈(n + 1)(1 − rate)⌉`). Its mean is at most the stated rate. Equal scores only
    /// make false alarms rarer.
    ///
    /// # Errors
    /// If the confidence is not strictly between 0 and 1.
    pub fn rate_interval(&self, confidence: f64) -> Result<(f64, f64)> {
        between("confidence", confidence)?;
        let (a, b) = (allowed_above(self.n, self.rate) as f64, threshold_rank(self.n, self.rate) as f64);
        let tail = (1.0 - confidence) / 2.0;
        Ok((beta::quantile(tail, a, b), beta::quantile(1.0 - tail, a, b)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Rng, binomial_interval};

    /// By hand, from `⌈(n + 1)(1 − rate)⌉`.
    #[test]
    fn the_threshold_is_the_stated_order_statistic() {
        let scores = |n: u32| (1..=n).rev().map(f64::from).collect::<Vec<f64>>();
        for (n, rate, rank) in [
            (99, 0.01, 99.0),
            (100, 0.01, 100.0),
            (199, 0.01, 198.0),
            (99, 0.29, 71.0),
            (3, 0.25, 3.0),
            (1, 0.5, 1.0),
        ] {
            assert_eq!(Guard::calibrate(&scores(n), rate).unwrap().threshold(), rank, "{n} {rate}");
        }
    }

    #[test]
    fn too_few_scores_are_refused_with_the_number_needed() {
        let refused = Guard::calibrate(&[1.0; 98], 0.01).unwrap_err().to_string();
        assert_eq!(refused, "held-out scores for this false-alarm rate: at least 99 are needed, got 98");
        for (rate, needed) in
            [(0.01, 99), (0.05, 19), (0.3, 3), (0.5, 1), (0.999, 1), (1e-6, 999_999), (1.0 / 3.0, 2)]
        {
            assert_eq!(Guard::needed(rate).unwrap(), needed, "{rate}");
        }
        let episodes: Vec<usize> = (0..980).map(|i| i / 10).collect();
        let refused = Guard::calibrate_episodes(&[1.0; 980], &episodes, 0.01).unwrap_err().to_string();
        assert_eq!(refused, "held-out episodes for this false-alarm rate: at least 99 are needed, got 98");
    }

    #[test]
    fn broken_input_is_refused_and_a_score_that_is_not_finite_is_an_alarm() {
        for rate in [0.0, 1.0, -0.1, f64::NAN, 1e-300] {
            assert!(Guard::calibrate(&[1.0; 100], rate).is_err(), "{rate}");
        }
        let mut scores = vec![1.0; 100];
        scores[7] = f64::INFINITY;
        assert!(matches!(Guard::calibrate(&scores, 0.1), Err(Error::NotFinite { index: 7, .. })));
        assert!(Guard::calibrate_episodes(&[1.0; 3], &[0, 1], 0.5).is_err());
        assert!(Guard::from_parts(f64::NAN, 0.1, 100, GuardUnit::Step).is_err());
        assert!(Guard::from_parts(1.0, 0.1, 8, GuardUnit::Step).is_err());
        let guard = Guard::from_parts(1.0, 0.1, 9, GuardUnit::Step).unwrap();
        for score in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1.0 + f64::EPSILON] {
            assert!(guard.is_alarm(score), "{score}");
        }
        assert!(!guard.is_alarm(1.0) && !guard.is_alarm(-5.0));
    }

    /// Each trial calibrates anew and asks about one new score, so alarms are binomial with a probability p between
    /// rate − 1/(n + 1) and rate; here (n + 1) rate = 5 is whole, so p is the rate itself. The interval of 4000 trials
    /// misses p in one of 10⁶ seeds.
    #[test]
    fn false_alarms_are_as_frequent_as_stated() {
        let rng = &mut Rng::from_seed(11);
        let (n, rate, trials) = (99, 0.05, 4000);
        let mut alarms = 0;
        for _ in 0..trials {
            // A skewed distribution: nothing is assumed about it.
            let mut draw = || {
                let x = rng.normal();
                x * x * x * x
            };
            let held_out: Vec<f64> = (0..n).map(|_| draw()).collect();
            alarms += usize::from(Guard::calibrate(&held_out, rate).unwrap().is_alarm(draw()));
        }
        let (low, high) = binomial_interval(alarms, trials, 1.0 - 1e-6).unwrap();
        assert!(low <= rate && rate <= high, "{alarms} alarms: [{low}, {high}]");
    }

    /// Steps of an episode share their level, so step-wise calibration breaks: nearly all false alarms come in a few
    /// episodes, and its rate by episode is far above 5 %. By episode it holds (same reasoning and level as above).
    #[test]
    fn episodes_keep_their_rate_where_steps_do_not() {
        let rng = &mut Rng::from_seed(12);
        let (n, length, rate, trials) = (39, 20, 0.05, 2000);
        let episodes: Vec<usize> = (0..n * length).map(|i| i / length).collect();
        let (mut by_episode, mut by_step) = (0, 0);
        for _ in 0..trials {
            let mut episode = || {
                let level = rng.normal();
                (0..length).map(|_| level + 0.3 * rng.normal()).collect::<Vec<f64>>()
            };
            let held_out: Vec<f64> = (0..n).flat_map(|_| episode()).collect();
            let new = episode();
            let alarm = |guard: Guard| usize::from(new.iter().any(|&s| guard.is_alarm(s)));
            by_episode += alarm(Guard::calibrate_episodes(&held_out, &episodes, rate).unwrap());
            by_step += alarm(Guard::calibrate(&held_out, rate).unwrap());
        }
        let (low, high) = binomial_interval(by_episode, trials, 1.0 - 1e-6).unwrap();
        assert!(low <= rate && rate <= high, "{by_episode} alarms: [{low}, {high}]");
        assert!(binomial_interval(by_step, trials, 1.0 - 1e-6).unwrap().0 > rate, "{by_step} alarms");
    }

    /// The share of uniform scores above an order statistic is Beta distributed: with (n + 1) rate = 1 its quantiles are
    /// 1 − (1 − p)^(1/n).
    #[test]
    fn the_rate_of_one_guard_is_beta_distributed() {
        let guard = Guard::from_parts(0.0, 0.01, 99, GuardUnit::Step).unwrap();
        let (low, high) = guard.rate_interval(0.9).unwrap();
        let expected = |p: f64| 1.0 - libm::pow(1.0 - p, 1.0 / 99.0);
        assert!(
            (low - expected(0.05)).abs() < 1e-13 && (high - expected(0.95)).abs() < 1e-13,
            "{low} {high}"
        );
        assert!(guard.rate_interval(1.0).is_err());
    }
}
