//! How much estimates disagree, and what they say on average.

use crate::error::{finite, same_length};
use crate::{Error, Result};

/// The mean of some numbers.
pub fn mean(x: &[f64]) -> f64 {
    x.iter().sum::<f64>() / x.len() as f64
}

/// The standard deviation `√(Σᵢ (xᵢ − x̄)² / (N − ddof))`.
///
/// `ddof = 0` is the population form, used for disagreement of an ensemble; `ddof = 1` is the sample form, used for
/// standard errors. With N ≤ ddof numbers there is no estimate, and the result is NaN.
///
/// ```
/// assert_eq!(ive::std(&[1.0, 3.0], 0), 1.0);
/// assert_eq!(ive::std(&[1.0, 3.0], 1), 2.0_f64.sqrt());
/// ```
pub fn std(x: &[f64], ddof: usize) -> f64 {
    // Deviations are taken from the first number before averaging, so that equal numbers give exactly zero: a mean of
    // equal numbers may differ from them in its last bit.
    let Some(&origin) = x.first() else { return f64::NAN };
    let n = x.len() as f64;
    let shift = x.iter().map(|v| v - origin).sum::<f64>() / n;
    let squares = x.iter().map(|v| (v - origin - shift).powi(2)).sum::<f64>();
    if x.len() > ddof { (squares / (n - ddof as f64)).sqrt() } else { f64::NAN }
}

/// A statistic over the members of an ensemble. Paper: Sec. 3.2.
#[derive(Clone, Copy, Debug, PartialEq)]
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
    pub fn of(self, x: &[f64]) -> f64 {
        match self {
            Self::Mean => mean(x),
            Self::Std { ddof } => std(x, ddof),
            Self::MeanPlusStd { beta } => mean(x) + beta * std(x, 0),
            Self::Range => {
                let largest = x.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                largest - x.iter().copied().fold(f64::INFINITY, f64::min)
            }
        }
    }
}

/// Weights over the members k of an ensemble of n distributions. Paper: App. D.3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    fn std_of_equal_numbers_is_exactly_zero() {
        assert_eq!(std(&[0.1; 7], 0), 0.0);
        assert!(std(&[0.1], 1).is_nan());
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
