//! `ive sweep submit`, `resume` and `cancel`, and `ive reproduce --engine`.

use std::collections::BTreeSet;
use std::path::Path;

use super::plan::freeze;
use super::status::counted;
use crate::cli::ReproduceArgs;
use crate::exit::{Failure, Outcome};
use crate::experiments::Plan;
use crate::output;
use crate::sweep::engine::{self, Engine, How, slurm};
use crate::sweep::manifest::Sweep;
use crate::sweep::survey::{self, Look, State};
use crate::sweep::{cancel, experiment};

/// Has made what is not done.
pub fn submit(dir: &Path, engine: Engine, how: &How, failed: bool) -> Outcome {
    let sweep = Sweep::open(dir)?;
    if engine == Engine::Slurm && !how.dry_run {
        slurm::release(&sweep)?;
    }
    let tasks = open_tasks(&sweep, engine, failed)?;
    if tasks.is_empty() {
        let looks = survey::all(&sweep)?;
        return output::print(&format!("nothing to do: {}\n", counted(&looks)));
    }
    engine::submit(&sweep, engine, &tasks, how)
}

/// Has made what is missing, by the engine that was asked last unless another one is named.
pub fn resume(dir: &Path, engine: Option<Engine>, how: &How, failed: bool) -> Outcome {
    let Some(engine) = engine else {
        let (engine, last) = engine::last(&Sweep::open(dir)?)?;
        if (How { dry_run: false, ..how.clone() }) != How::default() {
            return Err(Failure::usage(
                "say --engine, too: without it the flags of the last submission are used",
            ));
        }
        return submit(dir, engine, &How { dry_run: how.dry_run, ..last }, failed);
    };
    submit(dir, engine, how, failed)
}

/// The tasks that are worth starting. Here also those at which somebody is at work: perhaps they are just stopping, and the
/// engine finds out; they come last.
fn open_tasks(sweep: &Sweep, engine: Engine, failed: bool) -> Outcome<Vec<u64>> {
    let queued = if engine == Engine::Slurm { slurm::queued(sweep)? } else { BTreeSet::new() };
    let open = |look: &Look| match look.state {
        State::Done => false,
        State::Running => engine == Engine::Local,
        State::Failed => failed,
        State::Stopped | State::Waiting => true,
    };
    let mut looks = survey::all(sweep)?;
    looks.retain(|look| open(look) && !queued.contains(&look.index));
    looks.sort_by_key(|look| look.state == State::Running);
    Ok(looks.iter().map(|look| look.index).collect())
}

/// `ive reproduce EXPERIMENT --engine E`: plans, submits, and reports once all is there.
pub fn distribute(args: &ReproduceArgs, engine: Engine, out: &Path, plan: &Plan) -> Outcome<bool> {
    let (sweep, _) = freeze(out, &experiment::draft(plan)?, &plan.identity()?)?;
    let tasks = open_tasks(&sweep, engine, true)?;
    if !tasks.is_empty() {
        engine::submit(&sweep, engine, &tasks, &args.how)?;
    }
    let looks = survey::all(&sweep)?;
    if looks.iter().all(|look| look.state == State::Done) {
        return Ok(true);
    }
    let here = out.display();
    output::print(&format!(
        "{}\n`ive sweep status {here} --watch` follows it; `ive reproduce {} --from {here}` reports when it is done\n",
        counted(&looks),
        plan.experiment.name
    ))?;
    Ok(false)
}

/// Asks all tasks to stop, and takes jobs out of the queue.
pub fn call_off(dir: &Path) -> Outcome {
    let sweep = Sweep::open(dir)?;
    cancel::ask(&sweep)?;
    slurm::cancel(&sweep)?;
    output::print(&format!(
        "running tasks save and stop, no further one begins; `ive sweep resume {}` takes it back\n",
        sweep.dir.display()
    ))
}
