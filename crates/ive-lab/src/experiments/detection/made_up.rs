//! Answers that no agent gave, for tests of the analysis.

use super::detectors::Detector;
use super::guarded::Played;
use super::survey::{Asked, Found, Risk};
use super::sweep::{Cell, Settings};

/// Three games, two lengths.
pub fn settings(seeds: u64) -> Settings {
    let text = include_str!("../../../presets/detection.smoke.toml");
    let games = ["asterix", "breakout", "space_invaders"].map(str::to_owned).to_vec();
    Settings { games, seeds, steps: vec![100, 500], ..toml::from_str(text).unwrap() }
}

/// An answer of each agent. A hundredth is added for each seed; short training has a tenth less.
pub fn answers(seeds: u64) -> Vec<(Cell, Asked)> {
    let mut all = Vec::new();
    for cell in settings(seeds).cells().unwrap() {
        let more = 0.01 * cell.seed as f64 - if cell.steps == 100 { 0.1 } else { 0.0 };
        let found = |detector: Detector| {
            let auroc = if detector == Detector::LowValue { 0.9 } else { 0.7 + more };
            let one = |shift: &str, natural| Found {
                shift: shift.to_owned(),
                natural,
                detector: detector.key().to_owned(),
                auroc,
                fpr95: 0.5,
            };
            [one("upside down", false), one("sticky=0.5", true)]
        };
        let wobble = if cell.seed.is_multiple_of(2) { 0.1 } else { -0.1 };
        let risk = |detector: Detector| Risk {
            detector: detector.key().to_owned(),
            ordinary: 1.0 + wobble,
            shifted: 1.0,
            correlation: 0.0,
        };
        let played = |condition: &str, guard: &str, total: f64| Played {
            condition: condition.to_owned(),
            guard: guard.to_owned(),
            total,
            alarmed: 0.5,
            replaced: 0.1,
        };
        let corruption = settings(1).guard_corruption;
        all.push((
            cell.clone(),
            Asked {
                run: cell.name(),
                greedy: 5.0,
                error: 0.5,
                found: Detector::ALL.into_iter().flat_map(found).collect(),
                risks: Detector::ALL.into_iter().map(risk).collect(),
                played: vec![
                    played("usual", "none", 10.0),
                    played(&corruption, "none", 2.0),
                    played(&corruption, "sigma, step", 3.0 + 0.1 * wobble),
                ],
            },
        ));
    }
    all
}
