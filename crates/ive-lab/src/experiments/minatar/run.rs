//! Makes the runs of the table that are missing, several at a time, and hands all finished ones to the analysis.
//!
//! A run is an ordinary run directory (`crate::run`), `runs/<game>/<agent>/seed-<n>`: it can be stopped at any moment
//! and goes on where it was, and `ive runs` shows it.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget};

use super::record::Record;
use super::sweep::{Cell, Settings};
use super::{analysis, record};
use crate::exit::{Failure, Outcome};
use crate::experiments::Judged;
use crate::progress::{Session, warn};
use crate::run::{self, Plan, RESULT, RunOptions, sessions};
use crate::store::Store;

/// Where a run lives.
fn directory(store: &Store, cell: Cell) -> PathBuf {
    let (game, agent) = (cell.game.name(), cell.method.word());
    store.root().join("runs").join(game).join(agent).join(format!("seed-{}", cell.seed))
}

/// Makes all runs that are not finished yet and judges those that are.
pub fn all(settings: &Settings, store: &Store, session: &Session) -> Outcome<Judged> {
    let total = settings.cells()?.len();
    let (records, failed) = make(settings, store, session, &|cell| settings.plan(cell))?;
    let findings = if records.is_empty() {
        None
    } else {
        Some(analysis::findings(settings, records, &analysis::scales(settings)?)?)
    };
    Ok(Judged { findings, failure: summed_up(failed, total) })
}

type Failed = Vec<(Cell, Failure)>;

/// Makes all runs that are not finished yet; returns all finished ones, and those that failed, which leave the others
/// alone. After a request to stop, running ones are saved and none is begun.
fn make(
    settings: &Settings,
    store: &Store,
    session: &Session,
    plan: &(dyn Fn(Cell) -> Outcome<Plan> + Sync),
) -> Outcome<(Vec<Record>, Failed)> {
    let (there, missing): (Vec<Cell>, Vec<Cell>) =
        settings.cells()?.into_iter().partition(|&cell| directory(store, cell).join(RESULT).exists());
    let total = there.len() + missing.len();
    let bars = if session.quiet {
        MultiProgress::with_draw_target(ProgressDrawTarget::hidden())
    } else {
        MultiProgress::new()
    };
    let whole = bars.add(session.bar("minatar", total, "runs"));
    if !there.is_empty() {
        session.say(&format!("minatar: {} of {total} runs are there already", there.len()));
    }
    // Finished runs come first: they are read, and their settings compared, but there is nothing left to do.
    let queue = Mutex::new(there.into_iter().chain(missing));
    let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).next();
    let options = RunOptions { greedy_episodes: settings.greedy_episodes as usize, ..RunOptions::default() };
    // Each thread takes the next run when it is done with one, so that they begin in the order of the queue.
    let work = || {
        let mut done = Vec::new();
        while let Some(cell) = next() {
            let dir = directory(store, cell);
            if session.stopped() && !dir.join(RESULT).exists() {
                continue;
            }
            let bar = bars.insert_before(&whole, session.run_bar(&name(cell), settings.steps));
            let outcome = plan(cell).and_then(|plan| one(&dir, cell, &plan, &options, session, &bar));
            bars.remove(&bar);
            match &outcome {
                Ok(Some(_)) => whole.inc(1),
                Ok(None) => {}
                Err(failure) => {
                    bars.suspend(|| warn(&format!("{}: {}", name(cell), failure.message)));
                }
            }
            done.push((cell, outcome));
        }
        done
    };
    let (mut records, mut failed) = (Vec::new(), Vec::new());
    for (cell, outcome) in rayon::broadcast(|_| work()).into_iter().flatten() {
        match outcome {
            Ok(record) => records.extend(record),
            Err(failure) => failed.push((cell, failure)),
        }
    }
    whole.finish_and_clear();
    Ok((records, failed))
}

/// `breakout/dqn/seed-0`.
fn name(cell: Cell) -> String {
    format!("{}/{}/seed-{}", cell.game.name(), cell.method.word(), cell.seed)
}

/// Finishes a run, or returns it if it is finished; `None` = asked to stop, state saved.
fn one(
    dir: &Path,
    cell: Cell,
    plan: &Plan,
    options: &RunOptions,
    session: &Session,
    bar: &ProgressBar,
) -> Outcome<Option<Record>> {
    let Some(finished) = run::complete(dir, plan, options, session, bar)? else { return Ok(None) };
    Ok(Some(Record {
        game: cell.game,
        method: cell.method,
        seed: cell.seed,
        steps: finished.steps,
        training: finished.return_100,
        greedy: finished.greedy,
        log: run::metrics(dir)?,
        speed: record::speed(&sessions::read(dir)),
    }))
}

/// The first failure, with how many there are.
fn summed_up(mut failed: Failed, total: usize) -> Option<Failure> {
    failed.sort_by_key(|(cell, _)| name(*cell));
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    use super::*;
    use crate::run::agents::{Request, resolve};
    use crate::settings::Change;

    fn settings(steps: u64) -> Settings {
        let text = include_str!("../../../presets/minatar.smoke.toml");
        let settings: Settings = toml::from_str(text).unwrap();
        Settings { games: vec!["breakout".into(), "asterix".into()], seeds: 2, steps, ..settings }
    }

    /// A plan with the fake agent of the run tests, with these settings.
    fn fake(cell: Cell, steps: u64, changes: &[&str]) -> Outcome<Plan> {
        let changes: Vec<Change> = changes.iter().map(|c| Change::parse(c).unwrap()).collect();
        let seed = cell.seed + 10 * cell.method as u64;
        let world = format!("minatar:{}", cell.game.name());
        let steps = Some(steps);
        resolve(&Request {
            agent: "fake",
            world: &world,
            seed,
            steps,
            changes: &changes,
            ..Request::default()
        })
    }

    fn store(dir: &Path) -> Store {
        Store::open(dir, &serde_json::json!({}), false).unwrap()
    }

    fn calm() -> Session {
        Session::silent(&Arc::new(AtomicBool::new(false)))
    }

    fn summary(settings: &Settings, records: Vec<Record>) -> serde_json::Value {
        let scales = analysis::scales(settings).unwrap();
        analysis::findings(settings, records, &scales).unwrap().summary(&serde_json::Value::Null)
    }

    /// Two games, four agents, two seeds.
    const RUNS: usize = 16;

    #[test]
    fn a_stopped_sweep_goes_on_and_gives_the_same_summary() {
        let (once, twice) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let settings = settings(20_000);
        let plan = |cell| fake(cell, settings.steps, &[]);
        let (whole, failed) = make(&settings, &store(once.path()), &calm(), &plan).unwrap();
        assert!(whole.len() == RUNS && failed.is_empty());

        // The stop comes while the fifth run begins: that one has not moved yet, another one may be on its way.
        let (stop, begun) = (Arc::new(AtomicBool::new(false)), AtomicUsize::new(0));
        let stopping = |cell| {
            stop.fetch_or(begun.fetch_add(1, Ordering::Relaxed) == 4, Ordering::Relaxed);
            plan(cell)
        };
        let (first, failed) =
            make(&settings, &store(twice.path()), &Session::silent(&stop), &stopping).unwrap();
        assert!((1..=6).contains(&first.len()) && failed.is_empty(), "{} runs", first.len());
        let (rest, failed) = make(&settings, &store(twice.path()), &calm(), &plan).unwrap();
        assert!(failed.is_empty());
        assert_eq!(summary(&settings, rest), summary(&settings, whole));
    }

    #[test]
    fn a_failed_run_leaves_the_others_alone() {
        let dir = tempfile::tempdir().unwrap();
        let settings = settings(400);
        let plan = |cell: Cell| {
            let breaks = cell.seed == 1 && cell.method.word() == "vpn-v5";
            fake(cell, settings.steps, if breaks { &["nan_error_at=100"] } else { &[] })
        };
        let (records, failed) = make(&settings, &store(dir.path()), &calm(), &plan).unwrap();
        assert_eq!((records.len(), failed.len()), (RUNS - 2, 2));
        let failure = summed_up(failed, RUNS).unwrap();
        let expected = "2 of 16 runs failed, the first is asterix/vpn-v5/seed-1: gradient of w is not finite at step 100";
        assert!(failure.code == 70 && failure.message.starts_with(expected), "{}", failure.message);
        let scale = summary(&settings, records)["scale"].to_string();
        assert!(scale.contains("14 of 16 runs are finished"), "{scale}");
    }

    /// More seeds keep the runs that are there.
    #[test]
    fn finished_runs_are_used_again_when_more_are_asked_for() {
        let dir = tempfile::tempdir().unwrap();
        let few = Settings { seeds: 1, ..settings(400) };
        let plan = |cell| fake(cell, 400, &[]);
        make(&few, &store(dir.path()), &calm(), &plan).unwrap();
        let path = dir.path().join("runs/breakout/dqn/seed-0").join(RESULT);
        let written = path.metadata().unwrap().modified().unwrap();
        let (records, _) = make(&settings(400), &store(dir.path()), &calm(), &plan).unwrap();
        assert_eq!(records.len(), RUNS);
        assert_eq!(path.metadata().unwrap().modified().unwrap(), written);
    }
}
