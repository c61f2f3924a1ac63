//! How much estimates disagree, and what they say on average.

use crate::error::{at_least, finite, in_range, same_length};
use crate::{Error, Result, sigma};

/// The mean of some numbers. That of finite numbers is finite, also where their sum is not; that of none is NaN.
pub fn mean(x: &[f64]) -> f64 {
    mean_of(x.iter().sum(), || x.iter().copied(), x.len())
}

/// The mean of n numbers with this sum.
pub(crate) fn mean_of<I: Iterator<Item = f64>>(sum: f64, x: impl Fn() -> I, n: usize) -> f64 {
    if sum.is_finite() || x().any(|x| !x.is_finite()) {
        return sum / n as f64;
    }
    let (most, least) = (x().fold(f64::NEG_INFINITY, f64::max), x().fold(f64::INFINITY, f64::min));
    x().map(|x| x / n as f64).sum::<f64>().min(most).max(least)
}

/// The standard deviation `√(Σᵢ (xᵢ − x̄)² / (N − ddof))`.
///
/// `ddof = 0` is the population form, used for disagreement of an ensemble; `ddof = 1` is the sample form, used for
/// standard errors.
///
/// ```
/// assert_eq!(ive::standard_deviation(&[1.0, 3.0], 0)?, 1.0);
/// assert_eq!(ive::standard_deviation(&[1.0, 3.0], 1)?, 2.0_f64.sqrt());
/// # Ok::<(), ive::Error>(())
/// ```
///
/// # Errors
/// If `ddof` is neither 0 nor 1, there are no more than `ddof` numbers, one is not finite, or the result is not.
pub fn standard_deviation(x: &[f64], ddof: usize) -> Result<f64> {
    Signal::Std { ddof }.of(x)
}

/// A statistic over the members of an ensemble. Paper: Sec. 3.2.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum Signal {
    /// μ: the value predicted by the ensemble.
    Mean,
    /// σ: the disagreement.
    Std {
        /// What is subtracted from the number of members, 0 or 1.
        ddof: usize,
    },
    /// μ + β·σ: β > 0 seeks disagreement, β < 0 avoids it, β = 0 is neutral.
    MeanPlusStd {
        /// The attitude.
        beta: f64,
    },
    /// The largest member minus the smallest.
    Range,
}

impl Signal {
    /// The statistic of some numbers.
    ///
    /// # Errors
    /// If there are too few numbers, one is not finite, or the statistic is not: the mean and the population σ of finite
    /// numbers are always finite, the others may overflow.
    pub fn of(self, x: &[f64]) -> Result<f64> {
        Ok(self.of_columns(x, x.len())?[0])
    }

    /// The statistic of every column of n rows, `[n, width]`.
    pub(crate) fn of_columns(self, rows: &[f64], n: usize) -> Result<Vec<f64>> {
        if n == 0 {
            return Err(Error::Empty { what: "members of a statistic" });
        }
        finite("members of a statistic", rows)?;
        let statistic = match self {
            Self::Mean => means(rows, n),
            Self::Std { ddof } => {
                check_ddof(ddof, n)?;
                sigma::of_columns(rows, n, ddof)
            }
            Self::MeanPlusStd { beta } => {
                let both = means(rows, n).into_iter().zip(sigma::of_columns(rows, n, 0));
                both.map(|(mean, sigma)| mean + beta * sigma).collect()
            }
            Self::Range => {
                let most = fold_columns(rows, n, f64::NEG_INFINITY, f64::max);
                let least = fold_columns(rows, n, f64::INFINITY, f64::min);
                most.into_iter().zip(least).map(|(most, least)| most - least).collect()
            }
        };
        finite("statistic of the members", &statistic)?;
        Ok(statistic)
    }
}

/// `Ok` when a standard deviation of n numbers with this `ddof` exists.
pub(crate) fn check_ddof(ddof: usize, n: usize) -> Result<()> {
    in_range("ddof", ddof as f64, 0.0, 1.0)?;
    at_least("members of a standard deviation", ddof + 1, n)
}

/// The mean of every column of n rows.
pub(crate) fn means(rows: &[f64], n: usize) -> Vec<f64> {
    let width = rows.len() / n.max(1);
    let sums = fold_columns(rows, n, 0.0, |sum, x| sum + x);
    let column = |i: usize| move || rows.iter().skip(i).step_by(width).copied();
    sums.into_iter().enumerate().map(|(i, sum)| mean_of(sum, column(i), n)).collect()
}

fn fold_columns(rows: &[f64], n: usize, start: f64, update: impl Fn(f64, f64) -> f64) -> Vec<f64> {
    let width = rows.len() / n.max(1);
    let mut all = vec![start; width];
    for i in 0..n {
        all.iter_mut().zip(&rows[i * width..]).for_each(|(sum, x)| *sum = update(*sum, *x));
    }
    all
}

/// Weights over the members k of an ensemble of n distributions. Paper: App. D.3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum Weighting {
    /// `wₖ = 1/n`.
    Uniform,
    /// `wₖ ∝ ρᵏ` with ρ chosen so that the last weight is a third of the first.
    Decreasing,
    /// The decreasing weights in reverse.
    Increasing,
}

impl Weighting {
    /// The n weights, which sum to one.
    pub fn weights(self, n: usize) -> Vec<f64> {
        let ratio = match self {
            Self::Uniform => 1.0,
            _ if n < 2 => 1.0,
            _ => libm::pow(1.0 / 3.0, 1.0 / (n - 1) as f64),
        };
        let mut w: Vec<f64> = (0..n).map(|k| libm::pow(ratio, k as f64)).collect();
        if self == Self::Increasing {
            w.reverse();
        }
        let sum: f64 = w.iter().sum();
        w.iter_mut().for_each(|x| *x /= sum);
        w
    }
}

/// Shannon entropy in nats, `−Σ p ln p`.
pub fn entropy(p: &[f64]) -> f64 {
    -p.iter().filter(|&&x| x > 0.0).map(|&x| x * libm::log(x)).sum::<f64>()
}

/// The weighted Jensen–Shannon divergence of members that are distributions:
///
/// `JSD_w = H(Σₖ wₖ Pₖ) − Σₖ wₖ H(Pₖ)`, in nats. Paper: App. D.3, Eq. (24).
///
/// ```
/// use ive::{jensen_shannon, Weighting};
/// let apart = jensen_shannon(&[vec![1.0, 0.0], vec![0.0, 1.0]], Weighting::Uniform)?;
/// assert!((apart - 2.0_f64.ln()).abs() < 1e-15);
/// # Ok::<(), ive::Error>(())
/// ```
///
/// # Errors
/// If there is no member, the lengths differ, or a member is not a distribution (within 1e-6).
pub fn jensen_shannon(members: &[Vec<f64>], weighting: Weighting) -> Result<f64> {
    let atoms = members.first().ok_or(Error::Empty { what: "distributions" })?.len();
    let mut mixture = vec![0.0; atoms];
    let mut inner = 0.0;
    for (k, (p, w)) in members.iter().zip(weighting.weights(members.len())).enumerate() {
        same_length("atoms of a distribution", atoms, p.len())?;
        finite("distribution", p)?;
        let sum: f64 = p.iter().sum();
        if p.iter().any(|&x| x < 0.0) || (sum - 1.0).abs() > 1e-6 {
            return Err(Error::NotADistribution { what: "members", row: k, sum });
        }
        mixture.iter_mut().zip(p).for_each(|(m, x)| *m += w * x);
        inner += w * entropy(p);
    }
    Ok((entropy(&mixture) - inner).max(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_numbers_have_exactly_zero_deviation_and_one_has_none_of_the_sample_form() {
        assert_eq!(standard_deviation(&[0.1; 7], 0).unwrap(), 0.0);
        let alone = standard_deviation(&[0.1], 1).unwrap_err().to_string();
        assert_eq!(alone, "members of a standard deviation: at least 2 are needed, got 1");
        assert_eq!(
            standard_deviation(&[0.1; 7], 2).unwrap_err().to_string(),
            "ddof: 2 is outside the range 0 to 1"
        );
        assert!(standard_deviation(&[], 0).is_err());
    }

    /// By hand: the deviation of 0 and x is x/2 in the population form. The sample form of ±MAX is √2 MAX.
    #[test]
    fn a_statistic_that_overflows_is_an_error_and_never_small() {
        let far = [f64::MAX, -f64::MAX];
        assert_eq!(standard_deviation(&[0.0, 1e200], 0).unwrap(), 5e199);
        assert_eq!(standard_deviation(&far, 0).unwrap(), f64::MAX);
        assert_eq!(mean(&[f64::MAX; 3]), f64::MAX);
        assert_eq!(mean(&[1.5e308, 1.5e308, 0.0]), 1e308);
        for signal in [Signal::Std { ddof: 1 }, Signal::Range, Signal::MeanPlusStd { beta: 2.0 }] {
            let error = signal.of(&far).unwrap_err().to_string();
            assert_eq!(error, "statistic of the members: entry 0 is inf, not a finite number", "{signal:?}");
        }
        assert!(matches!(Signal::Range.of(&[0.0, f64::NAN]), Err(Error::NotFinite { index: 1, .. })));
    }

    #[test]
    fn weights_follow_the_paper() {
        for n in [5, 10] {
            let w = Weighting::Decreasing.weights(n);
            assert!((w.iter().sum::<f64>() - 1.0).abs() < 1e-15);
            assert!((w[n - 1] / w[0] - 1.0 / 3.0).abs() < 1e-15);
            let reversed = Weighting::Increasing.weights(n);
            assert!(w.iter().rev().zip(reversed).all(|(a, b)| (a - b).abs() < 1e-15));
        }
        assert_eq!(Weighting::Increasing.weights(1), [1.0]);
    }

    /// Expected value from SciPy: `jensenshannon([.1,.9],[.6,.4])**2` (natural logarithm, uniform weights).
    #[test]
    fn jensen_shannon_matches_scipy() {
        let d = jensen_shannon(&[vec![0.1, 0.9], vec![0.6, 0.4]], Weighting::Uniform).unwrap();
        assert!((d - SCIPY_JSD).abs() < 1e-14, "{d}");
        assert_eq!(jensen_shannon(&[vec![0.3, 0.7], vec![0.3, 0.7]], Weighting::Increasing).unwrap(), 0.0);
    }
    const SCIPY_JSD: f64 = 0.14839931883428015;

    #[test]
    fn jensen_shannon_refuses_what_is_not_a_distribution() {
        let bad = jensen_shannon(&[vec![0.5, 0.5], vec![0.5, 0.6]], Weighting::Uniform).unwrap_err();
        assert_eq!(bad.to_string(), "members: row 1 sums to 1.1, a distribution sums to 1");
        assert!(matches!(jensen_shannon(&[], Weighting::Uniform), Err(Error::Empty { .. })));
        assert!(jensen_shannon(&[vec![1.0], vec![0.5, 0.5]], Weighting::Uniform).is_err());
    }
}
