//! An episode as the agent saw it.
//!
//! In each state s_t the agent says what it would do, `a`, and what it expects of it: a value, by which it chose, and the
//! members `q̂ᵏ(s_t, a)` of the implicit ensemble along its plan. The summary statistics are
//!
//! `μ-IVE = mean_k q̂ᵏ`, `σ-IVE = √(mean_k (q̂ᵏ − μ)²)`, and what came is `G_t = r_{t+1} + γ G_{t+1}`.
//!
//! Which k take part is said in [`members`](super::members). Paper: Sec. 3.2, 4.3.

use std::borrow::Cow;
use std::ops::ControlFlow;

use ive::Members;
use ive_agents::{Agent, End, Estimates, Manner, Moment, Start};
use ive_envs::Sight;
use ive_envs::minatar::Game;

use crate::exit::{Failure, Outcome};
use crate::run::agents::failed;

/// A state and what happened in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// What was done, in words.
    pub action: Cow<'static, str>,
    /// Whether it was drawn at random: value and members then belong to what the agent would have done.
    pub random: bool,
    /// Whether a guard raised an alarm, and whether its fallback acted.
    pub alarm: bool,
    pub fallback: bool,
    /// The reward that followed.
    pub reward: f64,
    /// The value by which the agent chose.
    pub value: f64,
    /// q̂ᵏ of the chosen k; none if the agent has no model.
    pub members: Option<Estimates>,
    /// G: the discounted rewards from here to the end of the episode.
    pub realised: f64,
}

impl Step {
    /// What a moment says before its step is taken.
    fn of(moment: &Moment) -> Option<Self> {
        let decision = moment.decision.clone()?;
        Some(Self {
            action: decision.action,
            random: moment.random,
            alarm: moment.alarm,
            fallback: moment.fallback,
            reward: 0.0,
            value: decision.value,
            members: decision.members,
            realised: 0.0,
        })
    }

    /// μ-IVE.
    pub fn mu(&self) -> Option<f64> {
        self.members.as_ref().map(Estimates::mu)
    }

    /// σ-IVE, the population standard deviation.
    pub fn sigma(&self) -> Option<f64> {
        self.members.as_ref().map(Estimates::sigma)
    }
}

/// An episode.
#[derive(Clone, Debug, PartialEq)]
pub struct Episode {
    /// Its number, from 0.
    pub number: usize,
    /// Which k take part; none if the agent has no model.
    pub members: Option<Members>,
    /// Whether a guard watched.
    pub guarded: bool,
    /// Its steps.
    pub steps: Vec<Step>,
    /// What was seen before each step, and at the end; empty if nobody wanted to watch.
    pub sights: Vec<Sight>,
    /// Whether it was cut off at the largest number of steps, so that the realised returns lack their tail.
    pub cut_off: bool,
}

impl Episode {
    /// The undiscounted return.
    pub fn total(&self) -> f64 {
        self.steps.iter().map(|step| step.reward).sum()
    }

    /// What was seen, if it was a game of boards.
    pub fn boards(&self) -> Outcome<(Game, Vec<&[u8]>)> {
        let board = |sight| match sight {
            &Sight::Board { game, ref cells } => Ok((game, cells.as_slice())),
            Sight::Pixels { .. } => Err(Failure::usage("there are no such pictures of this environment")),
        };
        let boards = self.sights.iter().map(board).collect::<Outcome<Vec<_>>>()?;
        let game = boards.first().ok_or_else(|| Failure::internal("nobody watched the episode"))?.0;
        Ok((game, boards.into_iter().map(|(_, cells)| cells).collect()))
    }

    /// The mean over all steps of something that each has.
    pub fn mean(&self, of: impl Fn(&Step) -> Option<f64>) -> Option<f64> {
        let values: Option<Vec<f64>> = self.steps.iter().map(of).collect();
        values.filter(|values| !values.is_empty()).map(|values| ive::mean(&values))
    }
}

/// Plays episode `number` of a seed. With the seed of the run these are the greedy episodes in `result.json`.
pub fn play(
    agent: &mut dyn Agent,
    name: &str,
    seed: u64,
    manner: &Manner,
    number: usize,
) -> Outcome<Episode> {
    let discount = agent.summary().discount;
    let (mut steps, mut sights): (Vec<Step>, Vec<Sight>) = (Vec::new(), Vec::new());
    let mut watch = |moment: &Moment| {
        if let Some(step) = steps.last_mut() {
            step.reward = moment.reward;
        }
        steps.extend(Step::of(moment));
        sights.extend(moment.sight.clone());
        ControlFlow::Continue(())
    };
    let end = agent.episode(&Start::numbered(seed, number), manner, &mut watch);
    let cut_off = end.map_err(|e| failed(name, e))? == End::CutOff;
    look_back(&mut steps, discount);
    let members = steps.first().and_then(|step| step.members.as_ref()).map(|members| members.ks().clone());
    Ok(Episode { number, members, guarded: manner.guard.is_some(), steps, sights, cut_off })
}

/// Fills in what was realised: `G_t = r_{t+1} + γ G_{t+1}`.
fn look_back(steps: &mut [Step], discount: f64) {
    steps.iter_mut().rev().fold(0.0, |later, step| {
        step.realised = step.reward + discount * later;
        step.realised
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(reward: f64, members: &[f64]) -> Step {
        let members = Members::new(1..=members.len()).ok().map(|ks| Estimates::new(ks, members.to_vec()));
        Step {
            action: "noop".into(),
            random: false,
            alarm: false,
            fallback: false,
            reward,
            value: 0.0,
            members,
            realised: 0.0,
        }
    }

    /// By hand: G = (1 + 0.5 · 0 + 0.25 · 4, 0 + 0.5 · 4, 4).
    #[test]
    fn realised_returns_are_discounted_from_behind() {
        let mut steps = [step(1.0, &[]), step(0.0, &[]), step(4.0, &[])];
        look_back(&mut steps, 0.5);
        assert_eq!(steps.map(|s| s.realised), [2.0, 2.0, 4.0]);
    }

    #[test]
    fn sigma_is_the_population_deviation_and_absent_without_members() {
        let with = step(0.0, &[1.0, 3.0]);
        assert_eq!((with.mu(), with.sigma()), (Some(2.0), Some(1.0)));
        assert_eq!((step(0.0, &[]).mu(), step(0.0, &[]).sigma()), (None, None));
    }

    #[test]
    fn means_are_over_steps_that_all_have_the_number() {
        let mut episode = Episode {
            number: 0,
            members: None,
            guarded: false,
            steps: vec![step(1.0, &[1.0]), step(2.0, &[2.0])],
            sights: Vec::new(),
            cut_off: false,
        };
        assert_eq!((episode.total(), episode.mean(Step::mu)), (3.0, Some(1.5)));
        episode.steps.push(step(0.0, &[]));
        assert_eq!(episode.mean(Step::mu), None);
    }
}
