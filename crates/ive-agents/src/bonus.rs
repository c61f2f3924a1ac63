//! Acting on what an agent does not know: its policy, mixed with a signal of each action. Paper: App. D.3 and D.4, Figs. 13 and 14.
//!
//! With β > 0 it goes where its members disagree (optimism), with β < 0 it stays where they agree (pessimism).

use std::fmt;

use ive::{Weighting, mix_logits, mix_probabilities};
use serde::{Deserialize, Serialize};

use crate::AgentError;
use crate::agent::in_range;

/// The longest path along which a signal is computed.
const DEEPEST: usize = 100;
/// The largest |β| in logit space: there the policy has long lost its say.
const LARGEST: f64 = 1e3;

/// Where the signal d enters the policy π.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Space {
    /// `(1 − β) π + β d / Σ d`.
    Probability,
    /// `softmax(z_π + β d)`.
    Logit,
}

impl Space {
    /// In settings.
    pub fn word(self) -> &'static str {
        ["probability", "logit"][self as usize]
    }
}

/// What says how little is known of an action: that action first, then one path along the model, and members k = 1 to n of it; or what the first n
/// value heads say of the state behind it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Signal {
    /// σ of the members.
    #[default]
    Sigma,
    /// How far their distributions lie apart (Jensen and Shannon), all with the same weight.
    JsdUniform,
    /// The same, the last with a third of the weight of the first.
    JsdDecreasing,
    /// The same, the first with a third of the weight of the last.
    JsdIncreasing,
    /// σ of explicit heads: `r̂ + γ v̂ᵢ` one step ahead, i = 1 to n.
    EveSigma,
    /// How far their distributions lie apart, the first with a third of the weight of the last.
    EveJsdIncreasing,
}

impl Signal {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Sigma,
        Self::JsdUniform,
        Self::JsdDecreasing,
        Self::JsdIncreasing,
        Self::EveSigma,
        Self::EveJsdIncreasing,
    ];

    /// In settings.
    pub fn word(self) -> &'static str {
        ["sigma", "jsd-uniform", "jsd-decreasing", "jsd-increasing", "eve-sigma", "eve-jsd-increasing"]
            [self as usize]
    }

    /// Whether it is that of an explicit ensemble, the value heads.
    pub fn is_explicit(self) -> bool {
        matches!(self, Self::EveSigma | Self::EveJsdIncreasing)
    }

    /// The weights of distributions; none for σ.
    pub fn weighting(self) -> Option<Weighting> {
        match self {
            Self::Sigma | Self::EveSigma => None,
            Self::JsdUniform => Some(Weighting::Uniform),
            Self::JsdDecreasing => Some(Weighting::Decreasing),
            Self::JsdIncreasing | Self::EveJsdIncreasing => Some(Weighting::Increasing),
        }
    }
}

/// How an agent acts on its signal.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bonus {
    /// Where the signal enters.
    pub space: Space,
    /// Which signal.
    pub signal: Signal,
    /// n: how long the paths are, which may be longer than the model was trained for; of an explicit ensemble, how many value heads.
    pub depth: usize,
    /// β.
    pub beta: f64,
}

impl fmt::Display for Bonus {
    /// `logit-jsd-increasing-n5-b1`: in paths and file names.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}-n{}-b{}", self.space.word(), self.signal.word(), self.depth, self.beta)
    }
}

impl Bonus {
    /// Refuses what makes no sense, by the names of these settings.
    ///
    /// # Errors
    /// If β is no number or outside of its range, or paths are too short to disagree or too long.
    pub fn check(&self, beta: &'static str, depth: &'static str) -> Result<(), AgentError> {
        let wrong = |key, problem: String| Err(AgentError::Setting { key, problem });
        if self.space == Space::Probability && !(0.0..=1.0).contains(&self.beta) {
            let problem = format!(
                "is a share in probability space and must lie between 0 and 1, got {}; to avoid what is not known, mix in logit space",
                self.beta
            );
            return wrong(beta, problem);
        }
        in_range(beta, self.beta, -LARGEST, LARGEST)?;
        if self.depth < 2 {
            let problem = format!(
                "must be at least 2, got {}: the members are k = 1 to this, and fewer than two agree always",
                self.depth
            );
            return wrong(depth, problem);
        }
        in_range(depth, self.depth as f64, 2.0, DEEPEST as f64)
    }

    /// Refuses an explicit ensemble of more value heads than the agent has, by the name of the setting.
    ///
    /// # Errors
    /// If there are too few.
    pub fn check_heads(&self, heads: usize, depth: &'static str) -> Result<(), AgentError> {
        if !self.signal.is_explicit() || self.depth <= heads {
            return Ok(());
        }
        let problem = format!(
            "is the number of value heads for {}, got {}: the agent has {heads} (value_heads)",
            self.signal.word(),
            self.depth
        );
        Err(AgentError::Setting { key: depth, problem })
    }

    /// The policy that acts, of ln π and the signal of each action.
    ///
    /// # Errors
    /// If a number is not finite.
    pub fn mixed(&self, log_policy: &[f32], signal: &[f64]) -> Result<Vec<f32>, AgentError> {
        let logits: Vec<f64> = log_policy.iter().map(|x| f64::from(*x)).collect();
        let mixed = match self.space {
            Space::Logit => mix_logits(&logits, signal, self.beta),
            Space::Probability => {
                let policy: Vec<f64> = logits.iter().map(|x| x.exp()).collect();
                mix_probabilities(&policy, signal, self.beta)
            }
        };
        let mixed = mixed.map_err(|_| AgentError::Prediction)?;
        Ok(mixed.into_iter().map(|p| p as f32).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOGIT: Bonus = Bonus { space: Space::Logit, signal: Signal::Sigma, depth: 5, beta: 2.0 };
    const SHARE: Bonus = Bonus { space: Space::Probability, beta: 0.1, ..LOGIT };

    /// By hand: π = (½, ¼, ¼) and d = (0, ln 2, 0) / 2 with β = 2 doubles the second: (2, 2, 1) / 5. In probability space d / Σd = (0, 1, 0).
    #[test]
    fn policies_are_mixed_by_their_formulas() {
        let log: Vec<f32> = [0.5f32, 0.25, 0.25].iter().map(|p| p.ln()).collect();
        let signal = [0.0, 2.0f64.ln() / 2.0, 0.0];
        let close = |a: Vec<f32>, b: [f32; 3]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-6);
        assert!(close(LOGIT.mixed(&log, &signal).unwrap(), [0.4, 0.4, 0.2]));
        assert!(close(SHARE.mixed(&log, &signal).unwrap(), [0.45, 0.325, 0.225]));
        // Pessimism halves it: (2, ½, 1) / 3.5.
        let avoid = Bonus { beta: -2.0, ..LOGIT };
        assert!(close(avoid.mixed(&log, &signal).unwrap(), [2.0 / 3.5, 0.5 / 3.5, 1.0 / 3.5]));
        // Without β, and where nothing disagrees, the policy stays.
        for bonus in [Bonus { beta: 0.0, ..LOGIT }, Bonus { beta: 0.0, ..SHARE }] {
            assert!(close(bonus.mixed(&log, &signal).unwrap(), [0.5, 0.25, 0.25]));
        }
        assert!(close(SHARE.mixed(&log, &[0.0; 3]).unwrap(), [0.5, 0.25, 0.25]));
        assert!(LOGIT.mixed(&log, &[f64::NAN, 0.0, 0.0]).is_err());
    }

    #[test]
    fn what_makes_no_sense_is_refused_in_words() {
        let refused = |bonus: Bonus| bonus.check("beta", "depth").unwrap_err().to_string();
        assert!(refused(Bonus { beta: 1.1, ..SHARE }).contains("between 0 and 1, got 1.1"));
        assert!(refused(Bonus { beta: -0.1, ..SHARE }).contains("mix in logit space"));
        for beta in [f64::NAN, f64::INFINITY, 1e4] {
            assert!(refused(Bonus { beta, ..LOGIT }).starts_with("beta"));
            assert!(refused(Bonus { beta, ..SHARE }).starts_with("beta"));
        }
        for depth in [0, 1, 101] {
            assert!(refused(Bonus { depth, ..LOGIT }).starts_with("depth"));
        }
        assert!(Bonus { beta: -3.0, depth: 10, ..LOGIT }.check("beta", "depth").is_ok());
        assert_eq!(Bonus { beta: -0.5, ..LOGIT }.to_string(), "logit-sigma-n5-b-0.5");
    }
}
