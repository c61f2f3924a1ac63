//! Saved forms for the feature `serde`. Reading goes through the same doors as everything else, so what is read is checked.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::error::same_length;
use crate::{Guard, GuardUnit, Members, Result, Rng, Rollout, ValueEnsemble};

/// A list of unroll lengths.
impl Serialize for Members {
    fn serialize<S: Serializer>(&self, to: S) -> std::result::Result<S::Ok, S::Error> {
        self.lengths().serialize(to)
    }
}

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(from: D) -> std::result::Result<Self, D::Error> {
        Members::new(Vec::<usize>::deserialize(from)?).map_err(D::Error::custom)
    }
}

/// The five words of [`Rng::to_words`].
impl Serialize for Rng {
    fn serialize<S: Serializer>(&self, to: S) -> std::result::Result<S::Ok, S::Error> {
        self.to_words().serialize(to)
    }
}

impl<'de> Deserialize<'de> for Rng {
    fn deserialize<D: Deserializer<'de>>(from: D) -> std::result::Result<Self, D::Error> {
        Ok(Rng::from_words(<[u64; 5]>::deserialize(from)?))
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SavedEnsemble {
    /// `[member][state]`
    members: Vec<Vec<f64>>,
    unroll_lengths: Option<Members>,
}

impl SavedEnsemble {
    fn check(self) -> Result<ValueEnsemble> {
        let mut ensemble = ValueEnsemble::from_members(self.members)?;
        if let Some(lengths) = &self.unroll_lengths {
            same_length("unroll lengths, one for each member", ensemble.size(), lengths.len())?;
        }
        ensemble.members = self.unroll_lengths;
        Ok(ensemble)
    }
}

impl Serialize for ValueEnsemble {
    fn serialize<S: Serializer>(&self, to: S) -> std::result::Result<S::Ok, S::Error> {
        let members = self.members().map(<[f64]>::to_vec).collect();
        SavedEnsemble { members, unroll_lengths: self.members.clone() }.serialize(to)
    }
}

impl<'de> Deserialize<'de> for ValueEnsemble {
    fn deserialize<D: Deserializer<'de>>(from: D) -> std::result::Result<Self, D::Error> {
        SavedEnsemble::deserialize(from)?.check().map_err(D::Error::custom)
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SavedRollout {
    /// v̂(s⁰), `[b]`.
    start: Vec<f64>,
    steps: Vec<SavedStep>,
}

/// A step of a path, `[b]` each.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SavedStep {
    reward: Vec<f64>,
    discount: Vec<f64>,
    value: Vec<f64>,
}

impl SavedRollout {
    fn check(self) -> Result<Rollout> {
        let mut path = Rollout::start(self.start)?;
        self.steps.iter().try_for_each(|step| path.push(&step.reward, &step.discount, &step.value))?;
        Ok(path)
    }
}

impl Serialize for Rollout {
    fn serialize<S: Serializer>(&self, to: S) -> std::result::Result<S::Ok, S::Error> {
        let step = |k| SavedStep {
            reward: self.rewards(k).to_vec(),
            discount: self.discounts(k).to_vec(),
            value: self.values(k).to_vec(),
        };
        SavedRollout { start: self.values(0).to_vec(), steps: (1..=self.horizon()).map(step).collect() }
            .serialize(to)
    }
}

impl<'de> Deserialize<'de> for Rollout {
    fn deserialize<D: Deserializer<'de>>(from: D) -> std::result::Result<Self, D::Error> {
        SavedRollout::deserialize(from)?.check().map_err(D::Error::custom)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SavedGuard {
    threshold: f64,
    rate: f64,
    n: usize,
    unit: GuardUnit,
}

impl<'de> Deserialize<'de> for Guard {
    fn deserialize<D: Deserializer<'de>>(from: D) -> std::result::Result<Self, D::Error> {
        let SavedGuard { threshold, rate, n, unit } = SavedGuard::deserialize(from)?;
        Guard::from_parts(threshold, rate, n, unit).map_err(D::Error::custom)
    }
}
