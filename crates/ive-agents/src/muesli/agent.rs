//! Muesli in training.
//!
//! A round: every environment is played for one window by the target network; then a number of updates, each from a few of the windows just
//! played and more from replay. Before the first of them the value and reward heads are trained alone, without bootstrap, so that the
//! random priors do not feed themselves. Spec: Hessel et al., 2021, and docs/deviations.md.

use std::sync::Arc;

use ive::{Members, Rng};
use ive_envs::registry::{Kinds, ObservationKind, Registered};
use ive_envs::{BoxedBatch, Spec, StateError};

use super::batch::Batch;
use super::config::{Acting, Config};
use super::further;
use super::loss::{self, Lesson, Weights};
use super::meter::Meter;
use super::network::Network;
use super::predict::Predictor;
use super::targets::{self, Normaliser, Rules};
use super::torso::{Seen, Torso, View};
use crate::agent::{Agent, AgentError, Metrics, Summary};
use crate::archive::{Archive, ArchiveError};
use crate::categorical::Support;
use crate::clock::{Clock, Part};
use crate::episodes::Episodes;
use crate::experience::{Experience, Rules as Allowed, Shape, Window};
use crate::learner::{Learner, Optimiser};
use crate::nn::cpu::descent::{Adam, norm};
use crate::nn::{Backend, Executor};
use crate::player::{Decision, Estimates, Further, Memory, Player, Source, Wish};
use crate::streams::{ACTING, CENTRING, ENVIRONMENTS, INITIAL, PRIORS, REPLAY};
use crate::{environments, minatar};

/// States by which the outputs of priors are centred.
const CENTRED_BY: usize = 1024;

/// Muesli in training.
pub struct Muesli {
    config: Config,
    pub(super) net: Network,
    view: View,
    pub(super) supports: [Support; 2],
    pub(super) executor: Executor,
    source: Source<usize, u8>,
    environments: BoxedBatch<usize, u8>,
    learner: Learner,
    /// Frozen parameters of the priors.
    priors: Vec<f32>,
    normaliser: Normaliser,
    fresh: Experience<u8, u8>,
    replay: Experience<u8, u8>,
    acting: Rng,
    sampling: Rng,
    centring: Rng,
    steps: u64,
    updates: u64,
    episodes: Episodes,
    /// The sum of the sizes of all rewards of each running episode, and the largest of those that are over: no return is larger.
    gains: Vec<f64>,
    largest: f64,
    meter: Meter,
    clock: Clock,
    scratch: Scratch,
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
struct Scratch {
    seen: Seen,
    actions: Vec<usize>,
    order: Vec<usize>,
    batch: Batch,
    before: Vec<f32>,
}

/// An action drawn from probabilities, by a number from 0 to 1. Rounding may leave them short of one: then it is the last that has any.
pub(super) fn drawn(policy: &[f32], uniform: f64) -> usize {
    let mut rest = uniform;
    for (action, &p) in policy.iter().enumerate() {
        rest -= f64::from(p);
        if rest < 0.0 {
            return action;
        }
    }
    policy.iter().rposition(|&p| p > 0.0).unwrap_or(0)
}

/// The first of the most probable actions.
fn mode(policy: &[f32]) -> usize {
    (1..policy.len()).fold(0, |best, a| if policy[a] > policy[best] { a } else { best })
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

    fn not_finite(&self, what: &str) -> AgentError {
        AgentError::NotFinite { what: what.to_owned(), step: self.steps }
    }

    /// Plays one window in every environment.
    fn play(&mut self) -> Result<(), AgentError> {
        let (n, bytes) = (self.config.worlds, self.view.bytes());
        for t in 0..=self.config.window {
            let observations = self.environments.batch().observations;
            #[cfg(test)]
            let observations = &*crate::poison::observations(self.steps, observations);
            if matches!(self.view, View::Board(_)) && observations.iter().any(|&b| b > 1) {
                return Err(AgentError::Observation { step: self.steps });
            }
            for i in 0..n {
                self.fresh.set_observation(i, t, &observations[i * bytes..][..bytes]);
            }
            Torso::clear(&mut self.scratch.seen);
            self.net.torso.prepare(observations, &mut self.scratch.seen);
            self.clock.lap(Part::Other);
            let seen = std::mem::take(&mut self.scratch.seen);
            let (target, executor) = self.target();
            let [policy, values] = target.act(&seen, n, executor);
            self.scratch.seen = seen;
            self.clock.lap(Part::Decisions);
            if !policy.iter().chain(&values).all(|x| x.is_finite()) {
                return Err(self.not_finite("policy or value"));
            }
            let actions = self.net.actions;
            for (i, policy) in policy.chunks_exact(actions).enumerate() {
                self.fresh.set_policy(i, t, policy);
            }
            if t == self.config.window {
                break;
            }
            let draw = |policy: &[f32]| drawn(policy, self.acting.uniform());
            self.scratch.actions.clear();
            self.scratch.actions.extend(policy.chunks_exact(actions).map(draw));
            if self.largest > 0.0 {
                let beyond = values.iter().filter(|v| f64::from(v.abs()) > self.largest).count();
                self.meter.decisions(n, beyond);
            }
            self.clock.lap(Part::Other);
            let now = self.environments.step(&self.scratch.actions)?;
            self.clock.lap(Part::Worlds);
            for i in 0..n {
                let (reward, kind) = (now.rewards[i] as f32, now.kinds[i]);
                #[cfg(test)]
                let reward = crate::poison::number("reward", self.steps, reward.into()) as f32;
                if !reward.is_finite() {
                    return Err(AgentError::NotFinite { what: "reward".to_owned(), step: self.steps });
                }
                self.fresh.set_step(i, t, &[self.scratch.actions[i] as u8], reward, kind);
                self.episodes.predict(i, values[i]);
                self.episodes.step(i, reward, kind.is_last());
                self.gains[i] += f64::from(reward.abs());
                if kind.is_last() {
                    self.largest = self.largest.max(std::mem::take(&mut self.gains[i]));
                }
            }
        }
        for i in 0..n {
            self.replay.push(self.fresh.get(i));
        }
        Ok(())
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
        if measured {
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

/// From what an agent draws while it plays: actions, and the paths that it imagines.
#[derive(Clone, Debug, PartialEq)]
pub struct Draws {
    acting: Rng,
    imagining: Rng,
}

impl Draws {
    /// From where imagined paths are drawn.
    pub(super) fn imagining(&self) -> &Rng {
        &self.imagining
    }
}

impl Memory for Draws {
    fn save(&self) -> Vec<u8> {
        let words = self.acting.to_words().into_iter().chain(self.imagining.to_words());
        words.flat_map(u64::to_le_bytes).collect()
    }

    fn restore(&mut self, bytes: &[u8]) -> Result<(), StateError> {
        let words: Vec<u64> = bytes.as_chunks().0.iter().map(|&b| u64::from_le_bytes(b)).collect();
        let (Ok(words), true) = (<[u64; 10]>::try_from(words), bytes.len() == 80) else {
            return Err(StateError::Corrupt { what: "draws have another length" });
        };
        let [a, b, c, d, e, rest @ ..] = words;
        (self.acting, self.imagining) = (Rng::from_words([a, b, c, d, e]), Rng::from_words(rest));
        Ok(())
    }
}

impl Player for Muesli {
    type Action = usize;
    type Element = u8;
    type Memory = Draws;

    const LEARNS: &'static [Kinds] = &[minatar::BOARDS, PIXELS];

    fn source(environment: &Registered) -> Option<Source<usize, u8>> {
        environment.bytes().map(|source| Arc::new(source) as _)
    }

    fn observes(&self) -> ObservationKind {
        match self.view {
            View::Pixels(_) => ObservationKind::Pixels,
            View::Board(_) => ObservationKind::Board,
        }
    }

    fn environments(&self) -> &Source<usize, u8> {
        &self.source
    }

    fn spec(&self) -> &Spec {
        self.environments.spec()
    }

    fn begin(&self, rng: &Rng) -> Draws {
        Draws { acting: rng.fold_in(0), imagining: rng.fold_in(1) }
    }

    /// The action is drawn from the policy of the target network, or its most probable one; the value is v̂. The usual members are k = 1 to
    /// as far as the model was trained, along one path: the action, then actions drawn from the policy along the model.
    fn decide(
        &mut self,
        observations: &[u8],
        memories: &mut [Draws],
        wish: Wish<'_>,
    ) -> Result<Vec<Decision<usize>>, AgentError> {
        let (n, depth, acting) = (memories.len(), self.config.unroll, self.config.evaluate);
        let mut seen = Seen::default();
        self.net.torso.prepare(observations, &mut seen);
        let (target, executor) = self.target();
        let discount = target.discount;
        let choose = |memory: &mut Draws, policy: &[f32]| match acting {
            Acting::Sample => drawn(policy, memory.acting.uniform()),
            Acting::Mode => mode(policy),
        };
        if wish == Wish::Action {
            let [policy, values] = target.act(&seen, n, executor);
            let each = policy.chunks_exact(target.net.actions).zip(memories).zip(values);
            let decided = each.map(|((policy, memory), value)| Decision {
                action: choose(memory, policy),
                value: value.into(),
                members: None,
            });
            return Ok(decided.collect());
        }
        let mut actions = Vec::with_capacity(n);
        let paths = target.imagine(&seen, [n, 1], depth, executor, |step, row, policy| {
            let memory = &mut memories[row];
            if step > 0 {
                return drawn(policy, memory.imagining.uniform()) as u8;
            }
            actions.push(choose(memory, policy));
            actions[row] as u8
        });
        let usual = Members::new(1..=depth).expect("settings bound the depth");
        let members = match wish {
            Wish::These(these) => these,
            _ => &usual,
        };
        let each = paths.members(discount).into_iter().zip(actions);
        each.map(|(of_state, action)| {
            let members = Estimates::select(members, Some(of_state[0]), &of_state[1..])?;
            Ok(Decision { action, value: of_state[0], members: Some(members) })
        })
        .collect()
    }

    fn further(&mut self, observations: &[u8], memories: &[Draws]) -> Result<Vec<Further>, AgentError> {
        further::scores(self, observations, memories)
    }
}

/// Pictures with numbered actions: Procgen.
const PIXELS: Kinds =
    Kinds { observation: ObservationKind::Pixels, action: ive_envs::registry::ActionKind::Numbered };

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn actions_are_drawn_by_their_probabilities() {
        let policy = [0.0, 0.25, 0.5, 0.25, 0.0];
        let draws: Vec<usize> = [0.0, 0.2, 0.25, 0.7, 0.75, 0.999_999].map(|u| drawn(&policy, u)).to_vec();
        assert_eq!(draws, [1, 1, 2, 2, 3, 3]);
        // Single precision may add up to less than one.
        assert_eq!(drawn(&[0.3, 0.3, 0.3, 0.0], 0.95), 2);
        assert_eq!((mode(&policy), mode(&[0.5, 0.5])), (2, 0));
    }

    #[test]
    fn draws_come_back_as_they_were_saved() {
        let mut draws = Draws { acting: Rng::from_seed(1), imagining: Rng::from_seed(2) };
        draws.acting.uniform();
        let mut other = Draws { acting: Rng::from_seed(3), imagining: Rng::from_seed(3) };
        other.restore(&draws.save()).unwrap();
        assert_eq!(other, draws);
        assert!(other.restore(&[0; 79]).is_err() && other.restore(&[0; 88]).is_err());
    }
}
