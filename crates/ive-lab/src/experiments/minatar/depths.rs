//! Where members go wrong: each k-step value of a plan beside the return that followed.
//!
//! In every state of greedy episodes an agent expects `q̂ᵏ(s, a)`, k = 1..n, of the action that it takes, and then gets G. The mean of
//! `q̂ᵏ − G` says how much a member of that depth promises too much; how far rewards are right at each depth stands in the logs of training.

use std::path::Path;

use ive::{Members, mean};
use ive_agents::{Agent, Manner};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::published::Method;
use super::run::{Record, name};
use super::sweep::{Cell, Settings};
use crate::eval::episode;
use crate::exit::Outcome;
use crate::experiments::ours;
use crate::experiments::runs::answers::{Answered, Answers, Question};
use crate::experiments::value_of;
use crate::progress::Session;
use crate::run::checkpoint::FOLDER;
use crate::run::load;
use crate::store::Store;

/// The longest members that all agents with a model were trained for.
pub const DEEPEST: usize = 5;
/// Episodes are cut off here; those of Freeway end by themselves before.
const MAX_STEPS: u64 = 3000;
/// Where an episode was cut off, the last steps are left out: what their returns lack weighs more than this.
const NEGLIGIBLE: f64 = 1e-3;
/// The store of answers, beside the runs.
const STORE: &str = "depths";

/// The members of one agent against what followed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Depths {
    /// Mean of `q̂ᵏ − G`, k = 1..5.
    pub bias: Vec<f64>,
    /// Root of the mean square of it.
    pub error: Vec<f64>,
    /// Mean of G.
    pub realised: f64,
}

/// Means over states: members `[state][k]` against the return of each.
fn depths(members: &[Vec<f64>], realised: &[f64]) -> Depths {
    let differences =
        |k: usize| -> Vec<f64> { members.iter().zip(realised).map(|(m, g)| m[k] - g).collect() };
    let square = |k| mean(&differences(k).iter().map(|d| d * d).collect::<Vec<f64>>()).sqrt();
    let ks = 0..members.first().map_or(0, Vec::len);
    Depths {
        bias: ks.clone().map(|k| mean(&differences(k))).collect(),
        error: ks.map(square).collect(),
        realised: mean(realised),
    }
}

/// Lets an agent play.
fn ask(settings: &Settings, cell: &Cell, agent: &mut dyn Agent) -> Outcome<Depths> {
    let trained = settings.plan(*cell)?.settings.get("prediction").and_then(toml::Value::as_integer);
    let deepest = trained.map_or(DEEPEST, |n| DEEPEST.min(n as usize));
    let members = ours(Members::new(1..=deepest))?;
    // γᵗ < NEGLIGIBLE from here on.
    let tail = (NEGLIGIBLE.ln() / agent.summary().discount.ln()).ceil() as usize;
    let manner = Manner { max_steps: MAX_STEPS, members: Some(members), ..Manner::default() };
    let (mut said, mut realised) = (Vec::new(), Vec::new());
    for number in 0..settings.plan_episodes as usize {
        let episode = episode::play(agent, cell.method.word(), cell.seed, &manner, number)?;
        let lacking = if episode.cut_off { tail } else { 0 };
        for step in &episode.steps[..episode.steps.len().saturating_sub(lacking)] {
            said.extend(step.members.as_ref().map(|m| m.values().to_vec()));
            realised.push(step.realised);
        }
    }
    Ok(depths(&said, &realised))
}

/// What the finished agents with a model answer, as far as they were asked before or their checkpoints are there.
pub fn of_all(
    settings: &Settings,
    store: &Store,
    session: &Session,
    records: &[Record],
) -> Outcome<Answered<(Cell, Depths)>> {
    if settings.plan_episodes == 0 {
        return Ok((Vec::new(), None));
    }
    let kept: Answers<Depths> = Answers::open(&store.part(STORE))?;
    let dir = |cell: &Cell| store.root().join("runs").join(name(cell));
    let there = |path: &Path| path.join(FOLDER).exists();
    let mut questions = Vec::new();
    for record in records.iter().filter(|r| r.cell.method != Method::Dqn) {
        let cell = record.cell;
        let trained = value_of(&settings.plan(cell)?.settings)?;
        let asked = json!({ "episodes": settings.plan_episodes, "steps": record.steps, "oxygen_flash": settings.oxygen_flash, "negligible": NEGLIGIBLE, "trained": trained });
        let question = Question { name: name(&cell), asked, item: cell };
        if kept.to(&question).is_some() || there(&dir(&cell)) {
            questions.push(question);
        }
    }
    let bar = session.bar("minatar", questions.len(), "agents asked");
    let (answers, failure) = kept.all(bar, session, &questions, |cell| {
        let (_, mut agent) = load(&dir(cell))?;
        ask(settings, cell, agent.as_mut())
    });
    let of = |name: &str| questions.iter().find(|q| q.name == name).map(|q| q.item);
    let found = answers.into_iter().filter_map(|(name, depths)| Some((of(&name)?, depths)));
    Ok((found.collect(), failure))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: members 1 and 3 where 2 followed, then 5 and 5 where 2 followed.
    #[test]
    fn members_are_compared_with_what_followed() {
        let found = depths(&[vec![1.0, 3.0], vec![5.0, 5.0]], &[2.0, 2.0]);
        assert_eq!((found.bias, found.realised), (vec![1.0, 2.0], 2.0));
        assert_eq!(found.error, [5.0f64.sqrt(), 5.0f64.sqrt()]);
    }
}
