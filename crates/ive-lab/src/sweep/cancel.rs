//! `CANCELLED`: a file that asks all tasks of a sweep to stop, whatever engine runs them and wherever.

use std::path::PathBuf;

use super::manifest::Sweep;
use crate::exit::Outcome;
use crate::run::disk::Disk;

fn path(sweep: &Sweep) -> PathBuf {
    sweep.dir.join("CANCELLED")
}

/// Asks all tasks to save and stop, and none to begin.
pub fn ask(sweep: &Sweep) -> Outcome {
    Ok(Disk::default().replace(&path(sweep), b"`ive sweep resume` removes this file and goes on\n")?)
}

/// Lets tasks begin again.
pub fn take_back(sweep: &Sweep) -> Outcome {
    Ok(Disk::default().remove(&path(sweep))?)
}

/// Whether the tasks are to stop.
pub fn is_asked(sweep: &Sweep) -> bool {
    path(sweep).exists()
}
