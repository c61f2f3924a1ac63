//! The `ive` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    ive_lab::main()
}
