//! Makes the runs that are missing, evaluates those that are finished, and hands them to the analysis.

use serde_json::Value;

use super::evaluate::{self, Evaluation};
use super::sweep::{Cell, Settings};
use super::{analysis, evaluate::Evaluated};
use crate::exit::{Failure, Outcome};
use crate::experiments::runs::fleet::Fleet;
use crate::experiments::runs::record;
use crate::experiments::{Judged, Planned, value_of};
use crate::progress::Session;
use crate::run::Plan;
use crate::store::Store;

/// Who is trained.
pub const AGENT: &str = "muesli";

/// A finished run and what it was evaluated on.
#[derive(Clone, Debug)]
pub struct Tested {
    /// The run.
    pub run: record::Record<Cell>,
    /// What the agent gets and says in each set of states, in the order of [`evaluate::Set::ALL`].
    pub sets: [Evaluated; 4],
}

impl Planned for Settings {
    fn settings(&self) -> Outcome<Value> {
        value_of(self)
    }

    fn identity(&self) -> Outcome<Value> {
        Ok(Settings::identity(self))
    }

    fn runs(&self) -> Outcome<Vec<(String, Plan)>> {
        self.cells()?.iter().map(|cell| Ok((cell.name(), self.plan(cell)?))).collect()
    }

    /// Makes and evaluates all runs that are not finished yet and judges those that are.
    fn run(&self, store: &Store, session: &Session) -> Outcome<Judged> {
        let plan = |cell: &Cell| self.plan(cell);
        let (tested, failure) = make(self, store, session, &plan)?;
        let findings = if tested.is_empty() { None } else { Some(analysis::findings(self, tested)?) };
        Ok(Judged { findings, failure })
    }
}

/// All finished and evaluated runs, and why others failed.
pub fn make(
    settings: &Settings,
    store: &Store,
    session: &Session,
    plan: &(dyn Fn(&Cell) -> Outcome<Plan> + Sync),
) -> Outcome<(Vec<Tested>, Option<Failure>)> {
    let cells = settings.cells()?;
    let total = cells.len();
    let name = |cell: &Cell| cell.name();
    let fleet = Fleet { label: "procgen", root: store.root(), steps: settings.steps, name: &name, plan };
    let (done, mut failed) = fleet.complete(cells, session);
    let evaluation = Evaluation { settings, root: store.root() };
    let (tested, unfit) = evaluate::all(&evaluation, done, session);
    failed.extend(unfit);
    Ok((tested, fleet.summed_up(failed, total)))
}
