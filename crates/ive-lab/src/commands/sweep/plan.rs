//! `ive sweep plan`.

use std::path::Path;

use serde_json::json;

use super::PlanArgs;
use crate::commands::reproduce;
use crate::exit::{Failure, Outcome};
use crate::output;
use crate::settings::read_file;
use crate::store::Store;
use crate::sweep::grid::Grid;
use crate::sweep::manifest::{Draft, Sweep};
use crate::sweep::{estimate, experiment};

/// Freezes the list of tasks.
pub fn plan(args: &PlanArgs) -> Outcome {
    let (sweep, words, new) = match (&args.experiment, &args.file) {
        (Some(name), _) => {
            let plan = reproduce::one(name, args.preset, &args.changes, args.seeds)?;
            let draft = experiment::draft(&plan)?;
            let (sweep, new) = freeze(&args.out, &draft, &plan.identity()?)?;
            (sweep, format!("{name}: {} tasks", draft.tasks), new)
        }
        (None, Some(file)) => {
            let grid = Grid::read(&read_file(file)?).map_err(|e| about(file, e))?;
            let mut draft = grid.draft(args.yes).map_err(|e| about(file, e))?;
            draft.source = std::fs::read(file).ok();
            let (sweep, new) = Sweep::plan(&args.out, &draft)?;
            (sweep, grid.words(), new)
        }
        (None, None) => return Err(Failure::usage("name a file, or --experiment")),
    };
    let here = sweep.dir.display();
    let there = if new { "" } else { ", planned before and unchanged" };
    let time = estimate::of(&sweep)?.words(sweep.manifest.tasks);
    output::print(&format!(
        "{words}, in {here}{there}\n{time}\nhash {}\nnext: ive sweep submit {here} --engine local -j 2\n",
        sweep.manifest.tasks_blake3
    ))
}

fn about(file: &Path, failure: Failure) -> Failure {
    let message = failure.message.replacen("sweep", &file.display().to_string(), 1);
    Failure { message, ..failure }
}

/// Plans the runs of an experiment in a directory that `ive reproduce` takes for its own.
pub fn freeze(dir: &Path, draft: &Draft, identity: &serde_json::Value) -> Outcome<(Sweep, bool)> {
    let name = draft.experiment.as_ref().map(|experiment| experiment.name.clone()).unwrap_or_default();
    let _store = Store::open(dir, &json!({ name: identity }), false)?;
    Sweep::plan(dir, draft)
}
