//! `ive bench`: our speed, and that of the peers in the same run.

mod agents;
mod envs;
mod measure;
mod saves;
mod score;
mod tabular;

use clap::{Args, Subcommand};

use crate::exit::Outcome;

/// Arguments of `ive bench`.
#[derive(Args, Debug)]
pub struct BenchArgs {
    /// What to measure
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Agents: a decision of VPN(5), updates of DQN and VPN, whole runs
    Agents(agents::AgentsArgs),
    /// Environments: steps per CPU-second, beside the Python originals
    Envs(envs::EnvsArgs),
    /// Checkpoints: what it costs to save gigabytes of replay
    Saves(saves::SavesArgs),
    /// Logged predictions: ensembles and statistics of a million states
    Score(score::ScoreArgs),
    /// Tabular work: the reaching figure, its exact limit, exact IVE(20) of small, dense and sparse tables
    Tabular(tabular::TabularArgs),
}

/// Runs the command.
pub fn run(args: &BenchArgs) -> Outcome {
    match &args.what {
        What::Agents(args) => agents::run(args),
        What::Envs(args) => envs::run(args),
        What::Saves(args) => saves::run(args),
        What::Score(args) => score::run(args),
        What::Tabular(args) => tabular::run(args),
    }
}
