//! Greedy episodes at the end of a run: what the agent is worth when it explores no more. They are saved in `greedy.json`
//! as often as training is: a process that is killed here loses as little as in training.

use std::path::Path;

use ive_agents::evaluation::{Episodes, Saved};
use ive_agents::{Agent, AgentError};
use serde::{Deserialize, Serialize};

use super::Plan;
use super::disk::{Disk, Done};
use super::seal::{open, seal};
use crate::exit::Outcome;

/// The file in a run directory that holds episodes under way; it goes when there is a result.
pub const FILE: &str = "greedy.json";
/// The largest file that is read: a hundred thousand returns, and sixteen environments.
const MAX_SAVED: u64 = 64 << 20;
/// The most episodes that may be asked for.
pub const MAX_EPISODES: usize = 100_000;

/// Greedy episodes of a trained agent.
pub struct Greedy<'a> {
    episodes: Box<dyn Episodes + 'a>,
}

/// What is written.
#[derive(Serialize, Deserialize)]
struct Written {
    /// The hash of the agent that plays.
    state: String,
    #[serde(flatten)]
    episodes: Saved,
}

impl<'a> Greedy<'a> {
    /// So many episodes, none of them begun.
    pub fn new(agent: &'a mut dyn Agent, plan: &Plan, episodes: usize) -> Self {
        Self { episodes: agent.greedy(plan.seed, episodes) }
    }

    /// Takes up what was saved for this state of the agent. What is damaged or of another state is left alone: playing it
    /// again gives the same.
    pub fn resume(&mut self, dir: &Path, disk: &Disk, state: &str) -> Outcome {
        let saved = disk.read(&dir.join(FILE), MAX_SAVED)?.and_then(|bytes| open(&bytes));
        let saved: Option<Written> = saved.and_then(|content| serde_json::from_value(content).ok());
        if let Some(saved) = saved.filter(|saved| saved.state == state) {
            self.episodes.resume(saved.episodes);
        }
        Ok(())
    }

    /// Writes how it stands, for this state of the agent.
    pub fn save(&self, dir: &Path, disk: &Disk, state: &str) -> Outcome<Done> {
        let written = Written { state: state.to_owned(), episodes: self.episodes.save() };
        Ok(disk.replace(&dir.join(FILE), &seal(&written)?))
    }

    /// How many episodes are over.
    pub fn over(&self) -> usize {
        self.episodes.over()
    }

    /// The returns in the order of their numbers, when all episodes are over.
    pub fn returns(&self) -> Option<Vec<f64>> {
        self.episodes.returns()
    }

    /// Plays on for some steps.
    pub fn round(&mut self) -> Result<(), AgentError> {
        self.episodes.round()
    }
}
