//! What a run directory looks like from outside, without working on it.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::checkpoint::{Checkpoints, FOLDER};
use super::config;
use super::disk::Disk;
use super::journal::metrics_on;
use super::manifest::Flaw;
use super::system::Kind;
use super::{Plan, finished_on};
use crate::exit::{Failure, Outcome};
use crate::lock::holder;

/// What can be done with a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// It is finished.
    Done,
    /// A process works on it.
    Running,
    /// It can go on.
    Resumable,
    /// It cannot go on as it is.
    Damaged,
    /// It cannot be read at the moment, whatever it is.
    Unreadable,
}

impl State {
    /// As it is shown.
    pub fn word(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Running => "running",
            Self::Resumable => "resumable",
            Self::Damaged => "damaged",
            Self::Unreadable => "unreadable",
        }
    }
}

/// A run at a glance.
#[derive(Clone, Debug, Serialize)]
pub struct Status {
    /// Its directory.
    pub dir: PathBuf,
    /// What can be done with it.
    pub state: State,
    /// What is wrong or who works on it.
    pub note: Option<String>,
    /// What it is, as far as that can be read.
    pub plan: Option<Plan>,
    /// Environment steps done and saved.
    pub step: u64,
    /// Mean return of the last 100 training episodes.
    pub return_100: Option<f64>,
}

/// Whether a directory is a run. One that cannot be looked at now is taken for one: reading it says what is wrong.
pub fn is_run(dir: &Path) -> bool {
    match Disk::default().look(&dir.join(config::FILE)) {
        Ok(seen) => seen.is_some_and(|seen| seen.kind == Kind::File),
        Err(error) => !error.is_elsewhere(),
    }
}

impl Status {
    /// Looks at a run. Payloads are not read: that they are as long as they should be is enough for a glance.
    pub fn of(dir: &Path) -> Self {
        Self::on(&Disk::default(), dir)
    }

    /// The same on any disk.
    pub fn on(disk: &Disk, dir: &Path) -> Self {
        let mut status = Self {
            dir: dir.to_owned(),
            state: State::Damaged,
            note: None,
            plan: None,
            step: 0,
            return_100: None,
        };
        if let Err(failure) = status.look(disk) {
            let state = if failure.code == Failure::io("").code { State::Unreadable } else { State::Damaged };
            (status.state, status.note) = (state, Some(failure.message));
        }
        if let Some(who) = holder(dir) {
            (status.state, status.note) = (State::Running, Some(who));
        }
        status
    }

    fn look(&mut self, disk: &Disk) -> Outcome {
        let plan = Plan::read_on(disk, &self.dir)?;
        self.plan = Some(plan.clone());
        if let Some(finished) = finished_on(disk, &self.dir)? {
            (self.state, self.step, self.return_100) = (State::Done, finished.steps, finished.return_100);
            return Ok(());
        }
        if let Ok(lines) = metrics_on(disk, &self.dir) {
            // The last line may be that of an evaluation.
            self.return_100 = lines.iter().rev().find_map(|(_, values)| values.get("return_100").copied());
        }
        self.step = newest_step(disk, &self.dir, &plan)?;
        self.state = State::Resumable;
        Ok(())
    }
}

fn newest_step(disk: &Disk, dir: &Path, plan: &Plan) -> Outcome<u64> {
    let checkpoints = Checkpoints::of(dir, disk);
    let mut faults = Vec::new();
    for step in checkpoints.steps()? {
        let whole = checkpoints.manifest(step, plan).and_then(|manifest| {
            for (name, piece) in &manifest.files {
                let seen = disk.look(&dir.join(FOLDER).join(name))?;
                if !seen.is_some_and(|seen| seen.kind == Kind::File && seen.length == piece.bytes) {
                    return Err(Flaw::Damaged("its payload has another length".to_owned()));
                }
            }
            Ok(())
        });
        match whole {
            Ok(()) => return Ok(step),
            Err(Flaw::Refused(failure)) => return Err(failure),
            Err(Flaw::Damaged(what)) => faults.push(format!("checkpoint of step {step}: {what}")),
        }
    }
    if faults.is_empty() { Ok(0) } else { Err(Failure::data(faults.join("; "))) }
}
