//! An episode, moment by moment.

use std::borrow::Cow;
use std::ops::ControlFlow;

use ive::{Guard, Members, Rng};
use ive_envs::registry::Registered;
use ive_envs::{Action, BoxedEnvironment, Environment, Sight, Spec, StepKind, TimeStep};

use super::corruption::{Corruption, Element};
use super::decide;
use crate::AgentError;
use crate::player::{Decision, Estimates, Player, Wish};

/// An episode is cut off here: a greedy agent may go in circles for ever.
pub const MAX_STEPS: u64 = 10_000;
/// The stream of a run's seed from which the environments of greedy episodes get theirs.
const ENVIRONMENTS: u64 = 0x6772_6565_6479;
/// The stream from which random actions come, and that for agents that draw while they decide.
const EXPLORING: u64 = 0x6578_706c;
const DECIDING: u64 = 0x6465_6369;
/// Streams of that for random actions: random fallbacks, and corruptions of what is seen.
const FALLBACK: u64 = 0x6661_6c6c;
const CORRUPTING: u64 = 0x636f_7272;
/// How many states of an episode a corruption may mix the present one with.
const REMEMBERED: usize = 64;

/// Where an episode begins: everything random in it comes from here.
#[derive(Clone, Debug)]
pub struct Start {
    /// The seed of the environment.
    pub environment: u64,
    /// Where random actions come from.
    pub exploring: Rng,
    /// Where the draws of an agent come from that draws while it decides.
    pub deciding: Rng,
}

impl Start {
    /// Episode `number` of a seed. With the seed of a run these are the greedy episodes of its result.
    pub fn numbered(seed: u64, number: usize) -> Self {
        let root = Rng::from_seed(seed);
        Self {
            environment: root.fold_in(ENVIRONMENTS).fold_in(number as u64).next_u64(),
            exploring: root.fold_in(EXPLORING).fold_in(number as u64),
            deciding: root.fold_in(DECIDING).fold_in(number as u64),
        }
    }

    /// The same in the environment of this very seed.
    #[must_use]
    pub fn in_environment(self, seed: u64) -> Self {
        Self { environment: seed, ..self }
    }
}

/// How an agent is made to play.
#[derive(Clone, Debug, PartialEq)]
pub struct Manner {
    /// The probability of a random action.
    pub epsilon: f64,
    /// The members that are wanted; none for those that the agent was trained to have.
    pub members: Option<Members>,
    /// The largest number of steps.
    pub max_steps: u64,
    /// How large pictures are to be, in pixels a side, where environments draw themselves; none if nobody looks.
    pub pictures: Option<usize>,
    /// Another environment than that of the training, with the same observations and actions.
    pub environment: Option<Registered>,
    /// The name of a corruption of everything that the agent sees, as of a broken camera.
    pub corruption: Option<String>,
    /// Who watches over it.
    pub guard: Option<Guarded>,
}

/// An alarm, and what is done then.
#[derive(Clone, Debug, PartialEq)]
pub struct Guarded {
    /// What an alarm is.
    pub guard: Guard,
    /// The number that it judges.
    pub judges: Judges,
    /// What is done in place of the agent's action; without one, alarms are only told.
    pub fallback: Option<Fallback>,
    /// Whether that goes on to the end of the episode once there was an alarm.
    pub lasting: bool,
    /// Whether the episode is stopped at the first alarm.
    pub stop: bool,
}

/// What a guard judges. An agent without a model has a value only; asked for σ, it raises an alarm at every step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judges {
    /// σ-IVE.
    Sigma,
    /// −μ-IVE, or minus the value of an agent without a model.
    LowValue,
}

/// What is done in place of what an agent wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fallback {
    /// Any action.
    Random,
    /// The action of this name.
    Action(String),
}

impl Default for Manner {
    fn default() -> Self {
        Self {
            epsilon: 0.0,
            members: None,
            max_steps: MAX_STEPS,
            pictures: None,
            environment: None,
            corruption: None,
            guard: None,
        }
    }
}

/// A moment of an episode: what the last step brought, and what the agent is about to do.
#[derive(Clone, Debug, PartialEq)]
pub struct Moment {
    /// How many steps of the episode are over.
    pub step: u64,
    /// Where in the episode we are.
    pub kind: StepKind,
    /// The reward of the step that led here; 0 at the start.
    pub reward: f64,
    /// What is going to be done, in words, and what the agent expects; none when the episode is over.
    pub decision: Option<Decision<Cow<'static, str>>>,
    /// Whether the action was drawn at random: value and members then belong to what the agent would have done.
    pub random: bool,
    /// Whether the guard raised an alarm here.
    pub alarm: bool,
    /// Whether the action is the fallback's: value and members then belong to what the agent would have done.
    pub fallback: bool,
    /// What there is to see, if somebody looks.
    pub sight: Option<Sight>,
}

impl Moment {
    /// μ-IVE, or the value of an agent without a model.
    pub fn mu(&self) -> Option<f64> {
        let decision = self.decision.as_ref()?;
        Some(decision.members.as_ref().map_or(decision.value, Estimates::mu))
    }

    /// σ-IVE; none for an agent without a model.
    pub fn sigma(&self) -> Option<f64> {
        self.decision.as_ref()?.members.as_ref().map(Estimates::sigma)
    }
}

/// How it came that an episode is not played on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The environment ended it.
    Over,
    /// It had as many steps as it may have.
    CutOff,
    /// Whoever watched had seen enough, or the guard stopped it.
    Stopped,
}

/// Plays an episode.
pub(super) fn play<P: Player>(
    player: &mut P,
    start: &Start,
    manner: &Manner,
    watch: &mut dyn FnMut(&Moment) -> ControlFlow<()>,
) -> Result<End, AgentError> {
    let mut environment = open(player, manner.environment.as_ref(), start.environment)?;
    let mut exploring = start.exploring.clone();
    let mut eyes =
        manner.corruption.as_deref().map(|name| Eyes::<P>::new(player, name, start)).transpose()?;
    let mut rescue =
        manner.guard.as_ref().map(|guarded| Rescue::<P>::new(player, guarded, start)).transpose()?;
    let mut memory = [player.begin(&start.deciding)];
    let wish = Wish::of(manner.members.as_ref());
    let first = environment.reset();
    let (mut observation, mut now) = (first.observation, TimeStep::new(first.kind, first.reward));
    for step in 0.. {
        let over = now.kind.is_last() || step == manner.max_steps;
        let sight = manner.pictures.and_then(|side| environment.sight(side));
        let (kind, reward) = (now.kind, now.reward);
        let mut moment = Moment {
            step,
            kind,
            reward,
            decision: None,
            random: false,
            alarm: false,
            fallback: false,
            sight,
        };
        if over {
            // There is nothing left to stop.
            let _ = watch(&moment);
            return Ok(if now.kind.is_last() { End::Over } else { End::CutOff });
        }
        let seen = eyes.as_mut().map(|eyes| eyes.see(player, &observation));
        let seen = seen.as_deref().unwrap_or(&observation);
        let decision = decide(player, seen, &mut memory, wish)?.remove(0);
        moment.random = exploring.uniform() < manner.epsilon;
        let spec = environment.spec();
        let mut action = if moment.random { Action::random(spec, &mut exploring) } else { decision.action };
        if let Some(rescue) = &mut rescue {
            moment.alarm = rescue.alarm(&decision);
            if let Some(other) = rescue.action(moment.alarm, spec) {
                (action, moment.fallback, moment.random) = (other, true, false);
            }
        }
        moment.decision =
            Some(Decision { action: action.name(spec), value: decision.value, members: decision.members });
        let stops = moment.alarm && manner.guard.as_ref().is_some_and(|guarded| guarded.stop);
        if watch(&moment).is_break() || stops {
            return Ok(End::Stopped);
        }
        now = environment.step_into(action, &mut observation)?;
        player.remember(&mut memory[0], action, now);
    }
    Ok(End::CutOff)
}

/// Eyes that corrupt what they see.
struct Eyes<P: Player> {
    corruption: &'static Corruption<P::Element>,
    /// The last states as they are.
    states: Vec<Vec<P::Element>>,
    rng: Rng,
}

impl<P: Player> Eyes<P> {
    fn new(player: &P, name: &str, start: &Start) -> Result<Self, AgentError> {
        let all = P::Element::corruptions(player.observes());
        let known = || all.iter().map(|corruption| corruption.name).collect();
        let found = all.iter().find(|corruption| corruption.name == name);
        let corruption =
            found.ok_or_else(|| AgentError::Corruption { name: name.to_owned(), known: known() })?;
        Ok(Self { corruption, states: Vec::new(), rng: start.exploring.fold_in(CORRUPTING) })
    }

    /// What the agent sees of a state.
    fn see(&mut self, player: &P, observation: &[P::Element]) -> Vec<P::Element> {
        if self.states.len() == REMEMBERED {
            self.states.remove(0);
        }
        self.states.push(observation.to_vec());
        self.corruption.of(&self.states, self.states.len() - 1, &player.spec().shape, &mut self.rng)
    }
}

/// A guard at work.
struct Rescue<'a, P: Player> {
    guarded: &'a Guarded,
    /// The fallback; none for a random action.
    action: Option<P::Action>,
    /// Whether there was an alarm before.
    alarmed: bool,
    rng: Rng,
}

impl<'a, P: Player> Rescue<'a, P> {
    fn new(player: &P, guarded: &'a Guarded, start: &Start) -> Result<Self, AgentError> {
        let action = match &guarded.fallback {
            Some(Fallback::Action(name)) => Some(Action::named(player.spec(), name).ok_or_else(|| {
                AgentError::Action { name: name.clone(), known: player.spec().actions.clone() }
            })?),
            _ => None,
        };
        Ok(Self { guarded, action, alarmed: false, rng: start.exploring.fold_in(FALLBACK) })
    }

    fn alarm(&mut self, decision: &Decision<P::Action>) -> bool {
        let members = decision.members.as_ref();
        let score = match self.guarded.judges {
            Judges::Sigma => members.map_or(f64::NAN, Estimates::sigma),
            Judges::LowValue => -members.map_or(decision.value, Estimates::mu),
        };
        let alarm = self.guarded.guard.is_alarm(score);
        self.alarmed |= alarm;
        alarm
    }

    /// What is done in place of the agent's action, if anything is.
    fn action(&mut self, alarm: bool, spec: &Spec) -> Option<P::Action> {
        let takes_over = alarm || (self.guarded.lasting && self.alarmed);
        if !takes_over || self.guarded.fallback.is_none() {
            return None;
        }
        Some(self.action.unwrap_or_else(|| Action::random(spec, &mut self.rng)))
    }
}

/// The environment of a seed: the player's own, or another of the same form.
pub(super) fn open<P: Player>(
    player: &P,
    other: Option<&Registered>,
    seed: u64,
) -> Result<BoxedEnvironment<P::Action, P::Element>, AgentError> {
    let Some(other) = other else { return Ok(player.environments().one(seed)?) };
    let differs = || AgentError::Form { name: other.name().to_owned() };
    let environment = P::source(other).ok_or_else(differs)?.one(seed)?;
    let form = |spec: &Spec| (spec.shape.clone(), spec.actions.clone());
    if form(environment.spec()) == form(player.spec()) { Ok(environment) } else { Err(differs()) }
}
