//! Many runs of agents, several at a time.
//!
//! Each is an ordinary run directory (`crate::run`) below `runs/`: it can be stopped at any moment and goes on where it
//! was, `ive runs` shows it, and a finished one is used again.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget};

use super::record::Record;
use crate::exit::{Failure, Outcome};
use crate::progress::{Session, warn};
use crate::run::{self, Finished, History, Plan, RESULT, RunOptions, sessions};

/// The runs of an experiment; a `Cell` says which one.
pub struct Fleet<'a, Cell> {
    /// The name of the experiment.
    pub label: &'a str,
    /// Its directory.
    pub root: &'a Path,
    /// Environment steps of a run, for the progress bars.
    pub steps: u64,
    /// The name of a run, which is also its path below `runs/`.
    pub name: &'a (dyn Fn(&Cell) -> String + Sync),
    /// What a run is.
    pub plan: &'a (dyn Fn(&Cell) -> Outcome<Plan> + Sync),
}

/// What is known of a finished run.
#[derive(Clone, Debug)]
pub struct Done {
    /// Its result.
    pub finished: Finished,
    /// What was logged on the way.
    pub log: History,
    /// Environment steps per second of CPU time, evaluation included; depends on the machine.
    pub speed: Option<f64>,
}

/// Finished runs, and those that failed.
pub type Made<Cell> = (Vec<(Cell, Done)>, Vec<(Cell, Failure)>);

impl<Cell: Send> Fleet<'_, Cell> {
    /// Makes all runs that are not finished yet; a failed one leaves the others alone. After a request to stop, running
    /// ones are saved and none is begun.
    pub fn complete(&self, cells: Vec<Cell>, session: &Session) -> Made<Cell> {
        let result = |cell: &Cell| self.root.join("runs").join((self.name)(cell)).join(RESULT);
        let (there, missing): (Vec<Cell>, Vec<Cell>) = cells.into_iter().partition(|c| result(c).exists());
        let total = there.len() + missing.len();
        let bars = if session.quiet {
            MultiProgress::with_draw_target(ProgressDrawTarget::hidden())
        } else {
            MultiProgress::new()
        };
        let whole = bars.add(session.bar(self.label, total, "runs"));
        if !there.is_empty() {
            session.say(&format!("{}: {} of {total} runs are there already", self.label, there.len()));
        }
        // Finished runs come first: they are read, and their settings compared, but there is nothing left to do.
        let queue = Mutex::new(there.into_iter().chain(missing));
        let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).next();
        // Each thread takes the next run when it is done with one, so that they begin in the order of the queue.
        let work = || {
            let mut done = Vec::new();
            while let Some(cell) = next() {
                if (session.stopped() || session.only_finished) && !result(&cell).exists() {
                    continue;
                }
                let name = (self.name)(&cell);
                let bar = bars.insert_before(&whole, session.run_bar(&name, self.steps));
                let outcome = self.one(&cell, session, &bar);
                bars.remove(&bar);
                match &outcome {
                    Ok(Some(_)) => whole.inc(1),
                    Ok(None) => {}
                    Err(failure) => bars.suspend(|| warn(&format!("{name}: {}", failure.message))),
                }
                done.push((cell, outcome));
            }
            done
        };
        let (mut finished, mut failed) = (Vec::new(), Vec::new());
        for (cell, outcome) in rayon::broadcast(|_| work()).into_iter().flatten() {
            match outcome {
                Ok(done) => finished.extend(done.map(|done| (cell, done))),
                Err(failure) => failed.push((cell, failure)),
            }
        }
        whole.finish_and_clear();
        (finished, failed)
    }

    /// The same for experiments that need no more of a run than its record: all finished ones, and why others failed.
    pub fn records(&self, cells: Vec<Cell>, session: &Session) -> (Vec<Record<Cell>>, Option<Failure>) {
        let total = cells.len();
        let (done, failed) = self.complete(cells, session);
        let records = done.into_iter().map(|(cell, done)| Record::of(cell, done)).collect();
        (records, self.summed_up(failed, total))
    }

    /// Finishes a run, or returns it if it is finished; `None` = asked to stop, state saved.
    fn one(&self, cell: &Cell, session: &Session, bar: &ProgressBar) -> Outcome<Option<Done>> {
        let dir = self.root.join("runs").join((self.name)(cell));
        let plan = (self.plan)(cell)?;
        let Some(finished) = run::complete(&dir, &plan, &RunOptions::default(), session, bar)? else {
            return Ok(None);
        };
        Ok(Some(Done { finished, log: run::metrics(&dir)?, speed: speed(&sessions::read(&dir)) }))
    }

    /// The first failure, with how many there are.
    pub fn summed_up(&self, mut failed: Vec<(Cell, Failure)>, total: usize) -> Option<Failure> {
        failed.sort_by_key(|(cell, _)| (self.name)(cell));
        let count = failed.len();
        let (cell, first) = failed.into_iter().next()?;
        let which = if count == 1 { "it is" } else { "the first is" };
        let message = format!(
            "{count} of {total} runs failed, {which} {}: {}; the others are kept, and the same command tries again",
            (self.name)(&cell),
            first.message
        );
        Some(Failure { message, ..first })
    }
}

/// Steps per CPU second over all processes that worked on a run.
fn speed(sessions: &[sessions::Record]) -> Option<f64> {
    let steps: u64 = sessions.iter().map(|s| s.to_step.saturating_sub(s.from_step)).sum();
    let seconds: f64 = sessions.iter().map(|s| s.cpu_seconds).sum();
    (seconds > 0.0).then(|| steps as f64 / seconds)
}
