//! `ive runs`: which runs there are, how they stand, and going on with one.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::train::{CarryingOut, carry_out, summary};
use crate::exit::{Failure, Outcome};
use crate::report::table::Table;
use crate::run::config::Config;
use crate::run::status::{Status, is_run, list};
use crate::run::{RunOptions, extend, finished, metrics, sessions};
use crate::store::pretty;

/// Arguments of `ive runs`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  ive runs list
  ive runs show breakout-dqn-0
  ive runs resume runs/breakout-dqn-0
  ive runs extend breakout-dqn-0 --steps 4000000
  tensorboard --logdir runs          the learning curves in TensorBoard")]
pub struct RunsArgs {
    #[command(subcommand)]
    command: RunsCommand,
}

#[derive(Debug, Subcommand)]
enum RunsCommand {
    /// List the runs of a directory
    #[command(
        after_help = "State: done; running (a process works on it); resumable (`ive runs resume` goes on);
damaged (`ive runs show` says what is wrong); unreadable (the disk does not answer; try again)."
    )]
    List {
        /// Where they are
        #[arg(default_value = "runs")]
        dir: PathBuf,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Show a run: settings, progress, who worked on it, where its files are
    Show {
        /// Its directory, or its name in `runs`
        run: PathBuf,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Make a run longer, and train it on
    #[command(after_help = "\
Where a schedule refers to the number of steps (exploration_fraction, learning_rate_linear), a run
that is made longer differs from one that was planned longer: it is refused. With --keep-schedules
such a schedule goes on to refer to the steps planned at first; config.toml then says so
(schedule_steps). It keeps the earlier numbers of steps, too (extended).")]
    Extend {
        /// Its directory, or its name in `runs`
        run: PathBuf,
        /// How many environment steps it shall have in all
        #[arg(long, value_name = "N")]
        steps: u64,
        /// Let schedules refer to the steps planned at first
        #[arg(long)]
        keep_schedules: bool,
        #[command(flatten)]
        how: CarryingOut,
    },
    /// Go on with a run that was interrupted
    Resume {
        /// Its directory, or its name in `runs`
        run: PathBuf,
        #[command(flatten)]
        how: CarryingOut,
    },
}

/// Runs the command.
pub fn run(args: &RunsArgs) -> Outcome {
    match &args.command {
        RunsCommand::List { dir, json } => show_list(dir, *json),
        RunsCommand::Show { run, json } => {
            show(&find(run)?, *json);
            Ok(())
        }
        RunsCommand::Resume { run, how } => {
            let dir = find(run)?;
            go_on(&dir, Config::read(&dir)?, how)
        }
        RunsCommand::Extend { run, steps, keep_schedules, how } => {
            let dir = find(run)?;
            go_on(&dir, extend(&dir, *steps, *keep_schedules)?, how)
        }
    }
}

/// Works on the run that is in a directory.
fn go_on(dir: &Path, config: Config, how: &CarryingOut) -> Outcome {
    let Config { device, greedy_episodes, plan, .. } = config;
    carry_out(dir, &plan, RunOptions { greedy_episodes, device, ..RunOptions::default() }, how)
}

/// The directory of a run, given as such or by its name in `runs`.
pub fn find(run: &Path) -> Outcome<PathBuf> {
    let in_runs = Path::new("runs").join(run);
    if !run.exists() && is_run(&in_runs) {
        return Ok(in_runs);
    }
    if is_run(run) {
        return Ok(run.to_owned());
    }
    let why = if run.exists() { "it has no config.toml" } else { "it does not exist" };
    Err(Failure::usage(format!(
        "{} is not a run: {why}; `ive runs list DIR` shows what there is",
        run.display()
    )))
}

fn show_list(dir: &Path, json: bool) -> Outcome {
    let runs = list(dir)?;
    if json {
        print_json(&json!(runs));
        return Ok(());
    }
    let mut table = Table::new("", &["run", "agent", "world", "seed", "steps", "return", "state"]);
    for run in &runs {
        let of = |get: &dyn Fn(&crate::run::Plan) -> String| run.plan.as_ref().map_or("?".to_owned(), get);
        table.row([
            run.dir.file_name().map_or_else(|| run.dir.display().to_string(), |n| n.display().to_string()),
            of(&|plan| plan.agent.clone()),
            of(&|plan| plan.world.clone()),
            of(&|plan| plan.seed.to_string()),
            of(&|plan| format!("{}/{}", run.step, plan.steps)),
            run.return_100.map_or("–".to_owned(), |mean| format!("{mean:.2}")),
            run.state.word().to_owned(),
        ]);
    }
    if runs.is_empty() {
        println!("there are no runs in {}; `ive train` makes one", dir.display());
    } else {
        print!("{}", table.text());
    }
    Ok(())
}

fn show(dir: &Path, json: bool) {
    let status = Status::of(dir);
    let last = metrics(dir).ok().and_then(|mut lines| lines.pop());
    let worked = sessions::read(dir);
    if json {
        let last = last.map(|(step, values)| json!({ "step": step, "values": values }));
        let result = finished(dir).ok().flatten();
        print_json(&json!({ "status": status, "last_metrics": last, "sessions": worked, "result": result }));
        return;
    }
    let total = status.plan.as_ref().map_or(0, |plan| plan.steps);
    let note = status.note.as_ref().map_or(String::new(), |note| format!(" ({note})"));
    println!("{}: {}{note}, step {} of {total}", dir.display(), status.state.word(), status.step);
    if let Ok(Some(finished)) = finished(dir) {
        println!("{}", summary(&finished));
    }
    if let Ok(config) = std::fs::read_to_string(dir.join("config.toml")) {
        println!("\n{}", config.trim_end());
    }
    if let Some((step, values)) = last {
        println!("\nlast metrics, at step {step}");
        values.iter().for_each(|(name, value)| println!("  {name:<20} {value:.6}"));
    }
    println!("\nsessions");
    let mut table = Table::new("", &["process", "from step", "to step", "wall s", "cpu s", "end", "program"]);
    for s in &worked {
        table.row([
            format!("{} on {}", s.process, s.host),
            s.from_step.to_string(),
            s.to_step.to_string(),
            format!("{:.1}", s.wall_seconds),
            format!("{:.1}", s.cpu_seconds),
            s.end.clone(),
            s.program.clone(),
        ]);
    }
    print!("{}", table.text());
    println!("\nfiles");
    for name in [
        "config.toml",
        "metrics.jsonl",
        "events.out.tfevents.ive",
        "checkpoints",
        "sessions.jsonl",
        "result.json",
    ] {
        let path = dir.join(name);
        if path.exists() {
            println!("  {}", path.display());
        }
    }
}

fn print_json(value: &Value) {
    print!("{}", String::from_utf8_lossy(&pretty(value)));
}
