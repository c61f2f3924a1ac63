//! A value prediction network in training.
//!
//! A round: every world is played for one window; each fresh window, joined by some past ones, makes one step of Adam;
//! bootstraps come from plans with a copy of the network that is renewed now and then. Spec: Oh et al., 2017, with the
//! asynchronous workers replaced by one update after the other, and with replay, which is ours (docs/deviations.md).

use ive::{Rng, ValueFunction};
use ive_envs::VectorEnvironment;
use ive_envs::minatar::ByteWorld;

use super::batch::{Batch, Lesson};
use super::config::{Config, Reduction};
use super::engine::Engine;
use super::loss::{self, Workspace};
use super::meter::Meter;
use super::model::LatentModel;
use super::network::Network;
use super::planner::{Choice, Planner};
use super::probe;
use crate::agent::{Agent, AgentError, Decision, Metrics};
use crate::archive::{Archive, ArchiveError};
use crate::clock::{Clock, Part};
use crate::episodes::Episodes;
use crate::minatar::{self, ACTING, INITIAL, REPLAY, WORLDS};
use crate::nn::Backend;
use crate::nn::cpu::board;
use crate::nn::cpu::descent::Adam;
use crate::windows::Windows;

/// A value prediction network in training.
pub struct Vpn {
    config: Config,
    net: Network,
    /// The tensor engine, if it computes the gradients.
    engine: Option<Engine>,
    worlds: VectorEnvironment<ByteWorld>,
    parameters: Vec<f32>,
    target: Vec<f32>,
    adam: Adam,
    planner: Planner,
    target_planner: Planner,
    /// Looks further than the plan, for whoever asks; made when needed, void when the network changes.
    probe: Option<Planner>,
    fresh: Windows,
    replay: Windows,
    random: Windows,
    acting: Rng,
    sampling: Rng,
    steps: u64,
    episodes: Episodes,
    meter: Meter,
    clock: Clock,
    scratch: Scratch,
}

impl std::fmt::Debug for Vpn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Vpn")
            .field("config", &self.config)
            .field("steps", &self.steps)
            .finish_non_exhaustive()
    }
}

#[derive(Debug, Default)]
struct Scratch {
    boards: Vec<u64>,
    planned: Vec<usize>,
    plan_boards: Vec<u64>,
    choices: Vec<Choice>,
    members: Vec<f32>,
    wide: Vec<f64>,
    actions: Vec<usize>,
    drawn: Vec<usize>,
    bootstraps: Vec<f32>,
    batch: Batch,
    work: Workspace,
    gradient: Vec<f32>,
}

impl Vpn {
    /// An agent at the beginning. `world` makes a world of a seed.
    pub fn new(config: &Config, world: &dyn Fn(u64) -> ByteWorld, seed: u64) -> Result<Self, AgentError> {
        config.check()?;
        let root = Rng::from_seed(seed);
        let mut seeds = root.fold_in(WORLDS);
        let worlds: Vec<ByteWorld> = (0..config.worlds).map(|_| world(seeds.next_u64())).collect();
        let (channels, actions) = minatar::shape(&worlds)?;
        let net = Network::new(channels, actions);
        let parameters = net.initial(config.input_scale, config.action_scale, &mut root.fold_in(INITIAL));
        let mut planner = Planner::new(&net, config.discount, &config.weights, &config.branching);
        planner.load(&parameters);
        let words = board::words(channels);
        let windows = |count: usize| Windows::new(words, config.window, count.max(1));
        let mut vpn = Self {
            worlds: VectorEnvironment::new(worlds)?,
            target: parameters.clone(),
            adam: Adam::new(net.layout.len(), config.adam_epsilon),
            target_planner: planner.clone(),
            planner,
            probe: None,
            fresh: Windows::zeroed(words, config.window, config.worlds),
            replay: windows(config.replay_capacity / config.window),
            random: windows(config.random_steps.div_ceil(config.window)),
            acting: root.fold_in(ACTING),
            sampling: root.fold_in(REPLAY),
            steps: 0,
            episodes: Episodes::new(config.worlds, config.discount),
            meter: Meter::default(),
            clock: Clock::start(),
            scratch: Scratch { gradient: vec![0.0; net.layout.len()], ..Scratch::default() },
            parameters,
            net,
            engine: None,
            config: config.clone(),
        };
        vpn.worlds.reset()?;
        Ok(vpn)
    }

    /// The same agent with its gradients computed by another backend.
    #[must_use]
    pub fn with_backend(mut self, backend: &Backend) -> Self {
        self.engine = backend.device().map(|device| Engine::new(&self.net, device));
        self
    }

    /// The network, for those who want to look inside.
    pub fn network(&self) -> (&Network, &[f32]) {
        (&self.net, &self.parameters)
    }

    /// What was learnt so far, as a model and a value function of the library.
    pub fn model(&self) -> LatentModel {
        LatentModel::new(&self.net, &self.parameters, self.config.discount)
            .expect("the parameters are those of the network")
    }

    /// Whether steps of the uniformly random policy are still missing.
    fn is_collecting(&self) -> bool {
        self.steps == 0 && self.random.len() * self.config.window < self.config.random_steps
    }

    /// One window of a uniformly random policy in every world; its steps do not count. Training begins in fresh worlds.
    fn collect_random(&mut self) -> Result<(), AgentError> {
        self.play(1.0)?;
        for i in 0..self.config.worlds {
            self.random.push(self.fresh.get(i));
        }
        if !self.is_collecting() {
            self.worlds.reset()?;
            self.episodes = Episodes::new(self.config.worlds, self.config.discount);
        }
        Ok(())
    }

    /// Plays one window in every world.
    fn play(&mut self, exploration: f64) -> Result<(), AgentError> {
        let (n, words) = (self.config.worlds, self.net.torso.board.words());
        let s = &mut self.scratch;
        s.actions.resize(n, 0);
        for t in 0..=self.config.window {
            let observations = self.worlds.batch().observations;
            minatar::pack_checked(&self.net.torso.board, observations, &mut s.boards, self.steps)?;
            for i in 0..n {
                self.fresh.set_board(i, t, &s.boards[i * words..][..words]);
            }
            if t == self.config.window {
                break;
            }
            s.planned.clear();
            s.plan_boards.clear();
            for i in 0..n {
                if self.acting.uniform() < exploration {
                    s.actions[i] = self.acting.below(self.net.actions);
                } else {
                    s.planned.push(i);
                    s.plan_boards.extend_from_slice(&s.boards[i * words..][..words]);
                }
            }
            self.clock.lap(Part::Other);
            self.planner.plan(&s.plan_boards, &mut s.choices);
            self.clock.lap(Part::Decisions);
            for (root, (&i, choice)) in s.planned.iter().zip(&s.choices).enumerate() {
                s.actions[i] = choice.action;
                self.episodes.predict(i, choice.value);
                self.planner.members(root, &mut s.members);
                s.wide.clear();
                s.wide.extend(s.members.iter().map(|&m| f64::from(m)));
                let sigma = ive::standard_deviation(&s.wide, 0).map_err(|_| AgentError::NotFinite {
                    what: "predicted value".to_owned(),
                    step: self.steps,
                })?;
                self.meter.decision(sigma);
            }
            self.clock.lap(Part::Other);
            let now = self.worlds.step(&s.actions)?;
            self.clock.lap(Part::Worlds);
            for i in 0..n {
                let (reward, end) = (now.rewards[i] as f32, minatar::is_end(now.kinds[i], self.steps)?);
                #[cfg(test)]
                let reward = crate::poison::number("reward", self.steps, reward.into()) as f32;
                if !reward.is_finite() {
                    return Err(AgentError::NotFinite { what: "reward".to_owned(), step: self.steps });
                }
                self.fresh.set_step(i, t, s.actions[i] as u8, reward, end);
                self.episodes.step(i, reward, end);
            }
        }
        Ok(())
    }

    /// One update for every fresh window.
    fn learn(&mut self) -> Result<(), AgentError> {
        let (n, past) = (self.config.worlds, self.config.replay);
        let replaying = self.steps >= self.config.replay_start && !self.replay.is_empty();
        let per_update = if replaying { past } else { 0 };
        let s = &mut self.scratch;
        s.drawn.clear();
        for _ in 0..n * per_update {
            s.drawn.push(self.sampling.below(self.replay.len()));
        }
        // Update i uses window i of the fresh ones and `per_update` of the drawn ones.
        let window = |i: usize, j: usize, drawn: &[usize]| {
            if j == 0 { self.fresh.get(i) } else { self.replay.get(drawn[i * per_update + j - 1]) }
        };
        s.plan_boards.clear();
        for i in 0..n {
            for j in 0..=per_update {
                s.plan_boards.extend_from_slice(window(i, j, &s.drawn).last_board().unwrap_or(&[]));
            }
        }
        self.clock.lap(Part::Other);
        self.target_planner.plan(&s.plan_boards, &mut s.choices);
        self.clock.lap(Part::Bootstraps);
        let mut planned = s.choices.iter();
        s.bootstraps.clear();
        for i in 0..n {
            for j in 0..=per_update {
                let wanted = window(i, j, &s.drawn).last_board().is_some();
                s.bootstraps.push(if wanted { planned.next().map_or(0.0, |c| c.value) } else { 0.0 });
            }
        }
        let (discount, rate) = (self.config.discount as f32, self.config.learning_rate(self.steps));
        for i in 0..n {
            let lessons = (0..=per_update).map(|j| Lesson {
                window: window(i, j, &s.drawn),
                bootstrap: Some(s.bootstraps[i * (per_update + 1) + j]),
            });
            let random = (!self.random.is_empty()).then(|| {
                let window = self.random.get(self.sampling.below(self.random.len()));
                Lesson { window, bootstrap: None }
            });
            self.clock.lap(Part::Other);
            s.batch.fill(lessons.chain(random), self.config.prediction, discount, self.config.ends);
            let losses = match &self.engine {
                Some(engine) => engine.gradient(&self.parameters, &s.batch, &mut s.gradient),
                None => loss::gradient(&self.net, &self.parameters, &s.batch, &mut s.work, &mut s.gradient),
            };
            #[cfg(test)]
            let losses = {
                crate::poison::gradient(&self.net.layout, self.steps, &mut s.gradient);
                loss::Losses {
                    reward: crate::poison::number("loss_reward", self.steps, losses.reward),
                    value: crate::poison::number("loss_value", self.steps, losses.value),
                }
            };
            let predictions = s.batch.predictions() as f64;
            let scale = if self.config.reduction == Reduction::Mean { 1.0 / predictions } else { 1.0 };
            let named = [("loss_reward", losses.reward), ("loss_value", losses.value)];
            let length = minatar::check_gradient(&self.net.layout, &named, &s.gradient, self.steps)? * scale;
            let clip = if length > self.config.clip { self.config.clip / length } else { 1.0 };
            self.adam.step(&mut self.parameters, &s.gradient, scale * clip, rate);
            self.clock.lap(Part::Updates);
            self.meter.update(losses, predictions, length);
        }
        if self.config.replay > 0 {
            for i in 0..n {
                self.replay.push(self.fresh.get(i));
            }
        }
        Ok(())
    }

    fn report(&mut self) -> Metrics {
        let mut values = Vec::with_capacity(12);
        self.episodes.report(&mut values);
        values.push(("epsilon", self.config.exploration(self.steps)));
        values.push(("learning_rate", self.config.learning_rate(self.steps)));
        std::mem::take(&mut self.meter).report(&mut values);
        Metrics { step: self.steps, values }
    }
}

impl Agent for Vpn {
    fn steps(&self) -> u64 {
        self.steps
    }

    fn advance(&mut self, log: &mut Vec<Metrics>) -> Result<(), AgentError> {
        let before = self.steps;
        self.clock.skip();
        if self.is_collecting() {
            return self.collect_random();
        }
        self.play(self.config.exploration(before))?;
        self.steps += (self.config.worlds * self.config.window) as u64;
        self.learn()?;
        self.planner.load(&self.parameters);
        self.probe = None;
        let crossed = |every: u64| self.steps / every > before / every;
        if crossed(self.config.target_every) {
            self.target.copy_from_slice(&self.parameters);
            self.target_planner.load(&self.target);
        }
        if crossed(self.config.log_every) {
            log.push(self.report());
        }
        self.clock.lap(Part::Other);
        Ok(())
    }

    fn archive(&mut self, archive: &mut Archive) -> Result<(), ArchiveError> {
        archive.u64("steps", &mut self.steps)?;
        minatar::archive_slots("parameters", &self.net.layout, &mut self.parameters, archive)?;
        minatar::archive_slots("target", &self.net.layout, &mut self.target, archive)?;
        self.adam.archive(archive)?;
        let (board, actions) = (&self.net.torso.board, self.net.actions);
        self.replay.archive("replay", board, actions, archive)?;
        self.random.archive("random", board, actions, archive)?;
        archive.rng("acting", &mut self.acting)?;
        archive.rng("sampling", &mut self.sampling)?;
        self.episodes.archive(archive)?;
        self.meter.archive(archive)?;
        minatar::archive_worlds(&mut self.worlds, archive)?;
        self.planner.load(&self.parameters);
        self.target_planner.load(&self.target);
        self.probe = None;
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
        self.net.torso.board.pack_all(observations, &mut s.plan_boards);
        self.planner.plan(&s.plan_boards, &mut s.choices);
        let mut path = &self.planner;
        if path.depth() < self.config.prediction {
            let make = || probe::planner(&self.net, &self.config, &self.parameters);
            let probe = self.probe.get_or_insert_with(make);
            s.actions.clear();
            s.actions.extend(s.choices.iter().map(|choice| choice.action));
            probe.follow(&s.plan_boards, &s.actions);
            path = probe;
        }
        let mut decisions = Vec::with_capacity(s.choices.len());
        for (root, choice) in s.choices.iter().enumerate() {
            path.members(root, &mut s.members);
            decisions.push(Decision {
                action: choice.action,
                value: f64::from(choice.value),
                members: s.members.iter().map(|&m| f64::from(m)).collect(),
            });
        }
        decisions
    }

    fn encoded_values(&self, observations: &[u8]) -> Vec<f64> {
        let model = self.model();
        let values = model.encode(observations).map_err(Into::into).and_then(|states| model.values(&states));
        values.expect("observations are whole boards of zeros and ones")
    }

    fn act(&mut self, observations: &[u8]) -> Vec<usize> {
        let s = &mut self.scratch;
        self.net.torso.board.pack_all(observations, &mut s.plan_boards);
        self.planner.plan(&s.plan_boards, &mut s.choices);
        s.choices.iter().map(|choice| choice.action).collect()
    }
}
