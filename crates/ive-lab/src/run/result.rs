//! `result.json`: what a finished run has to say, and proof that it is what the run wrote.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::Plan;
use super::disk::Disk;
use super::journal::METRICS;
use super::manifest::{Flaw, Piece};
use super::seal;
use crate::exit::{Failure, Outcome};

/// The name of the file.
pub const RESULT: &str = "result.json";
/// The largest one that is read: millions of greedy episodes.
const MAX_RESULT: u64 = 64 << 20;

/// What a finished run has to say. No clock in it: it is bit-identical however often the run was interrupted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finished {
    /// The name of the agent.
    pub agent: String,
    /// The name of the environment.
    pub world: String,
    /// The seed.
    pub seed: u64,
    /// Environment steps done.
    pub steps: u64,
    /// Mean return of the last 100 training episodes.
    pub return_100: Option<f64>,
    /// Returns of greedy episodes after training.
    pub greedy: Vec<f64>,
    /// The metrics that were logged last.
    pub last: BTreeMap<String, f64>,
    /// BLAKE3 of the final archive: weights, optimiser, replay, environments, generators, counters.
    pub state: String,
    /// `metrics.jsonl` as the run left it.
    pub metrics: Piece,
    /// The run whose result it is: all of `config.toml`.
    pub run: Plan,
}

/// What can be done about a result that is not as it should be.
const AGAIN: &str = "delete it, and `ive runs resume` makes it again from the last checkpoint";

/// The result of the run in `dir`; `None` while there is none, or while it is that of a run that was made longer since.
/// Damaged results, those of other runs, and those whose metrics are not there any more are refused.
pub fn finished(dir: &Path) -> Outcome<Option<Finished>> {
    finished_on(&Disk::default(), dir)
}

/// The same on any disk.
pub(super) fn finished_on(disk: &Disk, dir: &Path) -> Outcome<Option<Finished>> {
    let path = dir.join(RESULT);
    let here = path.display();
    let Some(bytes) = disk.read(&path, MAX_RESULT)? else { return Ok(None) };
    let content = seal::open(&bytes).ok_or_else(|| {
        Failure::data(format!(
            "{here} is damaged (its checksum differs), or was written by a version without checksums; {AGAIN}"
        ))
    })?;
    let found: Finished = serde_json::from_value(content)
        .map_err(|e| Failure::data(format!("{here} is whole, but not as expected ({e}); {AGAIN}")))?;
    let config = Plan::read_on(disk, dir)?;
    if !config.is_or_was(&found.run) {
        return Err(Failure::config(format!(
            "{here} is the result of another run than config.toml says ({}); {AGAIN}",
            found.run.compared_with(&config)
        )));
    }
    if found.run != config {
        return Ok(None);
    }
    found.metrics.whole(disk, &dir.join(METRICS)).map_err(|flaw| match flaw {
        Flaw::Refused(failure) => failure,
        Flaw::Damaged(what) => Failure::data(format!(
            "the metrics of {} are damaged ({what}); put {METRICS} back from a copy, or repeat the run in another \
             directory",
            dir.display()
        )),
    })?;
    Ok(Some(found))
}
