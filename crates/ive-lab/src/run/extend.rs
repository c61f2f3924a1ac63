//! Making a run longer.
//!
//! `config.toml` is replaced, in one step, by one with more steps that remembers the earlier numbers. Checkpoints and the
//! result of before then belong to an earlier form of the run: checkpoints are gone on with, the result is not one any
//! more. So a kill at any moment leaves the run as it was, or the longer one.

use std::path::Path;

use super::agents::schedules;
use super::config;
use super::disk::Disk;
use super::{Plan, RESULT, finished, load};
use crate::exit::{Failure, Outcome};
use crate::lock::lock;

/// Makes the run in `dir` so many steps long. Settings that refer to the number of steps forbid it, unless
/// `keep_schedules` says that they shall go on to refer to the steps planned at first.
pub fn extend(dir: &Path, steps: u64, keep_schedules: bool) -> Outcome<Plan> {
    let here = dir.display();
    let _lock = lock(dir, "wait for it")?;
    let plan = Plan::read(dir)?;
    if steps <= plan.steps {
        return Err(Failure::usage(format!(
            "{here} has {} steps already; --steps must be larger than that",
            plan.steps
        )));
    }
    let schedules = schedules(&plan)?;
    let words = schedules.join(" and ");
    let anew =
        format!("train a run of {steps} steps in another directory (ive train … --steps {steps} --run DIR)");
    if let Some(key) = spent(&plan, &schedules) {
        return Err(Failure::config(format!(
            "{here} cannot be made longer: with {key} its learning rate reaches zero at step {}; {anew}",
            plan.schedule_steps.unwrap_or(plan.steps)
        )));
    }
    if !schedules.is_empty() && !keep_schedules {
        return Err(Failure::config(format!(
            "{here} would differ from a run planned for {steps} steps: {words} refers to the number of steps, and what \
             was done so far followed {}; {anew}, or keep the schedule as it is with --keep-schedules",
            plan.schedule_steps.unwrap_or(plan.steps)
        )));
    }
    if dir.join(RESULT).exists() {
        // Nothing is changed before there is something to go on with.
        finished(dir)?;
        load(dir)?;
    }
    let schedule_steps = (!schedules.is_empty()).then(|| plan.schedule_steps.unwrap_or(plan.steps));
    let extended = plan.extended.iter().copied().chain([plan.steps]).collect();
    let longer = Plan { extended, steps, schedule_steps, ..plan };
    longer.check()?;
    let disk = Disk::default();
    disk.replace(&dir.join(config::FILE), longer.text()?.as_bytes())?;
    disk.remove(&dir.join(RESULT))?;
    Ok(longer)
}

/// The setting with which the learning rate is zero at the end of its schedule, if one has that.
fn spent(plan: &Plan, schedules: &[&'static str]) -> Option<&'static str> {
    let is_zero = |key: &str| plan.settings.get(key).and_then(toml::Value::as_float) == Some(0.0);
    let ends = |key: &&str| *key == "learning_rate_linear" || (*key == "learning_rate_final" && is_zero(key));
    schedules.iter().copied().find(ends)
}
