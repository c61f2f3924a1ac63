//! An agent that learns nothing, quickly, with a state of every kind: weights, a generator, a world, a growing replay.

use ive::Rng;
use ive_agents::{Agent, AgentError, Archive, ArchiveError, Decision, Metrics};
use ive_envs::Environment;
use ive_envs::minatar::ByteWorld;
use serde::Deserialize;

pub const PRESET: &str = "
steps = 1000
round = 50
nan_weight_at = 0
nan_error_at = 0
rate = 0.5
";

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    steps: u64,
    /// Steps per round.
    round: u64,
    /// The step from which on a weight is not finite, silently.
    nan_weight_at: u64,
    /// The step from which on the agent itself says so.
    nan_error_at: u64,
    rate: f32,
}

impl Config {
    pub fn check(&self) -> Result<(), AgentError> {
        if self.round == 0 {
            return Err(AgentError::Setting { key: "round", problem: "must be positive, got 0".into() });
        }
        Ok(())
    }
}

pub struct Fake {
    config: Config,
    world: ByteWorld,
    rng: Rng,
    weights: [f32; 8],
    replay: Vec<u8>,
    steps: u64,
    episode: f64,
    last: f64,
}

impl Fake {
    pub fn new(config: Config, worlds: &dyn Fn(u64) -> ByteWorld, seed: u64) -> Result<Self, AgentError> {
        config.check()?;
        let rng = Rng::from_seed(seed);
        let mut world = worlds(rng.fold_in(1).next_u64());
        world.reset();
        Ok(Self {
            config,
            world,
            rng,
            weights: [0.0; 8],
            replay: Vec::new(),
            steps: 0,
            episode: 0.0,
            last: 0.0,
        })
    }
}

impl Agent for Fake {
    fn steps(&self) -> u64 {
        self.steps
    }

    fn advance(&mut self, log: &mut Vec<Metrics>) -> Result<(), AgentError> {
        for _ in 0..self.config.round.min(self.config.steps - self.steps) {
            let action = self.rng.below(6);
            let step = self.world.step(action)?;
            self.episode += step.reward;
            if step.kind.is_last() {
                self.last = std::mem::take(&mut self.episode);
                self.world.reset();
            }
            self.steps += 1;
            self.replay.push(action as u8);
            let weight = &mut self.weights[action];
            *weight += self.config.rate * (self.rng.uniform() as f32 - *weight);
            if self.steps.is_multiple_of(100) {
                let values = vec![("return_100", self.last), ("weight", f64::from(self.weights[0]))];
                log.push(Metrics { step: self.steps, values });
            }
        }
        let past = |limit: u64| limit > 0 && self.steps >= limit;
        if past(self.config.nan_weight_at) {
            self.weights[7] = f32::NAN;
        }
        if past(self.config.nan_error_at) {
            return Err(AgentError::NotFinite { what: "gradient of w".into(), step: self.steps });
        }
        Ok(())
    }

    fn archive(&mut self, archive: &mut Archive) -> Result<(), ArchiveError> {
        archive.f32("weights", &mut self.weights)?;
        archive.rng("rng", &mut self.rng)?;
        archive.bytes("replay", &mut self.replay)?;
        archive.u64("steps", &mut self.steps)?;
        let mut numbers = [self.episode, self.last];
        archive.f64("returns", &mut numbers)?;
        [self.episode, self.last] = numbers;
        let mut world = self.world.save();
        archive.bytes("world", &mut world)?;
        self.world
            .restore(&world)
            .map_err(|e| ArchiveError::Content { name: "world".into(), problem: e.to_string() })
    }

    fn recent_return(&self) -> Option<f64> {
        Some(self.last)
    }

    fn decide(&mut self, observations: &[u8]) -> Vec<Decision> {
        let length = self.world.spec().observation_len();
        let decide = |o: &[u8]| {
            let action = o.iter().map(|&b| b as usize).sum::<usize>() % 6;
            Decision { action, value: f64::from(self.weights[action]), members: Vec::new() }
        };
        observations.chunks(length).map(decide).collect()
    }
}
