//! The `ive` command, and the one thing of it that is a library: [`load`], the trained agent of a run.
//!
//! Everything else is for the command alone ([`main`]).

// They panic when a pipe is closed or a terminal gone; `output` does not.
#![cfg_attr(not(test), warn(clippy::print_stdout, clippy::print_stderr))]

mod bench;
mod claim;
mod cli;
mod commands;
mod count;
mod eval;
mod exit;
mod experiments;
mod lock;
mod output;
mod pages;
mod progress;
mod report;
mod run;
mod settings;
mod signal;
mod store;
mod sweep;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, error::ErrorKind};

use cli::{Cli, Command};
use commands::{
    calibrate, env, eval as evaluate, export, guard, ood, play, reproduce, runs, score, setup,
    sweep as sweeps, train,
};
pub use exit::Failure;
use exit::Outcome;
pub use run::{Plan, load, load_with};

/// The command: what was typed, and its exit code.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(e) => {
            // Help and version are what was asked for; everything else is a usage error with our code.
            let printed = e.print();
            return match e.kind() {
                ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => end(output::written(printed)),
                _ => ExitCode::from(Failure::usage("").code),
            };
        }
    };
    let outcome = match &cli.command {
        Command::Reproduce(args) => reproduce::run(args),
        Command::Train(args) => train::run(args),
        Command::Runs(args) => runs::run(args),
        Command::Sweep(args) => sweeps::run(args),
        Command::Eval(args) => evaluate::run(args),
        Command::Export(args) => export::run(args),
        Command::Score(args) => score::run(args),
        Command::Ood(args) => ood::run(args),
        Command::Calibrate(args) => calibrate::run(args),
        Command::Guard(args) => guard::run(args),
        Command::Env(args) => env::run(args),
        Command::Play(args) => play::run(args),
        Command::Setup(args) => setup::run(args),
        Command::Bench(args) => bench::run(args),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(*shell, &mut Cli::command(), "ive", &mut script);
            output::bytes(&script)
        }
    };
    end(outcome)
}

/// Tells what went wrong, if anything did.
fn end(outcome: Outcome) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            if !failure.message.is_empty() {
                output::say(&format!("ive: {}", failure.message));
            }
            ExitCode::from(failure.code)
        }
    }
}
