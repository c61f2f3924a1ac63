//! What a run of the toy leaves behind.

use ive::ValueEnsemble;

/// A state further than this from every given state counts as far from the data.
pub const FAR_FROM_DATA: f64 = 0.5;

/// A finished run: the members before and after training, on a grid and at the data.
#[derive(Clone, Debug, PartialEq)]
pub struct ToyOutcome {
    /// The given states.
    pub states: Vec<f64>,
    /// Their values v̄.
    pub targets: Vec<f64>,
    /// Where `before` and `after` were evaluated.
    pub grid: Vec<f64>,
    /// The implicit ensemble on the grid before training. Paper: Fig. 1 (b).
    pub before: ValueEnsemble,
    /// The implicit ensemble on the grid after training. Paper: Fig. 1 (c).
    pub after: ValueEnsemble,
    /// The implicit ensemble at the given states before training.
    pub before_at_data: ValueEnsemble,
    /// The implicit ensemble at the given states after training.
    pub after_at_data: ValueEnsemble,
    /// The loss before each step that was made.
    pub losses: Vec<f64>,
    /// Whether the caller stopped training before the last step.
    pub stopped: bool,
}

impl ToyOutcome {
    /// [`sigma_ratio`] before training: about one, as nothing is known anywhere.
    pub fn sigma_ratio_before(&self) -> Option<f64> {
        sigma_ratio(&self.grid, &self.before, &self.states, &self.before_at_data)
    }

    /// [`sigma_ratio`] after training.
    pub fn sigma_ratio_after(&self) -> Option<f64> {
        sigma_ratio(&self.grid, &self.after, &self.states, &self.after_at_data)
    }

    /// The root mean square error of all members at the data after training.
    pub fn root_mean_square_error(&self) -> f64 {
        let errors = self.after_at_data.members().flat_map(|member| member.iter().zip(&self.targets));
        let (sum, count) = errors.fold((0.0, 0), |(sum, n), (v, target)| (sum + (v - target).powi(2), n + 1));
        (sum / f64::from(count.max(1))).sqrt()
    }
}

/// The mean of σ over the grid points further than [`FAR_FROM_DATA`] from every given state, divided by the mean of σ
/// over the given states. None if no grid point is that far, or if the members agree at all given states.
pub fn sigma_ratio(
    grid: &[f64],
    on_grid: &ValueEnsemble,
    states: &[f64],
    at_data: &ValueEnsemble,
) -> Option<f64> {
    let is_far = |s: f64| states.iter().all(|x| (x - s).abs() > FAR_FROM_DATA);
    let far: Vec<f64> =
        grid.iter().zip(on_grid.std()).filter(|(s, _)| is_far(**s)).map(|(_, sigma)| sigma).collect();
    let (far, near) = (mean(&far)?, mean(&at_data.std())?);
    (near > 0.0).then(|| far / near)
}

fn mean(x: &[f64]) -> Option<f64> {
    (!x.is_empty()).then(|| x.iter().sum::<f64>() / x.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two members that differ by 2σ: σ is half their distance. Far are −1 and 1, with σ 3 and 5.
    #[test]
    fn ratio_counts_only_what_is_far() {
        let on_grid = ValueEnsemble::from_members([[0.0, 0.0, 0.0], [6.0, 100.0, 10.0]]).unwrap();
        let at_data = ValueEnsemble::from_members([[0.0], [1.0]]).unwrap();
        assert_eq!(sigma_ratio(&[-1.0, 0.5, 1.0], &on_grid, &[0.0], &at_data), Some(8.0));
        assert_eq!(sigma_ratio(&[-0.1, 0.0, 0.1], &on_grid, &[0.0], &at_data), None);
    }
}
