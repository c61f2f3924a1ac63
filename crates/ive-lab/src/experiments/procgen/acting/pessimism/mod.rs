//! Figure 14: finished agents that avoid what they do not know, by how much they do.

mod figures;
mod tables;

use serde_json::json;

use super::{Actor, actors, places};
use crate::claim::{Claim, Verdict};
use crate::exit::Outcome;
use crate::experiments::Judged;
use crate::experiments::procgen::claims::effect;
use crate::experiments::procgen::evaluate::{self, Evaluated, Evaluation, Set};
use crate::experiments::procgen::levels::normalised;
use crate::experiments::procgen::run::Tested;
use crate::experiments::procgen::sweep::Settings;
use crate::experiments::runs::fleet::{Done, Fleet};
use crate::experiments::runs::record::Record;
use crate::progress::Session;
use crate::report::{Findings, table::grouped, unit::Unit};
use crate::store::Store;

/// A finished run, and what it gets with each β.
#[derive(Clone, Debug)]
pub struct Careful {
    pub tested: Tested,
    /// By β: on training levels and on unseen ones.
    pub manners: Vec<(f64, [Evaluated; 2])>,
}

impl Careful {
    /// The return in a set with a β, on the scale of the game.
    pub fn score(&self, settings: &Settings, beta: f64, set: Set) -> Outcome<Option<f64>> {
        let mode = settings.mode()?;
        let there = self.manners.iter().find(|(b, _)| *b == beta);
        let found = there.map(|(_, sets)| &sets[usize::from(set == Set::Unseen)]);
        Ok(found.map(|found| normalised(self.tested.cell().game, mode, found.mean_return())))
    }

    /// What the β adds to the return in a set.
    pub fn gain(&self, settings: &Settings, beta: f64, set: Set) -> Outcome<Option<f64>> {
        let (with, without) = (self.score(settings, beta, set)?, self.score(settings, 0.0, set)?);
        Ok(with.zip(without).map(|(with, without)| with - without))
    }
}

/// Makes the runs that are missing, evaluates all with every β, and judges.
pub fn run(settings: &Settings, store: &Store, session: &Session) -> Outcome<Judged> {
    let name = |actor: &Actor| actor.name();
    let plan = |actor: &Actor| actor.plan(settings);
    let fleet =
        Fleet { label: "procgen", root: store.root(), steps: settings.steps, name: &name, plan: &plan };
    let evaluation = Evaluation { settings, root: store.root() };
    let one = |actor: &Actor, done: &Done| with_every_beta(settings, &evaluation, actor, done, session);
    let (careful, failure) = evaluate::all(actors(settings)?, &fleet, session, one);
    let careful: Vec<Careful> = careful
        .into_iter()
        .map(|(actor, done, (sets, manners))| Careful {
            tested: Tested { run: Record::of(actor.cell, done), sets },
            manners,
        })
        .collect();
    let findings = if careful.is_empty() { None } else { Some(findings(settings, careful)?) };
    Ok(Judged { findings, failure })
}

type Manners = ([Evaluated; 4], Vec<(f64, [Evaluated; 2])>);

/// The sets of Fig. 4, of which those of the plain agent are β = 0, and two sets for each other β.
fn with_every_beta(
    settings: &Settings,
    evaluation: &Evaluation<'_>,
    actor: &Actor,
    done: &Done,
    session: &Session,
) -> Outcome<Option<Manners>> {
    let (name, levels) = (actor.name(), actor.cell.levels);
    let Some(plain) = evaluation.plain(&name, levels, done, session)? else { return Ok(None) };
    let mut manners = Vec::new();
    for beta in settings.betas() {
        if beta == 0.0 {
            manners.push((beta, [plain[0].clone(), plain[1].clone()]));
            continue;
        }
        let bonus = settings.pessimist(beta)?;
        let sets = [Set::Seen, Set::Unseen].map(|set| (set, Some(bonus)));
        let Some(sets) = evaluation.sets(&name, levels, done, &sets, session)? else { return Ok(None) };
        manners.extend(<[Evaluated; 2]>::try_from(sets).ok().map(|sets| (beta, sets)));
    }
    Ok(Some((plain, manners)))
}

pub(super) fn tested(runs: &[Careful]) -> Vec<&Tested> {
    runs.iter().map(|t| &t.tested).collect()
}

/// Runs of one game and number of levels.
pub fn of(runs: &[Careful], place: (ive_envs::procgen::Game, u32)) -> Vec<&Careful> {
    runs.iter().filter(|t| (t.tested.cell().game, t.tested.cell().levels) == place).collect()
}

/// Numbers of runs that have them.
pub fn per_run(runs: &[&Careful], number: impl Fn(&Careful) -> Outcome<Option<f64>>) -> Outcome<Vec<f64>> {
    let all = runs.iter().map(|run| number(run)).collect::<Outcome<Vec<_>>>()?;
    Ok(all.into_iter().flatten().collect())
}

/// Judges the finished runs.
pub fn findings(settings: &Settings, mut runs: Vec<Careful>) -> Outcome<Findings> {
    runs.sort_by_key(|t| (t.tested.cell().levels, t.tested.cell().game as usize, t.tested.cell().seed));
    let runs = &runs[..];
    let (planned, steps) = (actors(settings)?.len(), grouped(settings.steps));
    let missing = if runs.len() < planned {
        format!(" Not complete: {} of {planned} runs are finished and evaluated.", runs.len())
    } else {
        String::new()
    };
    let claims = settings.pessimism_levels.iter().map(|&levels| helps(settings, runs, levels));
    let have = runs.iter().filter(|t| t.tested.not_learned(settings).is_none()).count();
    Ok(Findings {
        name: "procgen",
        title: "Pessimism in evaluation (Fig. 14)".into(),
        scale: format!(
            "{steps} frames per run, {} mode, {} seeds (the paper: 150 000 000, hard mode, 3 seeds). {have} of {} agents have learned.{missing}",
            settings.mode,
            settings.seeds,
            runs.len()
        ),
        text: text(settings),
        claims: claims.collect::<Outcome<_>>()?,
        figures: vec![figures::figure14(settings, runs)?, figures::gains(settings, runs)?],
        tables: vec![("figure14", tables::table(settings, runs)?)],
        data: vec![("pessimism_runs", tables::data(settings, runs)?)],
        numbers: json!({
            "runs": runs.len(),
            "runs_planned": planned,
            "steps": settings.steps,
            "signal": settings.pessimism_signal,
            "depth": settings.pessimism_depth,
            "betas": settings.betas(),
        }),
    })
}

fn text(settings: &Settings) -> Vec<String> {
    vec![format!(
        "Plain agents that have been trained act by softmax(z − β d(s, ·)) with d = {} of the members k = 1..{} along one path that begins with the action. β = 0 is the agent \
         as it is; below zero it seeks what it does not know. Nothing is learned on the way. The paper shows returns by β and claims nothing of them; H5 says that avoiding \
         self-inconsistency makes robust, and unseen levels are such a shift. One β decides, {}, fixed beforehand; a run counts only if it has learned.",
        settings.pessimism_signal, settings.pessimism_depth, settings.pessimism_judged
    )]
}

/// H5 on Procgen: the agent gets more on unseen levels if it avoids what it does not know.
fn helps(settings: &Settings, runs: &[Careful], levels: u32) -> Outcome<Claim> {
    let beta = settings.pessimism_judged;
    let (mut games, mut reasons) = (Vec::new(), Vec::new());
    for place in places(settings, &tested(runs))?.into_iter().filter(|place| place.1 == levels) {
        let (mut good, mut out) = (Vec::new(), 0);
        for run in of(runs, place) {
            match run.tested.not_learned(settings) {
                None => good.push(run),
                Some(why) if out == 0 => {
                    out = 1;
                    reasons.push(format!("{} seed {}: {why}", place.0.name(), run.tested.cell().seed));
                }
                Some(_) => {}
            }
        }
        games.push(per_run(&good, |t| t.gain(settings, beta, Set::Unseen))?);
    }
    let found = effect(&games, &reasons.join("; "))?;
    Ok(Claim {
        hypothesis: "H5, Fig. 14",
        claim: format!(
            "Trained on {levels} levels, an agent that avoids what it does not know gets more on unseen levels"
        ),
        unit: Unit::SCORES,
        measure: format!(
            "normalised return on unseen levels with β = {beta} minus that with β = 0 of the same agent; {} runs that have learned",
            games.iter().map(Vec::len).sum::<usize>()
        ),
        effect: found.value,
        interval: found.interval,
        verdict: Verdict::above(0.0, found.interval),
        undecided: found.undecided,
        note: if reasons.is_empty() {
            String::new()
        } else {
            format!("left out, for example: {}", reasons.join("; "))
        },
    })
}

#[cfg(test)]
mod tests;
