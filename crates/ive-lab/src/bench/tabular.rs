//! `ive bench tabular`: the reaching figure and exact ensembles, ours beside NumPy's, SciPy's and JAX's in the same run.
//!
//! CPU time counts, over all threads, and the best of several repetitions; wall time is shown beside it. The peers are
//! the programs in `peers/`, which do the same work; they run in a Python of the user's.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use clap::Args;
use cpu_time::ProcessTime;
use ive::{ExactIve, Members, Rng, TabularModel};
use rayon::prelude::*;
use serde::Deserialize;

use crate::exit::{Failure, Outcome};
use crate::experiments::reaching::{run::seed, sweep::Settings};
use crate::experiments::{Name, Plan, Preset, ours};
use crate::report::table::Table;
use crate::settings::Change;

/// Arguments of `ive bench tabular`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  ive bench tabular --python .venv/bin/python      with peers: pip install numpy scipy jax
  ive bench tabular --epochs 10000 --repeats 1     the complete figure at full length, on both sides
  ive bench tabular --no-peers --json")]
pub struct TabularArgs {
    /// Epochs of the reaching figure, on both sides (the figure itself has 10000)
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    epochs: u32,
    /// How often each measurement is repeated; the best counts
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    repeats: u32,
    /// The Python in which the peers are looked for
    #[arg(long, default_value = "python3", value_name = "PATH")]
    python: String,
    /// Measure only ourselves
    #[arg(long)]
    no_peers: bool,
    /// One JSON object per measurement
    #[arg(long)]
    json: bool,
}

/// The cases, with what each is.
const CASES: [(&str, &str); 5] = [
    ("reaching", "reaching figure, 100 seeds × (5 values + 5 models), minibatches"),
    ("limit", "reaching figure, 100 seeds, exact limits"),
    ("small", "exact IVE(20), 100 tables of 25 states"),
    ("dense", "exact IVE(20), 1000 states, dense"),
    ("sparse", "exact IVE(20), 100000 states, 8 successors"),
];

#[derive(Clone, Debug, Deserialize)]
struct Measured {
    case: String,
    #[serde(default)]
    peer: String,
    cpu: f64,
    wall: f64,
}

/// Runs the command.
pub fn run(args: &TabularArgs) -> Outcome {
    let peers = if args.no_peers { Vec::new() } else { run_peers(args)? };
    let mine = measure(args)?;
    let title = format!("{} epochs, best of {} by CPU time", args.epochs, args.repeats);
    let mut table = Table::new(&title, &["work", "who", "CPU", "wall", "CPU ratio", "wall ratio"]);
    for (case, what) in CASES {
        for mine in mine.iter().filter(|m| m.case == case) {
            table.row([
                what.into(),
                mine.peer.clone(),
                seconds(mine.cpu),
                seconds(mine.wall),
                String::new(),
                String::new(),
            ]);
            for theirs in peers.iter().filter(|m| m.case == case) {
                let (cpu, wall) = (theirs.cpu / mine.cpu, theirs.wall / mine.wall);
                let cells =
                    [seconds(theirs.cpu), seconds(theirs.wall), format!("{cpu:.1}×"), format!("{wall:.1}×")];
                table.row([String::new(), theirs.peer.clone()].into_iter().chain(cells));
                if args.json {
                    let line = serde_json::json!({ "case": case, "epochs": args.epochs, "ive": { "variant": mine.peer, "cpu": mine.cpu,
                        "wall": mine.wall }, "peer": theirs.peer, "peer_cpu": theirs.cpu, "peer_wall": theirs.wall,
                        "cpu_ratio": cpu, "wall_ratio": wall });
                    println!("{line}");
                }
            }
            if args.json && peers.is_empty() {
                println!(
                    "{}",
                    serde_json::json!({ "case": case, "epochs": args.epochs,
                    "ive": { "variant": mine.peer, "cpu": mine.cpu, "wall": mine.wall } })
                );
            }
        }
    }
    if !args.json {
        println!("{title}; a ratio says how many times as long the peer takes\n\n{}", table.text());
    }
    Ok(())
}

fn seconds(x: f64) -> String {
    if x < 0.1 { format!("{:.3} ms", 1e3 * x) } else { format!("{x:.2} s") }
}

/// A measurement is repeated inside until it takes this long: CPU time has coarse ticks.
const AT_LEAST: f64 = 0.05;

/// The best of several runs.
fn best(case: &str, variant: &str, repeats: u32, mut work: impl FnMut() -> Outcome) -> Outcome<Measured> {
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

/// The settings of the peers: γ = 0.99, Adam at 5e-5, first of the best.
fn reaching(learner: &str, epochs: u32) -> Outcome<Settings> {
    let set = |text: &str| Change::parse(text).map_err(Failure::internal);
    let changes = [
        set("discount=0.99")?,
        set("learning_rate=5e-5")?,
        set("ties=first")?,
        set(&format!("epochs={epochs}"))?,
        set(&format!("learner={learner}"))?,
    ];
    match Plan::new(Name::Reaching, Name::Reaching.layers(Preset::Paper)?, &changes, Some(100))? {
        Plan::Reaching(settings) => Ok(settings),
        _ => Err(Failure::internal("a plan for reaching is one")),
    }
}

fn measure(args: &TabularArgs) -> Outcome<Vec<Measured>> {
    let threads = rayon::current_num_threads();
    let figure = |settings: &Settings| -> Outcome {
        let curves: Vec<_> = (0..settings.seeds)
            .into_par_iter()
            .map(|s| seed(settings, s, &|| true))
            .collect::<Outcome<_>>()?;
        std::hint::black_box(curves);
        Ok(())
    };
    let (sgd, limit) = (reaching("sgd", args.epochs)?, reaching("limit", args.epochs)?);
    let mut all = vec![best("reaching", &format!("{threads} threads"), args.repeats, || figure(&sgd))?];
    // One thread, as NumPy has.
    all.push(best("limit", "1 thread, f64", 5 * args.repeats, || {
        (0..limit.seeds)
            .try_for_each(|s| seed(&limit, s, &|| true).map(|curves| drop(std::hint::black_box(curves))))
    })?);
    let rng = &mut Rng::from_seed(0);
    let tables: Vec<_> = ours((0..100).map(|_| dense(25, rng)).collect())?;
    all.push(exact("small", 10 * args.repeats, 1, &tables)?);
    let table = [ours(dense(1000, rng))?];
    for threads in [1, 2] {
        all.push(exact("dense", 10 * args.repeats, threads, &table)?);
    }
    let table = [ours(sparse(100_000, 8, rng))?];
    for threads in [1, 2] {
        all.push(exact("sparse", 3 * args.repeats, threads, &table)?);
    }
    Ok(all)
}

/// σ-IVE(20) of states and pairs for each table.
fn exact(case: &str, repeats: u32, threads: usize, tables: &[(TabularModel, Vec<f64>)]) -> Outcome<Measured> {
    let policy = vec![0.25; tables[0].1.len()];
    let ive =
        ExactIve { policy: &policy, discount: 0.99, members: ours(Members::up_to(20))?, ddof: 0, threads };
    let variant = format!("{threads} thread{}, f64", if threads > 1 { "s" } else { "" });
    best(case, &variant, repeats, || {
        tables.iter().try_for_each(|(model, q)| {
            ours(model.inconsistency(q, &ive)).map(|s| drop(std::hint::black_box(s)))
        })
    })
}

fn normals(n: usize, rng: &mut Rng) -> Vec<f64> {
    let mut x = vec![0.0; n];
    rng.fill_normal(&mut x);
    x
}

fn rows(n: usize, width: usize, rng: &mut Rng) -> Vec<f64> {
    let mut p: Vec<f64> = (0..n * width).map(|_| rng.uniform()).collect();
    for row in p.chunks_mut(width) {
        let sum: f64 = row.iter().sum();
        row.iter_mut().for_each(|x| *x /= sum);
    }
    p
}

fn dense(states: usize, rng: &mut Rng) -> ive::Result<(TabularModel, Vec<f64>)> {
    let pairs = 4 * states;
    Ok((TabularModel::dense(states, 4, normals(pairs, rng), rows(pairs, states, rng))?, normals(pairs, rng)))
}

fn sparse(states: usize, successors: usize, rng: &mut Rng) -> ive::Result<(TabularModel, Vec<f64>)> {
    let pairs = 4 * states;
    let offsets = (0..=pairs).map(|i| i * successors).collect();
    let next = (0..pairs * successors).map(|_| rng.below(states) as u32).collect();
    let model =
        TabularModel::sparse(states, 4, normals(pairs, rng), offsets, next, rows(pairs, successors, rng))?;
    Ok((model, normals(pairs, rng)))
}

const PEERS: [(&str, &str); 3] = [
    ("peers.py", include_str!("peers/peers.py")),
    ("tabular.py", include_str!("peers/tabular.py")),
    ("tabular_jax.py", include_str!("peers/tabular_jax.py")),
];

/// Runs the peers in their own process before ours, so that neither disturbs the other.
fn run_peers(args: &TabularArgs) -> Outcome<Vec<Measured>> {
    let folder = std::env::temp_dir().join(format!("ive-peers-{}", std::process::id()));
    for (name, text) in PEERS {
        crate::store::write_atomically(&folder.join(name), text.as_bytes())?;
    }
    let outcome = ask_python(args, &folder);
    let _ = std::fs::remove_dir_all(&folder);
    let text = outcome?;
    let mut found = Vec::new();
    for line in text.lines() {
        match serde_json::from_str::<Measured>(line) {
            Ok(measured) => found.push(measured),
            Err(_) => eprintln!("peer not measured: {line} (pip install numpy scipy jax)"),
        }
    }
    Ok(found)
}

fn ask_python(args: &TabularArgs, folder: &Path) -> Outcome<String> {
    eprintln!("measuring the peers in {} …", args.python);
    let output = Command::new(&args.python)
        .arg(folder.join("peers.py"))
        .args([args.epochs.to_string(), args.repeats.to_string()])
        .stderr(Stdio::piped())
        .output()
        .map_err(|e| {
            Failure::usage(format!("cannot start {}: {e}; use --python PATH or --no-peers", args.python))
        })?;
    if !output.status.success() {
        let reason = String::from_utf8_lossy(&output.stderr);
        let last = reason.lines().last().unwrap_or("no message").to_owned();
        return Err(Failure::usage(format!(
            "the peers failed: {last}; pip install numpy scipy jax, or --no-peers"
        )));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
