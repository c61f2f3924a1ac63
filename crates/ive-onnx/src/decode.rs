//! From the outputs of a head to numbers: categorical, two-hot and transformed rewards and values.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::settings::wrong;

/// `sign(x) (e^|x| − 1)`, the inverse of symlog. Hafner et al. (2023), *Mastering Diverse Domains through World Models*.
pub fn symexp(x: f64) -> f64 {
    x.signum() * x.abs().exp_m1()
}

/// The inverse of `h(x) = sign(x) (√(|x| + 1) − 1) + ε x` with ε = 0.001:
///
/// `sign(x) ((√(1 + 4 ε (|x| + 1 + ε)) − 1)² / (2 ε)² − 1)`. Schrittwieser et al. (2020), MuZero, App. F.
pub fn inverse_signed_hyperbolic(x: f64) -> f64 {
    const EPSILON: f64 = 0.001;
    let root = (1.0 + 4.0 * EPSILON * (x.abs() + 1.0 + EPSILON)).sqrt();
    x.signum() * (((root - 1.0) / (2.0 * EPSILON)).powi(2) - 1.0)
}

/// Probabilities of logits, in place.
pub fn softmax(x: &mut [f64]) {
    let most = x.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    x.iter_mut().for_each(|x| *x = (*x - most).exp());
    let sum: f64 = x.iter().sum();
    x.iter_mut().for_each(|x| *x /= sum);
}

/// The i-th of n numbers at equal distances from `min` to `max`, mirrored exactly when `min = −max`.
fn bin(min: f64, max: f64, i: usize, n: usize) -> f64 {
    let step = (max - min) / (n.max(2) - 1) as f64;
    match (2 * i + 1).cmp(&n) {
        Ordering::Less => min + step * i as f64,
        Ordering::Equal => f64::midpoint(min, max),
        Ordering::Greater => max - step * (n - 1 - i) as f64,
    }
}

/// How a reward or a value is coded.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Decode {
    /// One number for each state.
    Scalar {
        /// What undoes the transformation that it was trained in.
        transform: Transform,
    },
    /// A distribution over numbers at equal distances from `min` to `max`; the two-hot code is one.
    Categorical {
        /// The first number.
        min: f64,
        /// The last number.
        max: f64,
        /// What the graph computes.
        output: Distribution,
        /// What undoes the transformation that the numbers are in.
        transform: Transform,
        /// Whether the mean is transformed, or every number before the mean is taken.
        transform_of: Stage,
    },
}

/// What a categorical head computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Distribution {
    /// Logits.
    Logits,
    /// Probabilities.
    Probabilities,
}

/// The inverse of the transformation of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Transform {
    /// None.
    Identity,
    /// [`symexp`].
    Symexp,
    /// [`inverse_signed_hyperbolic`].
    InverseSignedHyperbolic,
}

/// Where the transformation is undone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// In the mean: MuZero, Muesli, TD-MPC2.
    Mean,
    /// In every number: DreamerV3.
    Bins,
}

impl Default for Decode {
    fn default() -> Self {
        Self::Scalar { transform: Transform::Identity }
    }
}

impl Transform {
    fn undo(self, x: f64) -> f64 {
        match self {
            Self::Identity => x,
            Self::Symexp => symexp(x),
            Self::InverseSignedHyperbolic => inverse_signed_hyperbolic(x),
        }
    }
}

impl Decode {
    pub(crate) fn check(&self, key: &str) -> Result<()> {
        match self {
            Self::Categorical { min, max, .. } if !(min < max && (max - min).is_finite()) => {
                Err(wrong(key, &format!("min is {min}, max is {max}")))
            }
            _ => Ok(()),
        }
    }

    /// Whether a head of `width` numbers for each state can be this.
    pub(crate) fn fits(&self, width: usize) -> bool {
        match self {
            Self::Scalar { .. } => width == 1,
            Self::Categorical { .. } => width > 1,
        }
    }

    /// One number for each row of a head, `[rows, width]`.
    pub fn rows(&self, head: &[f32], rows: usize) -> Vec<f64> {
        let width = head.len() / rows.max(1);
        match *self {
            Self::Scalar { transform } => head.iter().map(|&x| transform.undo(f64::from(x))).collect(),
            Self::Categorical { min, max, output, transform, transform_of } => {
                let (inner, outer) = match transform_of {
                    Stage::Mean => (Transform::Identity, transform),
                    Stage::Bins => (transform, Transform::Identity),
                };
                let bins: Vec<f64> = (0..width).map(|i| inner.undo(bin(min, max, i, width))).collect();
                let one = |row: &[f32]| {
                    let mut p: Vec<f64> = row.iter().copied().map(f64::from).collect();
                    if output == Distribution::Logits {
                        softmax(&mut p);
                    }
                    outer.undo(symmetric_sum(&p, &bins))
                };
                head.chunks_exact(width.max(1)).map(one).collect()
            }
        }
    }
}

/// `Σ pᵢ bᵢ`, from both ends to the middle: bins of opposite signs cancel exactly, however large they are. Summing from one
/// end, an untrained DreamerV3 head (uniform over ±e²⁰) would not have the value 0.
fn symmetric_sum(p: &[f64], bins: &[f64]) -> f64 {
    let n = p.len();
    let pairs: f64 = (0..n / 2).map(|i| p[i] * bins[i] + p[n - 1 - i] * bins[n - 1 - i]).sum();
    if n % 2 == 1 { pairs + p[n / 2] * bins[n / 2] } else { pairs }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: h(x) = sign(x)(√(|x|+1) − 1) + 0.001 x and symlog(x) = sign(x) ln(|x|+1), then back.
    #[test]
    fn inverses_undo_their_transformations() {
        for x in [-300.0_f64, -1.0, 0.0, 0.25, 7.0, 1e6] {
            let h = x.signum() * ((x.abs() + 1.0).sqrt() - 1.0) + 0.001 * x;
            assert!((inverse_signed_hyperbolic(h) - x).abs() <= 1e-9 * x.abs().max(1.0), "{x}");
            let symlog = x.signum() * x.abs().ln_1p();
            assert!((symexp(symlog) - x).abs() <= 1e-9 * x.abs().max(1.0), "{x}");
        }
    }

    /// By hand: bins −1, 0, 1 with probabilities 1/6, 2/6, 3/6 have the mean 1/3.
    #[test]
    fn a_categorical_head_is_its_mean_and_the_place_of_the_transformation_matters() {
        let head: Vec<f32> = [1.0_f32, 2.0, 3.0].iter().map(|x| x.ln()).collect();
        let decode = |transform, transform_of| Decode::Categorical {
            min: -1.0,
            max: 1.0,
            output: Distribution::Logits,
            transform,
            transform_of,
        };
        let mean = |d: Decode| d.rows(&head, 1)[0];
        assert!((mean(decode(Transform::Identity, Stage::Mean)) - 1.0 / 3.0).abs() < 1e-7);
        assert!((mean(decode(Transform::Symexp, Stage::Mean)) - ((1.0_f64 / 3.0).exp() - 1.0)).abs() < 1e-7);
        let bins = (1.0_f64.exp() - 1.0) * (3.0 - 1.0) / 6.0;
        assert!((mean(decode(Transform::Symexp, Stage::Bins)) - bins).abs() < 1e-7);
        assert!(!decode(Transform::Identity, Stage::Mean).fits(1) && !Decode::default().fits(3));
    }

    #[test]
    fn an_untrained_two_hot_head_is_exactly_zero() {
        let decode = Decode::Categorical {
            min: -20.0,
            max: 20.0,
            output: Distribution::Logits,
            transform: Transform::Symexp,
            transform_of: Stage::Bins,
        };
        assert_eq!(decode.rows(&[0.0; 2 * 255], 2), [0.0, 0.0]);
    }
}
