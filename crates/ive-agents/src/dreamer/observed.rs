//! What Dreamer looks at: the numbers of a body, or pictures of it. Numbers are standardised by what was seen before training.

use std::sync::Arc;

use ive_envs::registry::{ActionKind, Kinds, ObservationKind, Registered};
use ive_envs::walker;

use crate::archive::{Archive, ArchiveError};
use crate::player::Source;
use crate::{archive, evaluation};

/// Added to standard deviations: a number that never changed is not blown up when it does.
const LEAST: f64 = 1e-3;

/// One entry of an observation, as an environment shows it.
pub trait Observed: evaluation::Element {
    /// As it is kept.
    type Kept: archive::Element;

    /// Environments that show it.
    const KINDS: Kinds;
    /// Whether it is standardised.
    const STANDARDISED: bool;

    /// The environments of a name, if they show this.
    fn source(environment: &Registered) -> Option<Source<walker::Action, Self>>;

    /// What is kept of it.
    fn keep(self) -> Self::Kept;

    /// What was kept, as a number.
    fn number(kept: Self::Kept) -> f32;
}

/// Numbers, kept in single precision.
impl Observed for f64 {
    type Kept = f32;

    const KINDS: Kinds = Kinds { observation: ObservationKind::Vector, action: ActionKind::Continuous };
    const STANDARDISED: bool = true;

    fn source(environment: &Registered) -> Option<Source<walker::Action, Self>> {
        environment.states().map(|source| Arc::new(source) as _)
    }

    fn keep(self) -> f32 {
        self as f32
    }

    fn number(kept: f32) -> f32 {
        kept
    }
}

/// Pictures, from −½ to ½.
impl Observed for u8 {
    type Kept = Self;

    const KINDS: Kinds = Kinds { observation: ObservationKind::Pixels, action: ActionKind::Continuous };
    const STANDARDISED: bool = false;

    fn source(environment: &Registered) -> Option<Source<walker::Action, Self>> {
        environment.pictures().map(|source| Arc::new(source) as _)
    }

    fn keep(self) -> Self {
        self
    }

    fn number(kept: Self) -> f32 {
        f32::from(kept) / 255.0 - 0.5
    }
}

/// `(x − mean) / (std + 0.001)` for each number of an observation, frozen when training begins.
#[derive(Clone, Debug, PartialEq)]
pub struct Standard {
    mean: Vec<f32>,
    /// `1 / (std + 0.001)`.
    scale: Vec<f32>,
}

impl Standard {
    /// That changes nothing.
    pub fn none(numbers: usize) -> Self {
        Self { mean: vec![0.0; numbers], scale: vec![1.0; numbers] }
    }

    /// That of these observations, one after the other.
    pub fn of<'a>(numbers: usize, observations: impl Iterator<Item = &'a [f32]> + Clone) -> Self {
        let average = |f: &dyn Fn(usize, f64) -> f64| {
            let (mut sums, mut count) = (vec![0.0; numbers], 0.0);
            for observation in observations.clone() {
                sums.iter_mut().zip(observation).enumerate().for_each(|(i, (s, &x))| *s += f(i, x.into()));
                count += 1.0;
            }
            sums.iter_mut().for_each(|s| *s /= count);
            sums
        };
        let mean = average(&|_, x| x);
        let variance = average(&|i, x| (x - mean[i]) * (x - mean[i]));
        Self {
            mean: mean.iter().map(|&m| m as f32).collect(),
            scale: variance.iter().map(|v| (1.0 / (v.sqrt() + LEAST)) as f32).collect(),
        }
    }

    /// Adds observations to others, standardised.
    pub fn apply<E: Observed>(&self, kept: &[E::Kept], out: &mut Vec<f32>) {
        if !E::STANDARDISED {
            return out.extend(kept.iter().map(|&x| E::number(x)));
        }
        for observation in kept.chunks_exact(self.mean.len()) {
            let each = observation.iter().zip(self.mean.iter().zip(&self.scale));
            out.extend(each.map(|(&x, (mean, scale))| (E::number(x) - mean) * scale));
        }
    }

    /// Saves or restores.
    pub fn archive(&mut self, archive: &mut Archive) -> Result<(), ArchiveError> {
        archive.f32("standard.mean", &mut self.mean)?;
        archive.f32("standard.scale", &mut self.scale)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: 1, 3 and 5 have mean 3 and standard deviation √(8/3); 2, 2 and 2 have none.
    #[test]
    fn numbers_are_standardised_by_hand() {
        let seen = [[1.0f32, 2.0], [3.0, 2.0], [5.0, 2.0]];
        let standard = Standard::of(2, seen.iter().map(|x| &x[..]));
        let mut out = Vec::new();
        standard.apply::<f64>(&[5.0, 2.001, 3.0, 2.0], &mut out);
        let std = (8.0f32 / 3.0).sqrt() + 0.001;
        for (ours, theirs) in out.iter().zip([2.0 / std, 1.0, 0.0, 0.0]) {
            assert!((ours - theirs).abs() < 1e-3, "{out:?}");
        }
        out.clear();
        Standard::none(2).apply::<u8>(&[0, 255], &mut out);
        assert_eq!(out, [-0.5, 0.5]);
    }
}
