//! From scores to actions: seek what is not known, avoid it, or ignore it.

use std::fmt;

use crate::error::{finite, in_range, same_length};
use crate::{Error, Result, Rng, ValueEnsemble};

/// Scores closer than this share of the largest magnitude among them count as equal. Walls and symmetric actions give
/// ties up to rounding, which grows with the numbers; so decisions do not depend on the unit of the rewards.
pub const TIE_TOLERANCE: f64 = 1e-12;

/// Which of several best actions is taken. The rule decides results: on the gridworld, σ-EMVE is exactly zero for
/// every visited pair, so most of its choices are ties.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum Ties {
    /// One of them at random, once (the default).
    #[default]
    Random,
    /// The one with the smallest number.
    First,
    /// All of them, with equal probability, anew at each visit.
    Uniform,
}

impl fmt::Display for Ties {
    /// What is taken, in words.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Random => "one of the best actions at random",
            Self::First => "the first of the best actions",
            Self::Uniform => "all of the best actions with equal probability",
        })
    }
}

/// What an agent does about disagreement: the sign of β in μ + β·σ. Paper: Sec. 3.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
pub enum Attitude {
    /// β > 0: go where the members disagree.
    Seeking,
    /// β < 0: stay where they agree.
    Avoiding,
    /// β = 0: only the mean counts.
    Neutral,
}

impl Attitude {
    /// The attitude of a β.
    pub fn of(beta: f64) -> Self {
        match beta {
            b if b > 0.0 => Self::Seeking,
            b if b < 0.0 => Self::Avoiding,
            _ => Self::Neutral,
        }
    }

    /// The score whose maximum is chosen: σ, −σ or μ, `[state]`.
    pub fn scores(self, ensemble: &ValueEnsemble) -> Vec<f64> {
        match self {
            Self::Seeking => ensemble.std(),
            Self::Avoiding => ensemble.std().into_iter().map(|x| -x).collect(),
            Self::Neutral => ensemble.mean(),
        }
    }
}

/// The index of the largest score; ties within [`TIE_TOLERANCE`] by the rule (`Uniform` draws like `Random`).
///
/// # Errors
/// If there is no score, or one is not finite.
pub fn greedy(scores: &[f64], ties: Ties, rng: &mut Rng) -> Result<usize> {
    finite("scores", scores)?;
    let tied = best(scores, tolerance(scores));
    match ties {
        _ if tied.is_empty() => Err(Error::Empty { what: "scores" }),
        Ties::First => Ok(tied[0]),
        Ties::Random | Ties::Uniform => Ok(tied[rng.below(tied.len())]),
    }
}

/// The greedy policy of a table of scores `[state, action]`, as probabilities `[state, action]`.
///
/// What counts as a tie is measured by the largest score of the whole table: where σ is nothing but rounding for all
/// actions of a state, they tie.
///
/// # Errors
/// If the table is not made of whole rows, or a score is not finite.
pub fn greedy_policy(scores: &[f64], num_actions: usize, ties: Ties, rng: &mut Rng) -> Result<Vec<f64>> {
    if num_actions == 0 {
        return Err(Error::Empty { what: "actions" });
    }
    same_length("scores [state, action]", scores.len().next_multiple_of(num_actions), scores.len())?;
    finite("scores", scores)?;
    let (mut policy, tolerance) = (vec![0.0; scores.len()], tolerance(scores));
    for (row, out) in scores.chunks(num_actions).zip(policy.chunks_mut(num_actions)) {
        let tied = best(row, tolerance);
        match ties {
            Ties::First => out[tied[0]] = 1.0,
            Ties::Random => out[tied[rng.below(tied.len())]] = 1.0,
            Ties::Uniform => tied.iter().for_each(|&a| out[a] = 1.0 / tied.len() as f64),
        }
    }
    Ok(policy)
}

/// How far apart scores may be and still tie.
fn tolerance(scores: &[f64]) -> f64 {
    TIE_TOLERANCE * scores.iter().fold(0.0_f64, |most, x| most.max(x.abs()))
}

fn best(scores: &[f64], tolerance: f64) -> Vec<usize> {
    let largest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    (0..scores.len()).filter(|&i| scores[i] >= largest - tolerance).collect()
}

/// `softmax(x)`, safe for large numbers.
pub fn softmax(x: &[f64]) -> Vec<f64> {
    let largest = x.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let e: Vec<f64> = x.iter().map(|v| libm::exp(v - largest)).collect();
    let sum: f64 = e.iter().sum();
    e.into_iter().map(|v| v / sum).collect()
}

/// Mixes the signal into a policy in logit space: `softmax(z_π + β·σ(s, ·))`. Paper: App. D.3 (β = 1).
///
/// # Errors
/// If the lengths differ, there is no action, or a number is not finite.
pub fn mix_logits(logits: &[f64], sigma: &[f64], beta: f64) -> Result<Vec<f64>> {
    check_mix(logits, sigma, beta)?;
    Ok(softmax(&logits.iter().zip(sigma).map(|(z, s)| z + beta * s).collect::<Vec<_>>()))
}

/// Mixes the signal into a policy in probability space: `(1−β)·π + β·σ(s, ·)/Σₐσ(s, a)`. The paper leaves the
/// normalisation out; without it the sum is no distribution. Where σ is zero everywhere, π is returned unchanged.
/// Paper: App. D.3 (β = 0.1).
///
/// # Errors
/// If the lengths differ, there is no action, a number is not finite, a σ is negative, or β is outside [0, 1].
pub fn mix_probabilities(policy: &[f64], sigma: &[f64], beta: f64) -> Result<Vec<f64>> {
    check_mix(policy, sigma, beta)?;
    in_range("β in probability space", beta, 0.0, 1.0)?;
    sigma.iter().try_for_each(|&s| in_range("σ", s, 0.0, f64::MAX))?;
    let sum: f64 = sigma.iter().sum();
    if sum == 0.0 {
        return Ok(policy.to_vec());
    }
    Ok(policy.iter().zip(sigma).map(|(p, s)| (1.0 - beta) * p + beta * s / sum).collect())
}

fn check_mix(policy: &[f64], sigma: &[f64], beta: f64) -> Result<()> {
    if policy.is_empty() {
        return Err(Error::Empty { what: "actions" });
    }
    same_length("σ of the actions", policy.len(), sigma.len())?;
    finite("policy", policy)?;
    finite("σ", sigma)?;
    finite("β", &[beta])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_follow_the_rule() {
        let scores = [1.0, 2.0, 2.0 - 1e-13, 0.0];
        let rng = &mut Rng::from_seed(0);
        assert_eq!(greedy(&scores, Ties::First, rng).unwrap(), 1);
        let drawn: Vec<usize> = (0..1000).map(|_| greedy(&scores, Ties::Random, rng).unwrap()).collect();
        let ones = drawn.iter().filter(|&&a| a == 1).count();
        assert!(drawn.iter().all(|a| [1, 2].contains(a)));
        assert!(
            (ones as f64 - 500.0).abs() < 5.0 * 250.0_f64.sqrt(),
            "{ones} of 1000, five standard deviations allowed"
        );
        assert_eq!(greedy_policy(&scores, 4, Ties::Uniform, rng).unwrap(), [0.0, 0.5, 0.5, 0.0]);
        assert_eq!(Ties::default().to_string(), "one of the best actions at random");
    }

    /// One is five times the other, so they do not tie, however small they are.
    #[test]
    fn small_scores_are_told_apart() {
        for seed in 0..100 {
            assert_eq!(greedy(&[1e-13, 5e-13], Ties::Random, &mut Rng::from_seed(seed)).unwrap(), 1);
        }
    }

    #[test]
    fn bad_scores_are_refused_with_their_place() {
        let rng = &mut Rng::from_seed(0);
        let e = greedy(&[0.0, f64::NAN], Ties::Random, rng).unwrap_err();
        assert_eq!(e.to_string(), "scores: entry 1 is NaN, not a finite number");
        assert!(greedy(&[], Ties::First, rng).is_err());
        assert!(greedy_policy(&[1.0; 7], 4, Ties::First, rng).is_err());
        assert!(greedy_policy(&[], 0, Ties::First, rng).is_err());
        assert!(mix_probabilities(&[0.5, 0.5], &[-1.0, 0.0], 0.1).is_err());
        assert!(mix_probabilities(&[0.5, 0.5], &[1.0, 0.0], 1.1).is_err());
        assert!(mix_logits(&[0.5, 0.5], &[1.0], 0.1).is_err());
    }

    #[test]
    fn mixing_by_hand() {
        let p = mix_probabilities(&[0.5, 0.5], &[3.0, 1.0], 0.1).unwrap();
        assert!((p[0] - 0.525).abs() < 1e-15 && (p[1] - 0.475).abs() < 1e-15);
        assert_eq!(mix_probabilities(&[0.2, 0.8], &[0.0, 0.0], 0.1).unwrap(), [0.2, 0.8]);
        let p = mix_logits(&[0.0, 1.0], &[1.0, 0.0], 1.0).unwrap();
        assert!((p[0] - 0.5).abs() < 1e-15);
        assert_eq!(Attitude::of(-0.1), Attitude::Avoiding);
    }
}
