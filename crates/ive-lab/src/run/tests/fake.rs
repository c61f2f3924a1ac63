//! An agent that learns nothing, quickly, with a state of every kind: weights, a generator, a world, and a replay
//! that is a log.

use ive::Rng;
use ive_agents::experience::{Experience, Rules, Shape};
use ive_agents::{
    Agent, AgentError, Archive, ArchiveError, Decision, Metrics, Player, Source, Summary, Wish,
};
use ive_envs::registry::{ActionKind, Kinds, ObservationKind, Registered};
use ive_envs::{ByteEnvironment, Environment, Spec};
use serde::Deserialize;
use std::sync::Arc;

pub const PRESET: &str = "
steps = 1000
round = 50
nan_weight_at = 0
nan_error_at = 0
nan_reward_at = 0
rate = 0.5
";

/// Steps that are kept: 8 bytes of a log each, 2 observations, action, reward and end.
pub const REPLAY: usize = 120;
const SHAPE: Shape = Shape { observation: 1, action: 1, policy: 0 };

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
    /// The step whose reward is not finite, silently.
    nan_reward_at: u64,
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
    source: Source<usize, u8>,
    world: ByteEnvironment,
    rng: Rng,
    weights: [f32; 8],
    replay: Experience<u8, u8>,
    steps: u64,
    episode: f64,
    last: f64,
}

impl Fake {
    pub fn new(config: Config, source: Source<usize, u8>, seed: u64) -> Result<Self, AgentError> {
        config.check()?;
        let rng = Rng::from_seed(seed);
        let mut world = source.one(rng.fold_in(1).next_u64())?;
        world.reset();
        Ok(Self {
            config,
            source,
            world,
            rng,
            weights: [0.0; 8],
            replay: Experience::windows(SHAPE, 1, REPLAY)?.logged(),
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
            let nan = self.steps == self.config.nan_reward_at;
            let (seen, reward) = (self.rng.below(256) as u8, if nan { f32::NAN } else { step.reward as f32 });
            self.replay.push_step(&[seen], &[!seen], &[action as u8], reward, step.kind);
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
        let rules = Rules { observation: &|_| Ok(()), action: &|_| Ok(()), truncates: false };
        self.replay.archive("replay", &rules, archive)?;
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

    fn summary(&self) -> Summary {
        Summary { recent_return: Some(self.last), discount: 1.0, clock: None }
    }
}

impl Player for Fake {
    type Action = usize;
    type Element = u8;
    type Memory = ();

    const LEARNS: &'static [Kinds] =
        &[Kinds { observation: ObservationKind::Board, action: ActionKind::Numbered }];

    fn source(environment: &Registered) -> Option<Source<usize, u8>> {
        environment.bytes().map(|source| Arc::new(source) as _)
    }

    fn environments(&self) -> &Source<usize, u8> {
        &self.source
    }

    fn spec(&self) -> &Spec {
        self.world.spec()
    }

    fn begin(&self, _: &Rng) {}

    fn decide(
        &mut self,
        observations: &[u8],
        _: &mut [()],
        _: Wish<'_>,
    ) -> Result<Vec<Decision<usize>>, AgentError> {
        let length = self.world.spec().observation_len();
        let decide = |o: &[u8]| {
            let action = o.iter().map(|&b| b as usize).sum::<usize>() % 6;
            Decision { action, value: f64::from(self.weights[action]), members: None }
        };
        Ok(observations.chunks(length).map(decide).collect())
    }
}
