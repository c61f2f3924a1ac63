//! Makes the runs that are missing, asks the agents that were not asked yet, and hands all answers to the analysis.

use serde_json::Value;

use super::detectors::Detector;
use super::survey::{Asked, ask};
use super::sweep::{Cell, Settings};
use super::{analysis, gridworld};
use crate::exit::{Failure, Outcome};
use crate::experiments::runs::answers::{Answers, Question};
use crate::experiments::runs::fleet::Fleet;
use crate::experiments::{Judged, Planned, value_of};
use crate::progress::Session;
use crate::run::{Plan, load};
use crate::store::Store;

/// The stores of answers, beside the runs.
const AGENTS: &str = "agents";
const GRID: &str = "gridworld";

/// What is asked of the agent of a run: what the answer depends on, the settings of the agent among it.
fn question(settings: &Settings, cell: Cell) -> Outcome<Question<Cell>> {
    let mut asked = value_of(settings)?;
    let object = asked.as_object_mut().ok_or_else(|| Failure::internal("settings are a table"))?;
    for key in ["base", "variants", "games", "seeds", "steps", "grid_seeds", "grid_walks"] {
        object.remove(key);
    }
    if !settings.corruption_lasts {
        // Answers from before the setting was there are answers to the same question.
        object.remove("corruption_lasts");
    }
    object.insert("longest".to_owned(), settings.longest().into());
    object.insert("detectors".to_owned(), Detector::ALL.map(Detector::key).to_vec().into());
    object.insert("trained".to_owned(), value_of(&settings.plan(&cell)?.settings)?);
    Ok(Question { name: cell.name(), asked, item: cell })
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

    /// An agent whose answers are kept need not be trained again.
    fn run(&self, store: &Store, session: &Session) -> Outcome<Judged> {
        let cells = self.cells()?;
        let total = cells.len();
        let kept: Answers<Asked> = Answers::open(&store.part(AGENTS))?;
        let questions = cells.iter().map(|cell| question(self, cell.clone())).collect::<Outcome<Vec<_>>>()?;
        let missing = questions.iter().filter(|q| kept.to(q).is_none()).map(|q| q.item.clone()).collect();
        let (name, plan) = (Cell::name, |cell: &Cell| self.plan(cell));
        let fleet =
            Fleet { label: "detection", root: store.root(), steps: self.longest(), name: &name, plan: &plan };
        let (done, failed) = fleet.complete(missing, session);
        let returned = |cell: &Cell| {
            let done = done.iter().find(|(other, _)| other == cell);
            done.map(|(_, done)| ive::mean(&done.finished.greedy))
        };
        let questions: Vec<Question<Cell>> =
            questions.into_iter().filter(|q| kept.to(q).is_some() || returned(&q.item).is_some()).collect();
        let (answers, unasked) = kept.all(
            session.bar("detection", questions.len(), "agents asked"),
            session,
            &questions,
            |cell| {
                let greedy =
                    returned(cell).ok_or_else(|| Failure::internal("only finished runs are asked"))?;
                let (_, mut agent) = load(&store.root().join("runs").join(cell.name()))?;
                ask(self, cell, agent.as_mut(), greedy)
            },
        );
        // Sums and files are in the order of the settings, whatever thread had which.
        let of = |name: &str| questions.iter().find(|q| q.name == name).map(|q| q.item.clone());
        let answers: Vec<(Cell, Asked)> =
            answers.into_iter().filter_map(|(name, asked)| Some((of(&name)?, asked))).collect();
        let asked = serde_json::json!({ "walks": self.grid_walks, "rate": self.guard_rate });
        let seeds: Vec<Question<u64>> = (0..self.grid_seeds)
            .map(|seed| Question { name: seed.to_string(), asked: asked.clone(), item: seed })
            .collect();
        let (grid, unwalked) = Answers::open(&store.part(GRID))?.all(
            session.bar("detection", seeds.len(), "gridworlds walked"),
            session,
            &seeds,
            |&seed| gridworld::seed(seed, self.grid_walks as usize, self.guard_rate),
        );
        let grid: Vec<gridworld::Outcome> = grid.into_iter().map(|(_, found)| found).collect();
        let findings =
            if answers.is_empty() { None } else { Some(analysis::findings(self, &answers, &grid)?) };
        let failure = fleet.summed_up(failed, total).or(unasked).or(unwalked);
        Ok(Judged { findings, failure })
    }
}
