//! How good is each detector? Claims over seeds; games are held fixed.

use std::collections::BTreeMap;

use ive::mean;
use ive_envs::minatar::Game;
use serde_json::{Value, json};

use super::detectors::Detector;
use super::gridworld::Outcome as Grid;
use super::survey::{Asked, Found, Risk};
use super::sweep::{BASE, Cell, Settings};
use super::{figures, tables};
use crate::claim::{Claim, MIN_SEEDS, UNBOUNDED, Verdict, interval};
use crate::exit::Outcome;
use crate::experiments::minatar::published::title;
use crate::experiments::runs::compare::average;
use crate::report::Findings;
use crate::report::table::grouped;
use crate::report::unit::Unit;

/// Numbers of runs with their seeds, `[game][run]`.
pub type Strata = Vec<Vec<(u64, f64)>>;

/// A mean over games of the mean over seeds, and its 95 % t interval; unbounded where a game has a single run.
#[derive(Clone, Debug, PartialEq)]
pub struct Effect {
    pub mean: f64,
    pub interval: (f64, f64),
    pub runs: usize,
}

impl Effect {
    /// None while a game has no run.
    pub fn of(strata: &[Vec<f64>]) -> Outcome<Option<Self>> {
        let runs = strata.iter().map(Vec::len).sum();
        Ok(average(strata)?.map(|(mean, interval)| Self { mean, interval, runs }))
    }

    /// Why it decides nothing, if that is so.
    fn undecided(&self) -> Option<String> {
        (self.runs < MIN_SEEDS || self.interval == UNBOUNDED).then(|| {
            format!("too few seeds: {} runs, at least {MIN_SEEDS} and two on each game are needed", self.runs)
        })
    }
}

/// All answers, and how to look at them.
pub struct View<'a> {
    pub settings: &'a Settings,
    pub games: Vec<Game>,
    pub answers: &'a [(Cell, Asked)],
}

impl View<'_> {
    /// A number of each agent of a variant and length, `[game][run]`.
    pub fn strata(&self, variant: &str, steps: u64, of: &dyn Fn(&Asked) -> Option<f64>) -> Strata {
        let of_game = |game: &Game| {
            let mine = self
                .answers
                .iter()
                .filter(|(cell, _)| cell.game == *game && cell.variant == variant && cell.steps == steps);
            mine.filter_map(|(cell, asked)| Some((cell.seed, of(asked)?))).collect()
        };
        self.games.iter().map(of_game).collect()
    }

    /// Its mean over games and seeds.
    pub fn effect(
        &self,
        variant: &str,
        steps: u64,
        of: &dyn Fn(&Asked) -> Option<f64>,
    ) -> Outcome<Option<Effect>> {
        Effect::of(&plain(&self.strata(variant, steps, of)))
    }

    /// Lengths of training from short to long.
    pub fn lengths(&self) -> Vec<u64> {
        let mut all = self.settings.steps.clone();
        all.sort_unstable();
        all
    }
}

fn plain(strata: &Strata) -> Vec<Vec<f64>> {
    strata.iter().map(|runs| runs.iter().map(|run| run.1).collect()).collect()
}

/// The mean of a measure of a detector over the shifts that are wanted.
pub fn over_shifts(
    asked: &Asked,
    detector: Detector,
    wanted: &dyn Fn(&Found) -> bool,
    measure: fn(&Found) -> f64,
) -> Option<f64> {
    let mine = asked.found.iter().filter(|found| found.detector == detector.key() && wanted(found));
    let values: Vec<f64> = mine.map(measure).collect();
    (!values.is_empty()).then(|| mean(&values))
}

/// Mean AUROC of a detector over all corruptions.
pub fn corrupted(asked: &Asked, detector: Detector) -> Option<f64> {
    over_shifts(asked, detector, &|found| !found.natural, |found| found.auroc)
}

/// A risk of a detector.
pub fn risk(asked: &Asked, detector: Detector, of: fn(&Risk) -> f64) -> Option<f64> {
    asked.risks.iter().find(|risk| risk.detector == detector.key()).map(of)
}

/// What the guard on a score gains under a condition, in shares of the usual return without a guard.
pub fn gain(asked: &Asked, condition: &str, guard: &str) -> Option<f64> {
    let total = |condition: &str, guard: &str| {
        let found = asked.played.iter().find(|p| p.condition == condition && p.guard == guard);
        found.map(|played| played.total)
    };
    let usual = total("usual", "none")?;
    (usual > 0.0).then_some(())?;
    Some((total(condition, guard)? - total(condition, "none")?) / usual)
}

/// Judges all answers.
pub fn findings(settings: &Settings, answers: &[(Cell, Asked)], grid: &[Grid]) -> Outcome<Findings> {
    let mut games = settings.games()?;
    games.retain(|game| answers.iter().any(|(cell, _)| cell.game == *game));
    let view = View { settings, games, answers };
    let mut claims = claims(&view)?;
    claims.extend(on_the_grid(grid)?);
    Ok(Findings {
        name: "detection",
        title: "How good is σ-IVE as a detector?".into(),
        scale: scale(&view)?,
        text: text(),
        claims,
        figures: figures::all(&view)?,
        tables: tables::all(&view, grid)?,
        data: tables::data(answers),
        numbers: numbers(&view, grid)?,
    })
}

fn scale(view: &View<'_>) -> Outcome<String> {
    let settings = view.settings;
    let planned = settings.cells()?.len();
    let games: Vec<&str> = view.games.iter().map(|game| title(*game)).collect();
    let lengths: Vec<String> = view.lengths().iter().map(|n| grouped(*n)).collect();
    let mut out = format!(
        "{} of preset {}, {} steps, {} seeds, {}{}; not an experiment of the paper.",
        settings.agent,
        settings.agent_preset,
        lengths.join(" and "),
        settings.seeds,
        games.join(", "),
        if settings.corruption_lasts { "; corruptions have lasted for a step" } else { "" }
    );
    if view.answers.len() < planned {
        out += &format!(" Not complete: {} of {planned} runs are finished.", view.answers.len());
    }
    Ok(out)
}

fn text() -> Vec<String> {
    [
        "Each trained agent is shown ordinary states of its own play, corruptions of them, and states of natural shifts. AUROC is the \
         probability that a shifted state scores higher than an ordinary one: 0.5 is chance, and below it an alarm on high scores is \
         silent. FPR95 is the share of ordinary states that would raise an alarm if 95 % of the shifted ones shall.",
        "Risk: the states are sorted by the score, those with high scores are left out one after the other, and the mean error of the \
         value, |v̂ − return that followed|, of the rest is averaged. Divided by the error of all it is 1 for a score that knows nothing; \
         below 1 leaving out states with high scores lowers the error.",
        "The unit is the seed. Means are over games of means over seeds; intervals are Student's t with the spread between seeds of the \
         same game, and say nothing about other games.",
    ]
    .map(str::to_owned)
    .to_vec()
}

struct Statement {
    claim: &'static str,
    measure: &'static str,
    unit: Unit,
    judge: fn((f64, f64)) -> Verdict,
    note: &'static str,
}

fn claim(effect: Option<Effect>, said: &Statement) -> Option<Claim> {
    let effect = effect?;
    let undecided = effect.undecided();
    let ends = if undecided.is_some() { UNBOUNDED } else { effect.interval };
    Some(Claim {
        hypothesis: "detection",
        claim: said.claim.to_owned(),
        unit: said.unit,
        measure: said.measure.to_owned(),
        effect: effect.mean,
        interval: ends,
        verdict: (said.judge)(ends),
        undecided,
        note: said.note.to_owned(),
    })
}

const AUROCS: Unit = Unit { name: "difference of AUROCs", symbol: "Δ AUROC", no_effect: 0.0 };
const RETURNS: Unit = Unit { name: "share of the usual return", symbol: "Δ return", no_effect: 0.0 };
const COSTS: Unit = Unit { name: "steps in the unseen cell", symbol: "Δ steps", no_effect: 0.0 };

fn claims(view: &View<'_>) -> Outcome<Vec<Claim>> {
    let longest = view.settings.longest();
    let base = |of: &dyn Fn(&Asked) -> Option<f64>| view.effect(BASE, longest, of);
    let against = |other: Detector| {
        move |asked: &Asked| Some(corrupted(asked, Detector::Sigma)? - corrupted(asked, other)?)
    };
    let (low, novelty) = (against(Detector::LowValue), against(Detector::Novelty));
    let sigma = |asked: &Asked| corrupted(asked, Detector::Sigma);
    let error = |asked: &Asked| risk(asked, Detector::Sigma, |risk| risk.ordinary);
    let shift = &view.settings.guard_corruption;
    let rescued = |asked: &Asked| gain(asked, shift, "sigma, step");
    let above_zero: fn((f64, f64)) -> Verdict = |ends| Verdict::above(0.0, ends);
    let mut all = vec![
        claim(
            base(&sigma)?,
            &Statement {
                claim: "σ-IVE of a trained agent is higher for corrupted states than for ordinary ones.",
                measure: "AUROC of σ over k=1..5, mean over all corruptions, longest training",
                unit: Unit::AUROC,
                judge: |ends| Verdict::above(0.5, ends),
                note: "",
            },
        ),
        claim(
            base(&low)?,
            &Statement {
                claim: "σ-IVE finds corrupted states better than a low predicted value does.",
                measure: "AUROC of σ over k=1..5 minus that of −μ, mean over all corruptions",
                unit: AUROCS,
                judge: above_zero,
                note: "",
            },
        ),
        claim(
            base(&novelty)?,
            &Statement {
                claim: "σ-IVE finds corrupted states better than random network distillation does.",
                measure: "AUROC of σ over k=1..5 minus that of RND, mean over all corruptions",
                unit: AUROCS,
                judge: above_zero,
                note: "RND is trained on the agent's own states and knows nothing of values.",
            },
        ),
        claim(
            base(&error)?,
            &Statement {
                claim: "Leaving out ordinary states with high σ-IVE lowers the error of the value.",
                measure: "area under the risk–coverage curve divided by the mean error",
                unit: Unit::RATIO,
                judge: |ends| Verdict::below(1.0, ends),
                note: "",
            },
        ),
        claim(
            base(&rescued)?,
            &Statement {
                claim: "A guard on σ-IVE with a fallback raises the return when what the agent sees is corrupted.",
                measure: "return with minus return without the guard, in shares of the usual return",
                unit: RETURNS,
                judge: above_zero,
                note: "The fallback acts in states with an alarm only.",
            },
        ),
    ];
    if let [shortest, .., _] = view.lengths()[..] {
        all.insert(1, trained_longer(view, shortest, longest)?);
    }
    Ok(all.into_iter().flatten().collect())
}

/// Does σ become a better detector with training? Runs of the same game and seed are paired.
fn trained_longer(view: &View<'_>, shortest: u64, longest: u64) -> Outcome<Option<Claim>> {
    let at = |steps| view.strata(BASE, steps, &|asked| corrupted(asked, Detector::Sigma));
    let pairs = crate::experiments::runs::compare::paired(&at(longest), &at(shortest));
    Ok(claim(
        Effect::of(&pairs)?,
        &Statement {
            claim: "σ-IVE becomes a better detector of corrupted states with training.",
            measure: "AUROC of σ over k=1..5 after the longest minus after the shortest training, mean over all corruptions",
            unit: AUROCS,
            judge: |ends| Verdict::above(0.0, ends),
            note: "",
        },
    ))
}

fn on_the_grid(grid: &[Grid]) -> Outcome<Option<Claim>> {
    if grid.is_empty() {
        return Ok(None);
    }
    let saved = |seeds: &[Grid]| mean(&seeds.iter().map(|s| s.shifted[0] - s.shifted[1]).collect::<Vec<_>>());
    let ends = interval(grid, saved)?;
    Ok(Some(Claim {
        hypothesis: "detection",
        claim: "On the gridworld, a guard on σ-IVE with a fallback keeps walks out of the unseen cell when the wind shifts.".into(),
        unit: COSTS,
        measure: "steps in the unseen cell without minus with the guard, mean over walks of 20 steps".into(),
        effect: saved(grid),
        interval: ends.ends(),
        verdict: Verdict::above(0.0, ends.ends()),
        undecided: ends.undecided(),
        note: "Tables, k=0..5. The fallback walks south in cells with an alarm.".into(),
    }))
}

fn numbers(view: &View<'_>, grid: &[Grid]) -> Outcome<Value> {
    let finite = |x: f64| x.is_finite().then_some(x);
    let told = |effect: Option<Effect>| {
        effect.map_or(Value::Null, |e| {
            json!({ "mean": e.mean, "interval": [finite(e.interval.0), finite(e.interval.1)], "runs": e.runs })
        })
    };
    let mut detectors = BTreeMap::new();
    for variant in view.settings.all_variants() {
        for steps in view.lengths() {
            let mut here = BTreeMap::new();
            for detector in Detector::ALL {
                let auroc = |natural: bool| {
                    view.effect(variant, steps, &|a| {
                        over_shifts(a, detector, &|f| f.natural == natural, |f| f.auroc)
                    })
                };
                let risk = view.effect(variant, steps, &|a| risk(a, detector, |r| r.ordinary))?;
                here.insert(
                    detector.key(),
                    json!({ "corrupted": told(auroc(false)?), "natural": told(auroc(true)?), "risk": told(risk) }),
                );
            }
            detectors.insert(format!("{variant}, {steps}"), here);
        }
    }
    let of = |which: fn(&Grid) -> f64| {
        (!grid.is_empty()).then(|| mean(&grid.iter().map(which).collect::<Vec<_>>()))
    };
    Ok(json!({
        "runs": view.answers.len(),
        "detectors": detectors,
        "gridworld": {
            "seeds": grid.len(),
            "cost_usual": [of(|g| g.usual[0]), of(|g| g.usual[1])],
            "cost_shifted": [of(|g| g.shifted[0]), of(|g| g.shifted[1])],
            "alarmed": [of(|g| g.alarmed[0]), of(|g| g.alarmed[1])],
        },
    }))
}

#[cfg(test)]
mod tests {
    use super::super::made_up::{answers, settings};
    use super::*;

    /// Made-up answers: σ has 0.7 everywhere plus a little for each seed, low value 0.9.
    #[test]
    fn effects_and_verdicts_are_those_of_the_answers() {
        let (settings, answers) = (settings(4), answers(4));
        let found = findings(&settings, &answers, &[]).unwrap();
        let of = |words: &str| found.claims.iter().find(|c| c.claim.contains(words)).unwrap();
        let sigma = of("than for ordinary ones");
        assert!((sigma.effect - 0.715).abs() < 1e-9, "{}", sigma.effect);
        assert_eq!(sigma.verdict, Verdict::Supported);
        let low = of("low predicted value");
        assert!((low.effect + 0.185).abs() < 1e-9 && low.verdict == Verdict::NotSupported, "{low:?}");
        assert_eq!(of("lowers the error").verdict, Verdict::NotDecided, "its risk is 1 on average");
        assert!((of("raises the return").effect - 0.1).abs() < 1e-9);
        assert_eq!(found.summary(&Value::Null)["numbers"]["runs"], answers.len());
    }

    #[test]
    fn few_seeds_decide_nothing() {
        let found = findings(&settings(3), &answers(3), &[]).unwrap();
        assert!(found.claims.len() > 5);
        for claim in &found.claims {
            assert_eq!(claim.verdict, Verdict::NotDecided, "{}", claim.claim);
            assert!(claim.undecided.as_ref().unwrap().starts_with("too few seeds: 9 runs"));
        }
    }
}
