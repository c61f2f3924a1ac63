//! What says that a state is out of distribution: one number for each state, high for strange ones.

use ive::{mean, standard_deviation};
use ive_agents::evaluation::Scores;
use ive_agents::{Estimates, Further};

/// A smaller |μ| counts as this one where σ is divided by it.
const SMALLEST_MU: f64 = 1e-9;

/// A detector.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Detector {
    /// σ-IVE over k = 1..n.
    Sigma,
    /// σ-IVE over k = 0..n.
    SigmaWithZero,
    /// σ-IVE / |μ-IVE|, k = 1..n.
    Relative,
    /// −μ-IVE, k = 1..n.
    LowValue,
    /// The error of the prediction of the step that led there.
    Surprise,
    /// Random network distillation.
    Novelty,
    /// σ-EVE over the value heads, of agents that have several.
    Heads,
}

impl Detector {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Sigma,
        Self::SigmaWithZero,
        Self::Relative,
        Self::LowValue,
        Self::Surprise,
        Self::Novelty,
        Self::Heads,
    ];

    /// In files.
    pub fn key(self) -> &'static str {
        ["sigma", "sigma_with_zero", "relative", "low_value", "surprise", "novelty", "heads"][self as usize]
    }

    /// In tables.
    pub fn label(self) -> &'static str {
        ["σ, k=1..5", "σ, k=0..5", "σ/|μ|", "low value", "one-step surprise", "RND", "σ-EVE"][self as usize]
    }

    /// In figures.
    pub fn colour(self) -> &'static str {
        ["#d55e00", "#e69f00", "#cc79a7", "#0072b2", "#009e73", "#777777", "#56b4e9"][self as usize]
    }

    /// Its scores, of an agent that was asked for the members 0..n.
    pub fn scores(self, said: &Scores) -> Option<Vec<f64>> {
        let members = said.members.as_ref();
        let each = |of: fn(&Estimates) -> f64| members.map(|all| all.iter().map(of).collect());
        match self {
            Self::Sigma => each(|m| deviation(later(m))),
            Self::SigmaWithZero => each(|m| deviation(m.values())),
            Self::Relative => each(|m| deviation(later(m)) / mean(later(m)).abs().max(SMALLEST_MU)),
            Self::LowValue => each(|m| -mean(later(m))),
            Self::Surprise => Some(said.surprise.clone()),
            Self::Novelty => (!said.novelty.is_empty()).then(|| said.novelty.clone()),
            Self::Heads => said.further.iter().find(|f| f.name == Further::EVE).map(|f| f.scores.clone()),
        }
    }
}

/// The members but k = 0.
fn later(members: &Estimates) -> &[f64] {
    &members.values()[usize::from(members.ks().contains(0))..]
}

fn deviation(values: &[f64]) -> f64 {
    standard_deviation(values, 0).unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ive::Members;

    /// By hand: 1 and 3 have the mean 2 and the deviation 1; with 2 in front the deviation is √(2/3).
    #[test]
    fn detectors_are_what_they_are_called() {
        let members = vec![Estimates::new(Members::new(0..=2).unwrap(), vec![2.0, 1.0, 3.0])];
        let said = Scores {
            name: "".into(),
            example: None,
            values: vec![0.0],
            members: Some(members),
            surprise: vec![7.0],
            novelty: Vec::new(),
            further: Vec::new(),
        };
        let of = |detector: Detector| detector.scores(&said).map(|scores| scores[0]);
        assert_eq!(of(Detector::Sigma), Some(1.0));
        assert!((of(Detector::SigmaWithZero).unwrap() - (2.0f64 / 3.0).sqrt()).abs() < 1e-12);
        assert_eq!((of(Detector::Relative), of(Detector::LowValue)), (Some(0.5), Some(-2.0)));
        assert_eq!(
            (of(Detector::Surprise), of(Detector::Novelty), of(Detector::Heads)),
            (Some(7.0), None, None)
        );
        assert!(Detector::ALL.iter().enumerate().all(|(i, d)| *d as usize == i));
    }
}
