//! A deep Q-network in training: one world, one update for every frame.

use ive::Rng;
use ive_envs::VectorEnvironment;
use ive_envs::minatar::ByteWorld;

use super::config::Config;
use super::engine::Engine;
use super::loss::{self, Batch, Workspace};
use super::network::{Network, argmax};
use crate::agent::{Agent, AgentError, Decision, Metrics};
use crate::archive::{Archive, ArchiveError};
use crate::clock::{Clock, Part};
use crate::episodes::Episodes;
use crate::minatar::{self, ACTING, INITIAL, REPLAY, WORLDS};
use crate::nn::Backend;
use crate::nn::cpu::board::FEATURES;
use crate::nn::cpu::descent::CentredRmsProp;
use crate::nn::cpu::torso::{Inference, TORSO};
use crate::windows::Windows;

/// Frames of a round.
const ROUND: u64 = 100;

/// A deep Q-network in training.
pub struct Dqn {
    config: Config,
    net: Network,
    /// The tensor engine, if it computes the gradients.
    engine: Option<Engine>,
    world: VectorEnvironment<ByteWorld>,
    parameters: Vec<f32>,
    target: Vec<f32>,
    /// The torso of `target`, in a form for many products.
    target_torso: Inference,
    optimiser: CentredRmsProp,
    replay: Windows,
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
    work: Workspace,
    gradient: Vec<f32>,
}

impl Dqn {
    /// An agent at the beginning. `world` makes a world of a seed.
    pub fn new(config: &Config, world: &dyn Fn(u64) -> ByteWorld, seed: u64) -> Result<Self, AgentError> {
        config.check()?;
        let root = Rng::from_seed(seed);
        let worlds = vec![world(root.fold_in(WORLDS).next_u64())];
        let (channels, actions) = minatar::shape(&worlds)?;
        let net = Network::new(channels, actions);
        let parameters = net.initial(&mut root.fold_in(INITIAL));
        let mut target_torso = Inference::new(&net.torso);
        target_torso.load(&parameters);
        let mut dqn = Self {
            world: VectorEnvironment::new(worlds)?,
            target: parameters.clone(),
            target_torso,
            optimiser: CentredRmsProp::new(net.layout.len(), config.smoothing, config.rms_epsilon),
            replay: Windows::new(net.torso.board.words(), 1, config.replay_capacity),
            acting: root.fold_in(ACTING),
            sampling: root.fold_in(REPLAY),
            steps: 0,
            updates: 0,
            episodes: Episodes::new(1, config.discount),
            meter: [0.0; 3],
            clock: Clock::start(),
            scratch: Scratch { gradient: vec![0.0; net.layout.len()], ..Scratch::default() },
            parameters,
            net,
            engine: None,
            config: config.clone(),
        };
        dqn.world.reset()?;
        Ok(dqn)
    }

    /// The same agent with its gradients computed by another backend.
    #[must_use]
    pub fn with_backend(mut self, backend: &Backend) -> Self {
        self.engine = backend.device().map(|device| Engine::new(&self.net, device));
        self
    }

    /// One frame: act, remember.
    fn play(&mut self) -> Result<(), AgentError> {
        let s = &mut self.scratch;
        let before = self.world.batch().observations;
        minatar::pack_checked(&self.net.torso.board, before, &mut s.boards, self.steps)?;
        self.clock.lap(Part::Other);
        let random = self.steps < self.config.replay_start
            || self.acting.uniform() < self.config.exploration(self.steps);
        let action = if random {
            self.acting.below(self.net.actions)
        } else {
            s.features.resize(FEATURES, 0.0);
            s.torso.resize(TORSO, 0.0);
            self.net.torso.forward_one(&self.parameters, &s.boards, &mut s.features, &mut s.torso);
            self.net.values(&self.parameters, &s.torso, &mut s.q);
            let best = argmax(&s.q);
            self.episodes.predict(0, s.q[best]);
            best
        };
        self.clock.lap(Part::Decisions);
        let now = self.world.step(&[action])?;
        self.clock.lap(Part::Worlds);
        let (reward, end) = (now.rewards[0] as f32, minatar::is_end(now.kinds[0], self.steps)?);
        #[cfg(test)]
        let reward = crate::poison::number("reward", self.steps, reward.into()) as f32;
        if !reward.is_finite() {
            return Err(AgentError::NotFinite { what: "reward".to_owned(), step: self.steps });
        }
        let after = now.observations;
        minatar::pack_checked(&self.net.torso.board, after, &mut s.next_boards, self.steps)?;
        self.replay.push_step(&s.boards, &s.next_boards, action as u8, reward, end);
        self.episodes.step(0, reward, end);
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
            s.batch.boards.extend_from_slice(&step.boards[..words]);
            s.next_boards.extend_from_slice(&step.boards[words..]);
            s.batch.actions.push(step.actions[0]);
        }
        s.features.resize(n * FEATURES, 0.0);
        s.torso.resize(n * TORSO, 0.0);
        self.clock.lap(Part::Other);
        self.target_torso.forward(&s.next_boards, &mut s.features, &mut s.torso);
        self.net.values(&self.target, &s.torso, &mut s.q);
        for (&i, q) in s.drawn.iter().zip(s.q.chunks_exact(self.net.actions)) {
            let step = self.replay.get(i);
            let future = if step.ends[0] == 0 { q[argmax(q)] } else { 0.0 };
            s.batch.targets.push(step.rewards[0] + self.config.discount as f32 * future);
        }
        self.clock.lap(Part::Bootstraps);
        let loss = match &self.engine {
            Some(engine) => engine.gradient(&self.parameters, &s.batch, &mut s.gradient),
            None => loss::gradient(&self.net, &self.parameters, &s.batch, &mut s.work, &mut s.gradient),
        };
        #[cfg(test)]
        let loss = {
            crate::poison::gradient(&self.net.layout, self.steps, &mut s.gradient);
            crate::poison::number("loss", self.steps, loss)
        };
        let length = minatar::check_gradient(&self.net.layout, &[("loss", loss)], &s.gradient, self.steps)?;
        self.optimiser.step(&mut self.parameters, &s.gradient, self.config.learning_rate);
        self.clock.lap(Part::Updates);
        self.updates += 1;
        self.meter.iter_mut().zip([1.0, loss, length]).for_each(|(m, x)| *m += x);
        if self.updates.is_multiple_of(self.config.target_every) {
            self.target.copy_from_slice(&self.parameters);
            self.target_torso.load(&self.target);
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
        minatar::archive_slots("parameters", &self.net.layout, &mut self.parameters, archive)?;
        minatar::archive_slots("target", &self.net.layout, &mut self.target, archive)?;
        self.optimiser.archive(archive)?;
        self.replay.archive("replay", &self.net.torso.board, self.net.actions, archive)?;
        archive.rng("acting", &mut self.acting)?;
        archive.rng("sampling", &mut self.sampling)?;
        self.episodes.archive(archive)?;
        archive.f64("meter", &mut self.meter)?;
        minatar::archive_worlds(&mut self.world, archive)?;
        self.target_torso.load(&self.target);
        Ok(())
    }

    fn clock(&self) -> Option<&Clock> {
        Some(&self.clock)
    }

    fn recent_return(&self) -> Option<f64> {
        self.episodes.recent_return()
    }

    fn decide(&mut self, observations: &[u8]) -> Vec<Decision> {
        let s = &mut self.scratch;
        self.net.torso.board.pack_all(observations, &mut s.boards);
        let n = s.boards.len() / self.net.torso.board.words();
        s.features.resize(n * FEATURES, 0.0);
        s.torso.resize(n * TORSO, 0.0);
        self.net.torso.forward(&self.parameters, &s.boards, &mut s.features, &mut s.torso);
        self.net.values(&self.parameters, &s.torso, &mut s.q);
        let best = |q: &[f32]| (argmax(q), f64::from(q[argmax(q)]));
        s.q.chunks_exact(self.net.actions)
            .map(best)
            .map(|(action, value)| Decision { action, value, members: Vec::new() })
            .collect()
    }
}
