//! Figure 13: agents that seek what they do not know while they learn, beside the plain agent. All are evaluated without their bonus.

mod figures;
mod tables;

use ive_agents::{Bonus, Signal};
use ive_envs::procgen::Game;
use serde_json::json;

use super::{Actor, actors, label, over_seeds, places};
use crate::claim::{Claim, Verdict};
use crate::exit::Outcome;
use crate::experiments::Judged;
use crate::experiments::procgen::claims::{effect, first_three};
use crate::experiments::procgen::evaluate::{self, Evaluation, Set};
use crate::experiments::procgen::levels::normalised;
use crate::experiments::procgen::run::Tested;
use crate::experiments::procgen::sweep::Settings;
use crate::experiments::runs::compare::ranged;
use crate::experiments::runs::fleet::{Done, Fleet};
use crate::experiments::runs::record::Record;
use crate::progress::Session;
use crate::report::{Findings, table::grouped, unit::Unit};
use crate::store::Store;

/// A finished run, how it acted on its signal in training, and what it gets without that.
#[derive(Clone, Debug)]
pub struct Trained {
    pub bonus: Option<Bonus>,
    pub tested: Tested,
}

impl Trained {
    /// Normalised return in a set.
    pub fn score(&self, settings: &Settings, set: Set) -> Outcome<f64> {
        Ok(normalised(self.tested.cell().game, settings.mode()?, self.tested.set(set).mean_return()))
    }
}

/// Makes and evaluates all runs that are not finished yet and judges those that are.
pub fn run(settings: &Settings, store: &Store, session: &Session) -> Outcome<Judged> {
    let name = |actor: &Actor| actor.name();
    let plan = |actor: &Actor| actor.plan(settings);
    let fleet =
        Fleet { label: "procgen", root: store.root(), steps: settings.steps, name: &name, plan: &plan };
    let evaluation = Evaluation { settings, root: store.root() };
    let sets = |actor: &Actor, done: &Done| evaluation.plain(&actor.name(), actor.cell.levels, done, session);
    let (tested, failure) = evaluate::all(actors(settings)?, &fleet, session, sets);
    let trained: Vec<Trained> = tested
        .into_iter()
        .map(|(Actor { cell, bonus }, done, sets)| Trained {
            bonus,
            tested: Tested { run: Record::of(cell, done), sets },
        })
        .collect();
    let findings = if trained.is_empty() { None } else { Some(findings(settings, trained)?) };
    Ok(Judged { findings, failure })
}

/// Runs with a bonus, of one game and number of levels.
pub fn of(runs: &[Trained], place: (Game, u32), bonus: Option<Bonus>) -> Vec<&Trained> {
    let is = |t: &&Trained| t.bonus == bonus && (t.tested.cell().game, t.tested.cell().levels) == place;
    runs.iter().filter(is).collect()
}

/// Differences of normalised returns in a set between runs of the same seed, of one game and number of levels: an optimist minus the plain agent.
/// Where neither of the two has learned there is nothing to compare, and `reasons` gets why.
pub fn gains_at(
    settings: &Settings,
    runs: &[Trained],
    place: (Game, u32),
    (bonus, set): (Option<Bonus>, Set),
    reasons: &mut Vec<String>,
) -> Outcome<Vec<f64>> {
    let mut seeds = Vec::new();
    for one in of(runs, place, bonus) {
        let seed = one.tested.cell().seed;
        let plain = of(runs, place, None).into_iter().find(|t| t.tested.cell().seed == seed);
        let Some(other) = plain else { continue };
        match (one.tested.not_learned(settings), other.tested.not_learned(settings)) {
            (Some(why), Some(_)) => reasons.push(format!("{} seed {seed}: {why}", place.0.name())),
            _ => seeds.push(one.score(settings, set)? - other.score(settings, set)?),
        }
    }
    Ok(seeds)
}

/// The same of all games and numbers of levels, `[place][seed]`, and the first reasons why pairs are left out.
pub fn gains(
    settings: &Settings,
    runs: &[Trained],
    bonus: Option<Bonus>,
    set: Set,
) -> Outcome<(Vec<Vec<f64>>, String)> {
    let mut reasons = Vec::new();
    let all = places(settings, &tested(runs))?
        .into_iter()
        .map(|place| gains_at(settings, runs, place, (bonus, set), &mut reasons))
        .collect::<Outcome<_>>()?;
    Ok((all, first_three(reasons)))
}

pub(super) fn tested(runs: &[Trained]) -> Vec<&Tested> {
    runs.iter().map(|t| &t.tested).collect()
}

/// Judges the finished runs.
pub fn findings(settings: &Settings, mut runs: Vec<Trained>) -> Outcome<Findings> {
    let order = settings.optimists()?;
    let rank = |bonus: Option<Bonus>| order.iter().position(|known| *known == bonus);
    runs.sort_by_key(|t| {
        let cell = t.tested.cell();
        (cell.levels, cell.game as usize, rank(t.bonus), cell.seed)
    });
    let runs = &runs[..];
    let mut claims = vec![helps(settings, runs, order[1])?];
    claims.extend(depth_and_weights(settings, runs, &order)?);
    let (planned, steps) = (actors(settings)?.len(), grouped(settings.steps));
    let missing = if runs.len() < planned {
        format!(" Not complete: {} of {planned} runs are finished and evaluated.", runs.len())
    } else {
        String::new()
    };
    Ok(Findings {
        name: "procgen",
        title: "Learning with an optimistic bonus (Fig. 13)".into(),
        scale: format!(
            "{steps} frames per run, {} mode, {} seeds on {} with {:?} levels (the paper: climber, hard mode, 100 levels, 3 seeds).{missing}",
            settings.mode,
            settings.seeds,
            settings.optimism_games.join(", "),
            settings.optimism_levels
        ),
        text: text(order[1]),
        claims,
        figures: figures::all(settings, runs, &order)?,
        tables: vec![("figure13", tables::table(settings, runs, &order)?)],
        data: vec![
            ("optimism_runs", tables::data(settings, runs)?),
            ("optimism_curves", tables::curves(settings, runs, &order)?),
        ],
        numbers: json!({
            "runs": runs.len(),
            "runs_planned": planned,
            "steps": settings.steps,
            "optimists": order.iter().flatten().map(ToString::to_string).collect::<Vec<_>>(),
        }),
    })
}

fn text(judged: Option<Bonus>) -> Vec<String> {
    vec![
        "An optimist acts in training by its policy mixed with a signal d(s, a) of each action: in logit space softmax(z + β d), in probability space \
         (1 − β) π + β d / Σd. The signal is σ, or the Jensen–Shannon divergence with uniform, decreasing or increasing weights, of the members k = 1..n along one path \
         that begins with the action; or, called EVE, of what n value heads say of the state behind the action. What acts is stored, so that returns and weights of past actions stay right. Evaluated without the bonus, on levels that \
         it was trained on and on levels that it has not seen."
            .to_owned(),
        format!(
            "One comparison decides, fixed beforehand: {} against the plain agent on unseen levels, paired by seed. The others stand beside it with their own 95 % \
             intervals, not corrected for their number. Pairs of which neither agent has learned are left out.",
            label(judged)
        ),
    ]
}

/// The claim of the figure: on unseen levels an optimist gets more than the plain agent.
fn helps(settings: &Settings, runs: &[Trained], judged: Option<Bonus>) -> Outcome<Claim> {
    let (all, reasons) = gains(settings, runs, judged, Set::Unseen)?;
    let found = effect(&all, &reasons)?;
    let seen = over_seeds(&gains(settings, runs, judged, Set::Seen)?.0.concat())?;
    Ok(Claim {
        hypothesis: "Fig. 13",
        claim: "Learning with an optimistic bonus helps on unseen levels".into(),
        unit: Unit::SCORES,
        measure: format!(
            "normalised return on unseen levels of {} minus that of the plain agent with the same seed, both evaluated without bonus; {} pairs",
            label(judged),
            all.iter().map(Vec::len).sum::<usize>()
        ),
        effect: found.value,
        interval: found.interval,
        verdict: Verdict::above(0.0, found.interval),
        undecided: found.undecided,
        note: format!("on training levels {}", ranged(seen.0, seen.1)),
    })
}

/// “For higher n the best performing metric has less weight on the larger k”: what decreasing weights gain over increasing ones, with the longer
/// paths minus with the shorter. None unless all four are there.
fn depth_and_weights(
    settings: &Settings,
    runs: &[Trained],
    order: &[Option<Bonus>],
) -> Outcome<Option<Claim>> {
    let Some(judged) = order.get(1).copied().flatten() else { return Ok(None) };
    let all: Vec<Bonus> = order
        .iter()
        .flatten()
        .copied()
        .filter(|b| (b.space, b.beta) == (judged.space, judged.beta))
        .collect();
    let depths = || all.iter().filter(|b| b.signal == Signal::JsdDecreasing).map(|b| b.depth);
    let (Some(short), Some(long)) = (depths().min(), depths().max()) else { return Ok(None) };
    let wanted = [
        (Signal::JsdDecreasing, long),
        (Signal::JsdIncreasing, long),
        (Signal::JsdDecreasing, short),
        (Signal::JsdIncreasing, short),
    ];
    let four: Vec<Bonus> =
        wanted.into_iter().filter_map(|w| all.iter().find(|b| (b.signal, b.depth) == w).copied()).collect();
    if short == long || four.len() < 4 {
        return Ok(None);
    }
    let mut strata = Vec::new();
    for place in places(settings, &tested(runs))? {
        let mut seeds = Vec::new();
        for seed in 0..settings.seeds {
            let mut scores = Vec::new();
            for bonus in &four {
                let some = of(runs, place, Some(*bonus));
                let run = some.into_iter().find(|t| t.tested.cell().seed == seed);
                let run = run.filter(|t| t.tested.not_learned(settings).is_none());
                scores.extend(run.map(|t| t.score(settings, Set::Unseen)).transpose()?);
            }
            if let [a, b, c, d] = scores[..] {
                seeds.push((a - b) - (c - d));
            }
        }
        strata.push(seeds);
    }
    let found = effect(&strata, "")?;
    Ok(Some(Claim {
        hypothesis: "Fig. 13",
        claim: format!("With longer paths (n = {long} against {short}) less weight on the larger k is better"),
        unit: Unit::SCORES,
        measure: "normalised return on unseen levels: decreasing minus increasing weights with the longer paths, minus the same with the shorter, by seed".into(),
        effect: found.value,
        interval: found.interval,
        verdict: Verdict::above(0.0, found.interval),
        undecided: found.undecided,
        note: "of seeds of which all four agents have learned".into(),
    }))
}

#[cfg(test)]
mod tests;
