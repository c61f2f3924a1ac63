//! Runs under a fake agent: every fault of the disk, every damaged byte, every refusal.

mod damage;
mod events;
mod extend;
pub mod fake;
pub mod faults;
mod finished;
mod golden;
mod greedy;
mod interruption;
mod memory;
mod power;
mod refusal;
mod strangers;
mod takeover;

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use indicatif::ProgressBar;

use super::agents::{Request, resolve};
use super::journal::METRICS;
use super::*;
use crate::settings::Change;

/// The plan of a fake agent with these changes.
fn plan(changes: &[&str]) -> Plan {
    let changes: Vec<Change> = changes.iter().map(|c| Change::parse(c).unwrap()).collect();
    let request = Request {
        agent: "fake",
        world: "minatar:breakout",
        seed: 3,
        changes: &changes,
        ..Request::default()
    };
    resolve(&request).unwrap()
}

/// A checkpoint after every round, and few greedy episodes.
fn options() -> RunOptions {
    RunOptions { checkpoint_every: Duration::ZERO, greedy_episodes: 3, ..RunOptions::default() }
}

fn go(dir: &Path, plan: &Plan, options: &RunOptions) -> Outcome<Option<Finished>> {
    let session = Session::silent(&Arc::new(AtomicBool::new(false)));
    complete(dir, plan, options, &session, &ProgressBar::hidden())
}

/// A directory that goes away with the handle; in memory where the system has such a place, because these tests sync
/// many thousand times.
fn scratch() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.unwrap()
}

/// A copy of a run directory.
fn copy(from: &Path) -> tempfile::TempDir {
    let to = scratch();
    for folder in ["", checkpoint::FOLDER] {
        for entry in fs::read_dir(from.join(folder)).into_iter().flatten().map(|entry| entry.unwrap()) {
            let name = to.path().join(folder).join(entry.file_name());
            if entry.file_type().unwrap().is_dir() {
                fs::create_dir(name).unwrap();
            } else {
                fs::copy(entry.path(), name).unwrap();
            }
        }
    }
    to
}

/// A finished run in a directory of its own.
fn finished_run(changes: &[&str]) -> tempfile::TempDir {
    let dir = scratch();
    go(dir.path(), &plan(changes), &options()).unwrap().unwrap();
    dir
}

/// What must not depend on interruptions: result, metrics and the final checkpoint.
fn essence(dir: &Path) -> [Vec<u8>; 3] {
    let result = fs::read(dir.join(RESULT)).unwrap();
    let steps = finished(dir).unwrap().unwrap().steps;
    let payload = fs::read(dir.join(format!("checkpoints/{steps:012}.safetensors"))).unwrap();
    [result, fs::read(dir.join(METRICS)).unwrap(), payload]
}

#[test]
fn run_leaves_what_it_promises_and_is_returned_as_it_is_afterwards() {
    let dir = finished_run(&[]);
    let mut names: Vec<String> =
        fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    let promised = [
        "LOCK",
        "checkpoints",
        "config.toml",
        "events.out.tfevents.ive",
        "metrics.jsonl",
        "result.json",
        "sessions.jsonl",
    ];
    assert_eq!(names, promised);
    let before = essence(dir.path());
    let result = go(dir.path(), &plan(&[]), &options()).unwrap().unwrap();
    assert_eq!((result.steps, result.greedy.len()), (1000, 3));
    assert_eq!(result.state, blake3::hash(&before[2]).to_string());
    assert_eq!(essence(dir.path()), before);
    let curve = metrics(dir.path()).unwrap();
    assert_eq!(
        curve.iter().map(|(step, _)| *step).collect::<Vec<_>>(),
        (1..=10).map(|i| 100 * i).collect::<Vec<_>>()
    );
    assert_eq!(curve[9].1, result.last);
    let (found, agent) = load(dir.path()).unwrap();
    assert_eq!((found, agent.steps()), (plan(&[]), 1000));
    let worked = sessions::read(dir.path());
    assert_eq!((worked.len(), worked[0].to_step, worked[0].end.as_str()), (1, 1000, "finished"));
}
