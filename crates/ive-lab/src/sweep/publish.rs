//! The record of a finished task, `done.json`: made exactly once, whoever tries.
//!
//! The result itself is in the run directory. The record says which task it belongs to, its hash, and which programs and
//! processors made it; it exists = the task is done.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::exclusive;
use super::manifest::Sweep;
use super::task::Task;
use super::trainer;
use crate::exit::{Failure, Outcome};
use crate::run::disk::Disk;
use crate::run::{Finished, RESULT, program, seal, sessions};

/// The name of the file, in the directory of the task.
pub const FILE: &str = "done.json";
/// The largest result or record that is read.
const MAX_BYTES: u64 = 64 << 20;

/// What is known of a finished task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The hash of the task.
    pub task: String,
    /// BLAKE3 of `result.json`.
    pub result: String,
    /// The programs that worked on it, sorted.
    pub programs: Vec<String>,
    /// Their processors, sorted.
    pub processors: Vec<String>,
    /// The attempt that published it.
    pub attempt: u64,
}

fn path(sweep: &Sweep, index: u64) -> PathBuf {
    sweep.state_of(index).join(FILE)
}

/// The record of a task; none while there is none. One that is damaged or of another task is an error.
pub fn read(sweep: &Sweep, task: &Task) -> Outcome<Option<Record>> {
    let path = path(sweep, task.index);
    let Some(bytes) = Disk::default().read(&path, MAX_BYTES)? else { return Ok(None) };
    let wrong = |what: &str| {
        Failure::data(format!("{} {what}; delete it, and `ive sweep resume` makes it again", path.display()))
    };
    let content = seal::open(&bytes).ok_or_else(|| wrong("is damaged (its checksum differs)"))?;
    let record: Record =
        serde_json::from_value(content).map_err(|e| wrong(&format!("is not a record ({e})")))?;
    if record.task != task.hash {
        return Err(wrong("is the record of another task"));
    }
    Ok(Some(record))
}

/// The published result of a task, checked against its record; none while there is none.
pub fn result(sweep: &Sweep, task: &Task) -> Outcome<Option<(Record, Finished)>> {
    let Some(record) = read(sweep, task)? else { return Ok(None) };
    let run = sweep.run_of(task);
    let gone = || {
        Failure::data(format!(
            "{} was published and is not there any more; `ive sweep resume` makes it again",
            run.join(RESULT).display()
        ))
    };
    let found = trainer::result(&run, &task.run)?.ok_or_else(gone)?;
    let hash = hash_of_result(&run)?.ok_or_else(gone)?;
    if hash != record.result {
        return Err(Failure::data(format!(
            "{} is not the result that was published (its hash differs)",
            run.join(RESULT).display()
        )));
    }
    Ok(Some((record, found)))
}

fn hash_of_result(run: &Path) -> Outcome<Option<String>> {
    let bytes = Disk::default().read(&run.join(RESULT), MAX_BYTES)?;
    Ok(bytes.map(|bytes| blake3::hash(&bytes).to_string()))
}

/// Publishes the result of a finished run. If somebody did so before, that is as good, provided that it is the same.
pub fn publish(sweep: &Sweep, task: &Task, attempt: u64) -> Outcome {
    let run = sweep.run_of(task);
    let absent = || Failure::internal(format!("{} is finished and has no result", run.display()));
    trainer::result(&run, &task.run)?.ok_or_else(absent)?;
    let hash = hash_of_result(&run)?.ok_or_else(absent)?;
    let worked = sessions::read(&run);
    let sorted = |all: Vec<String>| {
        let mut all = all;
        all.sort();
        all.dedup();
        all
    };
    let mut programs: Vec<String> = worked.iter().map(|session| session.program.clone()).collect();
    if programs.is_empty() {
        programs.push(program());
    }
    let record = Record {
        task: task.hash.clone(),
        result: hash,
        programs: sorted(programs),
        processors: sorted(worked.into_iter().filter_map(|session| session.cpu).collect()),
        attempt,
    };
    if exclusive::create(&path(sweep, task.index), &seal::seal(&record)?)? {
        return Ok(());
    }
    match read(sweep, task)? {
        Some(there) if there.result == record.result => Ok(()),
        _ => Err(Failure::data(format!(
            "task {} was published before, with another result than {}; one of them was not made by this program on this \
             kind of processor",
            task.index,
            run.join(RESULT).display()
        ))),
    }
}
