//! `ive sweep`: many runs on many machines.

mod gather;
mod plan;
mod status;
mod submit;

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};

use super::train::seconds;
use crate::count::count;
use crate::exit::Outcome;
use crate::experiments::Preset;
use crate::settings::Change;
use crate::sweep::engine::{Engine, How};
use crate::sweep::{supervise, trainer};
pub use gather::verified;
pub use submit::distribute;

/// Arguments of `ive sweep`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  ive sweep plan sweep.toml -o sweeps/first
  ive sweep submit sweeps/first --engine local -j 2
  ive sweep status sweeps/first
  ive sweep gather sweeps/first -o results.csv

  ive sweep plan --experiment minatar --preset paper -o sweeps/table2
  ive sweep submit sweeps/table2 --engine slurm --partition cpu --time 4:00:00
  ive reproduce minatar --from sweeps/table2

  parallel -j 2 ive sweep task sweeps/first {} :::: sweeps/first/tasks.txt

docs/sweeps.md explains sweep.toml and what is promised.")]
pub struct SweepArgs {
    #[command(subcommand)]
    command: SweepCommand,
}

#[derive(Debug, Subcommand)]
enum SweepCommand {
    /// Freeze the list of tasks that a file or an experiment asks for
    Plan(PlanArgs),
    /// Work on one task until it is done: the only thing that an engine runs
    Task {
        /// The directory of the sweep
        dir: PathBuf,
        /// The number of the task, from 0
        index: u64,
        /// Seconds between checkpoints
        #[arg(long, default_value = "60", value_name = "SECONDS", value_parser = seconds)]
        checkpoint_every: Duration,
        /// Let another version of the program than the one that planned the sweep work on it
        #[arg(long)]
        allow_mixed: bool,
        /// This is a job of Slurm: after an interruption, have it queued again
        #[arg(long)]
        slurm: bool,
        /// Stop in good order when standard input ends
        #[arg(long)]
        tethered: bool,
    },
    /// The process that trains, a child of `task`
    #[command(hide = true)]
    Trainer {
        dir: PathBuf,
        index: u64,
        #[arg(long)]
        attempt: u64,
        #[arg(long, value_parser = seconds)]
        checkpoint_every: Duration,
    },
    /// Have all tasks made that are not done
    Submit {
        /// The directory of the sweep
        dir: PathBuf,
        /// What makes them
        #[arg(long, value_enum)]
        engine: Engine,
        #[command(flatten)]
        how: How,
        /// Print the job script and stop
        #[arg(long)]
        dry_run: bool,
    },
    /// Have made what is missing: all but what is done, running, queued or would fail again
    Resume {
        /// The directory of the sweep
        dir: PathBuf,
        /// What makes it [default: the engine and the flags of the last submission]
        #[arg(long, value_enum)]
        engine: Option<Engine>,
        /// Also try tasks again that failed
        #[arg(long)]
        failed: bool,
        #[command(flatten)]
        how: How,
        /// Print the job script and stop
        #[arg(long)]
        dry_run: bool,
    },
    /// Show how the tasks stand, from files alone
    Status {
        /// The directory of the sweep
        dir: PathBuf,
        /// All tasks, not only those that are running, stopped or failed
        #[arg(long)]
        all: bool,
        /// Show it again every two seconds, until all are done
        #[arg(long, conflicts_with = "json")]
        watch: bool,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Ask all tasks to save and stop, and take jobs out of the queue
    Cancel {
        /// The directory of the sweep
        dir: PathBuf,
    },
    /// Verify all results and put them into one table
    Gather {
        /// The directory of the sweep
        dir: PathBuf,
        /// Where to: a file that ends in .csv or .json [default: CSV on standard output]
        #[arg(long, short = 'o', value_name = "FILE")]
        out: Option<PathBuf>,
        /// Take what is there, and leave out what is missing or refused
        #[arg(long)]
        partial: bool,
        /// Take results of other versions of the program
        #[arg(long)]
        allow_mixed: bool,
        /// As JSON, with everything that is in the results
        #[arg(long)]
        json: bool,
    },
}

/// Arguments of `ive sweep plan`.
#[derive(Args, Debug)]
struct PlanArgs {
    /// What is asked for (TOML): agents, environments, seeds, preset, steps, set, grid, variants
    #[arg(required_unless_present = "experiment", conflicts_with = "experiment")]
    file: Option<PathBuf>,
    /// Every run of an experiment: walker, procgen, minatar or trials
    #[arg(long, value_name = "NAME")]
    experiment: Option<String>,
    /// How large the experiment is
    #[arg(long, value_enum, default_value = "small", requires = "experiment")]
    preset: Preset,
    /// How many seeds the experiment has
    #[arg(long, value_name = "N", requires = "experiment", allow_negative_numbers = true,
          value_parser = count::<u64>(1, u64::MAX))]
    seeds: Option<u64>,
    /// Change a setting of the experiment; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE", requires = "experiment", value_parser = Change::parse)]
    changes: Vec<Change>,
    /// The directory of the sweep
    #[arg(long = "out", short = 'o', value_name = "DIR")]
    out: PathBuf,
    /// More than ten thousand tasks are meant
    #[arg(long)]
    yes: bool,
}

/// Runs the command.
pub fn run(args: &SweepArgs) -> Outcome {
    match &args.command {
        SweepCommand::Plan(args) => plan::plan(args),
        SweepCommand::Task { dir, index, checkpoint_every, allow_mixed, slurm, tethered } => {
            let options = supervise::Options {
                checkpoint_every: *checkpoint_every,
                allow_mixed: *allow_mixed,
                tethered: *tethered,
                slurm: *slurm,
            };
            supervise::run(dir, *index, &options)
        }
        SweepCommand::Trainer { dir, index, attempt, checkpoint_every } => {
            trainer::run(dir, *index, *attempt, *checkpoint_every)
        }
        SweepCommand::Submit { dir, engine, how, dry_run } => {
            submit::submit(dir, *engine, &How { dry_run: *dry_run, ..how.clone() }, true)
        }
        SweepCommand::Resume { dir, engine, failed, how, dry_run } => {
            submit::resume(dir, *engine, &How { dry_run: *dry_run, ..how.clone() }, *failed)
        }
        SweepCommand::Status { dir, all, watch, json } => status::status(dir, *all, *watch, *json),
        SweepCommand::Cancel { dir } => submit::call_off(dir),
        SweepCommand::Gather { dir, out, partial, allow_mixed, json } => {
            gather::gather(dir, out.as_deref(), *partial, *allow_mixed, *json)
        }
    }
}
