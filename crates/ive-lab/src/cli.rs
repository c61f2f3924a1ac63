//! What can be typed.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::bench;
use crate::commands::{calibrate, env, eval, export, guard, ood, play, runs, score, setup, sweep, train};
use crate::count::count;
use crate::experiments::{Experiment, Preset};
use crate::settings::Change;
use crate::sweep::engine::{Engine, How};

/// Does my agent know that it does not know? Implicit value ensembles: the signal, the experiments, the evidence.
#[derive(Debug, Parser)]
#[command(
    name = "ive",
    version = version(),
    max_term_width = 80,
    arg_required_else_help = true,
    after_help = "Exit codes: 0 done, 64 usage, 65 corrupt data, 70 internal or not finite, 73 busy, \
                  74 input or output, 75 interrupted, 78 settings (docs/exit-codes.md). A closed pipe on \
                  standard output is no error."
)]
pub struct Cli {
    /// What to do
    #[command(subcommand)]
    pub command: Command,
}

/// `0.1.0 (commit 1a2b3c4d5e6f)`: what a bug report needs.
fn version() -> &'static str {
    const COMMIT: &str = match option_env!("IVE_COMMIT") {
        Some(commit) => commit,
        None => "unknown",
    };
    static VERSION: std::sync::OnceLock<String> = std::sync::OnceLock::new();
    VERSION.get_or_init(|| format!("{} (commit {COMMIT})", env!("CARGO_PKG_VERSION")))
}

/// The verbs.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run experiments of the paper and write a report with a verdict beside each claim
    Reproduce(ReproduceArgs),
    /// Train an agent: a run that survives interruptions
    Train(train::TrainArgs),
    /// List runs, show one, resume one, make one longer
    Runs(runs::RunsArgs),
    /// Make many runs on many machines, each result published exactly once: Slurm, Ray, or processes here
    Sweep(sweep::SweepArgs),
    /// Let the agent of a run play: values, μ-IVE and σ-IVE step by step; does σ notice states out of distribution?
    Eval(eval::EvalArgs),
    /// Write the model of a trained agent as ONNX graphs
    Export(export::ExportArgs),
    /// σ-IVE from logged predictions: rewards and values in NPY, NPZ, CSV or Parquet files
    Score(score::ScoreArgs),
    /// How well σ-IVE and other scores tell states out of distribution from ordinary ones, on your data
    Ood(ood::OodArgs),
    /// Set a threshold with a stated false-alarm rate
    Calibrate(calibrate::CalibrateArgs),
    /// Raise alarms by such a threshold, in a file or as scores come
    Guard(guard::GuardArgs),
    /// List and describe environments, and print what happens in them step by step
    Env(env::EnvArgs),
    /// Play in an environment, or let a policy play and keep pictures
    Play(play::PlayArgs),
    /// Fetch, check and repair the native libraries that some environments need
    Setup(setup::SetupArgs),
    /// Measure our speed, and that of comparable programs in the same run
    Bench(bench::BenchArgs),
    /// Print a completion script for a shell
    #[command(after_help = "Examples:
  ive completions bash > ~/.local/share/bash-completion/completions/ive
  ive completions fish > ~/.config/fish/completions/ive.fish
  ive completions zsh > ~/.zfunc/_ive

For zsh, put fpath+=~/.zfunc before compinit in ~/.zshrc.")]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

/// Arguments of `ive reproduce`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  ive reproduce                      toy, maps, reaching: two minutes on two cores
  ive reproduce maps --preset smoke  one of them, in seconds
  ive reproduce --preset paper-lr    the published learning rate
  ive reproduce reaching --set learner=limit --seeds 2000 --out limit
  ive reproduce reaching --set reaching=first-passage --set ties=uniform
  ive reproduce minatar              deep agents: hours, so only by name
  ive reproduce walker --set thresholds=0.5 --seeds 2   a part; more later
  ive reproduce procgen --preset smoke  what is known of unseen levels: a minute
  ive reproduce minatar --set games=breakout,asterix --set steps=1e5 --out two
  ive reproduce minatar --preset paper --engine slurm --time 4:00:00
  ive reproduce minatar --from ive-out/minatar-paper   tables from a sweep

Results are written to --out: report.html, and per experiment summary.json, CSV, SVG and PNG. Ctrl-C \
finishes or saves what is being computed and reports what is there; the same command resumes from it.

Exit codes: 0 done, 64 usage, 65 corrupt data, 70 internal, 73 busy, 74 input or output, \
75 interrupted, 78 settings.")]
#[allow(clippy::struct_excessive_bools, reason = "each is a flag that can be typed")]
pub struct ReproduceArgs {
    #[arg(default_value = "all", help = Experiment::help())]
    pub experiment: String,
    /// How large the run is
    #[arg(long, value_enum, default_value = "small")]
    pub preset: Preset,
    /// How many seeds, in every experiment
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = count::<u64>(1, u64::MAX))]
    pub seeds: Option<u64>,
    /// Change a setting, for all experiments that have it or for one of them; may be repeated
    #[arg(long = "set", value_name = "[EXPERIMENT.]KEY=VALUE", value_parser = Change::parse)]
    pub changes: Vec<Change>,
    /// Settings file (TOML) with a table per experiment, such as [toy]; lies between the preset and --set
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Where results go [default: ive-out/PRESET, or ive-out/NAME-PRESET for those that run only by name]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Replace results of other settings in that directory
    #[arg(long)]
    pub overwrite: bool,
    /// How many threads [default: all cores]; results do not depend on it
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = count::<usize>(1, 1024))]
    pub threads: Option<usize>,
    /// Print the summaries as JSON, and no progress
    #[arg(long)]
    pub json: bool,
    /// Print the resolved settings and stop
    #[arg(long)]
    pub dry_run: bool,
    /// Tables and verdicts of a sweep (`ive sweep`), without training anything
    #[arg(long, value_name = "DIR", conflicts_with_all = ["seeds", "changes", "config", "out", "overwrite", "engine"])]
    pub from: Option<PathBuf>,
    /// With --from: take what is there
    #[arg(long, requires = "from")]
    pub partial: bool,
    /// Report what is finished, and run nothing
    #[arg(long, conflicts_with_all = ["from", "engine", "overwrite", "dry_run"])]
    pub report_only: bool,
    /// Have the runs made by an engine, as a sweep in --out, and report once they are there; walker, procgen, minatar and trials only
    #[arg(long, value_enum)]
    pub engine: Option<Engine>,
    #[command(flatten)]
    pub how: How,
}
