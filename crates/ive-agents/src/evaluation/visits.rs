//! Visits to many places: what an agent gets there, and what it makes of the states that it meets.
//!
//! A place is an environment of the form in which the agent was trained, such as one level of a game. States of one place resemble
//! each other, so each comes with its place. Episodes are played side by side, every so many steps a state is scored, and scoring
//! changes nothing in the play: it happens on a copy of what the agent carries. Everything random in an episode comes from the seed, its
//! place and its number.

use ive::{Members, Rng};
use ive_envs::registry::Registered;
use ive_envs::{Action, BoxedEnvironment, Environment};

use super::episode::open;
use super::{decide, further};
use crate::AgentError;
use crate::bonus::Bonus;
use crate::player::{Estimates, Player, Wish};

/// How many episodes are played at once.
const AT_ONCE: usize = 64;
/// Streams of an episode.
const ENVIRONMENT: u64 = 1;
const EXPLORING: u64 = 2;
const DECIDING: u64 = 3;
const PROBING: u64 = 4;

/// Where an agent goes, and what is asked there.
#[derive(Clone, Debug, PartialEq)]
pub struct Visit {
    /// Environments of the form that it was trained in.
    pub places: Vec<Registered>,
    /// Episodes in each.
    pub episodes: usize,
    /// Everything random comes from it.
    pub seed: u64,
    /// The probability of a random action; 1 for the states of a random policy.
    pub epsilon: f64,
    /// The largest number of steps of an episode.
    pub max_steps: usize,
    /// Every so many steps a state is scored; the first time after a number of steps that is drawn.
    pub apart: usize,
    /// The members that are wanted.
    pub members: Members,
    /// γ of the returns that followed states.
    pub discount: f64,
    /// How it acts on its signal; `None` = not at all.
    pub bonus: Option<Bonus>,
}

/// An episode that is over.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Played {
    /// Its place, by number.
    pub place: usize,
    /// Its return.
    pub total: f64,
    /// Its steps.
    pub steps: usize,
    /// Whether the environment ended it.
    pub ended: bool,
}

/// A state that was met.
#[derive(Clone, Debug, PartialEq)]
pub struct Met {
    /// Its place, by number.
    pub place: usize,
    /// The value by which the agent would choose.
    pub value: f64,
    /// The members; none if the agent has no model.
    pub members: Option<Estimates>,
    /// Scores of the agent's own, in the order of [`Visited::further`].
    pub further: Vec<f64>,
    /// The discounted return that followed until the end of the episode.
    pub realised: f64,
}

/// What came of a visit.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Visited {
    /// All episodes, by place and number.
    pub episodes: Vec<Played>,
    /// All states that were scored, by place, episode and step.
    pub states: Vec<Met>,
    /// The names of scores of the agent's own ([`Player::further`]).
    pub further: Vec<&'static str>,
}

struct Episode<P: Player> {
    place: usize,
    environment: BoxedEnvironment<P::Action, P::Element>,
    observation: Vec<P::Element>,
    memory: P::Memory,
    exploring: Rng,
    /// Steps before the first state that is scored.
    offset: usize,
    rewards: Vec<f64>,
    ended: bool,
    /// States that were scored, with their steps; what they realised is filled in at the end.
    states: Vec<(usize, Met)>,
}

impl<P: Player> Episode<P> {
    fn begin(player: &P, visit: &Visit, number: usize) -> Result<Self, AgentError> {
        let place = number / visit.episodes;
        let stream =
            Rng::from_seed(visit.seed).fold_in(place as u64).fold_in((number % visit.episodes) as u64);
        let seed = stream.fold_in(ENVIRONMENT).next_u64();
        let mut environment = open(player, Some(&visit.places[place]), seed)?;
        Ok(Self {
            place,
            observation: environment.reset().observation,
            environment,
            memory: player.begin(&stream.fold_in(DECIDING)),
            exploring: stream.fold_in(EXPLORING),
            offset: stream.fold_in(PROBING).below(visit.apart),
            rewards: Vec::new(),
            ended: false,
            states: Vec::new(),
        })
    }

    fn is_probed(&self, visit: &Visit) -> bool {
        self.rewards.len() % visit.apart == self.offset
    }

    /// The discounted return behind each state.
    fn realise(&mut self, discount: f64) {
        let (mut after, mut next) = (0.0, self.rewards.len());
        for (step, state) in self.states.iter_mut().rev() {
            after = self.rewards[*step..next].iter().rev().fold(after, |sum, reward| reward + discount * sum);
            (state.realised, next) = (after, *step);
        }
    }
}

/// Makes a visit. Afterwards the agent acts without a bonus.
pub(super) fn visit<P: Player>(player: &mut P, visit: &Visit) -> Result<Visited, AgentError> {
    player.act_on(visit.bonus)?;
    let visited = played(player, visit);
    player.act_on(None)?;
    visited
}

fn played<P: Player>(player: &mut P, visit: &Visit) -> Result<Visited, AgentError> {
    let count = visit.places.len() * visit.episodes;
    let (mut begun, mut names) = (0, Vec::new());
    let mut playing: Vec<(usize, Episode<P>)> = Vec::new();
    let mut over: Vec<Option<Episode<P>>> = (0..count).map(|_| None).collect();
    loop {
        while playing.len() < AT_ONCE && begun < count {
            playing.push((begun, Episode::begin(player, visit, begun)?));
            begun += 1;
        }
        if playing.is_empty() {
            break;
        }
        probe(player, visit, &mut playing, &mut names)?;
        step(player, visit, &mut playing)?;
        let still = |e: &Episode<P>| !e.ended && e.rewards.len() < visit.max_steps;
        for (number, mut episode) in playing.extract_if(.., |(_, episode)| !still(episode)) {
            episode.realise(visit.discount);
            over[number] = Some(episode);
        }
    }
    let mut visited = Visited { further: names, ..Visited::default() };
    for episode in over.into_iter().flatten() {
        let Episode { place, rewards, ended, states, .. } = episode;
        let (total, steps) = (rewards.iter().sum(), rewards.len());
        visited.episodes.push(Played { place, total, steps, ended });
        visited.states.extend(states.into_iter().map(|(_, state)| state));
    }
    Ok(visited)
}

/// Scores the states whose turn it is.
fn probe<P: Player>(
    player: &mut P,
    visit: &Visit,
    playing: &mut [(usize, Episode<P>)],
    names: &mut Vec<&'static str>,
) -> Result<(), AgentError> {
    let mut probed: Vec<&mut Episode<P>> =
        playing.iter_mut().map(|(_, episode)| episode).filter(|e| e.is_probed(visit)).collect();
    if probed.is_empty() {
        return Ok(());
    }
    let observations: Vec<P::Element> = probed.iter().flat_map(|e| e.observation.iter().copied()).collect();
    let carried: Vec<P::Memory> = probed.iter().map(|e| e.memory.clone()).collect();
    let decisions = decide(player, &observations, &mut carried.clone(), Wish::These(&visit.members))?;
    let further = further(player, &observations, &carried)?;
    *names = further.iter().map(|own| own.name).collect();
    for (i, (episode, decision)) in probed.iter_mut().zip(decisions).enumerate() {
        let further = further.iter().map(|own| own.scores[i]).collect();
        let (place, value, members) = (episode.place, decision.value, decision.members);
        episode.states.push((episode.rewards.len(), Met { place, value, members, further, realised: 0.0 }));
    }
    Ok(())
}

/// One step of every episode.
fn step<P: Player>(
    player: &mut P,
    visit: &Visit,
    playing: &mut [(usize, Episode<P>)],
) -> Result<(), AgentError> {
    let observations: Vec<P::Element> =
        playing.iter().flat_map(|(_, e)| e.observation.iter().copied()).collect();
    let mut memories: Vec<P::Memory> = playing.iter().map(|(_, e)| e.memory.clone()).collect();
    let decisions = decide(player, &observations, &mut memories, Wish::Action)?;
    for (((_, episode), memory), decision) in playing.iter_mut().zip(memories).zip(decisions) {
        episode.memory = memory;
        let random = episode.exploring.uniform() < visit.epsilon;
        let spec = episode.environment.spec();
        let action = if random { Action::random(spec, &mut episode.exploring) } else { decision.action };
        let step = episode.environment.step_into(action, &mut episode.observation)?;
        player.remember(&mut episode.memory, action, step);
        episode.rewards.push(step.reward);
        episode.ended = step.kind.is_last();
    }
    Ok(())
}
