//! Greedy episodes side by side: what an agent is worth when it explores no more.
//!
//! Episode i is played in an environment of its own, whose seed depends on the seed and i only. Several are played at
//! once, because a network decides for sixteen observations in hardly more time than for one. They can be saved at any
//! moment and taken up again.

use ive_envs::{BoxedEnvironment, Environment};
use serde::{Deserialize, Serialize};

use super::decide;
use super::episode::{MAX_STEPS, Start};
use crate::AgentError;
use crate::player::{Memory, Player, Wish};

/// How many episodes are played at once.
const AT_ONCE: usize = 16;
/// Steps of a round, after which it may be saved.
const ROUND: usize = 50;

/// Episodes that are played side by side.
pub trait Episodes {
    /// Plays on for some steps.
    ///
    /// # Errors
    /// If an environment cannot be had, or refuses an action.
    fn round(&mut self) -> Result<(), AgentError>;

    /// How many episodes are over.
    fn over(&self) -> usize;

    /// The returns in the order of their numbers, when all episodes are over.
    fn returns(&self) -> Option<Vec<f64>>;

    /// How it stands.
    fn save(&self) -> Saved;

    /// Takes up what was saved; says whether it could be. What is damaged is left alone: playing it again gives the same.
    fn resume(&mut self, saved: Saved) -> bool;
}

/// Episodes that wait to be played on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Saved {
    /// What each episode returned, by number; nothing while it is played or waits.
    pub returns: Vec<Option<f64>>,
    playing: Vec<SavedEpisode>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct SavedEpisode {
    number: usize,
    /// The state of its environment; files have it under an older name.
    #[serde(rename = "world")]
    environment: Vec<u8>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    memory: Vec<u8>,
    steps: u64,
    total: f64,
}

struct Episode<P: Player> {
    number: usize,
    environment: BoxedEnvironment<P::Action, P::Element>,
    observation: Vec<P::Element>,
    memory: P::Memory,
    steps: u64,
    total: f64,
}

/// Greedy episodes of a player.
pub(super) struct Greedy<'a, P: Player> {
    player: &'a mut P,
    seed: u64,
    returns: Vec<Option<f64>>,
    playing: Vec<Episode<P>>,
}

impl<'a, P: Player> Greedy<'a, P> {
    /// So many episodes, none of them begun.
    pub(super) fn new(player: &'a mut P, seed: u64, episodes: usize) -> Self {
        Self { player, seed, returns: vec![None; episodes], playing: Vec::new() }
    }

    /// An episode before its first step.
    fn begin(&self, number: usize) -> Result<Episode<P>, AgentError> {
        let start = Start::numbered(self.seed, number);
        let mut environment = self.player.environments().one(start.environment)?;
        let observation = environment.reset().observation;
        let memory = self.player.begin(&start.deciding);
        Ok(Episode { number, environment, observation, memory, steps: 0, total: 0.0 })
    }

    fn restore(&self, saved: SavedEpisode) -> Option<Episode<P>> {
        let mut episode = self.begin(saved.number).ok()?;
        episode.environment.restore(&saved.environment).ok()?;
        episode.environment.observe_into(&mut episode.observation).ok()?;
        episode.memory.restore(&saved.memory).ok()?;
        (episode.steps, episode.total) = (saved.steps, saved.total);
        (saved.number < self.returns.len()).then_some(episode)
    }

    /// One step of every episode under way.
    fn step(&mut self) -> Result<(), AgentError> {
        // Episodes begin in the order of their numbers.
        let begun = self.over() + self.playing.len();
        let free = AT_ONCE - self.playing.len().min(AT_ONCE);
        for number in (begun..self.returns.len()).take(free) {
            self.playing.push(self.begin(number)?);
        }
        if self.playing.is_empty() {
            return Ok(());
        }
        let observations: Vec<P::Element> =
            self.playing.iter().flat_map(|e| e.observation.iter().copied()).collect();
        let mut memories: Vec<P::Memory> = self.playing.iter().map(|e| e.memory.clone()).collect();
        let decisions = decide(self.player, &observations, &mut memories, Wish::Action)?;
        for ((episode, memory), decision) in self.playing.iter_mut().zip(memories).zip(decisions) {
            let step = episode.environment.step_into(decision.action, &mut episode.observation)?;
            episode.memory = memory;
            self.player.remember(&mut episode.memory, decision.action, step);
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

impl<P: Player> Episodes for Greedy<'_, P> {
    fn round(&mut self) -> Result<(), AgentError> {
        (0..ROUND).try_for_each(|_| self.step())
    }

    fn over(&self) -> usize {
        self.returns.iter().flatten().count()
    }

    fn returns(&self) -> Option<Vec<f64>> {
        self.returns.iter().copied().collect()
    }

    fn save(&self) -> Saved {
        let save = |e: &Episode<P>| SavedEpisode {
            number: e.number,
            environment: e.environment.save(),
            memory: e.memory.save(),
            steps: e.steps,
            total: e.total,
        };
        Saved { returns: self.returns.clone(), playing: self.playing.iter().map(save).collect() }
    }

    fn resume(&mut self, saved: Saved) -> bool {
        if saved.returns.len() != self.returns.len() {
            return false;
        }
        let restored: Option<Vec<Episode<P>>> = saved.playing.into_iter().map(|e| self.restore(e)).collect();
        let Some(playing) = restored else { return false };
        (self.returns, self.playing) = (saved.returns, playing);
        true
    }
}
