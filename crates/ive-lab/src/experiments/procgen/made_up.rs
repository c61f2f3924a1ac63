//! Made-up runs for tests.

use super::evaluate::{Evaluated, REALISED, SIGMA, SIGMA_RELATIVE, SIGMA_WITH_ZERO, VALUE};
use super::run::Tested;
use super::sweep::{Cell, Settings};
use crate::experiments::runs::record::Record;

/// The settings of the preset `small`.
pub fn settings() -> Settings {
    toml::from_str(include_str!("../../../presets/procgen.small.toml")).unwrap()
}

/// A set of eight levels with five states each, whose mean σ is this.
fn set(first: u32, total: f64, sigma: f64) -> Evaluated {
    let levels: Vec<u32> = (first..first + 8).collect();
    let places: Vec<usize> = (0..40).map(|i| i / 5).collect();
    // Factors with mean 1 over levels and over the states of a level.
    let spread = |i: usize| (1.0 + 0.05 * ((i / 5) as f64 - 3.5)) * (1.0 + 0.1 * ((i % 5) as f64 - 2.0));
    let sigmas: Vec<f64> = (0..40).map(|i| sigma * spread(i)).collect();
    let real: Vec<f64> = (0..40).map(|i| total + (i % 3) as f64).collect();
    let scores = [
        (SIGMA, sigmas.clone()),
        (SIGMA_WITH_ZERO, sigmas.iter().map(|x| 1.1 * x).collect()),
        (SIGMA_RELATIVE, sigmas.iter().map(|x| x / 2.0).collect()),
        (VALUE, real.iter().map(|x| x + 0.1).collect()),
        (REALISED, real),
    ];
    let returns = (0..16).map(|i| (i / 2, total + 0.1 * (i % 2) as f64)).collect();
    let scores = scores.map(|(name, all)| (name.to_owned(), all)).into();
    Evaluated { levels, returns, steps: 400, places, scores }
}

/// A run that explains so much, returns so much on its training levels (a random policy: −2), and has so many times the σ on unseen levels.
pub fn tested(cell: Cell, explained: f64, total: f64, ratio: f64) -> Tested {
    // Seeds differ in the size of σ, and a little in the ratio.
    let sigma = 0.04 * (1.0 + 0.2 * cell.seed as f64);
    let log = (1..=10u64)
        .map(|i| {
            let line = [("explained_variance", explained), ("return_100", total * i as f64 / 10.0)];
            (100_000 * i, line.map(|(name, x)| (name.to_owned(), x)).into())
        })
        .collect();
    let run = Record {
        cell,
        steps: 1_000_000,
        training: Some(total),
        greedy: Vec::new(),
        log,
        speed: Some(1500.0),
    };
    let sets = [
        set(0, total, sigma),
        set(1_000_000, total - 1.0, sigma * ratio),
        set(0, -2.0, sigma),
        set(1_000_000, -2.0, sigma * ratio.sqrt()),
    ];
    Tested { run, sets }
}
