//! Agents that explore no more: what they do, what they expect, what they make of states they never saw.
//!
//! - [`Evaluate`]: all of it, for whoever holds an agent and knows neither its observations nor its actions;
//! - [`episode`]: an episode as a sequence of [`Moment`]s; [`greedy`]: many side by side, for their returns;
//! - [`ood`]: scores of ordinary, of [corrupted](corruption) and of shifted states; [`novelty`]: how new they look without the agent; [`starts`]: of the first states of episodes that start oddly;
//! - [`visits`]: returns and scores in many places, such as levels that the agent was trained on and levels that it was not.

pub mod corruption;
pub mod episode;
pub mod greedy;
pub mod novelty;
pub mod ood;
pub mod starts;
pub mod visits;

use std::ops::ControlFlow;

use ive::{Members, Rng};
use ive_envs::registry::{ObservationKind, Registered};
use ive_envs::{Action, Spec};

pub use corruption::{Corruption, Element, Observations};
pub use episode::{End, Fallback, Guarded, Judges, MAX_STEPS, Manner, Moment, Start};
pub use greedy::{Episodes, Saved};
pub use ood::{Scored, Scores, Shift, Survey};
pub use visits::{Met, Played, Visit, Visited};

use crate::AgentError;
use crate::player::{Decision, Estimates, Further, Memory as _, Player, Wish};

/// Playing for somebody else's eyes. Every [`Player`] does.
pub trait Evaluate {
    /// What its environments show and accept.
    fn shown(&self) -> &Spec;

    /// Plays an episode and shows each of its moments; whoever watches can stop it.
    ///
    /// # Errors
    /// If the environment cannot be had or does not fit, or the agent predicts what is not finite.
    fn episode(
        &mut self,
        start: &Start,
        manner: &Manner,
        watch: &mut dyn FnMut(&Moment) -> ControlFlow<()>,
    ) -> Result<End, AgentError>;

    /// Greedy episodes of this seed, side by side and none of them begun.
    fn greedy(&mut self, seed: u64, episodes: usize) -> Box<dyn Episodes + '_>;

    /// Scores of ordinary states from ε-greedy play, of every corruption of them, and of the shifts of a survey.
    ///
    /// # Errors
    /// As [`episode`](Self::episode).
    fn scores(&mut self, survey: &Survey) -> Result<Scored, AgentError>;

    /// What it would do, and what it expects of it, in situations that somebody else has met. Actions are numbers: that of a
    /// numbered action, or one for each motor.
    ///
    /// # Errors
    /// If the observations are none of its environment, or the agent is recurrent: one observation then is no situation.
    fn answer(
        &mut self,
        observations: Observations<'_>,
        members: Option<&Members>,
    ) -> Result<Vec<Decision<Vec<f64>>>, AgentError>;

    /// Scores of the first eight states of episodes: ordinary ones, ordinary ones again, and ones in environments of the same form
    /// that start oddly.
    ///
    /// # Errors
    /// As [`episode`](Self::episode).
    fn starts(
        &mut self,
        odd: &[(&'static str, Registered)],
        states: usize,
        seed: u64,
        members: Option<&Members>,
    ) -> Result<Scored, AgentError>;

    /// Returns and scores of states in many places.
    ///
    /// # Errors
    /// As [`episode`](Self::episode).
    fn visit(&mut self, visit: &Visit) -> Result<Visited, AgentError>;
}

impl<P: Player> Evaluate for P {
    fn shown(&self) -> &Spec {
        self.spec()
    }

    fn episode(
        &mut self,
        start: &Start,
        manner: &Manner,
        watch: &mut dyn FnMut(&Moment) -> ControlFlow<()>,
    ) -> Result<End, AgentError> {
        episode::play(self, start, manner, watch)
    }

    fn greedy(&mut self, seed: u64, episodes: usize) -> Box<dyn Episodes + '_> {
        Box::new(greedy::Greedy::new(self, seed, episodes))
    }

    fn scores(&mut self, survey: &Survey) -> Result<Scored, AgentError> {
        ood::scores(self, survey)
    }

    fn answer(
        &mut self,
        observations: Observations<'_>,
        members: Option<&Members>,
    ) -> Result<Vec<Decision<Vec<f64>>>, AgentError> {
        let length = self.spec().observation_len();
        let wrong = |problem: &str| AgentError::Observations { problem: problem.to_owned() };
        let seen = P::Element::of(&observations).ok_or_else(|| wrong("they are of another type"))?;
        if !seen.len().is_multiple_of(length) {
            return Err(wrong(&format!("{length} entries each, got {} in all", seen.len())));
        }
        let board = self.observes() == ObservationKind::Board;
        if board && seen.iter().any(|entry| entry.as_input() > 1.0) {
            return Err(wrong("entries of boards are 0 or 1"));
        }
        let memory = self.begin(&Rng::from_seed(0));
        if !memory.save().is_empty() {
            return Err(AgentError::Recurrent);
        }
        let mut memories = vec![memory; seen.len() / length];
        let decisions = decide(self, seen, &mut memories, Wish::of(members))?;
        let told = |d: Decision<P::Action>| Decision {
            action: d.action.numbers(),
            value: d.value,
            members: d.members,
        };
        Ok(decisions.into_iter().map(told).collect())
    }

    fn starts(
        &mut self,
        odd: &[(&'static str, Registered)],
        states: usize,
        seed: u64,
        members: Option<&Members>,
    ) -> Result<Scored, AgentError> {
        starts::starts(self, odd, states, seed, members)
    }

    fn visit(&mut self, visit: &Visit) -> Result<Visited, AgentError> {
        visits::visit(self, visit)
    }
}

/// What a player decides, one decision for each situation and every number finite.
fn decide<P: Player>(
    player: &mut P,
    observations: &[P::Element],
    memories: &mut [P::Memory],
    wish: Wish<'_>,
) -> Result<Vec<Decision<P::Action>>, AgentError> {
    let decisions = player.decide(observations, memories, wish)?;
    assert_eq!(decisions.len(), memories.len(), "a decision for each situation");
    let finite = |d: &Decision<P::Action>| {
        let members = d.members.iter().flat_map(Estimates::values);
        members.chain([&d.value]).all(|x| x.is_finite())
    };
    if wish == Wish::Action || decisions.iter().all(finite) {
        return Ok(decisions);
    }
    Err(AgentError::Prediction)
}

/// Further scores that a player has of some situations, one for each and every number finite.
fn further<P: Player>(
    player: &mut P,
    observations: &[P::Element],
    memories: &[P::Memory],
) -> Result<Vec<Further>, AgentError> {
    let further = player.further(observations, memories)?;
    assert!(further.iter().all(|f| f.scores.len() == memories.len()), "a score for each situation");
    let finite = further.iter().flat_map(|f| &f.scores).all(|x| x.is_finite());
    if finite { Ok(further) } else { Err(AgentError::Prediction) }
}
