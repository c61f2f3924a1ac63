//! A value prediction network in training.
//!
//! A round: every environment is played for one window; each fresh window, joined by some past ones, makes one step of Adam;
//! bootstraps come from plans with a copy of the network that is renewed now and then. Spec: Oh et al., 2017, with the
//! asynchronous workers replaced by one update after the other, and with replay, which is ours (docs/deviations.md).

use std::sync::Arc;

use ive::{Members, ModelError, Rng, ValueEnsemble, ValueFunction};
use ive_envs::registry::{Kinds, Registered};
use ive_envs::{BoxedBatch, Spec};

use super::batch::{Batch, Lesson};
use super::config::{Bootstrap, Config, Reduction, RewardLoss};
use super::loss;
use super::meter::Meter;
use super::model::LatentModel;
use super::network::Network;
use super::planner::{Choice, Planner};
use super::probe;
use crate::agent::{Agent, AgentError, Metrics, Summary, Weights};
use crate::archive::{Archive, ArchiveError};
use crate::clock::{Clock, Part};
use crate::environments;
use crate::episodes::Episodes;
use crate::learner::{Learner, Optimiser};
use crate::minatar::{self, Boards};
use crate::nn::cpu::descent::Adam;
use crate::nn::{Backend, Executor};
use crate::player::{Decision, Estimates, Further, Player, Source, Wish};
use crate::streams::{ACTING, ENVIRONMENTS, INITIAL, REPLAY};

/// A value prediction network in training.
pub struct Vpn {
    config: Config,
    net: Network,
    /// Computes gradients.
    executor: Executor,
    source: Source<usize, u8>,
    environments: BoxedBatch<usize, u8>,
    learner: Learner,
    planner: Planner,
    target_planner: Planner,
    /// Looks further than the plan, for whoever asks; made when needed, void when the network changes.
    probe: Option<Planner>,
    fresh: Boards,
    replay: Boards,
    random: Boards,
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
    /// r̂ of its predictions.
    rewards: Vec<f32>,
}

impl Vpn {
    /// An agent at the beginning.
    pub fn new(config: &Config, source: Source<usize, u8>, seed: u64) -> Result<Self, AgentError> {
        config.check()?;
        let root = Rng::from_seed(seed);
        let environments = source.many(config.worlds, &mut root.fold_in(ENVIRONMENTS))?;
        let (channels, actions) = minatar::shape(environments.spec())?;
        let net = Network::designed(channels, actions, config.design());
        let parameters = net.initial(config.input_scale, config.action_scale, &mut root.fold_in(INITIAL));
        let mut planner = Planner::new(&net, config.discount, &config.weights, &config.branching);
        planner.load(&parameters);
        let mut target_planner = match config.bootstrap {
            Bootstrap::Plan => planner.clone(),
            Bootstrap::V1 => Planner::new(&net, config.discount, &[1.0], &[1]),
        };
        target_planner.load(&parameters);
        let adam = Adam::new(net.layout.len(), config.adam_epsilon);
        let shape = minatar::board_shape(channels);
        let windows = |count: usize| Boards::windows(shape, config.window, count.max(1));
        let mut vpn = Self {
            source,
            environments,
            target_planner,
            planner,
            probe: None,
            fresh: Boards::zeroed(shape, config.window, config.worlds)?,
            replay: windows(config.replay_capacity / config.window)?,
            random: windows(config.random_steps.div_ceil(config.window))?,
            acting: root.fold_in(ACTING),
            sampling: root.fold_in(REPLAY),
            steps: 0,
            episodes: Episodes::new(config.worlds, config.discount),
            meter: Meter::default(),
            clock: Clock::start(),
            scratch: Scratch::default(),
            learner: Learner::new(net.layout.clone(), parameters, Optimiser::Adam(adam), config.clip),
            net,
            executor: Executor::default(),
            config: config.clone(),
        };
        vpn.environments.reset()?;
        Ok(vpn)
    }

    /// The same agent with its gradients computed by another backend.
    #[must_use]
    pub fn with_backend(mut self, backend: &Backend) -> Self {
        self.executor = Executor::from(backend);
        self
    }

    /// What was learnt so far, as a model and a value function of the library.
    pub fn model(&self) -> LatentModel {
        LatentModel::new(&self.net, self.learner.parameters(), self.config.discount)
            .expect("the parameters are those of the network")
    }

    /// The explicit ensemble of the greedy action in each situation, a member for each value head: its standard deviation is
    /// σ-EVE, a score beside the σ-IVE of the members of a decision.
    ///
    /// # Errors
    /// If a prediction is not finite.
    pub fn explicit(&mut self, observations: &[u8]) -> Result<ValueEnsemble, AgentError> {
        let decisions = self.decide(observations, &mut [], Wish::Action)?;
        let actions: Vec<usize> = decisions.iter().map(|decision| decision.action).collect();
        let model = self.model();
        let states = model.encode(observations).map_err(ModelError::from);
        let ensemble = states.and_then(|states| model.explicit(&states, &actions));
        ensemble.map_err(|_| AgentError::NotFinite { what: "predicted value".to_owned(), step: self.steps })
    }

    /// The values of observations just encoded, without a step of the model: the members k = 0.
    fn encoded_values(&self, observations: &[u8]) -> Vec<f64> {
        let model = self.model();
        let values = model.encode(observations).map_err(ModelError::from);
        let values = values.and_then(|states| model.values(&states));
        values.expect("observations are whole boards of zeros and ones")
    }

    /// Whether steps of the uniformly random policy are still missing.
    fn is_collecting(&self) -> bool {
        self.steps == 0 && self.random.len() * self.config.window < self.config.random_steps
    }

    /// One window of a uniformly random policy in every environment; its steps do not count. Training begins in fresh episodes.
    fn collect_random(&mut self) -> Result<(), AgentError> {
        self.play(1.0)?;
        for i in 0..self.config.worlds {
            self.random.push(self.fresh.get(i));
        }
        if !self.is_collecting() {
            self.environments.reset()?;
            self.episodes = Episodes::new(self.config.worlds, self.config.discount);
        }
        Ok(())
    }

    /// Plays one window in every environment.
    fn play(&mut self, exploration: f64) -> Result<(), AgentError> {
        let (n, words) = (self.config.worlds, self.net.torso.board.words());
        let s = &mut self.scratch;
        s.actions.resize(n, 0);
        for t in 0..=self.config.window {
            let observations = self.environments.batch().observations;
            minatar::pack_checked(&self.net.torso.board, observations, &mut s.boards, self.steps)?;
            for i in 0..n {
                self.fresh.set_observation(i, t, &s.boards[i * words..][..words]);
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
            let now = self.environments.step(&s.actions)?;
            self.clock.lap(Part::Worlds);
            for i in 0..n {
                let (reward, kind) = (now.rewards[i] as f32, minatar::kind(now.kinds[i], self.steps)?);
                #[cfg(test)]
                let reward = crate::poison::number("reward", self.steps, reward.into()) as f32;
                if !reward.is_finite() {
                    return Err(AgentError::NotFinite { what: "reward".to_owned(), step: self.steps });
                }
                self.fresh.set_step(i, t, &[s.actions[i] as u8], reward, kind);
                self.episodes.step(i, reward, kind.is_last());
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
                s.plan_boards.extend_from_slice(window(i, j, &s.drawn).last_observation().unwrap_or(&[]));
            }
        }
        self.clock.lap(Part::Other);
        self.target_planner.plan(&s.plan_boards, &mut s.choices);
        self.clock.lap(Part::Bootstraps);
        let mut planned = s.choices.iter();
        s.bootstraps.clear();
        for i in 0..n {
            for j in 0..=per_update {
                let wanted = window(i, j, &s.drawn).last_observation().is_some();
                s.bootstraps.push(if wanted { planned.next().map_or(0.0, |c| c.value) } else { 0.0 });
            }
        }
        let (goal, rate) = (self.config.goal(), self.config.learning_rate(self.steps));
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
            s.batch.fill(lessons.chain(random), self.config.prediction, goal.discount, self.config.ends);
            let (x, gradient) = self.learner.gradient();
            let losses =
                loss::gradient(&self.net, x, &s.batch, &goal, &mut self.executor, gradient, &mut s.rewards);
            let predictions = s.batch.predictions() as f64;
            let scale = if self.config.reduction == Reduction::Mean { 1.0 / predictions } else { 1.0 };
            let named = [("loss_reward", losses.reward), ("loss_value", losses.value)];
            let length = self.learner.step(&named, scale, rate, self.steps)?;
            self.clock.lap(Part::Updates);
            self.meter.update(losses, predictions, length);
            self.meter.rewards(&s.batch, &s.rewards);
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
        std::mem::take(&mut self.meter).report(self.config.reward_weight, &mut values);
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
        self.planner.load(self.learner.parameters());
        self.probe = None;
        let crossed = |every: u64| self.steps / every > before / every;
        if crossed(self.config.target_every) {
            self.learner.renew_target();
            self.target_planner.load(self.learner.target());
        }
        if crossed(self.config.log_every) {
            log.push(self.report());
        }
        self.clock.lap(Part::Other);
        Ok(())
    }

    fn archive(&mut self, archive: &mut Archive) -> Result<(), ArchiveError> {
        archive.u64("steps", &mut self.steps)?;
        self.learner.archive("", archive)?;
        let (board, actions) = (&self.net.torso.board, self.net.actions);
        minatar::archive_boards("replay", &mut self.replay, board, actions, archive)?;
        minatar::archive_boards("random", &mut self.random, board, actions, archive)?;
        archive.rng("acting", &mut self.acting)?;
        archive.rng("sampling", &mut self.sampling)?;
        self.episodes.archive(archive)?;
        self.meter.archive(archive)?;
        environments::archive(&mut *self.environments, archive)?;
        self.planner.load(self.learner.parameters());
        self.target_planner.load(self.learner.target());
        self.probe = None;
        Ok(())
    }

    fn summary(&self) -> Summary {
        Summary {
            recent_return: self.episodes.recent_return(),
            discount: self.config.discount,
            clock: Some(self.clock.clone()),
        }
    }

    /// None for networks whose formulas other formats do not know; the loss of the reward leaves no trace in the tensors.
    fn weights(&self) -> Option<Vec<Weights<'_>>> {
        if self.config.reward_loss != RewardLoss::Huber || self.config.prior_scale > 0.0 {
            return None;
        }
        let all = self.learner.parameters();
        let slots = self.net.layout.slots().iter();
        Some(slots.map(|s| Weights { name: s.name, shape: &s.shape, numbers: s.of(all) }).collect())
    }
}

impl Player for Vpn {
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
        self.environments.spec()
    }

    fn begin(&self, _: &Rng) {}

    /// The usual members: k = 1 to the depth of the plan, or as far as the model was trained to predict if that is further, and with `train_zero` also
    /// k = 0, the value of the state just encoded. Whoever wishes for k = 0 gets it in any case.
    fn decide(
        &mut self,
        observations: &[u8],
        _: &mut [()],
        wish: Wish<'_>,
    ) -> Result<Vec<Decision<usize>>, AgentError> {
        let s = &mut self.scratch;
        self.net.torso.board.pack_all(observations, &mut s.plan_boards);
        self.planner.plan(&s.plan_boards, &mut s.choices);
        let decided =
            |choice: &Choice| Decision { action: choice.action, value: choice.value.into(), members: None };
        let mut decisions: Vec<Decision<usize>> = s.choices.iter().map(decided).collect();
        if wish == Wish::Action {
            return Ok(decisions);
        }
        let mut path = &self.planner;
        if path.depth() < self.config.prediction {
            let make = || probe::planner(&self.net, &self.config, self.learner.parameters());
            let probe = self.probe.get_or_insert_with(make);
            s.actions.clear();
            s.actions.extend(s.choices.iter().map(|choice| choice.action));
            probe.follow(&s.plan_boards, &s.actions);
            path = probe;
        }
        let mut later = Vec::with_capacity(decisions.len());
        for root in 0..decisions.len() {
            path.members(root, &mut s.members);
            later.push(s.members.iter().map(|&m| f64::from(m)).collect::<Vec<f64>>());
        }
        let with_zero = match wish {
            Wish::These(wish) => wish.contains(0),
            _ => self.config.train_zero,
        };
        let zeros = if with_zero { self.encoded_values(observations) } else { Vec::new() };
        for (i, (decision, later)) in decisions.iter_mut().zip(later).enumerate() {
            decision.members = Some(match wish {
                Wish::These(wish) => Estimates::select(wish, zeros.get(i).copied(), &later)?,
                _ => Estimates::new(
                    usual(usize::from(!with_zero), later.len()),
                    zeros.get(i).copied().into_iter().chain(later).collect(),
                ),
            });
        }
        Ok(decisions)
    }

    /// σ-EVE, where there are several value heads.
    fn further(&mut self, observations: &[u8], _: &[()]) -> Result<Vec<Further>, AgentError> {
        if self.config.value_heads == 1 {
            return Ok(Vec::new());
        }
        Ok(vec![Further { name: Further::EVE, scores: self.explicit(observations)?.std() }])
    }
}

/// k from 0 or 1 to n, where n is at least 1.
fn usual(first: usize, n: usize) -> Members {
    Members::new(first..=n).expect("a plan has a depth, and settings bound it")
}
