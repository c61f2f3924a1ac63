//! `ive sweep trainer`: the process that trains, as the child of a task. The one place where a sweep touches a run.

use std::path::Path;
use std::time::Duration;

use super::fence::Fenced;
use super::manifest::Sweep;
use super::tether;
use crate::exit::{Failure, Outcome};
use crate::progress::Session;
use crate::run::disk::Disk;
use crate::run::greedy;
use crate::run::status::Status;
use crate::run::{Finished, Plan, RunOptions, complete, finished};

/// Trains until the run is finished, somebody asks to stop, or the task is gone.
pub fn run(dir: &Path, index: u64, attempt: u64, checkpoint_every: Duration) -> Outcome {
    let sweep = Sweep::open(dir)?;
    let task = sweep.task(index)?;
    let session = Session::start(false)?;
    tether::hold(&session);
    let options = RunOptions {
        checkpoint_every,
        disk: Disk::on(Fenced::new(&sweep.state_of(index), attempt)),
        ..RunOptions::default()
    };
    let progress = session.run_bar(&task.name, task.run.steps);
    match complete(&sweep.run_of(&task), &task.run, &options, &session, &progress)? {
        Some(_) => Ok(()),
        None => Err(Failure::interrupted("stopped, everything is saved")),
    }
}

/// The result of a run, if it is finished and is that of this task.
pub fn result(dir: &Path, run: &Plan) -> Outcome<Option<Finished>> {
    let Some(found) = finished(dir)? else { return Ok(None) };
    let here = dir.display();
    if found.run != *run {
        let what = run.compared_with(&found.run);
        return Err(Failure::data(format!("{here} holds the result of another run ({what})")));
    }
    if found.steps < run.steps {
        let (steps, target) = (found.steps, run.steps);
        return Err(Failure::data(format!("{here} ended after {steps} of {target} steps")));
    }
    Ok(Some(found))
}

/// How far a run has come: the step of its newest checkpoint, and when greedy episodes after training were saved. Whatever
/// changes it is progress that a crash does not undo.
pub fn mark(dir: &Path) -> (u64, Option<std::time::SystemTime>) {
    let greedy = std::fs::metadata(dir.join(greedy::FILE)).and_then(|found| found.modified()).ok();
    (Status::of(dir).step, greedy)
}
