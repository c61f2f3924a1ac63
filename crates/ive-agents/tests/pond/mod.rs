//! An environment for tests of agents with motors: a boat of three numbers in the wind, cut off after twenty steps. Six motors push it.

use ive::Rng;
use ive_envs::walker::Action;
use ive_envs::{BoxedEnvironment, Environment, Spec, StateError, StepError, StepKind, TimeStep};
use std::sync::Arc;

use super::ive_agents_under_test::Source;

/// Steps of an episode.
pub const LENGTH: u64 = 20;

struct Pond {
    spec: Spec,
    rng: Rng,
    place: [f64; 3],
    steps: u64,
}

/// Ponds by seed.
pub fn ponds() -> Source<Action, f64> {
    Arc::new(|seed| Box::new(Pond::new(seed)) as BoxedEnvironment<Action, f64>)
}

impl Pond {
    fn new(seed: u64) -> Self {
        let spec = Spec {
            name: "test:pond".to_owned(),
            shape: vec![3],
            channels: vec!["x", "y", "z"],
            actions: vec!["a", "b", "c", "d", "e", "f"],
        };
        Self { spec, rng: Rng::from_seed(seed), place: [0.0; 3], steps: 0 }
    }
}

impl Environment for Pond {
    type Action = Action;
    type Element = f64;

    fn spec(&self) -> &Spec {
        &self.spec
    }
    fn reset_into(&mut self, observation: &mut [f64]) -> Result<TimeStep<()>, StepError> {
        self.place = [(); 3].map(|()| self.rng.normal());
        self.steps = 0;
        self.observe_into(observation)?;
        Ok(TimeStep::new(StepKind::First, 0.0))
    }
    fn step_into(&mut self, action: Action, observation: &mut [f64]) -> Result<TimeStep<()>, StepError> {
        for (i, x) in self.place.iter_mut().enumerate() {
            *x = 0.9 * *x + 0.3 * (action[2 * i] - action[2 * i + 1]) + 0.1 * self.rng.normal();
        }
        self.steps += 1;
        self.observe_into(observation)?;
        let kind = if self.steps == LENGTH { StepKind::Truncated } else { StepKind::Mid };
        Ok(TimeStep::new(kind, self.place[0]))
    }
    fn observe_into(&self, observation: &mut [f64]) -> Result<(), StepError> {
        observation.copy_from_slice(&self.place);
        Ok(())
    }
    fn save(&self) -> Vec<u8> {
        let words = self.rng.to_words().into_iter();
        let words = words.chain(self.place.map(f64::to_bits)).chain([self.steps]);
        words.flat_map(u64::to_le_bytes).collect()
    }
    fn restore(&mut self, state: &[u8]) -> Result<(), StateError> {
        let words: Vec<u64> = state.as_chunks().0.iter().map(|&b| u64::from_le_bytes(b)).collect();
        let [a, b, c, d, e, x, y, z, steps] = words[..] else {
            return Err(StateError::Corrupt { what: "it has another length" });
        };
        self.rng = Rng::from_words([a, b, c, d, e]);
        (self.place, self.steps) = ([x, y, z].map(f64::from_bits), steps);
        Ok(())
    }
}
