//! What a command says: results on stdout, everything else on stderr.
//!
//! One rule for all commands (`docs/exit-codes.md`):
//!
//! - A reader of stdout that has gone has seen enough, as in `ive runs list | head -1`. That is no failure.
//! - Any other error in writing to stdout, such as a full disk behind it, ends the command with code 74.
//! - stderr is for whoever is there. If nobody is, because the terminal was closed, the work goes on.
//!
//! `print!`, `println!`, `eprint!` and `eprintln!` panic in all three cases, so nothing in this crate uses them.

pub mod file;
pub mod layout;

use std::io::{self, IsTerminal, Write};

use serde_json::Value;

use crate::exit::{Failure, Outcome};

/// Prints text on stdout. To be used where the work is done, or goes on for other reasons than being read.
pub fn print(text: &str) -> Outcome {
    bytes(text.as_bytes())
}

/// [`print`] for bytes.
pub fn bytes(bytes: &[u8]) -> Outcome {
    written(write(bytes))
}

/// [`print`] for JSON, as people read it.
pub fn json(value: &Value) -> Outcome {
    bytes(&crate::store::pretty(value))
}

/// Prints text on stdout and, once nobody reads any more, ends the command quietly: for work whose only use is to be read.
pub fn stream(text: &str) -> Outcome {
    match write(text.as_bytes()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Err(Failure::unread()),
        other => written(other),
    }
}

/// What becomes of a command whose writing to stdout ended like this.
pub fn written(result: io::Result<()>) -> Outcome {
    match result {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::io(format!("cannot write to standard output: {error}")))
        }
        _ => Ok(()),
    }
}

fn write(bytes: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(bytes).and_then(|()| out.flush())
}

/// A line on stderr, in one piece, if anybody is there to read it.
pub fn say(line: &str) {
    let _ = io::stderr().lock().write_all(format!("{line}\n").as_bytes());
}

/// Columns of the terminal that stdout is, or 80.
pub fn width() -> usize {
    let asked = io::stdout().is_terminal().then(crossterm::terminal::size).and_then(Result::ok);
    asked.map_or(80, |(columns, _)| usize::from(columns)).max(40)
}

/// The colours of states and verdicts.
#[derive(Clone, Copy, Debug)]
pub enum Tone {
    /// All is well.
    Good,
    /// At work.
    Busy,
    /// Something is to be done.
    Open,
    /// Something is wrong.
    Bad,
}

/// A word in colour, where stdout is a terminal that wants colours.
pub fn paint(word: &str, tone: Tone) -> String {
    if !io::stdout().is_terminal() || !wants_colours() {
        return word.to_owned();
    }
    let code = match tone {
        Tone::Good => 32,
        Tone::Busy => 36,
        Tone::Open => 33,
        Tone::Bad => 31,
    };
    format!("\x1b[{code}m{word}\x1b[0m")
}

/// Whether the user wants colours: `NO_COLOR` (no-color.org) and `TERM=dumb` say no.
pub fn wants_colours() -> bool {
    let unset = |name: &str| std::env::var_os(name).is_none_or(|value| value.is_empty());
    unset("NO_COLOR") && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}
