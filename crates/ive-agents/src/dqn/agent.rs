//! A deep Q-network in training: one environment, one update for every frame.

use std::sync::Arc;

use ive::Rng;
use ive_envs::registry::{Kinds, Registered};
use ive_envs::{BoxedBatch, Spec};

use super::config::Config;
use super::loss::{self, Batch};
use super::network::{Network, argmax};
use crate::agent::{Agent, AgentError, Metrics, Summary};
use crate::archive::{Archive, ArchiveError};
use crate::clock::{Clock, Part};
use crate::environments;
use crate::episodes::Episodes;
use crate::experience::discount;
use crate::learner::{Learner, Optimiser};
use crate::minatar::{self, Boards};
use crate::nn::cpu::board::FEATURES;
use crate::nn::cpu::descent::CentredRmsProp;
use crate::nn::cpu::torso::{Inference, TORSO};
use crate::nn::{Backend, Block, Executor, Parameters};
use crate::player::{Decision, Player, Source, Wish};
use crate::streams::{ACTING, ENVIRONMENTS, INITIAL, REPLAY};

/// Frames of a round.
const ROUND: u64 = 100;

/// A deep Q-network in training.
pub struct Dqn {
    config: Config,
    net: Network,
    /// Carries out the network, but for single boards and bootstraps.
    executor: Executor,
    source: Source<usize, u8>,
    environment: BoxedBatch<usize, u8>,
    learner: Learner,
    /// The torso of the target, in a form for many products.
    target_torso: Inference,
    replay: Boards,
    acting: Rng,
    sampling: Rng,
    steps: u64,
    updates: u64,
    episodes: Episodes,
    /// Sums since the last line of metrics: updates, loss, length of the gradient.
    meter: [f64; 3],
    clock: Clock,
    scratch: Scratch,
}

impl std::fmt::Debug for Dqn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Dqn")
            .field("config", &self.config)
            .field("steps", &self.steps)
            .finish_non_exhaustive()
    }
}

#[derive(Debug, Default)]
struct Scratch {
    boards: Vec<u64>,
    features: Vec<f32>,
    torso: Vec<f32>,
    q: Vec<f32>,
    next_boards: Vec<u64>,
    drawn: Vec<usize>,
    batch: Batch,
}

impl Dqn {
    /// An agent at the beginning.
    pub fn new(config: &Config, source: Source<usize, u8>, seed: u64) -> Result<Self, AgentError> {
        config.check()?;
        let root = Rng::from_seed(seed);
        let environment = source.many(1, &mut root.fold_in(ENVIRONMENTS))?;
        let (channels, actions) = minatar::shape(environment.spec())?;
        let net = Network::new(channels, actions);
        let parameters = net.initial(&mut root.fold_in(INITIAL));
        let mut target_torso = Inference::new(&net.torso);
        target_torso.load(&parameters);
        let rms = CentredRmsProp::new(net.layout.len(), config.smoothing, config.rms_epsilon);
        let mut dqn = Self {
            source,
            environment,
            target_torso,
            replay: Boards::windows(minatar::board_shape(channels), 1, config.replay_capacity)?,
            acting: root.fold_in(ACTING),
            sampling: root.fold_in(REPLAY),
            steps: 0,
            updates: 0,
            episodes: Episodes::new(1, config.discount),
            meter: [0.0; 3],
            clock: Clock::start(),
            scratch: Scratch::default(),
            learner: Learner::new(net.layout.clone(), parameters, Optimiser::RmsProp(rms), f64::INFINITY),
            net,
            executor: Executor::default(),
            config: config.clone(),
        };
        dqn.environment.reset()?;
        Ok(dqn)
    }

    /// The same agent with its gradients computed by another backend.
    #[must_use]
    pub fn with_backend(mut self, backend: &Backend) -> Self {
        self.executor = Executor::from(backend);
        self
    }

    /// One frame: act, remember.
    fn play(&mut self) -> Result<(), AgentError> {
        let s = &mut self.scratch;
        let before = self.environment.batch().observations;
        minatar::pack_checked(&self.net.torso.board, before, &mut s.boards, self.steps)?;
        self.clock.lap(Part::Other);
        let random = self.steps < self.config.replay_start
            || self.acting.uniform() < self.config.exploration(self.steps);
        let action = if random {
            self.acting.below(self.net.actions)
        } else {
            s.features.resize(FEATURES, 0.0);
            s.torso.resize(TORSO, 0.0);
            let x = self.learner.parameters();
            self.net.torso.forward_one(x, &s.boards, &mut s.features, &mut s.torso);
            self.net.values_of(x, &s.torso, &mut s.q);
            let best = argmax(&s.q);
            self.episodes.predict(0, s.q[best]);
            best
        };
        self.clock.lap(Part::Decisions);
        let now = self.environment.step(&[action])?;
        self.clock.lap(Part::Worlds);
        let (reward, kind) = (now.rewards[0] as f32, minatar::kind(now.kinds[0], self.steps)?);
        #[cfg(test)]
        let reward = crate::poison::number("reward", self.steps, reward.into()) as f32;
        if !reward.is_finite() {
            return Err(AgentError::NotFinite { what: "reward".to_owned(), step: self.steps });
        }
        let after = now.observations;
        minatar::pack_checked(&self.net.torso.board, after, &mut s.next_boards, self.steps)?;
        self.replay.push_step(&s.boards, &s.next_boards, &[action as u8], reward, kind);
        self.episodes.step(0, reward, kind.is_last());
        self.steps += 1;
        Ok(())
    }

    /// One update from a batch of remembered transitions.
    fn learn(&mut self) -> Result<(), AgentError> {
        let (s, n, words) = (&mut self.scratch, self.config.batch, self.net.torso.board.words());
        s.drawn.clear();
        s.batch.boards.clear();
        s.batch.actions.clear();
        s.batch.targets.clear();
        s.next_boards.clear();
        for _ in 0..n {
            let i = self.sampling.below(self.replay.len());
            let step = self.replay.get(i);
            s.drawn.push(i);
            s.batch.boards.extend_from_slice(&step.observations[..words]);
            s.next_boards.extend_from_slice(&step.observations[words..]);
            s.batch.actions.push(step.actions[0]);
        }
        s.features.resize(n * FEATURES, 0.0);
        s.torso.resize(n * TORSO, 0.0);
        self.clock.lap(Part::Other);
        self.target_torso.forward(&s.next_boards, &mut s.features, &mut s.torso);
        self.net.values_of(self.learner.target(), &s.torso, &mut s.q);
        for (&i, q) in s.drawn.iter().zip(s.q.chunks_exact(self.net.actions)) {
            let step = self.replay.get(i);
            let future = if discount(step.kinds[0]) > 0.0 { q[argmax(q)] } else { 0.0 };
            s.batch.targets.push(step.rewards[0] + self.config.discount as f32 * future);
        }
        self.clock.lap(Part::Bootstraps);
        let (x, gradient) = self.learner.gradient();
        let loss = loss::gradient(&self.net, x, &s.batch, &mut self.executor, gradient);
        let length = self.learner.step(&[("loss", loss)], 1.0, self.config.learning_rate, self.steps)?;
        self.clock.lap(Part::Updates);
        self.updates += 1;
        self.meter.iter_mut().zip([1.0, loss, length]).for_each(|(m, x)| *m += x);
        if self.updates.is_multiple_of(self.config.target_every) {
            self.learner.renew_target();
            self.target_torso.load(self.learner.target());
        }
        Ok(())
    }

    fn report(&mut self) -> Metrics {
        let [updates, loss, length] = std::mem::take(&mut self.meter);
        let mut values = Vec::with_capacity(8);
        self.episodes.report(&mut values);
        values.push(("epsilon", self.config.exploration(self.steps)));
        if updates > 0.0 {
            values.push(("loss", loss / updates));
            values.push(("gradient_norm", length / updates));
        }
        Metrics { step: self.steps, values }
    }
}

impl Agent for Dqn {
    fn steps(&self) -> u64 {
        self.steps
    }

    fn advance(&mut self, log: &mut Vec<Metrics>) -> Result<(), AgentError> {
        self.clock.skip();
        for _ in 0..ROUND.min(self.config.steps.saturating_sub(self.steps)) {
            self.play()?;
            if self.steps > self.config.replay_start && self.steps.is_multiple_of(self.config.update_every) {
                self.learn()?;
            }
            if self.steps.is_multiple_of(self.config.log_every) {
                log.push(self.report());
            }
        }
        self.clock.lap(Part::Other);
        Ok(())
    }

    fn archive(&mut self, archive: &mut Archive) -> Result<(), ArchiveError> {
        archive.u64("steps", &mut self.steps)?;
        archive.u64("updates", &mut self.updates)?;
        self.learner.archive("", archive)?;
        let (board, actions) = (&self.net.torso.board, self.net.actions);
        minatar::archive_boards("replay", &mut self.replay, board, actions, archive)?;
        archive.rng("acting", &mut self.acting)?;
        archive.rng("sampling", &mut self.sampling)?;
        self.episodes.archive(archive)?;
        archive.f64("meter", &mut self.meter)?;
        environments::archive(&mut *self.environment, archive)?;
        self.target_torso.load(self.learner.target());
        Ok(())
    }

    fn summary(&self) -> Summary {
        Summary {
            recent_return: self.episodes.recent_return(),
            discount: self.config.discount,
            clock: Some(self.clock.clone()),
        }
    }
}

impl Player for Dqn {
    type Action = usize;
    type Element = u8;
    type Memory = ();

    const LEARNS: &'static [Kinds] = &[minatar::BOARDS];

    fn source(environment: &Registered) -> Option<Source<usize, u8>> {
        environment.bytes().map(|source| Arc::new(source) as _)
    }

    fn environments(&self) -> &Source<usize, u8> {
        &self.source
    }

    fn spec(&self) -> &Spec {
        self.environment.spec()
    }

    fn begin(&self, _: &Rng) {}

    fn decide(
        &mut self,
        observations: &[u8],
        _: &mut [()],
        wish: Wish<'_>,
    ) -> Result<Vec<Decision<usize>>, AgentError> {
        if let Wish::These(wish) = wish {
            return Err(AgentError::Members { wish: wish.clone(), trained: 0 });
        }
        let s = &mut self.scratch;
        self.net.torso.board.pack_all(observations, &mut s.boards);
        self.executor.run(&[Parameters::frozen(self.learner.parameters())], |g| {
            let values = self.net.values(g, Block(0), &s.boards);
            g.read(values, &mut s.q);
        });
        let best = |q: &[f32]| (argmax(q), f64::from(q[argmax(q)]));
        let decisions = s.q.chunks_exact(self.net.actions).map(best);
        Ok(decisions.map(|(action, value)| Decision { action, value, members: None }).collect())
    }
}
