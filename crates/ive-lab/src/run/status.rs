//! What a run directory looks like from outside, without working on it.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::checkpoint::{Checkpoints, FOLDER};
use super::config::{self, Config};
use super::disk::Disk;
use super::manifest::Flaw;
use super::{Plan, finished, metrics};
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
}

impl State {
    /// As it is shown.
    pub fn word(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Running => "running",
            Self::Resumable => "resumable",
            Self::Damaged => "damaged",
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

/// Whether a directory is a run.
pub fn is_run(dir: &Path) -> bool {
    dir.join(config::FILE).is_file()
}

impl Status {
    /// Looks at a run. Payloads are not read: that they are as long as they should be is enough for a glance.
    pub fn of(dir: &Path) -> Self {
        let mut status = Self {
            dir: dir.to_owned(),
            state: State::Damaged,
            note: None,
            plan: None,
            step: 0,
            return_100: None,
        };
        if let Err(failure) = status.look() {
            (status.state, status.note) = (State::Damaged, Some(failure.message));
        }
        if let Some(who) = holder(dir) {
            (status.state, status.note) = (State::Running, Some(who));
        }
        status
    }

    fn look(&mut self) -> Outcome {
        let config = Config::read(&self.dir)?;
        self.plan = Some(config.plan.clone());
        if let Some(finished) = finished(&self.dir)? {
            (self.state, self.step, self.return_100) = (State::Done, finished.steps, finished.return_100);
            return Ok(());
        }
        if let Ok(lines) = metrics(&self.dir) {
            self.return_100 = lines.last().and_then(|(_, values)| values.get("return_100").copied());
        }
        self.step = newest_step(&self.dir, &config)?;
        self.state = State::Resumable;
        Ok(())
    }
}

fn newest_step(dir: &Path, config: &Config) -> Outcome<u64> {
    let checkpoints = Checkpoints::of(dir, &Disk::default());
    let mut faults = Vec::new();
    for step in checkpoints.steps() {
        let whole = checkpoints.manifest(step, config).and_then(|manifest| {
            let long = |(name, piece): (&String, &super::manifest::Piece)| {
                fs::metadata(dir.join(FOLDER).join(name)).is_ok_and(|found| found.len() == piece.bytes)
            };
            let damaged = || Flaw::Damaged("its payload has another length".to_owned());
            manifest.files.iter().all(long).then_some(()).ok_or_else(damaged)
        });
        match whole {
            Ok(()) => return Ok(step),
            Err(Flaw::Foreign(failure)) => return Err(failure),
            Err(Flaw::Damaged(what)) => faults.push(format!("checkpoint of step {step}: {what}")),
        }
    }
    if faults.is_empty() { Ok(0) } else { Err(Failure::data(faults.join("; "))) }
}
