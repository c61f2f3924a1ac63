//! What an agent says of ordinary states and of states that are out of distribution.
//!
//! Ordinary states are collected from ε-greedy play; each is [corrupted](super::corruption) in every way there is for its
//! kind of observation. An agent that carries something from step to step meets the corrupted state with what it carried
//! to the ordinary one. Natural shifts are states of play in another environment or by another policy.

use std::borrow::Cow;

use ive::{Members, Rng};
use ive_envs::registry::Registered;
use ive_envs::{Action, BoxedEnvironment, Environment, Sight};

use super::corruption::Element;
use super::episode::open;
use super::novelty::Distillation;
use super::{Corruption, decide, further};
use crate::AgentError;
use crate::player::{Estimates, Further, Player, Wish};

/// The probability of a random action while ordinary states are collected.
pub const EPSILON: f64 = 0.05;
/// Environments that are played side by side for that.
const ENVIRONMENTS: usize = 16;
/// A state is kept every so many steps: neighbours are nearly the same.
const APART: usize = 8;
/// States for which the agent decides at once.
const AT_ONCE: usize = 64;
/// Behind the last state that is kept, play goes on until what is left of a return weighs less than this.
const NEGLIGIBLE: f64 = 1e-4;
/// Streams of the seed.
const PLAYING: u64 = 1;
const CORRUPTING: u64 = 2;
const SHIFTING: u64 = 3;
const LEARNING: u64 = 4;
/// Of the stream for playing, that for agents that draw while they decide.
const DECIDING: u64 = 0x6465_6369;

/// Which states are scored, and how.
#[derive(Clone, Debug, PartialEq)]
pub struct Survey {
    /// How many ordinary states; there are as many of each corruption and shift.
    pub states: usize,
    /// Everything random comes from it.
    pub seed: u64,
    /// The members that are wanted; none for those that the agent was trained to have.
    pub members: Option<Members>,
    /// γ of returns and of surprise.
    pub discount: f64,
    /// Natural shifts.
    pub shifts: Vec<Shift>,
    /// Whether corruptions have lasted for a step already: the state before was corrupted in the same way, so surprise compares two corrupted
    /// predictions. Otherwise it was ordinary, and surprise sees the onset.
    pub lasting: bool,
    /// On how many other states of its play a random network is distilled, for [novelty](super::novelty); 0 for no novelty.
    pub distilled: usize,
}

impl Survey {
    /// So many states, without shifts and novelty.
    pub fn new(states: usize, seed: u64) -> Self {
        Self { states, seed, members: None, discount: 1.0, shifts: Vec::new(), lasting: false, distilled: 0 }
    }
}

/// States that come about in another way.
#[derive(Clone, Debug, PartialEq)]
pub struct Shift {
    /// In words.
    pub name: String,
    /// Another environment with the same observations and actions.
    pub environment: Option<Registered>,
    /// The probability of a random action.
    pub epsilon: f64,
}

/// What an agent says of some states.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scores {
    /// What was done to the states, in words.
    pub name: Cow<'static, str>,
    /// The first of them, if there is something to see.
    pub example: Option<Sight>,
    /// The value of each, by which the agent would choose.
    pub values: Vec<f64>,
    /// The members of each; none if the agent has no model.
    pub members: Option<Vec<Estimates>>,
    /// [`surprise`] of the step that led to each; 0 where an episode begins, empty where nobody asked.
    pub surprise: Vec<f64>,
    /// How new each looks, whatever the agent thinks; empty unless it was asked for.
    pub novelty: Vec<f64>,
    /// Further scores of the agent's own; the larger, the stranger.
    pub further: Vec<Further>,
}

impl Scores {
    /// Adds further scores of more states to those that are there.
    pub(super) fn add(&mut self, more: Vec<Further>) {
        if self.further.is_empty() {
            self.further = more;
        } else {
            self.further.iter_mut().zip(more).for_each(|(all, some)| all.scores.extend(some.scores));
        }
    }
}

/// The error of a prediction one step ahead: `|r + γ v(s') − q(s, a)|`, the temporal-difference error that every agent with a
/// value has without a model.
pub fn surprise(expected: f64, reward: f64, discount: f64, value: f64) -> f64 {
    (reward + discount * value - expected).abs()
}

/// States of play, and what an agent says of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Met {
    /// The episode from which each state is, counted from 0.
    pub episodes: Vec<usize>,
    /// The discounted return that followed each; empty where nobody asked.
    pub realised: Vec<f64>,
    /// What the agent says.
    pub scores: Scores,
}

/// What an agent says of ordinary states, of corruptions of them, and of shifted ones.
#[derive(Clone, Debug, PartialEq)]
pub struct Scored {
    /// The states as they were met.
    pub ordinary: Met,
    /// For each corruption, the states in the same order.
    pub corrupted: Vec<Scores>,
    /// For each shift, other states.
    pub shifted: Vec<Met>,
}

/// States from play.
struct States<P: Player> {
    observations: Vec<Vec<P::Element>>,
    /// What the agent carried to each.
    memories: Vec<P::Memory>,
    /// The episode of each, counted from 0.
    episodes: Vec<usize>,
    /// What was expected of the step that led to each, and its reward; none where an episode begins.
    arrivals: Vec<Option<(f64, f64)>>,
    /// The state before each, with what the agent carried to it; of no meaning where an episode begins.
    before: Vec<(Vec<P::Element>, P::Memory)>,
    /// The discounted return that followed each.
    realised: Vec<f64>,
}

/// How states come about.
struct Play<'a> {
    environment: Option<&'a Registered>,
    epsilon: f64,
    count: usize,
    /// A state is kept every so many steps.
    apart: usize,
    discount: f64,
}

/// Collects ordinary states and scores them, every corruption of them, and shifted ones.
pub(super) fn scores<P: Player>(player: &mut P, survey: &Survey) -> Result<Scored, AgentError> {
    let root = Rng::from_seed(survey.seed);
    let usual =
        |count, apart| Play { environment: None, epsilon: EPSILON, count, apart, discount: survey.discount };
    let met = collect(player, &usual(survey.states, APART), &root.fold_in(PLAYING))?;
    let novelty = if survey.distilled > 0 {
        let rng = &root.fold_in(LEARNING);
        let others = collect(player, &usual(survey.distilled, 1), rng)?;
        Some(Distillation::learn(&numbers(&others.observations), player.spec().observation_len(), rng)?)
    } else {
        None
    };
    let scorer = Scorer { survey, novelty };
    let ordinary = scorer.met(player, "none".into(), &met)?;
    let mut corrupted = Vec::new();
    let shape = player.spec().shape.clone();
    let all: &[Corruption<P::Element>] = P::Element::corruptions(player.observes());
    for (number, corruption) in all.iter().enumerate() {
        let rng = root.fold_in(CORRUPTING).fold_in(number as u64);
        let corrupt = |states: &[Vec<P::Element>]| corruption.apply(states, &shape, &mut rng.clone());
        let strange = corrupt(&met.observations);
        let arrivals =
            if survey.lasting { corrupted_arrivals(player, &met, corrupt)? } else { met.arrivals.clone() };
        corrupted.push(scorer.score(player, corruption.name.into(), &strange, &met, &arrivals)?);
    }
    let mut shifted = Vec::new();
    for (number, shift) in survey.shifts.iter().enumerate() {
        let play = Play {
            environment: shift.environment.as_ref(),
            epsilon: shift.epsilon,
            ..usual(survey.states, APART)
        };
        let met = collect(player, &play, &root.fold_in(SHIFTING).fold_in(number as u64))?;
        shifted.push(scorer.met(player, shift.name.clone().into(), &met)?);
    }
    Ok(Scored { ordinary, corrupted, shifted })
}

/// What is expected of the steps that led to states, where the states before them are corrupted, too.
fn corrupted_arrivals<P: Player>(
    player: &mut P,
    met: &States<P>,
    corrupt: impl Fn(&[Vec<P::Element>]) -> Vec<Vec<P::Element>>,
) -> Result<Vec<Option<(f64, f64)>>, AgentError> {
    let (states, mut carried): (Vec<Vec<P::Element>>, Vec<P::Memory>) = met.before.iter().cloned().unzip();
    let mut values = Vec::with_capacity(states.len());
    for (some, carried) in corrupt(&states).chunks(AT_ONCE).zip(carried.chunks_mut(AT_ONCE)) {
        values.extend(decide(player, &some.concat(), carried, Wish::Usual)?.iter().map(|d| d.value));
    }
    let arrived = |(arrival, value): (&Option<(f64, f64)>, f64)| arrival.map(|(_, reward)| (value, reward));
    Ok(met.arrivals.iter().zip(values).map(arrived).collect())
}

/// States from ε-greedy play in sixteen environments side by side, some steps apart. Every state is one in which the agent
/// had to act.
fn collect<P: Player>(player: &mut P, play: &Play<'_>, rng: &Rng) -> Result<States<P>, AgentError> {
    let start = |i| open(player, play.environment, rng.fold_in(i as u64).next_u64());
    let mut environments =
        (0..ENVIRONMENTS).map(start).collect::<Result<Vec<BoxedEnvironment<P::Action, P::Element>>, _>>()?;
    let mut acting = rng.fold_in(ENVIRONMENTS as u64);
    let mut deciding = rng.fold_in(DECIDING);
    let mut begin = |player: &P| {
        deciding = deciding.fold_in(1);
        player.begin(&deciding)
    };
    let mut seen: Vec<Vec<P::Element>> = environments.iter_mut().map(|e| e.reset().observation).collect();
    let mut carried: Vec<P::Memory> = seen.iter().map(|_| begin(player)).collect();
    let mut kept = States {
        observations: Vec::new(),
        memories: Vec::new(),
        episodes: Vec::new(),
        arrivals: Vec::new(),
        before: Vec::new(),
        realised: Vec::new(),
    };
    // Of each environment, the states whose return is not complete yet, with the weight of the next reward.
    let mut open: Vec<Vec<(usize, f64)>> = vec![Vec::new(); ENVIRONMENTS];
    // The episode that goes on in each environment; numbered without gaps below.
    let (mut current, mut begun) = ((0..ENVIRONMENTS).collect::<Vec<usize>>(), ENVIRONMENTS);
    for t in 1.. {
        let keeps = t % play.apart == 0 && kept.observations.len() < play.count;
        let wish = if keeps { Wish::Usual } else { Wish::Action };
        let wanted = if keeps { ENVIRONMENTS.min(play.count - kept.observations.len()) } else { 0 };
        kept.before.extend(seen.iter().cloned().zip(carried.iter().cloned()).take(wanted));
        let decisions = decide(player, &seen.concat(), &mut carried, wish)?;
        let mut arrivals = Vec::with_capacity(ENVIRONMENTS);
        for (i, decision) in decisions.into_iter().enumerate() {
            let environment = &mut environments[i];
            let random = acting.uniform() < play.epsilon;
            let action =
                if random { Action::random(environment.spec(), &mut acting) } else { decision.action };
            let step = environment.step_into(action, &mut seen[i])?;
            player.remember(&mut carried[i], action, step);
            for (state, weight) in &mut open[i] {
                kept.realised[*state] += *weight * step.reward;
                *weight *= play.discount;
            }
            arrivals.push(Some((decision.value, step.reward)));
            if step.kind.is_last() {
                open[i].clear();
                arrivals[i] = None;
                seen[i] = environment.reset().observation;
                carried[i] = begin(player);
                (current[i], begun) = (begun, begun + 1);
            }
        }
        for i in 0..wanted {
            open[i].push((kept.observations.len(), 1.0));
            kept.observations.push(seen[i].clone());
            kept.memories.push(carried[i].clone());
            kept.episodes.push(current[i]);
            kept.arrivals.push(arrivals[i]);
            kept.realised.push(0.0);
        }
        let heavy = |states: &Vec<(usize, f64)>| states.iter().any(|(_, weight)| *weight > NEGLIGIBLE);
        // Without a discount nothing becomes negligible, and nobody asked for returns.
        let waiting = play.discount < 1.0 && open.iter().any(heavy);
        if kept.observations.len() == play.count && !waiting {
            break;
        }
    }
    let mut numbers: Vec<usize> = kept.episodes.clone();
    numbers.sort_unstable();
    numbers.dedup();
    kept.episodes.iter_mut().for_each(|e| *e = numbers.partition_point(|s| s < e));
    Ok(kept)
}

/// States as a network takes them, one after the other.
fn numbers<T: Element>(states: &[Vec<T>]) -> Vec<f32> {
    states.iter().flatten().map(|entry| entry.as_input()).collect()
}

/// How states are scored.
struct Scorer<'a> {
    survey: &'a Survey,
    novelty: Option<Distillation>,
}

impl Scorer<'_> {
    /// Scores states as they were met.
    fn met<P: Player>(
        &self,
        player: &mut P,
        name: Cow<'static, str>,
        met: &States<P>,
    ) -> Result<Met, AgentError> {
        let scores = self.score(player, name, &met.observations, met, &met.arrivals)?;
        Ok(Met { episodes: met.episodes.clone(), realised: met.realised.clone(), scores })
    }

    /// Scores these states in place of those that were met, with these expectations of the steps that led there.
    fn score<P: Player>(
        &self,
        player: &mut P,
        name: Cow<'static, str>,
        states: &[Vec<P::Element>],
        met: &States<P>,
        arrivals: &[Option<(f64, f64)>],
    ) -> Result<Scores, AgentError> {
        let first = states.first().map_or(&[][..], Vec::as_slice);
        let example = P::Element::sight(player.observes(), player.spec(), first);
        let mut scores = Scores { name, example, ..Scores::default() };
        let mut all = Vec::new();
        for (some, carried) in states.chunks(AT_ONCE).zip(met.memories.chunks(AT_ONCE)) {
            let (some, wish) = (some.concat(), Wish::of(self.survey.members.as_ref()));
            scores.add(further(player, &some, carried)?);
            for decision in decide(player, &some, &mut carried.to_vec(), wish)? {
                scores.values.push(decision.value);
                all.extend(decision.members);
            }
        }
        let arrived = |(arrival, value): (&Option<(f64, f64)>, &f64)| {
            arrival.map_or(0.0, |(before, reward)| surprise(before, reward, self.survey.discount, *value))
        };
        scores.surprise = arrivals.iter().zip(&scores.values).map(arrived).collect();
        scores.novelty = self.novelty.as_ref().map_or_else(Vec::new, |net| net.novelty(&numbers(states)));
        scores.members = (all.len() == scores.values.len() && !all.is_empty()).then_some(all);
        Ok(scores)
    }
}
