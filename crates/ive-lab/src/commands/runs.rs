//! `ive runs`: which runs there are, how they stand, and resuming one.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use serde_json::json;

use super::train::{CarryingOut, carry_out, summary};
use crate::count::count;
use crate::exit::Outcome;
use crate::output::{self, Tone, layout, paint};
use crate::report::table::Table;
use crate::run::search::{ROOTS, below, find};
use crate::run::status::{State, Status};
use crate::run::{Plan, extend, finished, metrics, sessions};

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
    /// List the runs below a directory
    #[command(
        after_help = "State: done; running (a process works on it); resumable (`ive runs resume` continues it); \
damaged (`ive runs show` says what is wrong); unreadable (the disk does not answer; try again).

Runs are listed at any depth up to eight directories below DIR."
    )]
    List {
        /// Where they are [default: `runs` and `ive-out`]
        dir: Option<PathBuf>,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Show a run: settings, progress, who worked on it, where its files are
    Show {
        /// Its directory, or its name in `runs` or `ive-out`
        run: PathBuf,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Make a run longer, and train it on
    #[command(after_help = "\
Where a schedule refers to the number of steps (exploration_fraction, learning_rate_linear), a run \
that is made longer differs from one that was planned longer: it is refused. With --keep-schedules \
such a schedule goes on to refer to the steps planned at first; config.toml then says so \
(schedule_steps). It keeps the earlier numbers of steps, too (extended).")]
    Extend {
        /// Its directory, or its name in `runs` or `ive-out`
        run: PathBuf,
        /// How many environment steps it shall have in all
        #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = count::<u64>(1, u64::MAX))]
        steps: u64,
        /// Let schedules refer to the steps planned at first
        #[arg(long)]
        keep_schedules: bool,
        #[command(flatten)]
        how: CarryingOut,
    },
    /// Resume a run that was interrupted
    Resume {
        /// Its directory, or its name in `runs` or `ive-out`
        run: PathBuf,
        #[command(flatten)]
        how: CarryingOut,
    },
}

/// Runs the command.
pub fn run(args: &RunsArgs) -> Outcome {
    match &args.command {
        RunsCommand::List { dir, json } => show_list(dir.as_deref(), *json),
        RunsCommand::Show { run, json } => show(&find(run)?, *json),
        RunsCommand::Resume { run, how } => {
            let dir = find(run)?;
            carry_out(&dir, &Plan::read(&dir)?, how)
        }
        RunsCommand::Extend { run, steps, keep_schedules, how } => {
            let dir = find(run)?;
            carry_out(&dir, &extend(&dir, *steps, *keep_schedules)?, how)
        }
    }
}

fn show_list(dir: Option<&Path>, json: bool) -> Outcome {
    let roots: Vec<PathBuf> = match dir {
        Some(dir) => vec![dir.to_owned()],
        None => ROOTS.iter().map(PathBuf::from).filter(|root| root.exists()).collect(),
    };
    let found: Vec<PathBuf> = roots.iter().map(|root| below(root)).collect::<Outcome<Vec<_>>>()?.concat();
    let runs: Vec<Status> = found.iter().map(|dir| Status::of(dir)).collect();
    if json {
        return output::json(&json!(runs));
    }
    if runs.is_empty() {
        let place = dir.map_or_else(
            || "`runs` or `ive-out` here".to_owned(),
            |dir| format!("or below {}", dir.display()),
        );
        return output::print(&format!("there are no runs in {place}; `ive train` makes one\n"));
    }
    output::print(&listed(&runs, output::width()))
}

/// A table, or where that is too wide a line for the name of each run and one for the rest.
fn listed(runs: &[Status], width: usize) -> String {
    let mut table = Table::new("", &["run", "agent", "environment", "seed", "steps", "return", "state"]);
    for run in runs {
        let of = |get: &dyn Fn(&Plan) -> String| run.plan.as_ref().map_or("?".to_owned(), get);
        table.row([
            run.dir.display().to_string(),
            of(&|plan| plan.agent.clone()),
            of(&|plan| plan.world.clone()),
            of(&|plan| plan.seed.to_string()),
            of(&|plan| format!("{}/{}", run.step, plan.steps)),
            run.return_100.map_or("–".to_owned(), |mean| format!("{mean:.2}")),
            paint(run.state.word(), tone(run.state)),
        ]);
    }
    if layout::fits(&table, width) {
        return layout::table(&table, width);
    }
    let card = |row: &Vec<String>| {
        let [dir, agent, world, seed, steps, mean, state] = row.as_slice() else { return String::new() };
        let about = format!("{state}: {agent} in {world}, seed {seed}, {steps} steps, return {mean}");
        format!("{dir}\n  {}", layout::fold(&about, width - 2, 2))
    };
    table.rows.iter().map(card).collect()
}

fn tone(state: State) -> Tone {
    match state {
        State::Done => Tone::Good,
        State::Running => Tone::Busy,
        State::Resumable => Tone::Open,
        State::Damaged | State::Unreadable => Tone::Bad,
    }
}

fn show(dir: &Path, json: bool) -> Outcome {
    let status = Status::of(dir);
    let last = metrics(dir).ok().and_then(|mut lines| lines.pop());
    let worked = sessions::read(dir);
    if json {
        let last = last.map(|(step, values)| json!({ "step": step, "values": values }));
        let result = finished(dir).ok().flatten();
        return output::json(
            &json!({ "status": status, "last_metrics": last, "sessions": worked, "result": result }),
        );
    }
    let total = status.plan.as_ref().map_or(0, |plan| plan.steps);
    let note = status.note.as_ref().map_or(String::new(), |note| format!(" ({note})"));
    let state = paint(status.state.word(), tone(status.state));
    let width = output::width();
    let mut text =
        layout::fold(&format!("{}: {state}{note}, step {} of {total}", dir.display(), status.step), width, 2);
    if let Ok(Some(finished)) = finished(dir) {
        text += &format!("{}\n", summary(&finished));
    }
    if let Ok(config) = std::fs::read_to_string(dir.join("config.toml")) {
        let settings: Vec<&str> = config.trim().lines().filter(|line| !line.starts_with('#')).collect();
        text += &format!("\n{}\n", settings.join("\n").trim());
    }
    if let Some((step, values)) = last {
        text += &format!("\nlast metrics, at step {step}\n");
        text += &values.iter().map(|(name, value)| format!("  {name:<20} {value:.6}\n")).collect::<String>();
    }
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
    text += &format!("\nsessions\n{}\nfiles\n", layout::table(&table, width));
    let names = [
        "config.toml",
        "metrics.jsonl",
        "events.out.tfevents.ive",
        "checkpoints",
        "sessions.jsonl",
        "result.json",
    ];
    for path in names.map(|name| dir.join(name)).iter().filter(|path| path.exists()) {
        text += &format!("  {}\n", path.display());
    }
    output::print(&text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(dir: &str) -> Status {
        let plan = Plan {
            device: "cpu".to_owned(),
            greedy_episodes: 100,
            extended: Vec::new(),
            agent: "vpn-v1".to_owned(),
            world: "minatar:space_invaders".to_owned(),
            options: std::collections::BTreeMap::new(),
            seed: 12,
            steps: 5_000_000,
            settings: toml::Table::new(),
            schedule_steps: None,
        };
        let (state, return_100) = (State::Resumable, Some(123.4567));
        Status { dir: dir.into(), state, note: None, plan: Some(plan), step: 4_999_999, return_100 }
    }

    #[test]
    fn listed_runs_fit_eighty_columns_and_keep_their_names_whole() {
        let short = listed(&[status("r")], 80);
        assert_eq!(short.lines().count(), 3, "{short}");
        let name = "ive-out/minatar-small/minatar/runs/space_invaders/vpn-v1/seed-12";
        let long = listed(&[status(name), status("r")], 80);
        assert!(long.starts_with(&format!("{name}\n")), "{long}");
        for text in [short, long] {
            assert!(text.contains("123.46") && text.contains("4999999/5000000"), "{text}");
            assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        }
    }
}
