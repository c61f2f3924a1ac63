//! `ive sweep gather`: all results, each verified, in one table that is the same whatever engine made them in whatever order.

use ive::mean_and_error;
use serde_json::{Value, json};

use super::grid::plain;
use super::manifest::Sweep;
use super::task::Task;
use super::{publish, survey};
use crate::exit::{Failure, Outcome};
use crate::report::table::Table;
use crate::run::Finished;
use crate::store::pretty;

/// Results, and why others are missing.
#[derive(Debug, Default)]
pub struct Gathered {
    /// Verified results, by the number of the task.
    pub rows: Vec<(Task, Finished)>,
    /// Tasks that have no result yet, by number, and how they stand.
    pub gaps: Vec<(u64, String)>,
    /// Results that are not what they should be.
    pub faults: Vec<(u64, Failure)>,
    /// Kinds of processors, where there is more than one: results may differ in their last bits then.
    pub processors: Vec<String>,
}

/// Collects and verifies: the record, the hash of the result, that it is the result of this task to its last step, that it
/// was made by the program that planned the sweep.
pub fn collect(sweep: &Sweep, allow_mixed: bool) -> Outcome<Gathered> {
    let mut all = Gathered::default();
    for task in sweep.tasks()? {
        let task = task?;
        match publish::result(sweep, &task) {
            Ok(None) => all.gaps.push((task.index, String::new())),
            Ok(Some((record, _))) if !allow_mixed && record.programs != [sweep.manifest.program.clone()] => {
                let (made, planned) = (record.programs.join(", "), &sweep.manifest.program);
                let what =
                    format!("made by {made}, planned by {planned}; --allow-mixed takes it all the same");
                all.faults.push((task.index, Failure::data(what)));
            }
            Ok(Some((record, finished))) => {
                all.processors.extend(record.processors);
                all.rows.push((task, finished));
            }
            Err(failure) => all.faults.push((task.index, failure)),
        }
    }
    all.processors.sort();
    all.processors.dedup();
    if !all.gaps.is_empty() {
        let looks = survey::all(sweep)?;
        let of = |index: u64| usize::try_from(index).ok().and_then(|at| looks.get(at));
        for (index, what) in &mut all.gaps {
            if let Some(look) = of(*index) {
                let note = look.note.as_ref().map_or(String::new(), |note| format!(" ({note})"));
                *what = format!("{}, {} of {} steps{note}", look.state.word(), look.step, look.steps);
            }
        }
    }
    Ok(all)
}

impl Gathered {
    /// What is missing, in words: a line each, the first so many.
    pub fn missing(&self, most: usize) -> Vec<String> {
        let gaps = self.gaps.iter().map(|(index, what)| format!("task {index}: {what}"));
        let faults = self.faults.iter().map(|(index, failure)| format!("task {index}: {}", failure.message));
        let mut lines: Vec<String> = faults.chain(gaps).take(most).collect();
        let more = (self.gaps.len() + self.faults.len()).saturating_sub(lines.len());
        if more > 0 {
            lines.push(format!("and {more} more"));
        }
        lines
    }

    /// An error if something is missing or wrong.
    pub fn complete(&self) -> Outcome {
        let (gaps, faults) = (self.gaps.len(), self.faults.len());
        let total = gaps + faults + self.rows.len();
        if let Some((_, first)) = self.faults.first() {
            let message = format!("{faults} of {total} results are refused; --partial leaves them out");
            return Err(Failure { code: first.code, message });
        }
        if gaps > 0 {
            return Err(Failure::interrupted(format!(
                "{gaps} of {total} results are missing; `ive sweep resume` makes them, --partial leaves them out"
            )));
        }
        Ok(())
    }

    /// A table for spreadsheets.
    pub fn csv(&self, sweep: &Sweep) -> String {
        let columns = &sweep.manifest.columns;
        let before = ["task", "name", "agent", "environment", "seed", "steps"];
        let after = ["return_100", "greedy_mean", "greedy_error", "greedy_episodes", "state", "hash"];
        let head: Vec<&str> =
            before.into_iter().chain(columns.iter().map(String::as_str)).chain(after).collect();
        let mut table = Table::new("", &head);
        for (task, finished) in &self.rows {
            let plan = &task.run;
            let (agent, world) = (plan.agent.clone(), plan.world.clone());
            let own = [
                task.index.to_string(),
                task.name.clone(),
                agent,
                world,
                plan.seed.to_string(),
                plan.steps.to_string(),
            ];
            let setting = |key: &String| plan.settings.get(key).map_or(String::new(), plain);
            table.row(own.into_iter().chain(columns.iter().map(setting)).chain(measured(task, finished)));
        }
        table.csv()
    }

    /// Everything, for programs.
    pub fn json(&self, sweep: &Sweep) -> Vec<u8> {
        let one = |(task, finished): &(Task, Finished)| json!({ "task": task.index, "name": task.name, "hash": task.hash, "result": finished });
        pretty(&json!({
            "tasks": sweep.manifest.tasks,
            "tasks_blake3": sweep.manifest.tasks_blake3,
            "experiment": sweep.manifest.experiment.as_ref().map(|experiment| &experiment.name),
            "results": self.rows.iter().map(one).collect::<Vec<Value>>(),
        }))
    }
}

fn measured(task: &Task, finished: &Finished) -> [String; 6] {
    let shown =
        |number: Option<f64>| number.filter(|x| x.is_finite()).map_or(String::new(), |x| x.to_string());
    let greedy = (!finished.greedy.is_empty()).then(|| mean_and_error(&finished.greedy));
    [
        shown(finished.return_100),
        shown(greedy.map(|(mean, _)| mean)),
        shown(greedy.map(|(_, error)| error)),
        finished.greedy.len().to_string(),
        finished.state.clone(),
        task.hash.clone(),
    ]
}
