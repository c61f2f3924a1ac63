//! Makes the runs of the table that are missing, and hands all finished ones to the analysis.

use serde_json::Value;

use super::analysis;
use super::published::Method;
use super::sweep::{Cell, Settings};
use crate::exit::{Failure, Outcome};
use crate::experiments::runs::fleet::Fleet;
use crate::experiments::runs::record;
use crate::experiments::{Judged, Planned, value_of};
use crate::progress::Session;
use crate::run::Plan;
use crate::store::Store;

/// A finished run.
pub type Record = record::Record<Cell>;

/// Runs of the table by one method at one threshold.
pub fn of<'a>(
    settings: &'a Settings,
    records: &'a [Record],
    threshold: f64,
    method: Method,
) -> impl Iterator<Item = &'a Record> + Clone {
    let here = move |cell: &Cell| cell.threshold == threshold && cell.method == method;
    records.iter().filter(move |r| here(&r.cell) && settings.is_main(&r.cell))
}

/// `walk,eta=0.5/mu-sigma-ive,beta=0.1,step=0.1/seed-0`: everything in which runs of an output directory differ.
fn name(task: &str, cell: &Cell) -> String {
    format!("{task},eta={}/{}/seed-{}", cell.threshold, cell.variant(), cell.seed)
}

impl Planned for Settings {
    fn settings(&self) -> Outcome<Value> {
        value_of(self)
    }

    fn identity(&self) -> Outcome<Value> {
        Ok(Settings::identity(self))
    }

    fn runs(&self) -> Outcome<Vec<(String, Plan)>> {
        self.cells()?.iter().map(|cell| Ok((name(&self.task, cell), self.plan(cell)?))).collect()
    }

    /// Makes all runs that are not finished yet and judges those that are.
    fn run(&self, store: &Store, session: &Session) -> Outcome<Judged> {
        let (records, failure) = make(self, store, session, &|cell| self.plan(cell))?;
        let findings = if records.is_empty() { None } else { Some(analysis::findings(self, records)?) };
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
    let name = |cell: &Cell| name(&settings.task, cell);
    let fleet = Fleet { label: "walker", root: store.root(), steps: settings.steps, name: &name, plan };
    Ok(fleet.records(settings.cells()?, session))
}
