//! Greedy episodes at the end of a run: what the agent is worth when it explores no more.
//!
//! Episode i is played in a world of its own, whose seed depends on the run's seed and i only. Several are played at
//! once, because a network decides for sixteen observations in hardly more time than for one. They can be saved at any
//! moment, in `greedy.json`, and taken up again: a process that is killed here loses as little as in training.

use std::path::Path;

use ive::Rng;
use ive_agents::Agent;
use ive_envs::Environment;
use ive_envs::minatar::ByteWorld;
use serde::{Deserialize, Serialize};

use super::Plan;
use super::agents::worlds;
use super::disk::{Disk, Done};
use super::seal::{open, seal};
use crate::exit::{Failure, Outcome};

/// The file in a run directory that holds episodes under way; it goes when there is a result.
pub const FILE: &str = "greedy.json";
/// The largest file that is read: a hundred thousand returns, and sixteen environments.
const MAX_SAVED: u64 = 64 << 20;
/// The most episodes that may be asked for.
pub const MAX_EPISODES: usize = 100_000;
/// How many episodes are played at once.
const AT_ONCE: usize = 16;
/// An episode is cut off here: a greedy agent may go in circles for ever.
pub const MAX_STEPS: u64 = 10_000;
/// Steps of a round, after which it may be saved.
const ROUND: usize = 50;
/// The stream of the run's seed from which the worlds get theirs.
const STREAM: u64 = 0x6772_6565_6479;

/// Greedy episodes of a trained agent.
pub struct Greedy {
    make: Box<dyn Fn(u64) -> ByteWorld>,
    seed: u64,
    /// What each episode returned, by number; nothing while it is played or waits.
    returns: Vec<Option<f64>>,
    playing: Vec<Episode>,
}

struct Episode {
    number: usize,
    world: ByteWorld,
    observation: Vec<u8>,
    steps: u64,
    total: f64,
}

/// What is written.
#[derive(Serialize, Deserialize)]
struct Saved {
    /// The hash of the agent that plays.
    state: String,
    returns: Vec<Option<f64>>,
    playing: Vec<SavedEpisode>,
}

#[derive(Serialize, Deserialize)]
struct SavedEpisode {
    number: usize,
    world: Vec<u8>,
    observation: Vec<u8>,
    steps: u64,
    total: f64,
}

/// The seed of the world of an episode.
pub fn world_seed(seed: u64, episode: usize) -> u64 {
    Rng::from_seed(seed).fold_in(STREAM).fold_in(episode as u64).next_u64()
}

impl Greedy {
    /// So many episodes, none of them begun.
    pub fn new(plan: &Plan, episodes: usize) -> Outcome<Self> {
        let make = Box::new(worlds(plan)?);
        Ok(Self { make, seed: plan.seed, returns: vec![None; episodes], playing: Vec::new() })
    }

    /// Takes up what was saved for this state of the agent. What is damaged or of another state is left alone: playing it
    /// again gives the same.
    pub fn resume(&mut self, dir: &Path, disk: &Disk, state: &str) -> Outcome {
        let saved = disk.read(&dir.join(FILE), MAX_SAVED)?.and_then(|bytes| open(&bytes));
        let saved: Option<Saved> = saved.and_then(|content| serde_json::from_value(content).ok());
        let Some(saved) = saved.filter(|s| s.state == state && s.returns.len() == self.returns.len()) else {
            return Ok(());
        };
        let restored: Option<Vec<Episode>> = saved.playing.into_iter().map(|e| self.restore(e)).collect();
        if let Some(playing) = restored {
            (self.returns, self.playing) = (saved.returns, playing);
        }
        Ok(())
    }

    fn restore(&self, saved: SavedEpisode) -> Option<Episode> {
        let SavedEpisode { number, world: state, observation, steps, total } = saved;
        let mut world = (self.make)(world_seed(self.seed, number));
        world.restore(&state).ok()?;
        let fits = number < self.returns.len() && observation.len() == world.spec().observation_len();
        fits.then_some(Episode { number, world, observation, steps, total })
    }

    /// Writes how it stands, for this state of the agent.
    pub fn save(&self, dir: &Path, disk: &Disk, state: &str) -> Outcome<Done> {
        let save = |e: &Episode| SavedEpisode {
            number: e.number,
            world: e.world.save(),
            observation: e.observation.clone(),
            steps: e.steps,
            total: e.total,
        };
        let playing = self.playing.iter().map(save).collect();
        let saved = Saved { state: state.to_owned(), returns: self.returns.clone(), playing };
        Ok(disk.replace(&dir.join(FILE), &seal(&saved)?))
    }

    /// How many episodes are over.
    pub fn over(&self) -> usize {
        self.returns.iter().flatten().count()
    }

    /// The returns in the order of their numbers, when all episodes are over.
    pub fn returns(&self) -> Option<Vec<f64>> {
        self.returns.iter().copied().collect()
    }

    /// Plays on for some steps.
    pub fn round(&mut self, agent: &mut dyn Agent) -> Outcome {
        (0..ROUND).try_for_each(|_| self.step(agent))
    }

    /// One step of every episode under way.
    fn step(&mut self, agent: &mut dyn Agent) -> Outcome {
        // Episodes begin in the order of their numbers.
        let begun = self.over() + self.playing.len();
        let free = AT_ONCE - self.playing.len().min(AT_ONCE);
        for number in (begun..self.returns.len()).take(free) {
            let mut world = (self.make)(world_seed(self.seed, number));
            let observation = world.reset().observation;
            self.playing.push(Episode { number, world, observation, steps: 0, total: 0.0 });
        }
        if self.playing.is_empty() {
            return Ok(());
        }
        let observations: Vec<u8> = self.playing.iter().flat_map(|e| e.observation.iter().copied()).collect();
        let actions = agent.act(&observations);
        if actions.len() != self.playing.len() {
            let (got, asked) = (actions.len(), self.playing.len());
            return Err(Failure::internal(format!("{got} decisions for {asked} observations")));
        }
        for (episode, action) in self.playing.iter_mut().zip(actions) {
            let step = episode.world.step_into(action, &mut episode.observation);
            let step = step.map_err(|e| Failure::internal(e.to_string()))?;
            episode.steps += 1;
            episode.total += step.reward;
            if step.kind.is_last() || episode.steps == MAX_STEPS {
                self.returns[episode.number] = Some(episode.total);
            }
        }
        self.playing.retain(|episode| self.returns[episode.number].is_none());
        Ok(())
    }
}
