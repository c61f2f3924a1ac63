//! How Dreamer acts: while it collects, and for whoever watches.

use ive::{Members, Rng};
use ive_envs::registry::{Kinds, Registered};
use ive_envs::walker::{self, task::MOTORS};
use ive_envs::{Spec, StepKind, TimeStep};

use super::agent::{Current, Dreamer};
use super::config::{Behaviour, Config, PlanNoise};
use super::memory::Carried;
use super::mind::{ACTOR, MODEL, Mind, VALUE};
use super::network::Latent;
use super::observed::Observed;
use super::plan::split;
use super::update::normals;
use crate::AgentError;
use crate::archive::{Archive, ArchiveError, Element};
use crate::clock::Part;
use crate::experience::Window;
use crate::nn::members::k_step_values;
use crate::nn::{Block, Graph, Var};
use crate::player::{Decision, Estimates, Further, Player, Source, Wish};
use crate::streams::PROBING;

/// Decisions between two looks at how much of a utility is due to actions, and how often sequences are then judged.
const PROBED_EVERY: u64 = 50;
const PROBES: usize = 10;

/// Several situations, row by row: what was carried, what is seen, and noise.
#[derive(Clone, Debug, Default)]
pub struct Inputs {
    /// z of the states before, and after [`Mind::filter`] of those after.
    pub z: Vec<f32>,
    /// d, likewise.
    pub d: Vec<f32>,
    /// What was done last.
    pub actions: Vec<f32>,
    /// Noise of the new z.
    pub noise: Vec<f32>,
    /// What is seen, standardised.
    pub observations: Vec<f32>,
    /// Of one row.
    pub(super) some: Vec<f32>,
    pub(super) members: Vec<f32>,
}

impl Inputs {
    /// Takes up what was carried, and draws noise from its streams.
    pub(super) fn fill(&mut self, carried: &mut [Carried]) {
        for part in [&mut self.z, &mut self.d, &mut self.actions, &mut self.noise] {
            part.clear();
        }
        for one in carried {
            self.z.extend_from_slice(&one.z);
            self.d.extend_from_slice(&one.d);
            self.actions.extend_from_slice(&one.action);
            normals(one.z.len(), &mut one.rng, &mut self.some);
            self.noise.extend_from_slice(&self.some);
        }
    }

    /// Puts the new states where the old ones were carried.
    fn give(&self, carried: &mut [Carried]) {
        let count = carried.len();
        let (z, d) = (self.z.chunks_exact(self.z.len() / count), self.d.chunks_exact(self.d.len() / count));
        for (one, (z, d)) in carried.iter_mut().zip(z.zip(d)) {
            one.z.copy_from_slice(z);
            one.d.copy_from_slice(d);
        }
    }
}

impl Mind {
    /// What the model makes of what is seen: mean and standard deviation of the posterior, and a state drawn from it with the noise of
    /// `inputs`. The parameters of the graph are those of [`frozen`](Self::frozen).
    pub(super) fn look(&self, g: &mut dyn Graph, inputs: &Inputs) -> ((Var, Var), Latent) {
        let [stochastic, deterministic] = self.model.latent;
        let before = Latent { z: g.input(&inputs.z, stochastic), d: g.input(&inputs.d, deterministic) };
        let actions = g.input(&inputs.actions, self.actor.motors);
        let observations = g.input(&inputs.observations, self.model.observation);
        let d = self.model.dynamics.advance(g, MODEL, before, actions);
        let embedding = self.model.encode(g, MODEL, observations);
        let (mean, std) = self.model.posterior(g, MODEL, d, embedding);
        ((mean, std), Latent { z: g.normal(mean, std, &inputs.noise), d })
    }

    /// The posterior states after what is seen; written over those in `inputs`.
    pub fn filter(&self, g: &mut dyn Graph, inputs: &mut Inputs) -> Latent {
        let (_, state) = self.look(g, inputs);
        g.read(state.z, &mut inputs.z);
        g.read(state.d, &mut inputs.d);
        state
    }

    /// What the actor does in states: its mode, or with noise a sample.
    pub fn act(&self, g: &mut dyn Graph, state: Latent, noise: Option<&[f32]>) -> Var {
        let features = state.features(g);
        self.actor.act(g, ACTOR, features, noise)
    }

    /// v̂ of features, the mean of all values.
    pub(super) fn value_of(&self, g: &mut dyn Graph, features: Var) -> Var {
        let count = self.learn_values.len();
        let each: Vec<(f32, Var)> = (0..count)
            .map(|i| (1.0 / count as f32, self.value.value(g, Block(VALUE.0 + i), features)))
            .collect();
        if count == 1 { each[0].1 } else { g.linear(&each, 0.0) }
    }

    /// The members k = 0 to the length of a path of features, `[states, k]`: `Σ_{i<k} γⁱ r̂(sⁱ) + γᵏ v̂(sᵏ)`. Paper: Eq. (7), with
    /// rewards that belong to states.
    pub(super) fn members_along(&self, g: &mut dyn Graph, path: &[Var], discount: f64) -> Var {
        let all = g.stack(path);
        let (rewards, values) = (self.model.dynamics.reward(g, MODEL, all), self.value_of(g, all));
        let (rewards, values) = (split(g, rewards, path.len()), split(g, values, path.len()));
        k_step_values(g, &rewards, &values, discount as f32, 0..=path.len() - 1)
    }

    /// The members k = 0 to `plan_horizon` along the means of the prior and the modes of the actor.
    pub fn members(&self, g: &mut dyn Graph, mut state: Latent, config: &Config) -> Var {
        let mut path = vec![state.features(g)];
        for t in 0..config.plan_horizon {
            let action = self.actor.act(g, ACTOR, path[t], None);
            state = self.model.dynamics.imagine(g, MODEL, state, action, None);
            path.push(state.features(g));
        }
        self.members_along(g, &path, config.discount)
    }
}

/// An observation as it is kept, with every number finite.
fn kept<E: Observed>(seen: &[E], step: u64) -> Result<Vec<E::Kept>, AgentError> {
    let kept: Vec<E::Kept> = seen.iter().map(|&x| x.keep()).collect();
    #[cfg(test)]
    let kept = {
        let mut kept = kept;
        crate::poison::kept("observation", step, &mut kept);
        kept
    };
    let finite = kept.iter().all(|x| x.is_finite());
    if finite { Ok(kept) } else { Err(AgentError::NotFinite { what: "observation".to_owned(), step }) }
}

impl<K: Element> Current<K> {
    /// Saves or restores.
    pub(super) fn archive(&mut self, observation: usize, archive: &mut Archive) -> Result<(), ArchiveError> {
        archive.list("current.observations", &mut self.observations)?;
        archive.f32s("current.actions", &mut self.actions)?;
        archive.f32s("current.rewards", &mut self.rewards)?;
        let steps = self.rewards.len();
        let entries = if self.observations.is_empty() && steps == 0 { 0 } else { steps + 1 };
        let fits = self.observations.len() == entries * observation && self.actions.len() == steps * MOTORS;
        let finite = self.observations.iter().all(|x| x.is_finite())
            && self.rewards.iter().all(|x| x.is_finite())
            && self.actions.iter().all(|x| (-1.0..=1.0).contains(x));
        let wrong =
            |problem: &str| ArchiveError::Content { name: "current".to_owned(), problem: problem.to_owned() };
        match (fits, finite) {
            (true, true) => Ok(()),
            (false, _) => Err(wrong("its parts do not fit together")),
            (true, false) => Err(wrong("it has a number that no episode has")),
        }
    }
}

impl<E: Observed> Dreamer<E> {
    /// One action, and what follows.
    pub(super) fn play(&mut self) -> Result<(), AgentError> {
        if self.current.observations.is_empty() {
            self.current.observations = kept(self.environment.batch().observations, self.steps)?;
        }
        let action = if self.steps < self.config.prefill {
            [(); MOTORS].map(|()| (2.0 * self.carried.rng.uniform() - 1.0) as f32)
        } else {
            let action = self.act()?;
            self.probe();
            action
        };
        self.clock.lap(Part::Decisions);
        let now = self.environment.step(&[action.map(f64::from)])?;
        self.clock.lap(Part::Worlds);
        let (reward, kind) = (now.rewards[0] as f32, now.kinds[0]);
        #[cfg(test)]
        let reward = crate::poison::number("reward", self.steps, reward.into()) as f32;
        let seen = kept(if kind.is_last() { now.last_observations } else { now.observations }, self.steps)?;
        if !reward.is_finite() {
            return Err(AgentError::NotFinite { what: "reward".to_owned(), step: self.steps });
        }
        if kind == StepKind::Terminated {
            return Err(AgentError::Ended { step: self.steps });
        }
        self.current.observations.extend(seen);
        self.current.actions.extend_from_slice(&action);
        self.current.rewards.push(reward);
        self.episodes.step(0, reward, kind.is_last());
        self.carried.action.copy_from_slice(&action);
        self.steps += self.repeat;
        if kind.is_last() {
            self.end_episode(kind)?;
        }
        Ok(())
    }

    /// Now and then: how much of the variance of the utility over sampled sequences would be due to their actions, if each had latent noise of
    /// its own, as printed in the paper. It draws from a stream of its own and changes nothing.
    fn probe(&mut self) {
        if !(self.steps / self.repeat).is_multiple_of(PROBED_EVERY) {
            return;
        }
        let config = Config { plan_noise: PlanNoise::Independent, ..self.config.clone() };
        let (mut rng, carried) = (self.evaluation.fold_in(PROBING).fold_in(self.steps), &self.carried);
        let share =
            self.planner.share_of_actions(&self.mind, &config, &carried.z, &carried.d, PROBES, &mut rng);
        share.into_iter().for_each(|share| self.meter.share(share));
    }

    /// Keeps the episode that is over.
    fn end_episode(&mut self, kind: StepKind) -> Result<(), AgentError> {
        let (steps, room) = (self.current.rewards.len(), self.config.replay_capacity);
        if steps >= room {
            let problem = format!("must be more than the {steps} steps of an episode, got {room}");
            return Err(AgentError::Setting { key: "replay_capacity", problem });
        }
        let Current { observations, actions, rewards } = &mut self.current;
        let mut kinds = vec![StepKind::Mid; rewards.len()];
        kinds.iter_mut().last().into_iter().for_each(|last| *last = kind);
        self.replay.push(Window { observations, actions, rewards, kinds: &kinds, policies: &[] });
        self.meter.episode(rewards);
        observations.clear();
        actions.clear();
        rewards.clear();
        self.carried.restart();
        Ok(())
    }

    /// What to do now while collecting: the actor's sample with noise, or a plan.
    fn act(&mut self) -> Result<[f32; MOTORS], AgentError> {
        let Self { mind, config, inputs, carried, decider, .. } = self;
        let last = self.current.observations.len() - self.sizes.observation;
        inputs.observations.clear();
        self.standard.apply::<E>(&self.current.observations[last..], &mut inputs.observations);
        inputs.fill(std::slice::from_mut(carried));
        let actor = config.behaviour == Behaviour::Actor;
        let mut chosen = Vec::with_capacity(MOTORS);
        let (mut noise, mut exploration) = (Vec::new(), Vec::new());
        if actor {
            normals(MOTORS, &mut carried.rng, &mut noise);
            normals(MOTORS, &mut carried.rng, &mut exploration);
        }
        decider.run(&mind.frozen(), |g| {
            let state = mind.filter(g, inputs);
            if actor {
                let action = mind.act(g, state, Some(&noise));
                let members = mind.members(g, state, config);
                g.read(action, &mut chosen);
                g.read(members, &mut inputs.members);
            }
        });
        inputs.give(std::slice::from_mut(carried));
        let not_finite = || AgentError::NotFinite { what: "predicted value".to_owned(), step: self.steps };
        if actor {
            for (a, x) in chosen.iter_mut().zip(&exploration) {
                *a = (*a + config.exploration as f32 * x).clamp(-1.0, 1.0);
            }
            let members: Vec<f64> = inputs.members.iter().map(|&x| x.into()).collect();
            let std = ive::standard_deviation(&members, 0).map_err(|_| not_finite())?;
            self.meter.decision(ive::mean(&members), std);
        } else {
            let plan = self.planner.plan(mind, config, &carried.z, &carried.d, &mut carried.rng);
            if !(plan.mean.is_finite() && plan.std.is_finite()) {
                return Err(not_finite());
            }
            self.meter.plan(&plan);
            chosen = plan.action;
        }
        Ok(chosen.try_into().expect("an action has a number for each motor"))
    }
}

impl<E: Observed> Player for Dreamer<E> {
    type Action = walker::Action;
    type Element = E;
    type Memory = Carried;

    const LEARNS: &'static [Kinds] = &[E::KINDS];

    fn source(environment: &Registered) -> Option<Source<walker::Action, E>> {
        E::source(environment)
    }

    fn environments(&self) -> &Source<walker::Action, E> {
        &self.source
    }

    fn spec(&self) -> &Spec {
        self.environment.spec()
    }

    fn begin(&self, rng: &Rng) -> Carried {
        Carried::new(&self.sizes, rng.clone())
    }

    /// The mode of the actor. The usual members are k = 0 to `plan_horizon`: v̂ of the state itself has learnt like the others, and belongs
    /// to what is asked of a state. Plans leave it out, since no action changes it.
    fn decide(
        &mut self,
        observations: &[E],
        memories: &mut [Carried],
        wish: Wish<'_>,
    ) -> Result<Vec<Decision<walker::Action>>, AgentError> {
        let Self { mind, config, inputs, decider, .. } = self;
        let kept: Vec<E::Kept> = observations.iter().map(|&x| x.keep()).collect();
        inputs.observations.clear();
        self.standard.apply::<E>(&kept, &mut inputs.observations);
        inputs.fill(memories);
        let mut actions = Vec::new();
        decider.run(&mind.frozen(), |g| {
            let state = mind.filter(g, inputs);
            let action = mind.act(g, state, None);
            g.read(action, &mut actions);
            inputs.members.clear();
            if wish != Wish::Action {
                let members = mind.members(g, state, config);
                g.read(members, &mut inputs.members);
            }
        });
        inputs.give(memories);
        let decided = |(i, action): (usize, &[f32])| {
            let action: walker::Action = std::array::from_fn(|motor| action[motor].into());
            let n = config.plan_horizon + 1;
            let members: Vec<f64> =
                inputs.members.iter().skip(i * n).take(n).map(|&x| f64::from(x)).collect();
            let (value, members) = match wish {
                Wish::Action => (0.0, None),
                Wish::Usual => (members[0], Some(Estimates::new(usual(config.plan_horizon), members))),
                Wish::These(wish) => {
                    (members[0], Some(Estimates::select(wish, Some(members[0]), &members[1..])?))
                }
            };
            Ok(Decision { action, value, members })
        };
        actions.chunks_exact(MOTORS).enumerate().map(decided).collect()
    }

    fn further(&mut self, observations: &[E], memories: &[Carried]) -> Result<Vec<Further>, AgentError> {
        Ok(self.own_scores(observations, memories))
    }

    fn remember(&self, memory: &mut Carried, action: walker::Action, _: TimeStep<()>) {
        memory.action.iter_mut().zip(action).for_each(|(a, x)| *a = x.clamp(-1.0, 1.0) as f32);
    }
}

/// k = 0 to n.
fn usual(n: usize) -> Members {
    Members::new(0..=n).expect("settings bound the horizon")
}
