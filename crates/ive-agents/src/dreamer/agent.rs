//! Dreamer in training: some steps of the environment, then some updates, and so on. Spec: Hafner et al., 2020.
//!
//! An action that is held for several steps of the environment counts as that many steps. Steps of uniformly random actions come first and
//! count, too; observations are standardised by what was seen then. Episodes enter the replay when they are over.

use std::fmt;

use ive::Rng;
use ive_envs::BoxedBatch;
use ive_envs::walker::{self, task::MOTORS};

use super::config::{Config, Sizes};
use super::loss::Sequences;
use super::memory::Carried;
use super::meter::Meter;
use super::mind::Mind;
use super::network::Model;
use super::observed::{Observed, Standard};
use super::planner::Planner;
use super::{player, update};
use crate::agent::{Agent, AgentError, Metrics, Summary};
use crate::archive::{Archive, ArchiveError};
use crate::clock::{Clock, Part};
use crate::environments;
use crate::episodes::Episodes;
use crate::evaluation::Evaluate;
use crate::experience::{Experience, Rules, Shape};
use crate::memory;
use crate::nn::{Backend, Executor};
use crate::player::Source;
use crate::streams::{ACTING, ENVIRONMENTS, EVALUATION, INITIAL, LEARNING, REPLAY};

/// Actions of a round.
const ACTIONS: usize = 50;
/// Updates of a round.
const UPDATES: usize = 10;

/// Dreamer in training.
pub struct Dreamer<E: Observed> {
    pub(super) config: Config,
    pub(super) sizes: Sizes,
    pub(super) mind: Mind,
    /// Computes gradients.
    executor: Executor,
    /// Decides, on the processor.
    pub(super) decider: Executor,
    pub(super) planner: Planner,
    pub(super) source: Source<walker::Action, E>,
    pub(super) environment: BoxedBatch<walker::Action, E>,
    /// Steps of the environment for which an action holds.
    pub(super) repeat: u64,
    pub(super) replay: Experience<E::Kept, f32>,
    /// The episode that is being played.
    pub(super) current: Current<E::Kept>,
    pub(super) standard: Standard,
    pub(super) carried: Carried,
    sampling: Rng,
    learning: Rng,
    pub(super) evaluation: Rng,
    pub(super) steps: u64,
    /// Updates that are due.
    owed: u64,
    pub(super) episodes: Episodes,
    pub(super) meter: Meter,
    pub(super) clock: Clock,
    data: Sequences,
    pub(super) inputs: player::Inputs,
    scratch: update::Scratch,
}

impl<E: Observed> fmt::Debug for Dreamer<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dreamer")
            .field("config", &self.config)
            .field("steps", &self.steps)
            .finish_non_exhaustive()
    }
}

/// An episode that is being played, as [`Experience`] will have it.
#[derive(Clone, Debug, Default)]
pub(super) struct Current<K> {
    pub(super) observations: Vec<K>,
    pub(super) actions: Vec<f32>,
    pub(super) rewards: Vec<f32>,
}

impl<E: Observed> Dreamer<E> {
    /// An agent at the beginning.
    pub fn new(config: &Config, source: Source<walker::Action, E>, seed: u64) -> Result<Self, AgentError> {
        config.check()?;
        let root = Rng::from_seed(seed);
        let mut environment = source.many(1, &mut root.fold_in(ENVIRONMENTS))?;
        environment.reset()?;
        let observation = environment.spec().observation_len();
        let sizes = Sizes {
            observation,
            action: MOTORS,
            stochastic: config.stochastic,
            deterministic: config.deterministic,
            width: config.width,
            channels: config.channels,
        };
        let shape = Shape { observation, action: MOTORS, policy: 0 };
        memory::check(&config.memory(&shape, shape.entry_bytes::<E::Kept, f32>()))?;
        Ok(Self {
            mind: Mind::new(config, Model::new(&sizes), &sizes, &root.fold_in(INITIAL)),
            executor: Executor::default(),
            decider: Executor::default(),
            planner: Planner::default(),
            repeat: source.repeat(),
            source,
            environment,
            replay: Experience::episodes(shape, config.replay_capacity)?,
            current: Current { observations: Vec::new(), actions: Vec::new(), rewards: Vec::new() },
            standard: Standard::none(observation),
            carried: Carried::new(&sizes, root.fold_in(ACTING)),
            sampling: root.fold_in(REPLAY),
            learning: root.fold_in(LEARNING),
            evaluation: root.fold_in(EVALUATION),
            steps: 0,
            owed: 0,
            episodes: Episodes::new(1, config.discount),
            meter: Meter::default(),
            clock: Clock::start(),
            data: Sequences::default(),
            inputs: player::Inputs::default(),
            scratch: update::Scratch::default(),
            sizes,
            config: config.clone(),
        })
    }

    /// The same agent with its gradients computed by another backend.
    #[must_use]
    pub fn with_backend(mut self, backend: &Backend) -> Self {
        self.executor = Executor::from(backend);
        self
    }

    /// What it has learnt, for those who want to look inside.
    pub fn mind(&self) -> &Mind {
        &self.mind
    }

    /// Draws sequences: an episode, and a start within it.
    fn draw(&mut self) -> Result<(), AgentError> {
        let Config { batch, length, .. } = self.config;
        let (data, [o, a]) = (&mut self.data, [self.sizes.observation, MOTORS]);
        data.batch = batch;
        data.observations.resize(batch * length * o, 0.0);
        data.actions.resize(batch * length * a, 0.0);
        data.rewards.resize(batch * length, 0.0);
        let mut seen = Vec::with_capacity(length * o);
        for b in 0..batch {
            let Some(drawn) = self.replay.draw_sequence(length, &mut self.sampling) else {
                let problem = format!("must be at most the steps of an episode, got {length}");
                return Err(AgentError::Setting { key: "length", problem });
            };
            seen.clear();
            self.standard.apply::<E>(drawn.observations, &mut seen);
            for t in 0..length {
                let row = t * batch + b;
                data.observations[row * o..][..o].copy_from_slice(&seen[t * o..][..o]);
                data.actions[row * a..][..a].copy_from_slice(&drawn.actions[t * a..][..a]);
                data.rewards[row] = drawn.rewards[t];
            }
        }
        Ok(())
    }

    fn learn(&mut self) -> Result<(), AgentError> {
        self.draw()?;
        self.clock.lap(Part::Other);
        let Self { mind, config, data, learning, executor, scratch, .. } = self;
        let said = mind.update(config, data, learning, executor, scratch, self.steps)?;
        self.meter.update(&said);
        self.clock.lap(Part::Updates);
        Ok(())
    }

    /// After a step of the agent: what is due.
    fn schedule(&mut self, log: &mut Vec<Metrics>) -> Result<(), AgentError> {
        let before = self.steps - self.repeat;
        let crossed = |every: u64, from: u64| {
            let periods = |steps: u64| steps.saturating_sub(from) / every;
            self.steps > from && periods(self.steps) > periods(before)
        };
        let begins = before < self.config.prefill && self.steps >= self.config.prefill;
        if begins || crossed(self.config.train_every, self.config.prefill) {
            self.owed += self.config.updates as u64;
        }
        let tells = crossed(self.config.log_every, 0);
        let trains = self.steps >= self.config.prefill;
        let evaluates = trains && self.config.evaluate_every > 0 && crossed(self.config.evaluate_every, 0);
        if begins && E::STANDARDISED {
            self.standardise()?;
        }
        if tells || evaluates {
            let mut values = Vec::with_capacity(24);
            if tells {
                self.episodes.report(&mut values);
                std::mem::take(&mut self.meter).report(self.config.discount, &mut values);
            }
            if evaluates {
                values.push(("evaluation", self.evaluate()?));
            }
            log.push(Metrics { step: self.steps, values });
        }
        Ok(())
    }

    /// The mean and the scale of observations, from now on.
    fn standardise(&mut self) -> Result<(), AgentError> {
        if self.replay.is_empty() {
            let problem = format!("must be at least the steps of an episode, got {}", self.config.prefill);
            return Err(AgentError::Setting { key: "prefill", problem });
        }
        let numbers = self.sizes.observation;
        let rows = |i: usize| self.replay.get(i).observations.chunks_exact(numbers);
        let mut all: Vec<Vec<f32>> = Vec::new();
        for i in 0..self.replay.len() {
            all.extend(rows(i).map(|row| row.iter().map(|&x| E::number(x)).collect()));
        }
        self.standard = Standard::of(numbers, all.iter().map(Vec::as_slice));
        Ok(())
    }

    /// The mean return of some episodes of the actor's mode.
    fn evaluate(&mut self) -> Result<f64, AgentError> {
        let (seed, count) = (self.evaluation.fold_in(self.steps).next_u64(), self.config.evaluation_episodes);
        let mut episodes = self.greedy(seed, count);
        loop {
            if let Some(returns) = episodes.returns() {
                return Ok(ive::mean(&returns));
            }
            episodes.round()?;
        }
    }
}

impl<E: Observed> Agent for Dreamer<E> {
    fn steps(&self) -> u64 {
        self.steps
    }

    fn advance(&mut self, log: &mut Vec<Metrics>) -> Result<(), AgentError> {
        self.clock.skip();
        if self.owed > 0 {
            for _ in 0..self.owed.min(UPDATES as u64) {
                self.learn()?;
                self.owed -= 1;
            }
            return Ok(());
        }
        for _ in 0..ACTIONS {
            if self.owed > 0 || self.steps >= self.config.steps {
                break;
            }
            self.play()?;
            self.schedule(log)?;
        }
        self.clock.lap(Part::Other);
        Ok(())
    }

    fn archive(&mut self, archive: &mut Archive) -> Result<(), ArchiveError> {
        archive.u64("steps", &mut self.steps)?;
        archive.u64("owed", &mut self.owed)?;
        self.mind.archive(archive)?;
        self.standard.archive(archive)?;
        let within = |action: &[f32]| {
            let wrong = || "it has a number beyond −1 to 1".to_owned();
            action.iter().all(|x| (-1.0..=1.0).contains(x)).then_some(()).ok_or_else(wrong)
        };
        let rules = Rules { observation: &|_| Ok(()), action: &within, truncates: true };
        self.replay.archive("replay", &rules, archive)?;
        self.current.archive(self.sizes.observation, archive)?;
        self.carried.archive("carried", archive)?;
        archive.rng("sampling", &mut self.sampling)?;
        archive.rng("learning", &mut self.learning)?;
        archive.rng("evaluation", &mut self.evaluation)?;
        self.episodes.archive(archive)?;
        self.meter.archive(archive)?;
        environments::archive(&mut *self.environment, archive)
    }

    fn summary(&self) -> Summary {
        Summary {
            recent_return: self.episodes.recent_return(),
            discount: self.config.discount,
            clock: Some(self.clock.clone()),
        }
    }
}
