//! The walker beside dm_control and EnvPool: control steps with numbers to see, agent steps with pictures.

use super::{EnvsArgs, thousands};
use crate::commands::env::random_action;
use crate::exit::{Failure, Outcome};
use crate::output::{self, layout, stream};
use cpu_time::ProcessTime;
use ive::Rng;
use ive_envs::walker::task::EPISODE;
use ive_envs::walker::{Action, MakeError, Options, Pixels, Task, Walker, make};
use ive_envs::{Environment, StepError, VectorEnvironment};
use serde::Deserialize;
use std::process::Command;

/// Control steps of an agent step with pictures, as in the paper.
const REPEAT: u32 = 2;

const PEERS: &str = include_str!("../peers/walker.py");

/// What a peer says.
#[derive(Deserialize)]
#[serde(untagged)]
enum Said {
    /// What it reached.
    Measured { peer: String, name: String, rate: f64 },
    /// Why it reached nothing.
    Missing { missing: String, why: String },
}

/// What is measured.
#[derive(Clone, Copy)]
enum Case {
    /// Control steps of so many walkers together.
    Control(usize),
    /// Agent steps of one walker that is seen as a picture.
    Pixels,
}

impl Case {
    fn about(self) -> String {
        match self {
            Self::Control(1) => "control steps, 1 walker".into(),
            Self::Control(walkers) => format!("control steps, {walkers} walkers"),
            Self::Pixels => format!("pictures, {REPEAT} control steps each"),
        }
    }
}

/// Measures the walker and prints a table.
pub(super) fn run(args: &EnvsArgs) -> Outcome {
    let walkers = args.batch.unwrap_or(64) as usize;
    let cases = [Case::Control(1), Case::Control(walkers), Case::Pixels];
    let cases = if walkers == 1 { &cases[1..] } else { &cases[..] };
    if !args.json {
        let title = "walker:walk, steps per CPU-second, one thread, whole episodes";
        let head = format!(
            "{:<32}{:>10}{:>12}{:>10}{:>8}{:>8}",
            "", "ive", "dm_control", "EnvPool", "ratio", "ratio"
        );
        stream(&format!("\n{title}, best of {}\n\n{head}\n", args.repeats))?;
    }
    let mut notes = Vec::new();
    for &case in cases {
        // Right before ours: what else the machine does changes by the minute.
        let peers = peers(case, args);
        let ours = case.measure(args.repeats)?;
        let rate = |wanted: &str| {
            peers.iter().find_map(|said| match said {
                Said::Measured { peer, rate, .. } if peer == wanted => Some(*rate),
                _ => None,
            })
        };
        let theirs = [rate("dm_control"), rate("envpool")];
        let ratios = theirs.map(|rate| rate.map(|theirs| ours / theirs));
        notes.extend(peers.iter().map(Said::note));
        if args.json {
            let line = serde_json::json!({
                "game": "walker:walk", "case": case.about(), "repeats": args.repeats, "unit": "steps per CPU-second", "ive": ours,
                "dm_control": theirs[0], "envpool": theirs[1], "dm_control_ratio": ratios[0], "envpool_ratio": ratios[1],
                "peers": peers.iter().map(Said::note).collect::<Vec<_>>(),
            });
            stream(&format!("{line}\n"))?;
        } else {
            let [control, envpool] = theirs.map(|rate| rate.map_or("–".into(), thousands));
            let [a, b] = ratios.map(|ratio| ratio.map_or("–".into(), |ratio| format!("{ratio:.1}×")));
            let (case, ours) = (case.about(), thousands(ours));
            stream(&format!("{case:<32}{ours:>10}{control:>12}{envpool:>10}{a:>8}{b:>8}\n"))?;
        }
    }
    if !args.json {
        notes.sort();
        notes.dedup();
        let found = match notes.as_slice() {
            [] => format!("No peer was found by `{}`.", args.python),
            notes => format!("{}. dm_control steps one walker at a time.", notes.join("; ")),
        };
        let peers = "Peers: pip install dm_control==1.0.50 mujoco==3.17.0 envpool, or --python PATH.";
        stream(&layout::fold(&format!("\n{found}\n{peers}"), output::width(), 0))?;
    }
    Ok(())
}

impl Said {
    fn note(&self) -> String {
        match self {
            Self::Measured { name, .. } => name.clone(),
            Self::Missing { missing, why } => format!("{missing} not measured ({why})"),
        }
    }
}

impl Case {
    /// The best rate over the repetitions.
    fn measure(self, repeats: u32) -> Outcome<f64> {
        let walker =
            |repeat: u32, seed: u64| make(Task::Walk, &Options { repeat, ..Options::default() }, seed);
        let made = |error: MakeError| Failure::io(error.to_string());
        match self {
            Self::Control(walkers) => {
                let worlds = (0..walkers as u64).map(|seed| walker(1, seed));
                rate(worlds.collect::<Result<Vec<Walker>, _>>().map_err(made)?, EPISODE, repeats)
            }
            Self::Pixels => {
                rate(vec![Pixels::new(walker(REPEAT, 0).map_err(made)?)], EPISODE / REPEAT, repeats)
            }
        }
    }
}

/// Steps of all worlds per CPU-second over a whole episode of random actions, which were drawn beforehand.
fn rate<E: Environment<Action = Action>>(worlds: Vec<E>, steps: u32, repeats: u32) -> Outcome<f64> {
    let refused = |error: StepError| Failure::internal(error.to_string());
    let (mut rng, together) = (Rng::from_seed(0), worlds.len());
    let actions: Vec<Action> = (0..steps as usize * together).map(|_| random_action(&mut rng)).collect();
    let mut worlds = VectorEnvironment::new(worlds).map_err(refused)?;
    let mut best: f64 = 0.0;
    for _ in 0..repeats {
        worlds.reset().map_err(refused)?;
        let start = ProcessTime::now();
        for actions in actions.chunks_exact(together) {
            let now = worlds.step(actions).map_err(refused)?;
            std::hint::black_box(now.rewards);
        }
        best = best.max(actions.len() as f64 / start.elapsed().as_secs_f64());
    }
    Ok(best)
}

/// What the peers that this Python has say.
fn peers(case: Case, args: &EnvsArgs) -> Vec<Said> {
    let (case, walkers) = match case {
        Case::Control(walkers) => ("control", walkers),
        Case::Pixels => ("pixels", 1),
    };
    let arguments = [case.to_owned(), walkers.to_string(), args.repeats.to_string()];
    let output = Command::new(&args.python).args(["-c", PEERS]).args(arguments).output();
    let output = output.map(|output| output.stdout).unwrap_or_default();
    String::from_utf8_lossy(&output).lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}
