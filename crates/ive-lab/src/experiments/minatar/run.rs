//! Makes the runs of the table that are missing, several at a time, and hands all finished ones to the analysis.
//!
//! A run is an ordinary run directory (`crate::run`), `runs/<game>/<agent>/seed-<n>`: it can be stopped at any moment
//! and goes on where it was, and `ive runs` shows it.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget};

use super::record::Record;
use super::sweep::{Cell, Settings};
use super::{analysis, record};
use crate::exit::{Failure, Outcome};
use crate::experiments::Judged;
use crate::progress::Session;
use crate::run::{self, RESULT, RunOptions, sessions};
use crate::store::Store;

/// Where a run lives.
fn directory(store: &Store, cell: Cell) -> PathBuf {
    let (game, agent) = (cell.game.name(), cell.method.word());
    store.root().join("runs").join(game).join(agent).join(format!("seed-{}", cell.seed))
}

/// Makes all runs that are not finished yet and judges those that are. A run that fails leaves the others alone.
pub fn all(settings: &Settings, store: &Store, session: &Session) -> Outcome<Judged> {
    let cells = settings.cells()?;
    let total = cells.len();
    let (mut records, mut failed, mut missing) = (Vec::new(), Vec::new(), Vec::new());
    for cell in cells {
        if directory(store, cell).join(RESULT).exists() {
            // Asks `complete` too, which compares the settings, but does no work any more.
            match one(settings, store, cell, session, &ProgressBar::hidden()) {
                Ok(record) => records.extend(record),
                Err(failure) => failed.push((cell, failure)),
            }
        } else {
            missing.push(cell);
        }
    }
    let bars = if session.quiet {
        MultiProgress::with_draw_target(ProgressDrawTarget::hidden())
    } else {
        MultiProgress::new()
    };
    let whole = bars.add(session.bar("minatar", total, "runs"));
    whole.set_position(records.len() as u64);
    if !records.is_empty() {
        session.say(&format!("minatar: {} of {total} runs are there already", records.len()));
    }
    let queue = Mutex::new(missing.into_iter());
    let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).next();
    // Each thread takes the next run when it is done with one: in the order of the queue, longest first.
    let work = || {
        let mut done = Vec::new();
        while let Some(cell) = (!session.stopped()).then(next).flatten() {
            let bar = bars.insert_before(&whole, session.run_bar(&name(cell), settings.steps));
            let outcome = one(settings, store, cell, session, &bar);
            bars.remove(&bar);
            match &outcome {
                Ok(Some(_)) => whole.inc(1),
                Ok(None) => {}
                Err(failure) => {
                    bars.suspend(|| session.warn(&format!("{}: {}", name(cell), failure.message)))
                }
            }
            done.push((cell, outcome));
        }
        done
    };
    for (cell, outcome) in rayon::broadcast(|_| work()).into_iter().flatten() {
        match outcome {
            Ok(record) => records.extend(record),
            Err(failure) => failed.push((cell, failure)),
        }
    }
    whole.finish_and_clear();
    let findings = if records.is_empty() {
        None
    } else {
        Some(analysis::findings(settings, records, &analysis::scales(settings)?)?)
    };
    Ok(Judged { findings, failure: summed_up(failed, total) })
}

/// `breakout/dqn/seed-0`.
fn name(cell: Cell) -> String {
    format!("{}/{}/seed-{}", cell.game.name(), cell.method.word(), cell.seed)
}

/// Finishes a run, or returns it if it is finished; `None` = asked to stop, state saved.
fn one(
    settings: &Settings,
    store: &Store,
    cell: Cell,
    session: &Session,
    bar: &ProgressBar,
) -> Outcome<Option<Record>> {
    let dir = directory(store, cell);
    let options = RunOptions { greedy_episodes: settings.greedy_episodes as usize, ..RunOptions::default() };
    let Some(finished) = run::complete(&dir, &settings.plan(cell)?, &options, session, bar)? else {
        return Ok(None);
    };
    Ok(Some(Record {
        game: cell.game,
        method: cell.method,
        seed: cell.seed,
        steps: finished.steps,
        training: finished.return_100,
        greedy: finished.greedy,
        log: run::metrics(&dir)?,
        speed: record::speed(&sessions::read(&dir)),
    }))
}

/// The first failure, with how many there are.
fn summed_up(failed: Vec<(Cell, Failure)>, total: usize) -> Option<Failure> {
    let count = failed.len();
    let (cell, first) = failed.into_iter().next()?;
    let which = if count == 1 { "it is" } else { "the first is" };
    let message = format!(
        "{count} of {total} runs failed, {which} {}: {}; the others are kept, and the same command tries again",
        name(cell),
        first.message
    );
    Some(Failure { message, ..first })
}
