//! Makes the runs that are missing, evaluates those that are finished, and hands them to the analysis.

use serde_json::Value;

use super::evaluate::{self, Evaluated, Evaluation};
use super::sweep::{Ablation, Cell, Settings};
use super::{acting, analysis};
use crate::exit::{Failure, Outcome};
use crate::experiments::runs::fleet::{Done, Fleet};
use crate::experiments::runs::record::Record;
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
    pub run: Record<Cell>,
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
        if let Ablation::Optimism | Ablation::Pessimism = self.ablation()? {
            return acting::runs(self);
        }
        self.cells()?.iter().map(|cell| Ok((cell.name(), self.plan(cell)?))).collect()
    }

    /// Makes and evaluates all runs that are not finished yet and judges those that are.
    fn run(&self, store: &Store, session: &Session) -> Outcome<Judged> {
        match self.ablation()? {
            Ablation::Signal(_) => {}
            Ablation::Optimism => return acting::optimism::run(self, store, session),
            Ablation::Pessimism => return acting::pessimism::run(self, store, session),
        }
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
    let name = |cell: &Cell| cell.name();
    let fleet = Fleet { label: "procgen", root: store.root(), steps: settings.steps, name: &name, plan };
    let evaluation = Evaluation { settings, root: store.root() };
    let sets = |cell: &Cell, done: &Done| evaluation.plain(&cell.name(), cell.levels, done, session);
    let (tested, failure) = evaluate::all(settings.cells()?, &fleet, session, sets);
    let tested = tested.into_iter().map(|(cell, done, sets)| Tested { run: Record::of(cell, done), sets });
    Ok((tested.collect(), failure))
}
