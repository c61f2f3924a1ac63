//! Our games replay recorded runs of the original. `minatar_parity.py` in this folder recorded them, and compares at any
//! length with an installed original.

#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

use ive_envs::{Environment, StepKind, fnv1a, registry};
use serde_json::Value;

/// Replays a run and compares the running digest of everything seen with the recorded ones.
fn replay(run: &Value, every: usize) {
    let (game, seed) = (run["game"].as_str().unwrap(), run["seed"].as_u64().unwrap());
    let sticky = run["sticky"].to_string();
    let ramping = if run["ramping"] == true { "on" } else { "off" };
    let mut options = vec![("rng", "numpy"), ("sticky", &sticky), ("ramping", ramping)];
    let extra = run["options"].as_array().unwrap();
    options.extend(extra.iter().map(|option| option.as_str().unwrap().split_once('=').unwrap()));
    let mut world = registry::make(&format!("minatar:{game}"), &options, seed).unwrap();

    world.reset();
    let (mut seen, mut sum, mut episodes, mut digests) = (Vec::new(), 0.0, 0, Vec::new());
    for (i, action) in run["actions"].as_str().unwrap().bytes().enumerate() {
        let step = world.step(usize::from(action - b'0')).unwrap();
        let terminal = step.kind == StepKind::Terminated;
        seen.extend(fnv1a(&step.observation).to_le_bytes());
        seen.extend([step.reward as i8 as u8, u8::from(terminal)]);
        sum += step.reward;
        if terminal {
            episodes += 1;
            world.reset();
        }
        if (i + 1) % every == 0 {
            digests.push(format!("{:016x}", fnv1a(&seen)));
        }
    }
    let recorded: Vec<&str> =
        run["digests"].as_array().unwrap().iter().map(|d| d.as_str().unwrap()).collect();
    let wrong = digests.iter().zip(&recorded).position(|(ours, theirs)| ours != theirs);
    assert_eq!(wrong, None, "{game} seed {seed} {options:?}: differs within the {every} steps of this block");
    assert_eq!(digests.len(), recorded.len());
    assert_eq!((sum, episodes), (run["return"].as_f64().unwrap(), run["episodes"].as_i64().unwrap()));
}

fn replay_all(fixture: &str, game: &str) {
    let fixture: Value = serde_json::from_str(fixture).unwrap();
    let runs = fixture["runs"].as_array().unwrap().iter().filter(|run| run["game"] == game);
    let count = runs.map(|run| replay(run, fixture["every"].as_u64().unwrap() as usize)).count();
    assert_eq!(count, 12, "runs of {game}");
}

const ORIGINAL: &str = include_str!("fixtures/minatar-1.0.15.json");

#[test]
fn asterix_matches_the_original() {
    replay_all(ORIGINAL, "asterix");
}

#[test]
fn breakout_matches_the_original() {
    replay_all(ORIGINAL, "breakout");
}

#[test]
fn freeway_matches_the_original() {
    replay_all(ORIGINAL, "freeway");
}

#[test]
fn seaquest_matches_the_original() {
    replay_all(ORIGINAL, "seaquest");
}

#[test]
fn space_invaders_matches_the_original() {
    replay_all(ORIGINAL, "space_invaders");
}

#[test]
fn seaquest_with_oxygen_flash_matches_the_release_before_october_2022() {
    replay_all(include_str!("fixtures/minatar-1.0.10.json"), "seaquest");
}
