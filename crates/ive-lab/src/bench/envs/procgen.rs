//! Procgen beside the Python package on the same library and beside EnvPool.

use super::{EnvsArgs, thousands};
use crate::exit::{Failure, Outcome};
use cpu_time::ProcessTime;
use ive::Rng;
use ive_envs::procgen::{ACTIONS, Game, Mode, Options, Procgen};
use serde::Deserialize;
use std::process::Command;

/// The games of the paper, which are measured unless others are named.
pub(super) const USUAL: [Game; 5] =
    [Game::Chaser, Game::Climber, Game::CoinRun, Game::FruitBot, Game::Jumper];

/// CPU seconds that one repetition takes at least: levels differ, and so do their costs.
const SECONDS: f64 = 1.0;

const PEERS: &str = include_str!("../peers/procgen.py");

/// What a peer reached.
#[derive(Deserialize)]
struct Measured {
    peer: String,
    rate: f64,
}

/// Measures the games and prints a table.
pub(super) fn run(games: &[Game], args: &EnvsArgs) -> Outcome {
    let envs = args.batch.unwrap_or(64) as usize;
    let mut alone = true;
    if !args.json {
        let title = format!("steps per CPU-second, one thread, {envs} environments, easy, all levels");
        println!("\n{title}, best of {}\n", args.repeats);
        println!(
            "{:<18}{:>10}{:>10}{:>10}{:>10}{:>10}",
            "game", "ive", "Python", "EnvPool", "ratio", "ratio"
        );
    }
    for &game in games {
        // Right before ours: what else the machine does changes by the minute.
        let peers = peers(game, envs, args);
        alone &= peers.is_empty();
        let ours = measure(game, envs, args.repeats)?;
        let rate = |peer: &str| peers.iter().find(|m| m.peer == peer).map(|m| m.rate);
        let theirs = [rate("procgen"), rate("envpool")];
        let ratios = theirs.map(|rate| rate.map(|theirs| ours / theirs));
        if args.json {
            let line = serde_json::json!({
                "game": format!("procgen:{}", game.name()), "batch": envs, "repeats": args.repeats,
                "unit": "steps per CPU-second", "ive": ours, "python": theirs[0], "envpool": theirs[1],
                "python_ratio": ratios[0], "envpool_ratio": ratios[1],
            });
            println!("{line}");
        } else {
            let [python, envpool] = theirs.map(|rate| rate.map_or("–".into(), thousands));
            let [a, b] = ratios.map(|ratio| ratio.map_or("–".into(), |ratio| format!("{ratio:.2}×")));
            let name = format!("procgen:{}", game.name());
            println!("{name:<18}{:>10}{python:>10}{envpool:>10}{a:>10}{b:>10}", thousands(ours));
        }
    }
    if alone && !args.json {
        println!(
            "\nNo peer was found by `{}`: pip install procgen==0.10.7 envpool, or --python PATH.",
            args.python
        );
    }
    Ok(())
}

/// The best rate over the repetitions.
fn measure(game: Game, envs: usize, repeats: u32) -> Outcome<f64> {
    let options = Options { mode: Mode::Easy, ..Options::default() };
    let mut games = Procgen::new(game, &options, envs, 1, 0).map_err(|e| Failure::io(e.to_string()))?;
    let mut rng = Rng::from_seed(0);
    let actions: Vec<usize> = (0..64 * envs).map(|_| rng.below(ACTIONS.len())).collect();
    let mut best: f64 = 0.0;
    for _ in 0..repeats {
        let (start, mut steps, mut seconds) = (ProcessTime::now(), 0, 0.0);
        while seconds < SECONDS {
            for actions in actions.chunks_exact(envs) {
                let now = games.step(actions).map_err(|e| Failure::internal(e.to_string()))?;
                std::hint::black_box(now.observations);
            }
            steps += actions.len();
            seconds = start.elapsed().as_secs_f64();
        }
        best = best.max(steps as f64 / seconds);
    }
    Ok(best)
}

/// The peers that this Python has.
fn peers(game: Game, envs: usize, args: &EnvsArgs) -> Vec<Measured> {
    let arguments = [args.repeats.to_string(), envs.to_string(), game.name().to_owned()];
    let output = Command::new(&args.python).args(["-c", PEERS]).args(arguments).output();
    let output = output.map(|output| output.stdout).unwrap_or_default();
    String::from_utf8_lossy(&output).lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}
