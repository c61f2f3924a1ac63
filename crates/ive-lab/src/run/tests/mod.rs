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
mod segments;
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

/// The row of the fake agent among all agents.
pub const FAKE: agents::Family = agents::Family {
    presets: &[("default", fake::PRESET)],
    learns: <fake::Fake as ive_agents::Player>::LEARNS,
    check: |plan| agents::checked(plan, fake::Config::check),
    complete: |plan| Ok(plan.settings.clone()),
    schedules: |_| Ok(Vec::new()),
    make: |making| {
        let source = making.source::<fake::Fake>()?;
        making.done(fake::Fake::new(agents::typed(making.plan)?, source, making.plan.seed))
    },
};

/// The plan of a fake agent with these changes, and few greedy episodes.
fn plan(changes: &[&str]) -> Plan {
    let changes: Vec<Change> = changes.iter().map(|c| Change::parse(c).unwrap()).collect();
    let request = Request {
        agent: "fake",
        world: "minatar:breakout",
        seed: 3,
        greedy_episodes: Some(3),
        changes: &changes,
        ..Request::default()
    };
    resolve(&request).unwrap()
}

/// A checkpoint after every round, in small segments. A round of the fake agent has 400 bytes of a log:
/// segments of 330 bytes begin and end in the middle of a step, and some are too small to stay. Training waits for the disk, so that
/// operations have a fixed order.
fn options() -> RunOptions {
    RunOptions {
        checkpoint_every: Duration::ZERO,
        segment_bytes: 330,
        background: false,
        ..RunOptions::default()
    }
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

/// The names in `checkpoints/`, in order.
fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir.join(checkpoint::FOLDER)).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Whether a file in `checkpoints/` is a manifest.
fn is_manifest(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|ending| ending == "json")
}

/// The names in `checkpoints/` as they should be: at most two manifests and all that they name, nothing else.
fn needed(dir: &Path) -> Vec<String> {
    let manifests: Vec<String> = names(dir).into_iter().filter(|name| is_manifest(name)).collect();
    assert!((1..=2).contains(&manifests.len()), "{manifests:?}");
    let mut needed = manifests.clone();
    for name in manifests {
        let path = dir.join(checkpoint::FOLDER).join(name);
        needed.extend(manifest::Manifest::read(&Disk::default(), &path).unwrap().files.into_keys());
    }
    needed.sort();
    needed.dedup();
    needed
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
    let mut found: Vec<String> =
        fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    found.sort();
    let promised = [
        "LOCK",
        "checkpoints",
        "config.toml",
        "events.out.tfevents.ive",
        "metrics.jsonl",
        "result.json",
        "sessions.jsonl",
    ];
    assert_eq!(found, promised);
    let before = essence(dir.path());
    let result = go(dir.path(), &plan(&[]), &options()).unwrap().unwrap();
    assert_eq!((result.steps, result.greedy.len()), (1000, 3));
    assert_eq!(names(dir.path()), needed(dir.path()));
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
