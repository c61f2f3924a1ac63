//! Greedy episodes at the end of a run: what the agent is worth when it explores no more.
//!
//! Episode i is played in a world of its own, whose seed depends on the run's seed and i only. Several are played at
//! once, because a network decides for sixteen observations in hardly more time than for one.

use ive::Rng;
use ive_agents::Agent;
use ive_envs::Environment;
use ive_envs::minatar::ByteWorld;

use super::Plan;
use super::agents::worlds;
use crate::exit::{Failure, Outcome};

/// How many episodes are played at once.
const AT_ONCE: usize = 16;
/// An episode is cut off here: a greedy agent may go in circles for ever.
pub const MAX_STEPS: u64 = 10_000;
/// The stream of the run's seed from which the worlds get theirs.
const STREAM: u64 = 0x6772_6565_6479;

struct Episode {
    number: usize,
    world: ByteWorld,
    observation: Vec<u8>,
    steps: u64,
    total: f64,
}

/// The seed of the world of an episode.
pub fn world_seed(seed: u64, episode: usize) -> u64 {
    Rng::from_seed(seed).fold_in(STREAM).fold_in(episode as u64).next_u64()
}

/// The returns of so many greedy episodes, in the order of their numbers; `None` if asked to stop.
pub fn play(
    agent: &mut dyn Agent,
    plan: &Plan,
    episodes: usize,
    go_on: impl Fn() -> bool,
) -> Outcome<Option<Vec<f64>>> {
    let make = worlds(plan)?;
    let begin = |number: usize| {
        let mut world = make(world_seed(plan.seed, number));
        let observation = world.reset().observation;
        Episode { number, world, observation, steps: 0, total: 0.0 }
    };
    let mut waiting = 0..episodes;
    let mut playing: Vec<Episode> = waiting.by_ref().take(AT_ONCE).map(begin).collect();
    let mut returns = vec![0.0; episodes];
    while !playing.is_empty() {
        if !go_on() {
            return Ok(None);
        }
        let observations: Vec<u8> = playing.iter().flat_map(|e| e.observation.iter().copied()).collect();
        let actions = agent.act(&observations);
        if actions.len() != playing.len() {
            let (got, asked) = (actions.len(), playing.len());
            return Err(Failure::internal(format!("{got} decisions for {asked} observations")));
        }
        for (episode, action) in playing.iter_mut().zip(actions) {
            let step = episode.world.step_into(action, &mut episode.observation);
            let step = step.map_err(|e| Failure::internal(e.to_string()))?;
            episode.steps += 1;
            episode.total += step.reward;
            if step.kind.is_last() || episode.steps == MAX_STEPS {
                returns[episode.number] = episode.total;
                // Marks it as over; the world is not needed any more.
                episode.steps = MAX_STEPS;
            }
        }
        playing.retain(|episode| episode.steps < MAX_STEPS);
        let free = AT_ONCE - playing.len();
        playing.extend(waiting.by_ref().take(free).map(begin));
    }
    Ok(Some(returns))
}
