//! Runs under a fake agent: every fault of the disk, every damaged byte, every refusal.

pub mod fake;
pub mod faults;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use indicatif::ProgressBar;

use super::agents::{Request, resolve};
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

#[test]
fn run_finishes_and_is_returned_as_it_is_afterwards() {
    let dir = tempfile::tempdir().unwrap();
    let finished = go(dir.path(), &plan(&[]), &options()).unwrap().unwrap();
    assert_eq!((finished.steps, finished.greedy.len(), finished.state.len()), (1000, 3, 64));
    assert_eq!(go(dir.path(), &plan(&[]), &options()).unwrap().unwrap(), finished);
    assert_eq!(metrics(dir.path()).unwrap().len(), 10);
    let (plan_found, agent) = load(dir.path()).unwrap();
    assert_eq!((plan_found, agent.steps()), (plan(&[]), 1000));
}
