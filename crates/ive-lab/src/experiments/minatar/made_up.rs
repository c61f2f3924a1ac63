//! Made-up runs for tests, and what NumPy and SciPy say about them (`crates/ive-lab/tests/minatar_scores.py`).

use std::collections::BTreeMap;

use ive_envs::minatar::Game;
use serde_json::Value;

use super::published::Method;
use super::run::Record;
use super::score::Scale;
use super::sweep::Cell;

/// Scores and expected statistics.
pub fn fixture() -> Value {
    serde_json::from_str(include_str!("../../../tests/fixtures/minatar_scores.json")).unwrap()
}

/// The scale of the fixture.
pub fn scales(fixture: &Value) -> Vec<Scale> {
    let random = |g: Game| fixture["random"][g as usize].as_f64().unwrap();
    Game::ALL.map(|game| Scale { game, random: (random(game), 0.0) }).to_vec()
}

/// Runs with the scores of the fixture, which rise linearly to their end; greedy returns are one higher.
pub fn records(fixture: &Value) -> Vec<Record> {
    let mut all = Vec::new();
    for method in Method::ALL {
        for game in Game::ALL {
            let seeds = fixture["scores"][method.word()][game as usize].as_array().unwrap();
            all.extend(seeds.iter().enumerate().map(|(seed, score)| {
                let score = score.as_f64().unwrap();
                run(game, method, seed as u64, score)
            }));
        }
    }
    all
}

fn run(game: Game, method: Method, seed: u64, score: f64) -> Record {
    let entry = |i: u64| {
        let now = score * i as f64 / 10.0;
        let values = [("return_100", now), ("predicted", 0.6 * now), ("realised", 0.5 * now)];
        (50_000 * i, values.map(|(name, x)| (name.to_owned(), x)).into())
    };
    let log: Vec<(u64, BTreeMap<String, f64>)> = (1..=10).map(entry).collect();
    let greedy = vec![score + 0.5, score + 1.5];
    let cell = Cell { game, method, seed };
    Record { cell, steps: 500_000, training: Some(score), greedy, log, speed: Some(1000.0) }
}
