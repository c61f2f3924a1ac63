//! Risk and coverage: does leaving out the states with high scores lower the error on the rest?

use crate::error::{finite, same_length};
use crate::{ClusterBootstrap, Error, Estimate, Result};

/// The risk–coverage curve of a score: at coverage c, the mean error of the share c of states with the lowest scores.
///
/// A useful score leaves states with small errors first. States with equal scores are taken in random order, and the
/// curve is the expectation over it. The area under the curve (AURC) is the mean risk over the coverages 1/n, 2/n, …, 1.
/// A score that knows nothing has the mean error as its area; none is below that of the errors themselves, and what a
/// score has more is its excess. Geifman, Uziel and El-Yaniv (2019), *Bias-Reduced Uncertainty Estimation for Deep Neural
/// Classifiers*.
///
/// ```
/// use ive::RiskCoverage;
/// let curve = RiskCoverage::new(&[0.1, 0.9, 0.2], &[1.0, 6.0, 2.0])?;
/// assert_eq!(curve.points(), [(1.0 / 3.0, 1.0), (2.0 / 3.0, 1.5), (1.0, 3.0)]);
/// assert_eq!(curve.excess(), 0.0); // no order is better
/// # Ok::<(), ive::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct RiskCoverage {
    errors: Vec<f64>,
    by_score: Order,
    by_error: Order,
}

/// States from low to high, in groups of equals.
#[derive(Clone, Debug)]
struct Order {
    states: Vec<usize>,
    ends: Vec<usize>,
}

impl Order {
    fn new(keys: &[f64]) -> Self {
        let mut states: Vec<usize> = (0..keys.len()).collect();
        states.sort_unstable_by(|&i, &j| keys[i].total_cmp(&keys[j]));
        let mut ends = Vec::new();
        for group in states.chunk_by(|&i, &j| keys[i] == keys[j]) {
            ends.push(ends.last().unwrap_or(&0) + group.len());
        }
        Self { states, ends }
    }

    /// Calls `see` with the expected risk after each state, from the first to the last, when state i is there `weights[i]`
    /// times.
    fn risks(&self, errors: &[f64], weights: &[f64], mut see: impl FnMut(f64)) {
        let (mut count, mut sum, mut start) = (0.0, 0.0, 0);
        for &end in &self.ends {
            let group = &self.states[start..end];
            let size: f64 = group.iter().map(|&i| weights[i]).sum();
            let total: f64 = group.iter().map(|&i| weights[i] * errors[i]).sum();
            for taken in 1..=size as u64 {
                let taken = taken as f64;
                see((sum + total * (taken / size)) / (count + taken));
            }
            (count, sum, start) = (count + size, sum + total, end);
        }
    }

    /// The mean of the risks.
    fn area(&self, errors: &[f64], weights: &[f64]) -> f64 {
        let (mut sum, mut count) = (0.0, 0.0);
        self.risks(errors, weights, |risk| (sum, count) = (sum + risk, count + 1.0));
        sum / count
    }
}

impl RiskCoverage {
    /// The curve of a score for states whose errors (of the value, say) are known.
    ///
    /// # Errors
    /// If there is no state, the lengths differ, or a number is not finite.
    pub fn new(scores: &[f64], errors: &[f64]) -> Result<Self> {
        same_length("errors, one for each score", scores.len(), errors.len())?;
        if scores.is_empty() {
            return Err(Error::Empty { what: "scores and errors" });
        }
        finite("scores", scores)?;
        finite("errors", errors)?;
        Ok(Self { errors: errors.to_vec(), by_score: Order::new(scores), by_error: Order::new(errors) })
    }

    /// The curve, `(coverage, risk)` after each state.
    pub fn points(&self) -> Vec<(f64, f64)> {
        let n = self.errors.len() as f64;
        let mut points = Vec::with_capacity(self.errors.len());
        let weights = vec![1.0; self.errors.len()];
        self.by_score
            .risks(&self.errors, &weights, |risk| points.push(((points.len() + 1) as f64 / n, risk)));
        points
    }

    /// The area under the curve.
    pub fn area(&self) -> f64 {
        self.by_score.area(&self.errors, &vec![1.0; self.errors.len()])
    }

    /// By how much the area exceeds that of the best possible order.
    pub fn excess(&self) -> f64 {
        let weights = vec![1.0; self.errors.len()];
        self.by_score.area(&self.errors, &weights) - self.by_error.area(&self.errors, &weights)
    }

    /// Area and excess with intervals by resampling clusters; the bootstrap has one group, that of the states.
    ///
    /// # Errors
    /// If that group does not have as many states as there are scores.
    pub fn estimate(&self, bootstrap: &ClusterBootstrap) -> Result<RiskEstimate> {
        self.check(bootstrap)?;
        let [area, excess] = bootstrap.estimate(|w| {
            let area = self.by_score.area(&self.errors, &w[0]);
            [area, area - self.by_error.area(&self.errors, &w[0])]
        })?;
        Ok(RiskEstimate { area, excess })
    }

    /// By how much the area of this score exceeds that of another on the same states, with an interval by resampling in
    /// pairs. Negative is better.
    ///
    /// # Errors
    /// As [`estimate`](Self::estimate), for both.
    pub fn difference(&self, other: &Self, bootstrap: &ClusterBootstrap) -> Result<Estimate> {
        self.check(bootstrap)?;
        other.check(bootstrap)?;
        let [difference] = bootstrap.estimate(|w| {
            [self.by_score.area(&self.errors, &w[0]) - other.by_score.area(&other.errors, &w[0])]
        })?;
        Ok(difference)
    }

    fn check(&self, bootstrap: &ClusterBootstrap) -> Result<()> {
        let states = bootstrap.states();
        same_length("groups of the bootstrap", 1, states.len())?;
        same_length("clusters of the states", self.errors.len(), states[0])
    }
}

/// The area under a risk–coverage curve, and by how much it exceeds the best possible one.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct RiskEstimate {
    /// AURC.
    pub area: Estimate,
    /// Excess AURC; zero is perfect.
    pub excess: Estimate,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rng;

    /// By hand: a constant score leaves nothing to choose, so every coverage has the mean error.
    #[test]
    fn a_constant_score_has_the_mean_error_everywhere() {
        let curve = RiskCoverage::new(&[2.0; 4], &[1.0, 2.0, 3.0, 6.0]).unwrap();
        assert!(curve.points().iter().all(|p| (p.1 - 3.0).abs() < 1e-15));
        assert!((curve.area() - 3.0).abs() < 1e-15);
        // The best order: 1, 1.5, 2, 3.
        assert!((curve.excess() - (3.0 - 7.5 / 4.0)).abs() < 1e-15);
    }

    /// Repeating states is what whole weights mean.
    #[test]
    fn weights_repeat_states() {
        let rng = &mut Rng::from_seed(8);
        let scores: Vec<f64> = (0..50).map(|_| rng.below(12) as f64).collect();
        let errors: Vec<f64> = (0..50).map(|_| rng.uniform()).collect();
        let weights: Vec<f64> = (0..50).map(|i| (i % 3) as f64).collect();
        let repeated = |x: &[f64]| {
            x.iter()
                .zip(&weights)
                .flat_map(|(&x, &w)| std::iter::repeat_n(x, w as usize))
                .collect::<Vec<f64>>()
        };
        let expected = RiskCoverage::new(&repeated(&scores), &repeated(&errors)).unwrap();
        let curve = RiskCoverage::new(&scores, &errors).unwrap();
        assert!((curve.by_score.area(&errors, &weights) - expected.area()).abs() < 1e-12);
        let excess = curve.by_score.area(&errors, &weights) - curve.by_error.area(&errors, &weights);
        assert!((excess - expected.excess()).abs() < 1e-12);
    }

    #[test]
    fn intervals_hold_the_value_and_a_score_equals_itself() {
        let rng = &mut Rng::from_seed(9);
        let errors: Vec<f64> = (0..200).map(|_| rng.uniform()).collect();
        let scores: Vec<f64> = errors.iter().map(|e| e + 0.5 * rng.normal()).collect();
        let episodes: Vec<usize> = (0..200).map(|i| i / 5).collect();
        let bootstrap = ClusterBootstrap::new(&[&episodes], 0.95, 300, rng).unwrap();
        let (curve, perfect) =
            (RiskCoverage::new(&scores, &errors).unwrap(), RiskCoverage::new(&errors, &errors).unwrap());
        let found = curve.estimate(&bootstrap).unwrap();
        assert_eq!((found.area.value, found.excess.value), (curve.area(), curve.excess()));
        assert!(found.area.low < found.area.value && found.area.value < found.area.high);
        assert_eq!(curve.difference(&curve, &bootstrap).unwrap().high, 0.0);
        assert!(curve.difference(&perfect, &bootstrap).unwrap().low > 0.0);
        assert_eq!(perfect.estimate(&bootstrap).unwrap().excess.high, 0.0);
    }

    #[test]
    fn broken_input_is_refused() {
        assert!(RiskCoverage::new(&[], &[]).is_err() && RiskCoverage::new(&[1.0], &[]).is_err());
        assert!(RiskCoverage::new(&[f64::NAN], &[1.0]).is_err());
        assert!(RiskCoverage::new(&[1.0], &[f64::INFINITY]).is_err());
    }
}
