//! Verdicts on made-up runs.

use ive_envs::procgen::Game;

use super::*;
use crate::experiments::procgen::made_up::{settings, tested as made_up};
use crate::experiments::procgen::sweep::{Cell, Variant};

fn small() -> Settings {
    Settings { ablation: "optimism".into(), optimism_games: vec!["fruitbot".into()], ..settings() }
}

/// Returns of 5 for the plain agent; the optimist that is judged gets so much more, and with n = 10 decreasing weights get one more than all others.
fn runs(settings: &Settings, more: f64, explained: f64) -> Vec<Trained> {
    let mut all = Vec::new();
    for seed in 0..settings.seeds {
        for (at, bonus) in settings.optimists().unwrap().into_iter().enumerate() {
            let cell = Cell { game: Game::FruitBot, levels: 100, variant: Variant::Prior, seed };
            let best = bonus.is_some_and(|b| b.depth == 10 && b.signal == Signal::JsdDecreasing);
            let extra = if at == 1 { more } else { f64::from(u8::from(best)) };
            let noise = 0.01 * seed as f64 * (1 + at % 3) as f64;
            all.push(Trained { bonus, tested: made_up(cell, explained, 5.0 + extra + noise, 1.0) });
        }
    }
    all
}

/// By hand: fruitbot's easy returns reach from −1.5 to 32.4; the judged optimist gets 3 + 0.01 seed more, on average 3.02.
#[test]
fn verdicts_follow_the_gains_of_pairs() {
    let s = small();
    let found = findings(&s, runs(&s, 3.0, 0.8)).unwrap();
    assert_eq!(found.claims.len(), 2);
    let claim = &found.claims[0];
    assert!((claim.effect - 3.02 / 33.9).abs() < 1e-9, "{}", claim.effect);
    assert_eq!((claim.verdict, found.claims[1].verdict), (Verdict::Supported, Verdict::Supported));
    assert_eq!(findings(&s, runs(&s, -3.0, 0.8)).unwrap().claims[0].verdict, Verdict::NotSupported);
    // (dec − inc) of n = 10 is 1 up to the noise; of n = 5 the judged one is 3 above: the difference of differences is 1 − (0 − 3) = 4.
    let noise =
        |at: usize| (0..5).map(|seed| 0.01 * f64::from(seed) * (1 + at % 3) as f64).sum::<f64>() / 5.0;
    let expected = (1.0 + noise(6) - noise(4) - (noise(3) - 3.0 - noise(1))) / 33.9;
    assert!((found.claims[1].effect - expected).abs() < 1e-9, "{} {expected}", found.claims[1].effect);
    assert_eq!(found.tables[0].1.rows.len(), 14);
    assert_eq!(
        found.figures.iter().map(|f| f.name.as_str()).collect::<Vec<_>>(),
        ["figure13", "figure13_gain", "figure13_training"]
    );
}

#[test]
fn agents_that_have_not_learned_and_few_seeds_decide_nothing() {
    let s = small();
    for found in [
        findings(&s, runs(&s, 3.0, 0.1)).unwrap(),
        findings(&s, runs(&Settings { seeds: 4, ..small() }, 3.0, 0.8)).unwrap(),
    ] {
        assert!(found.claims.iter().all(|c| c.verdict == Verdict::NotDecided && c.undecided.is_some()));
    }
    let one = runs(&s, 3.0, 0.8).into_iter().take(1).collect();
    let found = findings(&s, one).unwrap();
    assert!(found.scale.contains("1 of 70 runs"), "{}", found.scale);
}
