//! Measurements and how they are shown: CPU time over all threads, the best of several repetitions, beside the peers'.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use clap::Args;
use cpu_time::ProcessTime;
use serde::Deserialize;

use crate::count::count;
use crate::exit::{Failure, Outcome};
use crate::output::{self, layout, stream};
use crate::report::table::Table;

/// Arguments that all benchmarks with peers have.
#[derive(Args, Debug)]
pub struct PeerArgs {
    /// How often each measurement is repeated; the best counts
    #[arg(long, default_value_t = 3, allow_negative_numbers = true, value_parser = count::<u32>(1, 100))]
    pub repeats: u32,
    /// The Python in which the peers are looked for
    #[arg(long, default_value = "python3", value_name = "PATH")]
    python: String,
    /// Measure only ourselves
    #[arg(long)]
    no_peers: bool,
    /// One JSON object per measurement
    #[arg(long)]
    pub json: bool,
}

/// One measurement: seconds per unit of work.
#[derive(Clone, Debug, Deserialize)]
pub struct Measured {
    /// What was done.
    pub case: String,
    /// Who did it.
    #[serde(default)]
    pub peer: String,
    /// CPU seconds of all threads.
    pub cpu: f64,
    /// Seconds of the clock.
    pub wall: f64,
}

/// Prints our measurements, case by case, with the peers' below each.
pub fn show(
    args: &PeerArgs,
    title: &str,
    cases: &[(&str, &str)],
    mine: &[Measured],
    peers: &[Measured],
) -> Outcome {
    let mut table = Table::new(title, &["work", "who", "CPU", "wall", "CPU ratio", "wall ratio"]);
    for (case, what) in cases {
        for mine in mine.iter().filter(|m| m.case == *case) {
            let cells = [seconds(mine.cpu), seconds(mine.wall), String::new(), String::new()];
            table.row([(*what).to_owned(), mine.peer.clone()].into_iter().chain(cells));
            let ours = serde_json::json!({ "variant": mine.peer, "cpu": mine.cpu, "wall": mine.wall });
            for theirs in peers.iter().filter(|m| m.case == *case) {
                let (cpu, wall) = (theirs.cpu / mine.cpu, theirs.wall / mine.wall);
                let cells =
                    [seconds(theirs.cpu), seconds(theirs.wall), format!("{cpu:.1}×"), format!("{wall:.1}×")];
                table.row([String::new(), theirs.peer.clone()].into_iter().chain(cells));
                if args.json {
                    let line = serde_json::json!({ "case": case, "about": title, "ive": ours, "peer": theirs.peer,
                        "peer_cpu": theirs.cpu, "peer_wall": theirs.wall, "cpu_ratio": cpu, "wall_ratio": wall });
                    stream(&format!("{line}\n"))?;
                }
            }
            if args.json && !peers.iter().any(|m| m.case == *case) {
                let line = serde_json::json!({ "case": case, "about": title, "ive": ours });
                stream(&format!("{line}\n"))?;
            }
        }
    }
    if args.json {
        return Ok(());
    }
    let width = output::width();
    let about =
        layout::fold(&format!("{title}; a ratio says how many times as long the peer takes"), width, 0);
    stream(&format!("{about}\n{}\n", layout::table(&table, width)))
}

fn seconds(x: f64) -> String {
    if x < 0.1 { format!("{:.3} ms", 1e3 * x) } else { format!("{x:.2} s") }
}

/// A measurement is repeated inside until it takes this long: CPU time has coarse ticks.
const AT_LEAST: f64 = 0.05;

/// The best of several runs.
pub fn best(case: &str, variant: &str, repeats: u32, mut work: impl FnMut() -> Outcome) -> Outcome<Measured> {
    let start = Instant::now();
    work()?;
    let inner = (AT_LEAST / start.elapsed().as_secs_f64().max(1e-9)).ceil().max(1.0);
    let mut found = Measured {
        case: case.into(),
        peer: format!("ive, {variant}"),
        cpu: f64::INFINITY,
        wall: f64::INFINITY,
    };
    for _ in 0..repeats {
        let (cpu, wall) = (ProcessTime::now(), Instant::now());
        (0..inner as u64).try_for_each(|_| work())?;
        let (cpu, wall) = (cpu.elapsed().as_secs_f64() / inner, wall.elapsed().as_secs_f64() / inner);
        if cpu < found.cpu {
            (found.cpu, found.wall) = (cpu, wall);
        }
    }
    Ok(found)
}

/// Runs a Python program of peers in its own process before ours, so that neither disturbs the other. `files` are the
/// program and what it imports; `install` is what it needs.
pub fn peers(
    args: &PeerArgs,
    files: &[(&str, &str)],
    arguments: &[String],
    install: &str,
) -> Outcome<Vec<Measured>> {
    if args.no_peers {
        return Ok(Vec::new());
    }
    let folder = std::env::temp_dir().join(format!("ive-peers-{}", std::process::id()));
    for (name, text) in files {
        crate::store::write_atomically(&folder.join(name), text.as_bytes())?;
    }
    let program = files.first().map_or("", |f| f.0);
    let outcome = ask_python(&args.python, &folder.join(program), arguments, install);
    let _ = std::fs::remove_dir_all(&folder);
    let text = outcome?;
    let mut found = Vec::new();
    for line in text.lines() {
        match serde_json::from_str::<Measured>(line) {
            Ok(measured) => found.push(measured),
            Err(_) => output::say(&format!("peer not measured: {line} (pip install {install})")),
        }
    }
    Ok(found)
}

fn ask_python(python: &str, program: &Path, arguments: &[String], install: &str) -> Outcome<String> {
    output::say(&format!("measuring the peers in {python} …"));
    let output =
        Command::new(python).arg(program).args(arguments).stderr(Stdio::piped()).output().map_err(|e| {
            Failure::usage(format!("cannot start {python}: {e}; use --python PATH or --no-peers"))
        })?;
    if !output.status.success() {
        let reason = String::from_utf8_lossy(&output.stderr);
        let last = reason.lines().last().unwrap_or("no message").to_owned();
        return Err(Failure::usage(format!(
            "the peers failed: {last}; pip install {install}, or --no-peers"
        )));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
