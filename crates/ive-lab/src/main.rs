//! The `ive` command.

mod bench;
mod claim;
mod cli;
mod commands;
mod eval;
mod exit;
mod experiments;
mod lock;
mod progress;
mod report;
mod run;
mod settings;
mod store;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, error::ErrorKind};

use cli::{Cli, Command};
use commands::{env, eval as evaluate, play, reproduce, runs, setup, train};
use exit::Failure;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(e) => {
            // Help and version are what was asked for; everything else is a usage error with our code.
            let _ = e.print();
            return match e.kind() {
                ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => ExitCode::SUCCESS,
                _ => ExitCode::from(Failure::usage("").code),
            };
        }
    };
    let outcome = match &cli.command {
        Command::Reproduce(args) => reproduce::run(args),
        Command::Train(args) => train::run(args),
        Command::Runs(args) => runs::run(args),
        Command::Eval(args) => evaluate::run(args),
        Command::Env(args) => env::run(args),
        Command::Play(args) => play::run(args),
        Command::Setup(args) => setup::run(args),
        Command::Bench(args) => bench::run(args),
        Command::Completions { shell } => {
            clap_complete::generate(*shell, &mut Cli::command(), "ive", &mut std::io::stdout());
            Ok(())
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("ive: {}", failure.message);
            ExitCode::from(failure.code)
        }
    }
}
