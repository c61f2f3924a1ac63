//! Makes the runs of the trials that are missing, and hands all finished ones to the analysis.

use serde_json::Value;

use super::analysis;
use super::sweep::{Cell, Settings};
use crate::exit::Outcome;
use crate::experiments::runs::fleet::Fleet;
use crate::experiments::{Judged, Planned, value_of};
use crate::progress::Session;
use crate::run::Plan;
use crate::store::Store;

/// `replay=7/breakout/seed-0`.
fn name(cell: &Cell) -> String {
    format!("{}/{}/seed-{}", cell.change, cell.game.name(), cell.seed)
}

impl Planned for Settings {
    fn settings(&self) -> Outcome<Value> {
        value_of(self)
    }

    fn identity(&self) -> Outcome<Value> {
        Ok(Settings::identity(self))
    }

    fn runs(&self) -> Outcome<Vec<(String, Plan)>> {
        self.cells()?.iter().map(|cell| Ok((name(cell), self.plan(cell)?))).collect()
    }

    /// Makes all runs that are not finished yet and compares those that are.
    fn run(&self, store: &Store, session: &Session) -> Outcome<Judged> {
        let plan = |cell: &Cell| self.plan(cell);
        let fleet =
            Fleet { label: "trials", root: store.root(), steps: self.steps, name: &name, plan: &plan };
        let (records, failure) = fleet.records(self.cells()?, session);
        let findings = if records.is_empty() { None } else { Some(analysis::findings(self, &records)?) };
        Ok(Judged { findings, failure })
    }
}
