//! Muesli in training. How it plays is in `acting.rs`, how it plays when it explores no more in `player.rs`.
//!
//! A round: every environment is played for one window by the target network; then a number of updates, each from a few of the windows just
//! played and more from replay. Before the first of them the value and reward heads are trained alone, without bootstrap, so that the
//! random priors do not feed themselves. Spec: Hessel et al., 2021, and docs/deviations.md.

use ive::Rng;
use ive_envs::BoxedBatch;

use super::acting::Optimist;
use super::batch::Batch;
use super::config::Config;
use super::loss::{self, Lesson, Weights};
use super::meter::Meter;
use super::network::Network;
use super::predict::Predictor;
use super::targets::{self, Normaliser, Rules};
use super::torso::{Seen, View};
use crate::agent::{Agent, AgentError, Metrics, Summary};
use crate::archive::{Archive, ArchiveError};
use crate::bonus::Bonus;
use crate::categorical::Support;
use crate::clock::{Clock, Part};
use crate::environments;
use crate::episodes::Episodes;
use crate::experience::{Experience, Rules as Allowed, Shape, Window};
use crate::learner::{Learner, Optimiser};
use crate::nn::cpu::descent::{Adam, norm};
use crate::nn::{Backend, Executor};
use crate::player::Source;
use crate::streams::{ACTING, CENTRING, ENVIRONMENTS, INITIAL, PRIORS, REPLAY};

/// States by which the outputs of priors are centred.
const CENTRED_BY: usize = 1024;

/// Muesli in training.
pub struct Muesli {
    pub(super) config: Config,
    pub(super) net: Network,
    pub(super) view: View,
    pub(super) supports: [Support; 2],
    pub(super) executor: Executor,
    pub(super) source: Source<usize, u8>,
    pub(super) environments: BoxedBatch<usize, u8>,
    learner: Learner,
    /// Frozen parameters of the priors.
    priors: Vec<f32>,
    normaliser: Normaliser,
    pub(super) fresh: Experience<u8, u8>,
    pub(super) replay: Experience<u8, u8>,
    pub(super) acting: Rng,
    /// Draws paths before it acts, if it acts on what it does not know.
    pub(super) optimist: Option<Optimist>,
    /// How it acts on its signal when it explores no more.
    pub(super) bonus: Option<Bonus>,
    sampling: Rng,
    centring: Rng,
    pub(super) steps: u64,
    updates: u64,
    pub(super) episodes: Episodes,
    /// The sum of the sizes of all rewards of each running episode, and the largest of those that are over: no return is larger.
    pub(super) gains: Vec<f64>,
    pub(super) largest: f64,
    pub(super) meter: Meter,
    pub(super) clock: Clock,
    pub(super) scratch: Scratch,
}

impl std::fmt::Debug for Muesli {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Muesli")
            .field("config", &self.config)
            .field("steps", &self.steps)
            .finish_non_exhaustive()
    }
}

#[derive(Debug, Default)]
pub(super) struct Scratch {
    pub(super) seen: Seen,
    pub(super) actions: Vec<usize>,
    order: Vec<usize>,
    batch: Batch,
    before: Vec<f32>,
}

impl Muesli {
    /// An agent at the beginning.
    pub fn new(config: &Config, source: Source<usize, u8>, seed: u64) -> Result<Self, AgentError> {
        config.check()?;
        let root = Rng::from_seed(seed);
        let environments = source.many(config.worlds, &mut root.fold_in(ENVIRONMENTS))?;
        let view = View::of(&environments.spec().shape)?;
        let actions = environments.spec().actions.len();
        let net = Network::new(view, actions, config);
        let adam = Adam::new(net.layout.len(), config.adam_epsilon).with_decay(config.weight_decay, 1.0);
        let parameters = net.initial(&mut root.fold_in(INITIAL));
        let shape = Shape { observation: view.bytes(), action: 1, policy: actions };
        let mut muesli = Self {
            view,
            supports: config.supports(),
            executor: Executor::default(),
            source,
            environments,
            learner: Learner::new(net.layout.clone(), parameters, Optimiser::Adam(adam), f64::INFINITY),
            priors: net.initial_priors(&mut root.fold_in(PRIORS)),
            normaliser: Normaliser::default(),
            fresh: Experience::zeroed(shape, config.window, config.worlds)?,
            replay: Experience::windows(shape, config.window, config.replay_windows())?,
            acting: root.fold_in(ACTING),
            optimist: config.bonus().map(|bonus| Optimist::new(bonus, &root)),
            bonus: None,
            sampling: root.fold_in(REPLAY),
            centring: root.fold_in(CENTRING),
            steps: 0,
            updates: 0,
            episodes: Episodes::new(config.worlds, config.discount),
            gains: vec![0.0; config.worlds],
            largest: 0.0,
            meter: Meter::default(),
            clock: Clock::start(),
            scratch: Scratch::default(),
            net,
            config: config.clone(),
        };
        muesli.environments.reset()?;
        Ok(muesli)
    }

    /// The same agent with its networks computed by another backend.
    #[must_use]
    pub fn with_backend(mut self, backend: &Backend) -> Self {
        self.executor = Executor::from(backend);
        self
    }

    /// Its settings.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// How many updates there have been, those of the warm-up included.
    pub fn updates(&self) -> u64 {
        self.updates
    }

    /// The target network, which acts and is asked, and the executor to ask it with.
    pub(super) fn target(&mut self) -> (Predictor<'_>, &mut Executor) {
        let predictor = Predictor {
            net: &self.net,
            parameters: [self.learner.target(), &self.priors],
            supports: &self.supports,
            discount: self.config.discount,
        };
        (predictor, &mut self.executor)
    }

    pub(super) fn not_finite(&self, what: &str) -> AgentError {
        AgentError::NotFinite { what: what.to_owned(), step: self.steps }
    }

    /// Starts the outputs of value and reward at minus the mean of their priors over what was seen first.
    fn centre(&mut self) {
        let window = self.config.window + 1;
        let mut seen = Seen::default();
        let count = (CENTRED_BY / window).clamp(1, self.config.worlds);
        for i in 0..count {
            self.net.torso.prepare(self.fresh.get(i).observations, &mut seen);
        }
        let mut rng = self.centring.clone();
        let (depth, actions) = (self.config.unroll, self.net.actions);
        let (target, executor) = self.target();
        let means = target.prior_means(&seen, count * window, depth, executor, || rng.below(actions) as u8);
        self.learner.adjust(|x| self.net.centre(x, &means));
    }

    /// A number of updates from the windows just played and from replay.
    fn learn(&mut self) -> Result<(), AgentError> {
        let (n, all) = (self.config.worlds, self.config.replay_windows());
        let played = self.steps as usize / self.config.window;
        self.scratch.order.clear();
        self.scratch.order.extend(0..n);
        self.sampling.shuffle(&mut self.scratch.order);
        for update in 0..self.config.updates {
            let mut batch = std::mem::take(&mut self.scratch.batch);
            let fresh = (0..self.config.fresh).map(|j| {
                let i = self.scratch.order[(update * self.config.fresh + j) % n];
                self.replay.get((played - n + i) % all)
            });
            let replayed =
                (0..self.config.replayed).map(|_| self.replay.get(self.sampling.below(self.replay.len())));
            let windows: Vec<Window<'_, u8, u8>> = fresh.chain(replayed).collect();
            batch.fill(&windows, self.config.window, &self.net.torso);
            let updated = self.update(&batch, update == 0);
            self.scratch.batch = batch;
            updated?;
        }
        Ok(())
    }

    /// One update.
    fn update(&mut self, batch: &Batch, measured: bool) -> Result<(), AgentError> {
        self.clock.lap(Part::Other);
        let (target, executor) = self.target();
        let said = target.of_states(&batch.seen, batch.states(), executor);
        let warm_up = self.updates < self.config.warm_up;
        let Config { discount, retrace, behaviour_share, uniform_share, advantage_clip, .. } = self.config;
        let rules = Rules {
            discount,
            retrace,
            shares: [behaviour_share, uniform_share],
            clip: advantage_clip,
            decay: self.config.advantage_decay,
        };
        let targets = if warm_up {
            targets::without_bootstrap(batch, &said, &rules)
        } else {
            targets::targets(batch, &said, &rules, &mut self.normaliser)
        };
        self.clock.lap(Part::Bootstraps);
        let lesson = Lesson {
            batch,
            targets: &targets,
            supports: &self.supports,
            depth: self.config.unroll,
            weights: self.weights(),
            warm_up,
        };
        self.scratch.before.clear();
        if warm_up || measured {
            self.scratch.before.extend_from_slice(self.learner.parameters());
        }
        let (x, gradient) = self.learner.gradient();
        let losses = loss::gradient(&self.net, [x, &self.priors], &lesson, &mut self.executor, gradient);
        let named = [
            ("loss_gradient", losses.gradient),
            ("loss_improvement", losses.improvement),
            ("loss_model", losses.model),
            ("loss_value", losses.value),
            ("loss_reward", losses.reward),
        ];
        let rate = if warm_up { self.config.warm_up_rate } else { self.config.learning_rate(self.steps) };
        let length = self.learner.step(&named, 1.0, rate, self.steps)?;
        if warm_up {
            self.learner.take_back(&self.scratch.before, |slot| !Network::is_predictor(slot));
        }
        if measured && !warm_up {
            let moved = self.scratch.before.iter().zip(self.learner.parameters()).map(|(a, b)| b - a);
            self.meter.moved(norm(&moved.collect::<Vec<f32>>()));
        }
        self.learner.move_target(self.config.target_rate as f32);
        self.updates += 1;
        self.clock.lap(Part::Updates);
        // Without bootstrap and policy, the numbers of the warm-up would only blur the others.
        if !warm_up {
            self.meter.update(batch, &said, &targets, &losses, &self.supports, (advantage_clip, length));
        }
        Ok(())
    }

    fn weights(&self) -> Weights {
        Weights {
            gradient: self.config.gradient_weight,
            improvement: self.config.improvement_weight,
            model: self.config.model_weight,
            value: self.config.value_weight,
            reward: self.config.reward_weight,
        }
    }

    /// Whether the heads are still to be warmed up, which takes no steps of the environments.
    fn is_warming_up(&self) -> bool {
        self.config.updates > 0
            && self.steps > self.config.learning_start
            && self.updates < self.config.warm_up
    }

    fn report(&mut self) -> Metrics {
        let mut values = Vec::with_capacity(32);
        self.episodes.report(&mut values);
        values.push(("updates", self.updates as f64));
        values.push(("learning_rate", self.config.learning_rate(self.steps)));
        std::mem::take(&mut self.meter).report(&mut values);
        self.optimist.iter_mut().for_each(|optimist| optimist.report(&mut values));
        Metrics { step: self.steps, values }
    }
}

impl Agent for Muesli {
    fn steps(&self) -> u64 {
        self.steps
    }

    /// One window of every environment and its updates, or some updates of the warm-up.
    fn advance(&mut self, log: &mut Vec<Metrics>) -> Result<(), AgentError> {
        self.clock.skip();
        if self.is_warming_up() {
            return self.learn();
        }
        let before = self.steps;
        self.play()?;
        self.steps += (self.config.worlds * self.config.window) as u64;
        if before == 0 && self.config.centre && self.config.prior > 0.0 {
            self.centre();
        }
        if self.steps > self.config.learning_start && !self.is_warming_up() {
            self.learn()?;
        }
        if self.steps / self.config.log_every > before / self.config.log_every {
            log.push(self.report());
        }
        self.clock.lap(Part::Other);
        Ok(())
    }

    fn archive(&mut self, archive: &mut Archive) -> Result<(), ArchiveError> {
        archive.u64("steps", &mut self.steps)?;
        archive.u64("updates", &mut self.updates)?;
        self.learner.archive("", archive)?;
        for slot in self.net.prior_layout().slots() {
            archive.f32(&format!("priors.{}", slot.name), slot.of_mut(&mut self.priors))?;
        }
        let mut numbers = self.normaliser.parts().map(|x| *x);
        archive.f64("normaliser", &mut numbers)?;
        self.normaliser.parts().into_iter().zip(numbers).for_each(|(x, number)| *x = number);
        let (board, actions) = (matches!(self.view, View::Board(_)), self.net.actions);
        let observation = |bytes: &[u8]| {
            let wrong = || "it holds something other than zeros and ones".to_owned();
            (!board || bytes.iter().all(|&b| b <= 1)).then_some(()).ok_or_else(wrong)
        };
        let action = |action: &[u8]| {
            let wrong = || format!("it has an action beyond the {actions} that there are");
            (usize::from(action[0]) < actions).then_some(()).ok_or_else(wrong)
        };
        let rules = Allowed { observation: &observation, action: &action, truncates: true };
        self.replay.archive("replay", &rules, archive)?;
        archive.rng("acting", &mut self.acting)?;
        archive.rng("sampling", &mut self.sampling)?;
        self.episodes.archive(archive)?;
        archive.f64("gains", &mut self.gains)?;
        let mut largest = [self.largest];
        archive.f64("largest_return", &mut largest)?;
        [self.largest] = largest;
        self.meter.archive(archive)?;
        self.optimist.iter_mut().try_for_each(|optimist| optimist.archive(archive))?;
        environments::archive(&mut *self.environments, archive)?;
        let wanted = (self.steps as usize / self.config.window).min(self.config.replay_windows());
        if self.replay.len() == wanted {
            return Ok(());
        }
        let problem = format!("{} windows after {} steps", self.replay.len(), self.steps);
        Err(ArchiveError::Content { name: "replay".to_owned(), problem })
    }

    fn summary(&self) -> Summary {
        Summary {
            recent_return: self.episodes.recent_return(),
            discount: self.config.discount,
            clock: Some(self.clock.clone()),
        }
    }
}
