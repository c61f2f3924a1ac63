//! Figure 4: from the finished runs to its report. `claims.rs` has the verdicts on H1, H2 and H3.

use std::collections::BTreeMap;

use ive::{Rng, crossed_bootstrap, mean_and_error};
use ive_envs::procgen::Game;
use serde_json::{Value, json};

use super::claims::{SEEDS_NEEDED, falls_with_levels, higher_on_unseen, more_than_heads};
use super::evaluate::Set;
use super::levels::normalised;
use super::reading::By;
use super::run::Tested;
use super::sweep::{Settings, Variant};
use super::{figures, tables};
use crate::exit::Outcome;
use crate::experiments::ours;
use crate::experiments::runs::size;
use crate::report::{Findings, table::grouped};

/// The stream of the bootstrap.
const BOOTSTRAP_SEED: u64 = 95;
/// What the paper trained.
const PAPER: (u64, u64) = (100_000_000, 3);

/// Runs of one kind.
pub fn of(runs: &[Tested], game: Game, levels: u32, variant: Variant) -> Vec<&Tested> {
    let is = |t: &&Tested| t.cell().game == game && t.cell().levels == levels && t.cell().variant == variant;
    runs.iter().filter(is).collect()
}

/// AUROC of a score, unseen against seen: the mean over runs, and a 95 % interval over seeds and levels. None if a run lacks the score.
pub fn auroc(runs: &[&Tested], score: &str, by: By, replicates: usize) -> Outcome<Option<(f64, (f64, f64))>> {
    let Some(first) = runs.first() else { return Ok(None) };
    let rankings = runs.iter().map(|run| run.ranking(score, by)).collect::<Outcome<Option<Vec<_>>>>()?;
    let Some(rankings) = rankings else { return Ok(None) };
    let levels = first.clusters(by).map(|(_, count)| count);
    let area = |unit: usize, times: &[Vec<f64>]| {
        let weights = |group: usize| {
            let (places, _) = runs[unit].clusters(by)[group];
            places.iter().map(|place| times[group][*place]).collect::<Vec<f64>>()
        };
        let area = rankings[unit].weighted_auroc(&weights(0), &weights(1));
        // A resample of levels without any state says nothing.
        if area.is_finite() { area } else { 0.5 }
    };
    let rng = &mut Rng::from_seed(BOOTSTRAP_SEED);
    let found = ours(crossed_bootstrap(runs.len(), &levels, area, 0.95, replicates, rng))?;
    Ok(Some((found.value, (found.low, found.high))))
}

/// Judges the finished runs.
pub fn findings(settings: &Settings, mut runs: Vec<Tested>) -> Outcome<Findings> {
    runs.sort_by_key(|t| (t.cell().game as usize, t.cell().levels, t.cell().variant, t.cell().seed));
    let runs = &runs[..];
    let mut claims = Vec::new();
    for &levels in &settings.counts() {
        claims.push(higher_on_unseen(settings, runs, levels)?);
    }
    if settings.variants()?.contains(&Variant::WarmUp) {
        for &levels in &settings.counts() {
            claims.push(more_than_heads(settings, runs, levels)?);
        }
    }
    if settings.levels.len() > 1 {
        claims.extend(falls_with_levels(settings, runs)?);
    }
    Ok(Findings {
        name: "procgen",
        title: format!("What an agent knows of levels that it has not seen ({})", settings.judged()?.figure),
        scale: scale(settings, runs)?,
        text: text(settings)?,
        claims,
        figures: figures::all(settings, runs)?,
        tables: vec![
            ("figure4", tables::figure4(settings, runs)?),
            ("figure4_signals", tables::signals(settings, runs)?),
            ("figure4_learned", tables::learned(settings, runs)),
        ],
        data: vec![("runs", tables::runs(settings, runs)?), ("curves", tables::curves(settings, runs)?)],
        numbers: numbers(settings, runs)?,
    })
}

/// A number of each run that has it.
pub fn per_run(runs: &[&Tested], number: impl Fn(&Tested) -> Option<f64>) -> Vec<f64> {
    runs.iter().filter_map(|run| number(run)).collect()
}

/// How much smaller than the paper's this experiment is.
fn scale(settings: &Settings, runs: &[Tested]) -> Outcome<String> {
    let planned = settings.cells()?.len();
    let size = size(settings.steps, PAPER.0);
    let mut out = format!(
        "{} frames per run, {size} {}; {} seed{} (the paper: {}); {} of 5 games, {} mode (the paper: hard).",
        grouped(settings.steps),
        grouped(PAPER.0),
        settings.seeds,
        if settings.seeds == 1 { "" } else { "s" },
        PAPER.1,
        settings.games()?.len(),
        settings.mode,
    );
    if runs.len() < planned {
        out += &format!(" Not complete: {} of {planned} runs are finished and evaluated.", runs.len());
    }
    let trained: Vec<&Tested> = runs.iter().filter(|t| t.cell().variant == Variant::Prior).collect();
    let have = trained.iter().filter(|t| t.not_learned(settings).is_none()).count();
    out += &format!(" {have} of {} agents have learned.", trained.len());
    Ok(out)
}

/// What is shown, and how to read it.
fn text(settings: &Settings) -> Outcome<Vec<String>> {
    let judged = settings.judged()?;
    Ok(vec![
        "An agent is trained on the first levels of a game. Afterwards it plays these levels and levels from 1 000 000 on, which it has not \
         seen; σ-IVE(5) is computed on the way. H1 says that σ is low where the agent was trained, H2 that it is high elsewhere, H3 that σ on \
         unseen levels falls when there are more training levels."
            .to_owned(),
        format!(
            "One statistic decides, and it was fixed beforehand: mean σ ({}), unseen over seen, tested over \
             seeds with at least {SEEDS_NEEDED} in a game. All others are in a table beside it. A run counts only if it has learned: its value \
             explains at least {:.2} of the variance of returns at the end of training, and it gets more than a random policy on its training levels, \
             by two standard errors over levels. Where that is not so, σ is not read.",
            judged.how, settings.least_explained
        ),
        "Two controls stand beside it: an agent without random priors, and one whose value and reward heads were fitted to a random torso and which \
         has learned nothing else. A gap that the latter shows too is no sign of what the agent knows. States of a random policy on the same levels \
         show what of a gap is due to where the agent goes."
            .to_owned(),
        "AUROC is for single states. Its interval resamples seeds and levels together, since states of a level resemble each other and all seeds \
         are tested on the same levels; with few seeds it is too narrow."
            .to_owned(),
    ])
}

fn finite(x: f64) -> Option<f64> {
    x.is_finite().then_some(x)
}

fn numbers(settings: &Settings, runs: &[Tested]) -> Outcome<Value> {
    let (mode, judged) = (settings.mode()?, settings.judged()?);
    let mut cells = BTreeMap::new();
    for game in settings.games()? {
        for levels in settings.counts() {
            for variant in settings.variants()? {
                let some = of(runs, game, levels, variant);
                if some.is_empty() {
                    continue;
                }
                let pair = |all: Vec<f64>| {
                    let (mean, error) = mean_and_error(&all);
                    json!((finite(mean), finite(error)))
                };
                let returned =
                    |set| pair(per_run(&some, |t| Some(normalised(game, mode, t.set(set).mean_return()))));
                let sigma = |unseen: bool| {
                    pair(per_run(&some, |t| {
                        t.means(judged.score, By::Agent).map(|p| if unseen { p.unseen } else { p.seen })
                    }))
                };
                let area = auroc(&some, judged.score, By::Agent, settings.replicates as usize)?;
                let value = json!({
                    "seeds": some.iter().map(|t| t.cell().seed).collect::<Vec<_>>(),
                    "learned": some.iter().filter(|t| t.not_learned(settings).is_none()).count(),
                    "explained_variance": pair(per_run(&some, Tested::explained)),
                    "return_seen": returned(Set::Seen),
                    "return_unseen": returned(Set::Unseen),
                    "return_random": returned(Set::RandomSeen),
                    "sigma_seen": sigma(false),
                    "sigma_unseen": sigma(true),
                    "per_seed_log_ratio": per_run(&some, |t| t.gap(judged.score)),
                    "auroc": area.map(|(value, (low, high))| (value, low, high)),
                });
                cells.insert(format!("{}/{levels}/{}", game.name(), variant.word()), value);
            }
        }
    }
    Ok(json!({
        "runs": runs.len(),
        "runs_planned": settings.cells()?.len(),
        "steps": settings.steps,
        "mode": settings.mode,
        "sigma": judged.how,
        "cells": cells,
    }))
}

#[cfg(test)]
mod tests {
    use super::super::evaluate::SIGMA;
    use super::super::made_up::{settings, tested};
    use super::super::sweep::Cell;
    use super::*;
    use crate::claim::Verdict;

    /// Five seeds on one game: σ on unseen levels is 2, 1.5 and 1.2 times that on 10, 100 and 1000 training levels, with a little noise by seed;
    /// the control of fitted heads has 1.1.
    fn runs(settings: &Settings, explained: f64) -> Vec<Tested> {
        let mut all = Vec::new();
        for seed in 0..settings.seeds {
            let noise = 1.0 + 0.01 * (seed as f64 - 2.0);
            for (levels, ratio) in [(10, 2.0), (100, 1.5), (1000, 1.2)] {
                let cell = |variant| Cell { game: Game::FruitBot, levels, variant, seed };
                all.push(tested(cell(Variant::Prior), explained, 5.0, ratio * noise));
                all.push(tested(cell(Variant::NoPrior), explained, 5.0, 1.0));
                all.push(tested(cell(Variant::WarmUp), 0.0, -2.0, 1.1));
            }
        }
        all
    }

    fn small() -> Settings {
        Settings { games: vec!["fruitbot".into()], levels: vec![10, 100, 1000], seeds: 5, ..settings() }
    }

    #[test]
    fn verdicts_follow_the_ratios_of_runs_that_have_learned() {
        let s = small();
        let found = findings(&s, runs(&s, 0.8)).unwrap();
        let verdicts: Vec<_> = found.claims.iter().map(|c| (c.hypothesis, c.verdict)).collect();
        let expected = [("H1, H2", Verdict::Supported); 3]
            .into_iter()
            .chain([("control", Verdict::Supported); 3])
            .chain([("H3", Verdict::Supported); 2]);
        assert_eq!(verdicts, expected.collect::<Vec<_>>());
        // By hand: the geometric mean of 2 × (0.98, …, 1.02), and 2 / 1.1 of it.
        let noise: f64 = [0.98f64, 0.99, 1.0, 1.01, 1.02].iter().map(|x| x.ln()).sum::<f64>() / 5.0;
        assert!((found.claims[0].effect - 2.0 * noise.exp()).abs() < 1e-9);
        assert!((found.claims[3].effect - 2.0 * noise.exp() / 1.1).abs() < 1e-9);
        // The line through ln 2, ln 1.5, ln 1.2 at 1, 2, 3 has the slope (ln 1.2 − ln 2) / 2.
        assert!(
            (found.claims[7].effect - (0.5 * (1.2f64 / 2.0).ln()).exp()).abs() < 1e-9,
            "{}",
            found.claims[7].effect
        );
        assert_eq!(found.numbers["cells"]["fruitbot/10/prior"]["learned"], 5);
    }

    /// The same σ, of agents that explain nothing: nothing is decided, and the report says why.
    #[test]
    fn agents_that_have_not_learned_decide_nothing() {
        let s = small();
        let found = findings(&s, runs(&s, 0.1)).unwrap();
        assert!(found.claims.len() > 5);
        assert!(found.claims.iter().all(|c| c.verdict == Verdict::NotDecided), "{:?}", found.claims);
        let why = found.claims[0].undecided.as_deref().unwrap();
        assert!(
            why.contains("0 seeds that have learned") && why.contains("explained variance 0.10"),
            "{why}"
        );
        assert!(found.scale.contains("0 of 15 agents have learned"), "{}", found.scale);
    }

    #[test]
    fn few_seeds_decide_nothing() {
        let s = Settings { seeds: 4, ..small() };
        let found = findings(&s, runs(&s, 0.8)).unwrap();
        assert!(found.claims.len() > 5);
        assert!(found.claims.iter().all(|c| c.verdict == Verdict::NotDecided && c.undecided.is_some()));
    }

    #[test]
    fn the_order_of_runs_changes_nothing_and_one_run_is_enough_for_a_report() {
        let s = small();
        let (forward, mut backward) = (runs(&s, 0.8), runs(&s, 0.8));
        backward.reverse();
        let of = |runs| findings(&s, runs).unwrap();
        let csv = |f: &Findings| f.tables.iter().chain(&f.data).map(|(_, t)| t.csv()).collect::<Vec<_>>();
        let (a, b) = (of(forward), of(backward));
        assert_eq!(a.summary(&Value::Null), b.summary(&Value::Null));
        assert_eq!(csv(&a), csv(&b));
        let mut one = runs(&s, 0.8);
        one.truncate(1);
        let found = of(one);
        assert!(found.scale.contains("1 of 45 runs"), "{}", found.scale);
        assert!(!found.figures.is_empty());
    }

    /// States of a level that are all alike: the interval of AUROC stays when each is there ten times.
    #[test]
    fn copies_of_states_do_not_narrow_an_area() {
        let s = small();
        let all = runs(&s, 0.8);
        let some = of(&all, Game::FruitBot, 1000, Variant::Prior);
        let copied: Vec<Tested> = some
            .iter()
            .map(|t| {
                let mut t = (*t).clone();
                for set in &mut t.sets {
                    set.places = set.places.repeat(10);
                    set.scores.values_mut().for_each(|x| *x = x.repeat(10));
                }
                t
            })
            .collect();
        let once = auroc(&some, SIGMA, By::Agent, 500).unwrap().unwrap();
        let more = auroc(&copied.iter().collect::<Vec<_>>(), SIGMA, By::Agent, 500).unwrap().unwrap();
        for (a, b) in [(once.0, more.0), (once.1.0, more.1.0), (once.1.1, more.1.1)] {
            assert!((a - b).abs() < 1e-12, "{once:?} {more:?}");
        }
        assert!(once.1.0 < once.0 && once.0 < once.1.1 && once.0 > 0.5);
    }
}
