//! Our environments replay runs of the Python package. `procgen_parity.py` in this folder recorded them, and compares at
//! any length with an installed package.

#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

use ive_envs::fnv1a;
use ive_envs::native::{self, Package};
use ive_envs::procgen::{Frame, Game, Options, Procgen};
use serde_json::Value;

/// The player of the script: each step repeats the last action or draws another, evenly.
struct Player {
    x: u64,
    last: Vec<usize>,
}

impl Player {
    fn act(&mut self) -> &[usize] {
        for action in &mut self.last {
            self.x = (1_103_515_245 * self.x + 12345) % (1 << 31);
            let drawn = (self.x >> 16) % 30;
            *action = if drawn < 15 { drawn as usize } else { *action };
        }
        &self.last
    }
}

/// Everything that there is to see, in bytes.
fn look(now: Frame<'_>, seen: &mut Vec<u8>) {
    for (i, picture) in now.observations.chunks_exact(64 * 64 * 3).enumerate() {
        seen.extend(fnv1a(picture).to_le_bytes());
        seen.extend(now.rewards[i].to_le_bytes());
        seen.push(now.firsts[i]);
        seen.extend(now.level_seeds[i].to_le_bytes());
        seen.extend(now.previous_level_seeds[i].to_le_bytes());
        seen.push(now.levels_complete[i]);
    }
}

fn replay(run: &Value, fixture: &Value, threads: usize) {
    let number = |of: &Value, key: &str| of[key].as_u64().unwrap();
    let mut options = Options::default();
    for key in ["levels", "start_level", "mode"] {
        options.set(key, run[key].to_string().trim_matches('"')).unwrap();
    }
    let game = Game::from_name(run["game"].as_str().unwrap()).unwrap();
    let (envs, every) = (number(fixture, "envs") as usize, number(fixture, "every"));
    let mut games = Procgen::new(game, &options, envs, threads, number(fixture, "seed")).unwrap();
    let mut player = Player { x: 1, last: vec![4; envs] };
    let (mut seen, mut digests, mut sum, mut episodes, mut completed) = (Vec::new(), Vec::new(), 0.0, 0, 0);
    for t in 0..number(fixture, "steps") {
        let now = games.step(player.act()).unwrap();
        look(now, &mut seen);
        sum += now.rewards.iter().map(|&reward| f64::from(reward)).sum::<f64>();
        episodes += now.firsts.iter().map(|&first| u64::from(first)).sum::<u64>();
        completed += now.levels_complete.iter().map(|&complete| u64::from(complete)).sum::<u64>();
        if (t + 1) % every == 0 {
            digests.push(format!("{:016x}", fnv1a(&seen)));
        }
    }
    let recorded: Vec<&str> =
        run["digests"].as_array().unwrap().iter().map(|d| d.as_str().unwrap()).collect();
    let wrong = digests.iter().zip(&recorded).position(|(ours, theirs)| ours != theirs);
    assert_eq!(wrong, None, "{game:?} {options}: differs within the {every} steps of this block");
    assert_eq!(digests.len(), recorded.len());
    assert_eq!((episodes, completed), (number(run, "episodes"), number(run, "completed")));
    assert!((sum - run["return"].as_f64().unwrap()).abs() < 1e-6);
}

/// One thread, and three, among which eight environments are divided unevenly.
fn replay_all(game: &str) {
    if native::for_tests(Package::Procgen).is_none() {
        return;
    }
    let fixture: Value = serde_json::from_str(include_str!("fixtures/procgen-0.10.7.json")).unwrap();
    let runs: Vec<&Value> =
        fixture["runs"].as_array().unwrap().iter().filter(|run| run["game"] == game).collect();
    assert_eq!(runs.len(), 3, "runs of {game}");
    for run in runs {
        replay(run, &fixture, 1);
        replay(run, &fixture, 3);
    }
}

#[test]
fn chaser_matches_the_python_package() {
    replay_all("chaser");
}

#[test]
fn climber_matches_the_python_package() {
    replay_all("climber");
}

#[test]
fn coinrun_matches_the_python_package() {
    replay_all("coinrun");
}

#[test]
fn fruitbot_matches_the_python_package() {
    replay_all("fruitbot");
}

#[test]
fn jumper_matches_the_python_package() {
    replay_all("jumper");
}
