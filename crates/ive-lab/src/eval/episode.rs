//! An episode as the agent saw it.
//!
//! In each state s_t the agent says what it would do, `a`, and what it expects of it: a value, by which it chose, and the
//! members `q̂ᵏ(s_t, a)` of the implicit ensemble along its plan. The summary statistics are
//!
//! `μ-IVE = mean_k q̂ᵏ`, `σ-IVE = √(mean_k (q̂ᵏ − μ)²)`, and what came is `G_t = r_{t+1} + γ G_{t+1}`.
//!
//! Which k take part is said in [`members`](super::members). Paper: Sec. 3.2, 4.3.

use ive::{Members, Rng};
use ive_agents::{Agent, Decision};
use ive_envs::Environment;
use ive_envs::minatar::ByteWorld;

use super::members;
use crate::exit::{Failure, Outcome};
use crate::run::{Plan, agents::worlds, greedy};

/// The stream of the seed from which random actions come.
const EXPLORING: u64 = 0x6578_706c;

/// A state and what happened in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// What was done.
    pub action: usize,
    /// Whether it was drawn at random: value and members then belong to what the agent would have done.
    pub random: bool,
    /// The reward that followed.
    pub reward: f64,
    /// The value by which the agent chose.
    pub value: f64,
    /// q̂ᵏ of the chosen k; empty if the agent has no model.
    pub members: Vec<f64>,
    /// G: the discounted rewards from here to the end of the episode.
    pub realised: f64,
}

impl Step {
    /// μ-IVE.
    pub fn mu(&self) -> Option<f64> {
        mu(&self.members)
    }

    /// σ-IVE, the population standard deviation.
    pub fn sigma(&self) -> Option<f64> {
        sigma(&self.members)
    }
}

/// μ of some members, if there are any.
pub fn mu(members: &[f64]) -> Option<f64> {
    (!members.is_empty()).then(|| ive::mean(members))
}

/// σ of some members, if there are any; NaN, which every metric refuses, if one is not finite.
pub fn sigma(members: &[f64]) -> Option<f64> {
    (!members.is_empty()).then(|| ive::standard_deviation(members, 0).unwrap_or(f64::NAN))
}

/// An episode.
#[derive(Clone, Debug, PartialEq)]
pub struct Episode {
    /// Its number, from 0.
    pub number: usize,
    /// Which k take part; none if the agent has no model.
    pub members: Option<Members>,
    /// Its steps.
    pub steps: Vec<Step>,
    /// What was seen before each step, and at the end; empty if nobody wanted to watch.
    pub sights: Vec<Vec<u8>>,
    /// Whether it was cut off at the largest number of steps, so that the realised returns lack their tail.
    pub cut_off: bool,
}

impl Episode {
    /// The undiscounted return.
    pub fn total(&self) -> f64 {
        self.steps.iter().map(|step| step.reward).sum()
    }

    /// The mean over all steps of something that each has.
    pub fn mean(&self, of: impl Fn(&Step) -> Option<f64>) -> Option<f64> {
        let values: Option<Vec<f64>> = self.steps.iter().map(of).collect();
        values.filter(|values| !values.is_empty()).map(|values| ive::mean(&values))
    }
}

/// How an agent is made to play.
#[derive(Clone, Debug, PartialEq)]
pub struct Manner {
    /// Where worlds and random actions come from. With the seed of the run the worlds are those of the greedy episodes
    /// in `result.json`.
    pub seed: u64,
    /// The probability of a random action.
    pub epsilon: f64,
    /// γ of the realised return.
    pub discount: f64,
    /// The members that were asked for.
    pub members: Option<Members>,
}

/// Plays episode `number` of a plan's world; with `watch` also what was seen is kept.
pub fn play(
    agent: &mut dyn Agent,
    plan: &Plan,
    manner: &Manner,
    number: usize,
    watch: bool,
) -> Outcome<Episode> {
    let mut world = worlds(plan)?(greedy::world_seed(manner.seed, number));
    let mut rng = Rng::from_seed(manner.seed).fold_in(EXPLORING).fold_in(number as u64);
    let num_actions = world.spec().actions.len();
    let mut observation = world.reset().observation;
    let mut episode =
        Episode { number, members: None, steps: Vec::new(), sights: Vec::new(), cut_off: false };
    loop {
        let decision = members::decide(agent, &observation, manner.members.as_ref())?.pop();
        let Decision { action, value, members } =
            decision.ok_or_else(|| Failure::internal("no decision for an observation"))?;
        episode.members = members::set(members.len(), manner.members.as_ref());
        let random = rng.uniform() < manner.epsilon;
        let action = if random { rng.below(num_actions) } else { action };
        if watch {
            episode.sights.push(observation.clone());
        }
        let (reward, ended) = turn(&mut world, action, &mut observation)?;
        episode.steps.push(Step { action, random, reward, value, members, realised: 0.0 });
        episode.cut_off = !ended && episode.steps.len() as u64 == greedy::MAX_STEPS;
        if ended || episode.cut_off {
            break;
        }
    }
    if watch {
        episode.sights.push(observation);
    }
    look_back(&mut episode.steps, manner.discount);
    Ok(episode)
}

/// Fills in what was realised: `G_t = r_{t+1} + γ G_{t+1}`.
fn look_back(steps: &mut [Step], discount: f64) {
    steps.iter_mut().rev().fold(0.0, |later, step| {
        step.realised = step.reward + discount * later;
        step.realised
    });
}

/// A step of a world: the reward, and whether the episode is over.
pub fn turn(world: &mut ByteWorld, action: usize, observation: &mut [u8]) -> Outcome<(f64, bool)> {
    let step = world.step_into(action, observation).map_err(|e| Failure::internal(e.to_string()))?;
    Ok((step.reward, step.kind.is_last()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(reward: f64, members: &[f64]) -> Step {
        Step { action: 0, random: false, reward, value: 0.0, members: members.to_vec(), realised: 0.0 }
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
            steps: vec![step(1.0, &[1.0]), step(2.0, &[2.0])],
            sights: Vec::new(),
            cut_off: false,
        };
        assert_eq!((episode.total(), episode.mean(Step::mu)), (3.0, Some(1.5)));
        episode.steps.push(step(0.0, &[]));
        assert_eq!(episode.mean(Step::mu), None);
    }
}
