//! Makes the runs of the table that are missing, and hands all finished ones to the analysis.

use ive_envs::minatar::Game;
use serde_json::Value;

use super::published::Method;
use super::sweep::{Cell, Settings};
use super::{analysis, depths};
use crate::exit::{Failure, Outcome};
use crate::experiments::runs::fleet::Fleet;
use crate::experiments::runs::record;
use crate::experiments::{Judged, Planned, value_of};
use crate::progress::Session;
use crate::run::Plan;
use crate::store::Store;

/// A finished run of the table.
pub type Record = record::Record<Cell>;

/// Runs of one agent on one game.
pub fn of(records: &[Record], game: Game, method: Method) -> impl Iterator<Item = &Record> + Clone {
    records.iter().filter(move |r| r.cell.game == game && r.cell.method == method)
}

/// `breakout/dqn/seed-0`.
pub fn name(cell: &Cell) -> String {
    format!("{}/{}/seed-{}", cell.game.name(), cell.method.word(), cell.seed)
}

impl Planned for Settings {
    fn settings(&self) -> Outcome<Value> {
        value_of(self)
    }

    fn identity(&self) -> Outcome<Value> {
        Ok(Settings::identity(self))
    }

    fn runs(&self) -> Outcome<Vec<(String, Plan)>> {
        self.cells()?.iter().map(|cell| Ok((name(cell), self.plan(*cell)?))).collect()
    }

    /// Makes all runs that are not finished yet and judges those that are.
    fn run(&self, store: &Store, session: &Session) -> Outcome<Judged> {
        let (records, mut failure) = make(self, store, session, &|cell| self.plan(*cell))?;
        let findings = if records.is_empty() {
            None
        } else {
            let (depths, unasked) = depths::of_all(self, store, session, &records)?;
            failure = failure.or(unasked);
            Some(analysis::findings(self, records, &depths, &analysis::scales(self)?)?)
        };
        Ok(Judged { findings, failure })
    }
}

/// All finished runs, and why others failed.
fn make(
    settings: &Settings,
    store: &Store,
    session: &Session,
    plan: &(dyn Fn(&Cell) -> Outcome<Plan> + Sync),
) -> Outcome<(Vec<Record>, Option<Failure>)> {
    let fleet = Fleet { label: "minatar", root: store.root(), steps: settings.steps, name: &name, plan };
    Ok(fleet.records(settings.cells()?, session))
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    use super::*;
    use crate::run::RESULT;
    use crate::run::agents::{Request, resolve};
    use crate::settings::Change;

    fn settings(steps: u64) -> Settings {
        let text = include_str!("../../../presets/minatar.smoke.toml");
        let settings: Settings = toml::from_str(text).unwrap();
        Settings { games: vec!["breakout".into(), "asterix".into()], seeds: 2, steps, ..settings }
    }

    /// A plan with the fake agent of the run tests, with these settings.
    fn fake(cell: &Cell, steps: u64, changes: &[&str]) -> Outcome<Plan> {
        let changes: Vec<Change> = changes.iter().map(|c| Change::parse(c).unwrap()).collect();
        let seed = cell.seed + 10 * cell.method as u64;
        let world = format!("minatar:{}", cell.game.name());
        let steps = Some(steps);
        resolve(&Request {
            agent: "fake",
            world: &world,
            seed,
            steps,
            greedy_episodes: Some(5),
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
        analysis::findings(settings, records, &[], &scales).unwrap().summary(&serde_json::Value::Null)
    }

    /// Two games, four agents, two seeds.
    const RUNS: usize = 16;

    #[test]
    fn a_stopped_sweep_goes_on_and_gives_the_same_summary() {
        let (once, twice) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let settings = settings(20_000);
        let plan = |cell: &Cell| fake(cell, settings.steps, &[]);
        let (whole, failed) = make(&settings, &store(once.path()), &calm(), &plan).unwrap();
        assert!(whole.len() == RUNS && failed.is_none());

        // The stop comes while the fifth run begins: that one has not moved yet, another one may be on its way.
        let (stop, begun) = (Arc::new(AtomicBool::new(false)), AtomicUsize::new(0));
        let stopping = |cell: &Cell| {
            stop.fetch_or(begun.fetch_add(1, Ordering::Relaxed) == 4, Ordering::Relaxed);
            plan(cell)
        };
        let (first, failed) =
            make(&settings, &store(twice.path()), &Session::silent(&stop), &stopping).unwrap();
        assert!((1..=6).contains(&first.len()) && failed.is_none(), "{} runs", first.len());
        let (rest, failed) = make(&settings, &store(twice.path()), &calm(), &plan).unwrap();
        assert!(failed.is_none());
        assert_eq!(summary(&settings, rest), summary(&settings, whole));
    }

    #[test]
    fn a_failed_run_leaves_the_others_alone() {
        let dir = tempfile::tempdir().unwrap();
        let settings = settings(400);
        let plan = |cell: &Cell| {
            let breaks = cell.seed == 1 && cell.method.word() == "vpn-v5";
            fake(cell, settings.steps, if breaks { &["nan_error_at=100"] } else { &[] })
        };
        let (records, failed) = make(&settings, &store(dir.path()), &calm(), &plan).unwrap();
        assert_eq!(records.len(), RUNS - 2);
        let failure = failed.unwrap();
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
        let plan = |cell: &Cell| fake(cell, 400, &[]);
        make(&few, &store(dir.path()), &calm(), &plan).unwrap();
        let path = dir.path().join("runs/breakout/dqn/seed-0").join(RESULT);
        let written = path.metadata().unwrap().modified().unwrap();
        let (records, _) = make(&settings(400), &store(dir.path()), &calm(), &plan).unwrap();
        assert_eq!(records.len(), RUNS);
        assert_eq!(path.metadata().unwrap().modified().unwrap(), written);
    }
}
