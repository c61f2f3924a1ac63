//! Statistics of runs that come in groups: a few seeds on each of a few games.
//!
//! The games are fixed and only the seeds are random, so spread is measured *within* a game and never between games.
//! All functions take `[stratum][run]`; strata may differ in size.

use crate::error::{at_least, finite, in_range};
use crate::{Error, Result, Rng, auroc, mean, quantile, sigma, student_quantile};

/// A mean over strata, each with the same weight, and how well it is known.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct StratifiedMean {
    /// `(1/G) Σ_g x̄_g`.
    pub mean: f64,
    /// Its standard error, `(1/G) √(Σ_g s²_g / n_g)`, with the sample variances s² (ddof 1) within the strata.
    pub error: f64,
    /// Effective degrees of freedom of that error (Welch and Satterthwaite),
    /// `(Σ_g v_g)² / Σ_g v_g² / (n_g − 1)` with `v_g = s²_g / n_g`.
    pub freedom: f64,
}

impl StratifiedMean {
    /// The mean over strata of `[stratum][run]`.
    ///
    /// # Errors
    /// If there is no stratum, one has fewer than two runs, or a number or a result is not finite.
    pub fn new(strata: &[Vec<f64>]) -> Result<Self> {
        if strata.is_empty() {
            return Err(Error::Empty { what: "strata" });
        }
        for runs in strata {
            at_least("runs of a stratum", 2, runs.len())?;
            finite("runs of a stratum", runs)?;
        }
        let size = strata.len() as f64;
        let variance = |runs: &Vec<f64>| sigma::of(runs, 1).powi(2) / runs.len() as f64;
        let total: f64 = strata.iter().map(variance).sum();
        let spread: f64 = strata.iter().map(|r| variance(r).powi(2) / (r.len() - 1) as f64).sum();
        let all: usize = strata.iter().map(|r| r.len() - 1).sum();
        let means: Vec<f64> = strata.iter().map(|r| mean(r)).collect();
        let result = Self {
            mean: means.iter().sum::<f64>() / size,
            error: total.sqrt() / size,
            freedom: if spread > 0.0 { total * total / spread } else { all as f64 },
        };
        finite("mean over strata, its error and freedom", &[result.mean, result.error, result.freedom])?;
        Ok(result)
    }

    /// The interval `mean ± t · error` with Student's t at the effective degrees of freedom.
    ///
    /// With three runs to a stratum, a bootstrap within strata covers the truth in 75 to 89 % of the cases where it
    /// promises 95 %; this one covers it in 93 to 98 % (simulated for normal, skewed and two-valued differences, with
    /// equal spreads and with one stratum that dominates).
    ///
    /// # Errors
    /// If the confidence is not strictly between 0 and 1.
    pub fn interval(&self, confidence: f64) -> Result<(f64, f64)> {
        let half = student_quantile(f64::midpoint(1.0, confidence), self.freedom)? * self.error;
        Ok((self.mean - half, self.mean + half))
    }
}

/// A percentile bootstrap interval for a statistic of strata: runs are resampled with replacement within each stratum,
/// `replicates` times (as rliable does). Narrower than it claims when strata have only a few runs.
///
/// # Errors
/// If there is no stratum, one is empty, there is no replicate, or the confidence is not between 0 and 1.
pub fn stratified_bootstrap<T: Clone>(
    strata: &[Vec<T>],
    statistic: impl Fn(&[Vec<T>]) -> f64,
    confidence: f64,
    replicates: usize,
    rng: &mut Rng,
) -> Result<(f64, f64)> {
    if strata.is_empty() || strata.iter().any(Vec::is_empty) || replicates == 0 {
        return Err(Error::Empty { what: "units (or strata and their runs) and replicates of a bootstrap" });
    }
    in_range("confidence", confidence, 0.0, 1.0)?;
    let mut sample = strata.to_vec();
    let one = |_| {
        for (drawn, runs) in sample.iter_mut().zip(strata) {
            drawn.iter_mut().for_each(|slot| *slot = runs[rng.below(runs.len())].clone());
        }
        statistic(&sample)
    };
    let values: Vec<f64> = (0..replicates).map(one).collect();
    let tail = (1.0 - confidence) / 2.0;
    Ok((quantile(&values, tail)?, quantile(&values, 1.0 - tail)?))
}

/// Probability of improvement: that a run of `x` is better than a run of `y` on the same stratum, ties counted half,
/// averaged over strata. 0.5 is no difference. Agarwal et al. (2021), *Deep Reinforcement Learning at the Edge of the
/// Statistical Precipice*.
///
/// # Errors
/// If `x` and `y` differ in their number of strata, there is none, one is empty, or a number is not finite.
pub fn probability_of_improvement(x: &[Vec<f64>], y: &[Vec<f64>]) -> Result<f64> {
    crate::error::same_length("strata", x.len(), y.len())?;
    if x.is_empty() {
        return Err(Error::Empty { what: "strata" });
    }
    let each = x.iter().zip(y).map(|(x, y)| auroc(y, x)).collect::<Result<Vec<f64>>>()?;
    Ok(mean(&each))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strata() -> Vec<Vec<f64>> {
        vec![
            vec![0.10, 0.30, -0.20],
            vec![0.5, 0.6, 0.4],
            vec![0.01, 0.02, 0.03],
            vec![-0.2, 0.1],
            vec![0.0, 0.7, 0.2, 0.3],
        ]
    }

    /// Expected values: NumPy `mean` and `var(ddof=1)` per stratum, the formulas of the fields, SciPy `stats.t.ppf`.
    #[test]
    fn mean_error_and_interval_match_numpy_and_scipy() {
        let m = StratifiedMean::new(&strata()).unwrap();
        let (low, high) = m.interval(0.95).unwrap();
        let got = [m.mean, m.error, m.freedom, low, high];
        let expected = [
            0.16733333333333333,
            0.05240016963500956,
            5.287752734278319,
            0.03480957302583376,
            0.2998570936408329,
        ];
        for (g, e) in got.iter().zip(expected) {
            assert!((g - e).abs() < 1e-9, "{got:?}");
        }
    }

    #[test]
    fn one_run_has_no_error_and_equal_runs_have_none() {
        assert!(StratifiedMean::new(&[vec![1.0]]).is_err() && StratifiedMean::new(&[]).is_err());
        let equal = StratifiedMean::new(&[vec![1.0; 3], vec![2.0; 2]]).unwrap();
        assert_eq!((equal.mean, equal.error, equal.freedom), (1.5, 0.0, 3.0));
        assert_eq!(equal.interval(0.95).unwrap(), (1.5, 1.5));
    }

    /// Expected value: SciPy `mannwhitneyu(x, y).statistic / (n m)`, averaged over strata.
    #[test]
    fn probability_of_improvement_matches_scipy() {
        let x = [vec![0.1, 0.4, 0.35], vec![0.8, 0.2, 0.9]];
        let y = [vec![0.1, 0.3, 0.5], vec![0.2, 0.7, 0.1]];
        assert!((probability_of_improvement(&x, &y).unwrap() - 2.0 / 3.0).abs() < 1e-12);
        assert!(probability_of_improvement(&x, &y[..1]).is_err());
    }

    /// Resampling within strata never mixes them: with constant strata every replicate is the sample itself.
    #[test]
    fn a_bootstrap_stays_within_its_strata() {
        let constant = [vec![1.0; 3], vec![5.0; 4]];
        let total = |s: &[Vec<f64>]| s.iter().map(|r| mean(r)).sum::<f64>();
        let range = stratified_bootstrap(&constant, total, 0.95, 50, &mut Rng::from_seed(1)).unwrap();
        assert_eq!(range, (6.0, 6.0));
    }

    /// With 200 runs to a stratum the bootstrap is close to the t interval; 10 % of its width is allowed, several times
    /// the Monte-Carlo error of 4000 replicates.
    #[test]
    fn bootstrap_and_student_agree_for_many_runs() {
        let rng = &mut Rng::from_seed(4);
        let mut strata = vec![vec![0.0; 200]; 3];
        strata.iter_mut().for_each(|s| rng.fill_normal(s));
        let middle = |s: &[Vec<f64>]| s.iter().map(|r| mean(r)).sum::<f64>() / s.len() as f64;
        let (low, high) = stratified_bootstrap(&strata, middle, 0.95, 4000, rng).unwrap();
        let (a, b) = StratifiedMean::new(&strata).unwrap().interval(0.95).unwrap();
        assert!((low - a).abs() < 0.1 * (b - a) && (high - b).abs() < 0.1 * (b - a));
    }
}
