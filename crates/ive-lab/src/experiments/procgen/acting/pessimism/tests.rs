//! Verdicts on made-up runs.

use ive_envs::procgen::Game;

use super::*;
use crate::experiments::procgen::made_up::{settings, tested as made_up};
use crate::experiments::procgen::sweep::{Cell, Variant};

fn small() -> Settings {
    Settings { ablation: "pessimism".into(), ..settings() }
}

/// Five seeds on fruitbot; with β the return on unseen levels rises by `slope` β.
fn runs(settings: &Settings, slope: f64, explained: f64) -> Vec<Careful> {
    let mut all = Vec::new();
    for seed in 0..settings.seeds {
        for &levels in &settings.pessimism_levels {
            let cell = Cell { game: Game::FruitBot, levels, variant: Variant::Prior, seed };
            let tested = made_up(cell, explained, 5.0, 1.0);
            let with = |beta: f64| {
                let mut sets = [tested.sets[0].clone(), tested.sets[1].clone()];
                let more = beta * slope * (1.0 + 0.01 * seed as f64);
                sets[1].returns.iter_mut().for_each(|(_, total)| *total += more);
                (beta, sets)
            };
            let manners = settings.betas().into_iter().map(with).collect();
            all.push(Careful { tested, manners });
        }
    }
    all
}

/// By hand: β = 1 adds 2 · 1.02 of 33.9.
#[test]
fn verdicts_follow_what_the_judged_beta_adds() {
    let s = small();
    let found = findings(&s, runs(&s, 2.0, 0.8)).unwrap();
    assert_eq!(found.claims.len(), 2);
    for claim in &found.claims {
        assert!((claim.effect - 2.04 / 33.9).abs() < 1e-9, "{}", claim.effect);
        assert_eq!(claim.verdict, Verdict::Supported);
    }
    let lower = findings(&s, runs(&s, -2.0, 0.8)).unwrap();
    assert!(lower.claims.iter().all(|claim| claim.verdict == Verdict::NotSupported));
    assert_eq!(found.tables[0].1.rows.len(), 2 * 7);
    assert_eq!(
        found.figures.iter().map(|f| f.name.as_str()).collect::<Vec<_>>(),
        ["figure14", "figure14_gain"]
    );
}

#[test]
fn agents_that_have_not_learned_decide_nothing() {
    let s = small();
    let found = findings(&s, runs(&s, 2.0, 0.1)).unwrap();
    assert!(found.claims.iter().all(|c| c.verdict == Verdict::NotDecided));
    let why = found.claims[0].undecided.as_deref().unwrap();
    assert!(why.contains("0 seeds that have learned") && why.contains("explained variance 0.10"), "{why}");
    let one: Vec<Careful> = runs(&s, 2.0, 0.8).into_iter().take(1).collect();
    assert!(findings(&s, one).unwrap().scale.contains("1 of 10 runs"));
}
