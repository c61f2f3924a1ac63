//! Quantiles of Student's t distribution, for intervals from a handful of runs.

use crate::error::{between, in_range};
use crate::{Result, beta};

/// The upper tail `P(T > t)` for t ≥ 0: half of the regularised incomplete beta function `I(ν/2, ½)` at `ν / (ν + t²)`.
fn upper_tail(t: f64, freedom: f64) -> f64 {
    let (a, b) = (freedom / 2.0, 0.5);
    // Both shares of one are computed directly: either may be tiny.
    let (x, rest) = (freedom / (freedom + t * t), t * t / (freedom + t * t));
    if rest <= 0.0 {
        return 0.5;
    }
    beta::regularised(x, rest, a, b) / 2.0
}

/// The p-quantile of Student's t distribution with `freedom` degrees of freedom, which need not be whole.
///
/// ```
/// let t = ive::student_quantile(0.975, 2.0)?; // three runs
/// assert!((t - 4.302652729749462).abs() < 1e-9);
/// # Ok::<(), ive::Error>(())
/// ```
///
/// # Errors
/// If p is not strictly between 0 and 1, or the degrees of freedom are below 0.1 or above 10⁹.
pub fn student_quantile(p: f64, freedom: f64) -> Result<f64> {
    between("probability of a quantile", p)?;
    in_range("degrees of freedom", freedom, 0.1, 1e9)?;
    let tail = p.min(1.0 - p);
    let mut high = 1.0;
    while upper_tail(high, freedom) > tail && high < 1e300 {
        high *= 2.0;
    }
    let mut low = 0.0;
    // Each halving wins a bit; 200 are more than a double has between neighbours of any size that occurs.
    for _ in 0..200 {
        let middle = f64::midpoint(low, high);
        if upper_tail(middle, freedom) > tail {
            low = middle;
        } else {
            high = middle;
        }
    }
    Ok(if p < 0.5 { -high } else { low })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Expected values: SciPy `stats.t.ppf(p, freedom)`.
    #[test]
    fn quantiles_match_scipy() {
        for (p, freedom, expected) in [
            (0.975, 1.0, 12.706204736174694),
            (0.975, 2.0, 4.302652729749462),
            (0.975, 3.7, 2.8675207071911895),
            (0.95, 10.0, 1.8124611228116756),
            (0.6, 2.5, 0.2814595127485477),
            (0.025, 8.0, -2.3060041352041662),
            (0.999, 30.0, 3.3851848668293045),
            (0.975, 1e6, 1.959966356814107),
            (0.9, 0.5, 10.27032441023451),
        ] {
            let got = student_quantile(p, freedom).unwrap();
            assert!((got / expected - 1.0).abs() < 1e-8, "p {p}, {freedom} degrees: {got} not {expected}");
        }
        assert!(student_quantile(0.5, 4.0).unwrap().abs() < 1e-12);
    }

    #[test]
    fn nonsense_is_refused() {
        assert!(student_quantile(1.0, 3.0).is_err() && student_quantile(0.0, 3.0).is_err());
        assert!(student_quantile(0.9, 0.0).is_err() && student_quantile(0.9, f64::NAN).is_err());
    }
}
