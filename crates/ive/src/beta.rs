//! The incomplete beta function: behind Student's t, exact binomial intervals and the spread of a calibrated rate.

use crate::error::{between, in_range};
use crate::{Error, Result};

/// The continued fraction of the incomplete beta function (modified Lentz), which converges fast for
/// x < (a + 1) / (a + b + 2).
fn fraction(x: f64, a: f64, b: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let away = |v: f64| if v.abs() < TINY { TINY } else { v };
    let (mut c, mut d) = (1.0, 1.0 / away(1.0 - (a + b) * x / (a + 1.0)));
    let mut fraction = d;
    for m in 1..10_000 {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let mut change = 1.0;
        for term in [even, odd] {
            d = 1.0 / away(1.0 + term * d);
            c = away(1.0 + term / c);
            change *= d * c;
            fraction *= d * c;
        }
        if (change - 1.0).abs() < 1e-15 {
            break;
        }
    }
    fraction
}

/// The regularised incomplete beta function `I_x(a, b)`, the probability that a Beta(a, b) variable is below x. Both x
/// and `rest` = 1 − x are given, since either may be tiny; neither is zero.
pub(crate) fn regularised(x: f64, rest: f64, a: f64, b: f64) -> f64 {
    let log_front =
        libm::lgamma(a + b) - libm::lgamma(a) - libm::lgamma(b) + a * libm::log(x) + b * libm::log(rest);
    let front = libm::exp(log_front);
    if x < (a + 1.0) / (a + b + 2.0) {
        front * fraction(x, a, b) / a
    } else {
        1.0 - front * fraction(rest, b, a) / b
    }
}

/// The p-quantile of the Beta(a, b) distribution, by halving.
pub(crate) fn quantile(p: f64, a: f64, b: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    // Each halving wins a bit; 200 reach every quantile above 1e-60.
    for _ in 0..200 {
        let middle: f64 = f64::midpoint(low, high);
        if middle <= 0.0 || middle >= 1.0 || middle == low || middle == high {
            break;
        }
        if regularised(middle, 1.0 - middle, a, b) < p {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::midpoint(low, high)
}

/// The exact interval of Clopper and Pearson for a probability of which `successes` of `trials` independent attempts
/// were one: it covers the truth at least as often as `confidence` says, for any number of trials.
///
/// ```
/// let (low, high) = ive::binomial_interval(0, 100, 0.95)?;
/// assert!(low == 0.0 && (high - 0.0362).abs() < 1e-4); // none in a hundred may still be one in 28
/// # Ok::<(), ive::Error>(())
/// ```
///
/// # Errors
/// If there is no trial, there are more successes than trials, or the confidence is not strictly between 0 and 1.
pub fn binomial_interval(successes: usize, trials: usize, confidence: f64) -> Result<(f64, f64)> {
    if trials == 0 {
        return Err(Error::Empty { what: "trials" });
    }
    in_range("successes", successes as f64, 0.0, trials as f64)?;
    between("confidence", confidence)?;
    let (hits, misses, tail) = (successes as f64, (trials - successes) as f64, (1.0 - confidence) / 2.0);
    let low = if successes == 0 { 0.0 } else { quantile(tail, hits, misses + 1.0) };
    let high = if successes == trials { 1.0 } else { quantile(1.0 - tail, hits + 1.0, misses) };
    Ok((low, high))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Expected values: SciPy `binomtest(k, n).proportion_ci(confidence, method="exact")` and `beta.ppf`, printed by
    /// `tests/golden/metrics.py`; the golden test has more.
    #[test]
    fn intervals_are_closed_forms_where_there_are_some() {
        // No success in n trials: 1 − (α/2)^(1/n); all: (α/2)^(1/n).
        for n in [1, 7, 100, 100_000] {
            let end = libm::pow(0.025, 1.0 / n as f64);
            let (low, high) = binomial_interval(0, n, 0.95).unwrap();
            assert!(low == 0.0 && (high - (1.0 - end)).abs() < 1e-12, "{n}: {high}");
            let (low, high) = binomial_interval(n, n, 0.95).unwrap();
            assert!(high == 1.0 && (low - end).abs() < 1e-12, "{n}: {low}");
        }
        // Beta(1, 1) is uniform, Beta(1, b) has the quantile 1 − (1 − p)^(1/b).
        assert!((quantile(0.3, 1.0, 1.0) - 0.3).abs() < 1e-14);
        assert!((quantile(0.9, 1.0, 40.0) - (1.0 - libm::pow(0.1, 1.0 / 40.0))).abs() < 1e-14);
    }

    #[test]
    fn nonsense_is_refused() {
        assert_eq!(binomial_interval(0, 0, 0.95).unwrap_err().to_string(), "trials: must not be empty");
        assert!(binomial_interval(3, 2, 0.95).is_err() && binomial_interval(1, 2, 1.0).is_err());
        assert!(binomial_interval(1, 2, f64::NAN).is_err());
    }
}
