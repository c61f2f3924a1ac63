//! Runs that survive anything: training that can be killed at any moment and goes on as if nothing had happened.
//!
//! A run is a directory. [`complete`] starts the run in it or resumes it from its newest good checkpoint, and leaves
//!
//! - `config.toml`: what the run is, resolved;
//! - `metrics.jsonl` and a TensorBoard event file: what was measured on the way;
//! - `checkpoints/`: two generations of the complete state, and the segments of experience that they share;
//! - `sessions.jsonl`: who worked on it, and how long;
//! - `result.json`: written last; it exists = the run is done;
//! - `LOCK`: held by the process that works on it.
//!
//! However often it was interrupted, `metrics.jsonl`, `result.json` and the final checkpoint are bit by bit those of an
//! uninterrupted run. `docs/runs.md` describes the files and says what is not promised.

pub mod agents;
pub mod checkpoint;
pub mod config;
pub mod disk;
mod events;
mod extend;
pub mod greedy;
mod journal;
mod log;
mod manifest;
mod payload;
mod result;
pub mod seal;
pub mod search;
mod segments;
pub mod sessions;
pub mod status;
pub mod system;
mod trainer;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use indicatif::ProgressBar;
use ive_agents::{Agent, Archive};
use serde::{Deserialize, Serialize};

use crate::exit::{Failure, Outcome};
use crate::lock::Lock;
use crate::progress::{Session, warn};
use checkpoint::{Checkpoint, Checkpoints};
use disk::Disk;
pub use extend::extend;
pub use journal::{History, metrics};
use result::finished_on;
pub use result::{Finished, RESULT, finished};
use trainer::Trainer;

/// What a run is: everything that its result depends on. Goes into `config.toml`, resolved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Where gradients are computed.
    pub device: String,
    /// How many greedy episodes are played at the end.
    pub greedy_episodes: usize,
    /// How many steps it had before it was made longer, each time that it was.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extended: Vec<u64>,
    /// The name of the agent, such as `dqn`.
    pub agent: String,
    /// The name of the environment, such as `minatar:breakout`; files have it under this older name.
    pub world: String,
    /// The options of the environment.
    pub options: BTreeMap<String, String>,
    /// All randomness comes from it.
    pub seed: u64,
    /// How many environment steps.
    pub steps: u64,
    /// The number of steps to which schedules refer, if that is another one: the run was made longer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule_steps: Option<u64>,
    /// The settings of the agent, all but `steps`.
    pub settings: toml::Table,
}

/// How a run is carried out; its result does not depend on it.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// Time between checkpoints; zero for one after every round.
    pub checkpoint_every: Duration,
    /// How long to wait after a save for which there was no room.
    pub retry_every: Duration,
    /// How long to go on training while there is no room.
    pub give_up_after: Duration,
    /// How many bytes a segment of a checkpoint has at most.
    pub segment_bytes: u64,
    /// Whether training goes on while the disk works on a checkpoint.
    pub background: bool,
    /// The file system.
    pub disk: Disk,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self {
            checkpoint_every: Duration::from_mins(1),
            retry_every: Duration::from_secs(30),
            give_up_after: Duration::from_mins(10),
            segment_bytes: segments::SEGMENT,
            background: true,
            disk: Disk::default(),
        }
    }
}

/// The program, with version and, where it was built from a checkout, commit.
pub fn program() -> String {
    format!("ive {} (commit {})", env!("CARGO_PKG_VERSION"), option_env!("IVE_COMMIT").unwrap_or("unknown"))
}

/// Runs or resumes the run in `dir` until it is finished; finished runs are returned as they are. `None` = asked to
/// stop, state saved.
pub fn complete(
    dir: &Path,
    plan: &Plan,
    options: &RunOptions,
    session: &Session,
    progress: &ProgressBar,
) -> Outcome<Option<Finished>> {
    plan.check()?;
    let disk = &options.disk;
    if disk.look(&dir.join(RESULT))?.is_some() {
        plan.clone().settle(dir, disk)?;
        if let Some(finished) = finished_on(disk, dir)? {
            return Ok(Some(finished));
        }
    }
    disk.create_directory(dir)?;
    disk.secure(dir)?;
    let lock = Lock::take(dir, disk, "wait for it, or choose another directory")?;
    let options = &RunOptions { disk: disk.held_by(lock), ..options.clone() };
    let plan = plan.clone().settle(dir, &options.disk)?;
    // Whoever wrote it may have been killed before it was safe, and everything else builds on it.
    disk.sync_directory(dir)?;
    // Whoever held the lock a moment ago may have finished the run.
    if let Some(finished) = finished_on(disk, dir)? {
        return Ok(Some(finished));
    }
    Trainer::start(dir, plan, options, session, progress)?.run()
}

/// A trained (or half-trained) agent of a run directory, from its newest good checkpoint, and its plan.
///
/// # Errors
/// If it is no run, has no checkpoint yet, or none that is whole.
pub fn load(dir: &Path) -> Outcome<(Plan, Box<dyn Agent>)> {
    load_with(dir, warn)
}

/// The same; damaged checkpoints that are passed over are told to `tell`.
///
/// # Errors
/// As [`load`].
pub fn load_with(dir: &Path, mut tell: impl FnMut(&str)) -> Outcome<(Plan, Box<dyn Agent>)> {
    let plan = Plan::read(dir)?;
    let mut checkpoints = Checkpoints::of(dir, &Disk::default());
    let report = |what: &str| tell(&format!("{what}; looking for an older one"));
    let checkpoint = checkpoints.load(&plan, |_| Ok(()), report)?.ok_or_else(|| {
        Failure::usage(format!("{} has no checkpoint yet; wait, or train it with `ive train`", dir.display()))
    })?;
    let agent = restore(&plan, checkpoint)?;
    Ok((plan, agent))
}

/// The agent of a checkpoint.
fn restore(plan: &Plan, checkpoint: Checkpoint) -> Outcome<Box<dyn Agent>> {
    let Checkpoint { manifest, tensors, mut logs } = checkpoint;
    let mut agent = agents::make(plan)?;
    let step = manifest.step;
    let unusable = |what: String| {
        Failure::data(format!(
            "the checkpoint of step {step} is whole, but not one of this version of the agent: {what}; \
             go on with the version that wrote it ({})",
            manifest.program
        ))
    };
    if let Err(error) = agent.archive(&mut Archive::loading_from(tensors, &mut logs)) {
        return Err(logs.failure().map_or_else(|| unusable(error.to_string()), Failure::from));
    }
    if agent.steps() != step {
        return Err(unusable(format!("it says {} steps", agent.steps())));
    }
    Ok(agent)
}
