//! Makes the runs that are missing, asks the agents that were not asked yet, and hands all answers to the analysis.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::detectors::Detector;
use super::survey::{Asked, ask};
use super::sweep::{Cell, Settings};
use super::{analysis, gridworld};
use crate::exit::{Failure, Outcome};
use crate::experiments::runs::fleet::Fleet;
use crate::experiments::{Judged, Planned, value_of};
use crate::progress::Session;
use crate::run::{Plan, load};
use crate::store::Store;

/// The stores of answers, beside the runs.
const AGENTS: &str = "agents";
const GRID: &str = "gridworld";

/// What is kept: an answer, under what was asked.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Kept<T> {
    asked: Value,
    answer: T,
}

/// What an answer depends on beside the run itself.
fn question(settings: &Settings) -> Outcome<Value> {
    let mut all = value_of(settings)?;
    let object = all.as_object_mut().ok_or_else(|| Failure::internal("settings are a table"))?;
    for key in ["variants", "games", "seeds", "steps", "grid_seeds", "grid_walks"] {
        object.remove(key);
    }
    object.insert("longest".to_owned(), settings.longest().into());
    object.insert("detectors".to_owned(), Detector::ALL.map(Detector::key).to_vec().into());
    Ok(all)
}

/// The place of an answer in its store.
fn number(name: &str) -> u64 {
    let hash = blake3::hash(name.as_bytes());
    let first = hash.as_bytes().first_chunk().expect("a hash has 32 bytes");
    // JSON numbers are exact up to 2⁵³.
    u64::from_le_bytes(*first) >> 11
}

/// Answers that are kept; what is missing is worked out, several at a time.
fn kept<Item: Sync, T: Serialize + serde::de::DeserializeOwned + Clone + Send + Sync>(
    store: &Store,
    (session, what): (&Session, &str),
    question: &Value,
    items: &[(String, Item)],
    answer: impl Fn(&Item) -> Outcome<T> + Sync,
) -> Outcome<Vec<(String, T)>> {
    let (done, log) = store.seeds::<Kept<T>>()?;
    let old = |name: &str| {
        let mine = done.iter().rev().find(|(n, kept)| *n == number(name) && kept.asked == *question);
        mine.map(|(_, kept)| kept.answer.clone())
    };
    let bar = session.bar("detection", items.len(), what);
    let all: Vec<Option<(String, T)>> = items
        .par_iter()
        .map(|(name, item)| {
            let known = old(name);
            let is_new = known.is_none();
            if is_new && session.stopped() {
                return Ok(None);
            }
            let found = known.map_or_else(|| answer(item), Ok)?;
            if is_new {
                log.add(number(name), &Kept { asked: question.clone(), answer: found.clone() })?;
            }
            bar.inc(1);
            Ok(Some((name.clone(), found)))
        })
        .collect::<Outcome<_>>()?;
    bar.finish_and_clear();
    Ok(all.into_iter().flatten().collect())
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

    fn run(&self, store: &Store, session: &Session) -> Outcome<Judged> {
        let cells = self.cells()?;
        let total = cells.len();
        let (name, plan) = (Cell::name, |cell: &Cell| self.plan(cell));
        let fleet =
            Fleet { label: "detection", root: store.root(), steps: self.longest(), name: &name, plan: &plan };
        let (done, failed) = fleet.complete(cells, session);
        let items: Vec<(String, (Cell, f64))> = done
            .into_iter()
            .map(|(cell, done)| (cell.name(), (cell, ive::mean(&done.finished.greedy))))
            .collect();
        let answers = kept(
            &store.part(AGENTS),
            (session, "agents asked"),
            &question(self)?,
            &items,
            |(cell, greedy)| {
                let (_, mut agent) = load(&store.root().join("runs").join(cell.name()))?;
                ask(self, cell, agent.as_mut(), *greedy)
            },
        )?;
        let of = |name: &str| items.iter().find(|item| item.0 == name).map(|item| item.1.0.clone());
        let mut answers: Vec<(Cell, Asked)> =
            answers.into_iter().filter_map(|(name, asked)| Some((of(&name)?, asked))).collect();
        // Runs come in the order in which threads had them; sums and files are in that of the settings.
        let order = self.cells()?;
        answers.sort_by_key(|(cell, _)| order.iter().position(|other| other == cell));
        let walks = serde_json::json!({ "walks": self.grid_walks, "rate": self.guard_rate });
        let seeds: Vec<(String, u64)> = (0..self.grid_seeds).map(|s| (s.to_string(), s)).collect();
        let grid = kept(&store.part(GRID), (session, "gridworlds walked"), &walks, &seeds, |&seed| {
            gridworld::seed(seed, self.grid_walks as usize, self.guard_rate)
        })?;
        let grid: Vec<gridworld::Outcome> = grid.into_iter().map(|(_, found)| found).collect();
        let findings =
            if answers.is_empty() { None } else { Some(analysis::findings(self, &answers, &grid)?) };
        Ok(Judged { findings, failure: fleet.summed_up(failed, total) })
    }
}
