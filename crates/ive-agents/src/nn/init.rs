//! Initial weights, from the run's own generator.

use ive::Rng;

/// Truncated normal numbers with scale `1/√fan_in`: normal deviates beyond two standard deviations are drawn again,
/// then all are multiplied by the scale. This is Haiku's default for linear layers; the standard deviation of the
/// result is 0.880 of the scale, since the truncation is not corrected for.
pub fn truncated_normal(count: usize, fan_in: usize, rng: &mut Rng) -> Vec<f64> {
    let scale = 1.0 / (fan_in as f64).sqrt();
    let one = || loop {
        let x = rng.normal();
        if x.abs() <= 2.0 {
            return x * scale;
        }
    };
    std::iter::repeat_with(one).take(count).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A normal variable cut at ±2 has variance `1 − 2·2φ(2)/(2Φ(2) − 1)` = 0.773741 (density and distribution function
    /// of the standard normal; 4·0.0539910/0.9544997 = 0.226259). Tolerances are five standard errors: the mean's is
    /// √(0.774/n), the second moment's below √(1.2/n), as its fourth moment is below 1.8.
    #[test]
    fn moments_are_those_of_the_truncated_normal() {
        let (n, fan_in) = (200_000, 16);
        let x = truncated_normal(n, fan_in, &mut Rng::from_seed(3));
        let (mean, second) =
            (x.iter().sum::<f64>() / n as f64, x.iter().map(|x| x * x).sum::<f64>() / n as f64);
        assert!(mean.abs() * 4.0 < 5.0 * (0.774 / n as f64).sqrt(), "mean {mean}");
        assert!((second * 16.0 - 0.773_741).abs() < 5.0 * (1.2 / n as f64).sqrt(), "second moment {second}");
        assert!(x.iter().all(|x| x.abs() <= 0.5));
    }

    /// Published results depend on these numbers: changing them is a breaking change.
    #[test]
    fn value_stability() {
        let bits: Vec<u64> =
            truncated_normal(2, 32, &mut Rng::from_seed(2022)).iter().map(|x| x.to_bits()).collect();
        assert_eq!(bits, [13817593668850047543, 4598308016127711501]);
    }
}
