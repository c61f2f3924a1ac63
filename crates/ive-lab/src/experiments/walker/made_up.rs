//! Made-up runs for tests, and what NumPy and SciPy say about them (`crates/ive-lab/tests/walker_scores.py`).

use serde_json::Value;

use super::published::Method;
use super::run::Record;
use super::score::RETURN;
use super::sweep::{Cell, Settings};

/// Ends of runs and expected statistics.
pub fn fixture() -> Value {
    serde_json::from_str(include_str!("../../../tests/fixtures/walker_scores.json")).unwrap()
}

/// The settings to which they belong.
pub fn settings() -> Settings {
    let preset: Settings = toml::from_str(include_str!("../../../presets/walker.small.toml")).unwrap();
    Settings { thresholds: vec![0.0, 0.3, 0.5, 0.7], focus: 0.5, ..preset }
}

/// Runs of all methods, thresholds and seeds of the fixture.
pub fn records(fixture: &Value) -> Vec<Record> {
    let settings = settings();
    let mut all = Vec::new();
    for method in Method::ALL {
        for (row, &eta) in settings.thresholds.iter().enumerate() {
            let of = |what: &str, seed: u64| fixture[what][method.word()][row][seed as usize].clone();
            all.extend((0..5).map(|seed| {
                let (end, delay) = (of("ends", seed).as_f64(), of("delays", seed).as_u64());
                run(settings.cell(eta, method, seed), end.unwrap(), delay.unwrap())
            }));
        }
    }
    all
}

/// A run whose training return rises linearly to its end after some of its 40 lines, with 20 more afterwards.
pub fn run(cell: Cell, end: f64, delay: u64) -> Record {
    let entry = |i: u64| {
        let now = end * i.saturating_sub(delay) as f64 / (40 - delay) as f64;
        let mut values = vec![
            (RETURN, now),
            ("actor_std", 1.0 / i as f64),
            ("imagined", now / 5.0),
            ("realised", now / 6.0),
        ];
        if cell.method.plans() {
            values.extend([("sigma_flips", 0.05), ("moved", 0.3), ("sigma", 0.7)]);
        }
        (5000 * i, values.into_iter().map(|(name, x)| (name.to_owned(), x)).collect())
    };
    Record {
        cell,
        steps: 200_000,
        training: Some(end),
        greedy: vec![end + 15.0, end + 25.0],
        log: (1..=40).map(entry).collect(),
        speed: Some(220.0),
    }
}
