//! `ive bench envs`: steps per second of CPU time on one core, ours beside the Python original's in the same run.
//!
//! A step is an action and a fresh observation, with auto-reset. CPU time and not wall time is measured, so that other
//! work on the machine disturbs little, and the best of several repetitions counts. Actions are random and are drawn
//! beforehand on both sides.

mod procgen;
mod walker;

use crate::count::count;
use crate::exit::{Failure, Outcome};
use crate::output::{self, layout, stream};
use clap::Args;
use cpu_time::ProcessTime;
use ive::Rng;
use ive_envs::minatar::{Game, Generator, Options, make};
use ive_envs::native::{self, Package};
use ive_envs::{OptionError, StepError, VectorEnvironment};
use std::process::Command;

/// The arguments of `ive bench envs`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  ive bench envs
  ive bench envs breakout seaquest --batch 64 --python .venv/bin/python
  ive bench envs procgen:coinrun procgen:jumper --python .venv/bin/python
  ive bench envs walker --python .venv/bin/python
  ive bench envs --json > speed.jsonl")]
pub struct EnvsArgs {
    /// The games, or `walker` [default: all of MinAtar and, if they are installed, the paper's five of Procgen and the walker]
    #[arg(value_parser = game)]
    games: Vec<Measurable>,
    /// How many environments step together [default: 1024; Procgen and the walker 64]
    #[arg(long, allow_negative_numbers = true, value_parser = count::<u32>(1, 65536))]
    batch: Option<u32>,
    /// How often each measurement is repeated; the best counts
    #[arg(long, default_value_t = 5, allow_negative_numbers = true, value_parser = count::<u32>(1, 1_000_000))]
    repeats: u32,
    /// The Python in which the original is looked for
    #[arg(long, default_value = "python3", value_name = "PATH")]
    python: String,
    /// One JSON object per game
    #[arg(long)]
    json: bool,
}

/// A game that can be measured.
#[derive(Clone, Copy, Debug)]
enum Measurable {
    MinAtar(Game),
    Procgen(ive_envs::procgen::Game),
    Walker,
}

fn game(name: &str) -> Result<Measurable, String> {
    if ["walker", "walker:walk"].contains(&name) {
        return Ok(Measurable::Walker);
    }
    let found = match name.strip_prefix("procgen:") {
        Some(game) => ive_envs::procgen::Game::from_name(game).map(Measurable::Procgen),
        None => Game::from_name(name.trim_start_matches("minatar:")).map(Measurable::MinAtar),
    };
    found.ok_or_else(|| {
        let known = Game::ALL.map(Game::name).join(", ");
        format!("no such game; there is {known}, walker, and the games of Procgen by their whole names")
    })
}

/// CPU seconds that one repetition takes at least.
const SECONDS: f64 = 0.25;

/// Runs the benchmark and prints a table for each family.
///
/// # Errors
/// If a library that is needed cannot be had, or a world refuses a step, which would be a bug.
pub fn run(args: &EnvsArgs) -> Outcome {
    let (mut minatar, mut procgen, mut walker) = (Vec::new(), Vec::new(), false);
    for &game in &args.games {
        match game {
            Measurable::MinAtar(game) => minatar.push(game),
            Measurable::Procgen(game) => procgen.push(game),
            Measurable::Walker => walker = true,
        }
    }
    if args.games.is_empty() {
        minatar = Game::ALL.to_vec();
        if matches!(native::installed(Package::Procgen), Ok(Some(_))) {
            procgen = procgen::USUAL.to_vec();
        }
        walker = matches!(native::installed(Package::Mujoco), Ok(Some(_)));
    }
    if !minatar.is_empty() {
        run_minatar(&minatar, args)?;
    }
    if !procgen.is_empty() {
        procgen::run(&procgen, args)?;
    }
    if walker { walker::run(args) } else { Ok(()) }
}

fn run_minatar(games: &[Game], args: &EnvsArgs) -> Outcome {
    let batch = args.batch.unwrap_or(1024);
    let version = original_version(&args.python);
    if !args.json {
        let python = version.as_deref().unwrap_or("not installed");
        let repeats = args.repeats;
        stream(&format!(
            "steps per CPU-second, one core, batch {batch}, best of {repeats}\noriginal: {python}\n\n\
             {:<16}{:>12}{:>12}{:>12}{:>10}{:>10}\n",
            "game", "ive", "numpy rng", "original", "ratio", "numpy"
        ))?;
    }
    for &game in games {
        let ours = measure(game, Generator::Ive, batch, args).map_err(Failure::internal)?;
        let numpy = measure(game, Generator::NumPy, batch, args).map_err(Failure::internal)?;
        let original = version.as_ref().and_then(|_| measure_original(game, args));
        if args.json {
            let line = serde_json::json!({
                "game": game.name(), "batch": batch, "repeats": args.repeats, "unit": "steps per CPU-second",
                "ive": ours, "numpy_rng": numpy, "original": original, "original_version": version,
                "ratio": original.map(|theirs| ours / theirs),
            });
            stream(&format!("{line}\n"))?;
        } else {
            let theirs = original.map_or("–".into(), thousands);
            let ratio = |x: f64| original.map_or("–".into(), |theirs| format!("{:.0}×", x / theirs));
            let (a, b) = (ratio(ours), ratio(numpy));
            let [ours, numpy] = [ours, numpy].map(thousands);
            stream(&format!("{:<16}{ours:>12}{numpy:>12}{theirs:>12}{a:>10}{b:>10}\n", game.name()))?;
        }
    }
    if version.is_none() && !args.json {
        let python = &args.python;
        let text = format!(
            "\nThe original was not found by `{python}`: pip install minatar==1.0.15, or --python PATH."
        );
        stream(&layout::fold(&text, output::width(), 0))?;
    }
    Ok(())
}

/// A rate in words that a person compares easily.
fn thousands(rate: f64) -> String {
    match rate {
        1e6.. => format!("{:.2}M", rate / 1e6),
        1e5.. => format!("{:.0}k", rate / 1e3),
        1e3.. => format!("{:.1}k", rate / 1e3),
        _ => format!("{rate:.0}"),
    }
}

/// The best rate over the repetitions.
fn measure(game: Game, generator: Generator, batch: u32, args: &EnvsArgs) -> Result<f64, String> {
    let batch = batch as usize;
    let options = Options { generator, ..Options::default() };
    let worlds: Result<Vec<_>, OptionError> =
        (0..batch as u64).map(|seed| make(game, &options, seed)).collect();
    let refused = |error: StepError| error.to_string();
    let mut worlds = VectorEnvironment::new(worlds.map_err(|error| error.to_string())?).map_err(refused)?;
    let mut rng = Rng::from_seed(0);
    let actions: Vec<usize> = (0..64 * batch).map(|_| rng.below(6)).collect();
    worlds.reset().map_err(refused)?;
    let mut best: f64 = 0.0;
    for _ in 0..args.repeats {
        let (start, mut steps) = (ProcessTime::now(), 0);
        let mut seconds = 0.0;
        while seconds < SECONDS {
            for actions in actions.chunks_exact(batch) {
                let now = worlds.step(actions).map_err(refused)?;
                std::hint::black_box(now.observations);
            }
            steps += actions.len();
            seconds = start.elapsed().as_secs_f64();
        }
        best = best.max(steps as f64 / seconds);
    }
    Ok(best)
}

/// The version of the original, if this Python has it.
fn original_version(python: &str) -> Option<String> {
    let script = "from importlib.metadata import version; import minatar; print(version('minatar'))";
    let output = Command::new(python).args(["-c", script]).output().ok()?;
    let version = String::from_utf8(output.stdout).ok()?.trim().to_string();
    (output.status.success() && !version.is_empty()).then_some(version)
}

/// The same loop in Python: act, observe, start over at the end.
const ORIGINAL: &str = "
import sys, time
import numpy as np
from minatar import Environment
env = Environment(sys.argv[1])
env.seed(0)
env.reset()
actions = np.random.RandomState(1).randint(0, 6, 10000).tolist()
best = 0.0
for _ in range(int(sys.argv[2])):
    start = time.process_time()
    for action in actions:
        _, end = env.act(action)
        env.state()
        if end:
            env.reset()
            env.state()
    best = max(best, len(actions) / (time.process_time() - start))
print(best)
";

/// The best rate of the original over the repetitions.
fn measure_original(game: Game, args: &EnvsArgs) -> Option<f64> {
    let repeats = args.repeats.to_string();
    let output = Command::new(&args.python).args(["-c", ORIGINAL, game.name(), &repeats]).output().ok()?;
    String::from_utf8(output.stdout).ok()?.trim().parse().ok()
}
