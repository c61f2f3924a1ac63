//! Evaluation of a finished run: on its training levels and on levels that it has not seen, by its own policy and by a random one.
//!
//! Each set of states is a file beside the run, `evaluation/seen.json` and so on, written when the set is done. It ends in its own hash,
//! names the state of the agent and says how it was made; one that is damaged, or of another agent or another way, is made again, which
//! gives the same bytes.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use ive::Members;
use ive_agents::evaluation::{Met, Visit, Visited};
use ive_agents::{Agent, Bonus, Estimates};
use ive_envs::registry::Registered;
use serde::{Deserialize, Serialize};

use super::levels;
use super::sweep::Settings;
use crate::exit::{Failure, Outcome};
use crate::experiments::ours;
use crate::experiments::runs::fleet::{Done, Fleet};
use crate::progress::{Session, warn};
use crate::run::disk::Disk;
use crate::run::{self, Plan, agents, seal};

/// The seed of all visits: agents of all runs meet the same random policy, and so the same states of it.
const SEED: u64 = 1_000_000;
/// The largest file that is read.
const MAX_BYTES: u64 = 1 << 30;

/// k = 1..5, the members of the paper's σ-IVE(5); k = 0..5 with the value itself.
const DEEPEST: usize = 5;
/// σ is also divided by |μ| plus this.
const FLOOR: f64 = 0.1;

/// Scores that every agent with a model has of a state.
pub const SIGMA: &str = "sigma";
/// σ over k = 0..5.
pub const SIGMA_WITH_ZERO: &str = "sigma_with_k0";
/// σ / (|μ| + 0.1).
pub const SIGMA_RELATIVE: &str = "sigma_relative";
/// The value v̂ of the state.
pub const VALUE: &str = "value";
/// The discounted return that followed.
pub const REALISED: &str = "realised";

/// Which states.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Set {
    /// Training levels, by the agent's policy.
    Seen,
    /// Levels that it was not trained on, by the agent's policy.
    Unseen,
    /// Training levels, by a random policy.
    RandomSeen,
    /// Levels that it was not trained on, by a random policy.
    RandomUnseen,
}

impl Set {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Seen, Self::Unseen, Self::RandomSeen, Self::RandomUnseen];

    /// In files and tables for programs.
    pub fn word(self) -> &'static str {
        ["seen", "unseen", "random-seen", "random-unseen"][self as usize]
    }

    fn is_seen(self) -> bool {
        matches!(self, Self::Seen | Self::RandomSeen)
    }

    fn epsilon(self) -> f64 {
        if matches!(self, Self::Seen | Self::Unseen) { 0.0 } else { 1.0 }
    }
}

/// What an agent gets and says in one set of states.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Evaluated {
    /// The levels that were visited; below, levels are named by their place in this list.
    pub levels: Vec<u32>,
    /// Level and return of each episode.
    pub returns: Vec<(usize, f64)>,
    /// Environment steps.
    pub steps: u64,
    /// The level of each state that was scored.
    pub places: Vec<usize>,
    /// Scores of these states, by name.
    pub scores: BTreeMap<String, Vec<f64>>,
}

/// How a set comes about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Protocol {
    environment: String,
    options: BTreeMap<String, String>,
    levels: Vec<u32>,
    episodes: usize,
    epsilon: f64,
    episode_steps: usize,
    state_every: usize,
    discount: f64,
    seed: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    bonus: Option<Bonus>,
}

#[derive(Serialize, Deserialize)]
struct Written {
    /// The hash of the final state of the run.
    state: String,
    protocol: Protocol,
    found: Evaluated,
}

/// The evaluation of all runs of an experiment.
pub struct Evaluation<'a> {
    pub settings: &'a Settings,
    /// The directory of the experiment.
    pub root: &'a Path,
}

/// Finished runs with what was made of each, and why others failed.
pub type Made<C, T> = (Vec<(C, Done, T)>, Option<Failure>);

/// Makes all runs that are not finished yet and evaluates them, several at a time, as far as that has not been done: what `one` makes of each. After
/// a request to stop, no run and no set is begun.
pub fn all<C: Send, T: Send>(
    cells: Vec<C>,
    fleet: &Fleet<'_, C>,
    session: &Session,
    one: impl Fn(&C, &Done) -> Outcome<Option<T>> + Sync,
) -> Made<C, T> {
    let total = cells.len();
    let (done, mut failed) = fleet.complete(cells, session);
    let bar = session.bar("evaluation", done.len(), "runs");
    let queue = Mutex::new(done.into_iter());
    let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).next();
    let work = || {
        let mut out = Vec::new();
        while let Some((cell, done)) = next() {
            let sets = one(&cell, &done);
            if let Err(failure) = &sets {
                bar.suspend(|| warn(&format!("{}: {}", (fleet.name)(&cell), failure.message)));
            }
            bar.inc(1);
            out.push((cell, done, sets));
        }
        out
    };
    let mut tested = Vec::new();
    for (cell, done, sets) in rayon::broadcast(|_| work()).into_iter().flatten() {
        match sets {
            Ok(Some(sets)) => tested.push((cell, done, sets)),
            Ok(None) => {}
            Err(failure) => failed.push((cell, failure)),
        }
    }
    bar.finish_and_clear();
    (tested, fleet.summed_up(failed, total))
}

impl Evaluation<'_> {
    /// All sets of the run of a name, as it acts by itself; `None` = asked to stop.
    pub fn plain(
        &self,
        name: &str,
        levels: u32,
        done: &Done,
        session: &Session,
    ) -> Outcome<Option<[Evaluated; 4]>> {
        let sets = self.sets(name, levels, done, &Set::ALL.map(|set| (set, None)), session)?;
        Ok(sets.and_then(|sets| <[Evaluated; 4]>::try_from(sets).ok()))
    }

    /// Some sets of the run of a name, each with the way in which it acts on its signal; `None` = asked to stop.
    pub fn sets(
        &self,
        name: &str,
        levels: u32,
        done: &Done,
        sets: &[(Set, Option<Bonus>)],
        session: &Session,
    ) -> Outcome<Option<Vec<Evaluated>>> {
        let dir = self.root.join("runs").join(name);
        let plan = &done.finished.run;
        let mut agent: Option<Box<dyn Agent>> = None;
        let mut all = Vec::new();
        for &(set, bonus) in sets {
            let protocol = self.protocol(plan, levels, set, bonus)?;
            let manner = bonus.map_or(String::new(), |bonus| format!("-{bonus}"));
            let path = dir.join("evaluation").join(format!("{}{manner}.json", set.word()));
            let state = &done.finished.state;
            if let Some(found) = read(&path, state, &protocol)? {
                all.push(found);
                continue;
            }
            if session.stopped() {
                return Ok(None);
            }
            let agent = match &mut agent {
                Some(agent) => agent,
                none => none.insert(run::load(&dir)?.1),
            };
            let found = visit(agent.as_mut(), plan, &protocol)?;
            let written = Written { state: state.clone(), protocol, found };
            crate::store::write_atomically(&path, &seal::seal_compact(&written)?)?;
            all.push(written.found);
        }
        Ok(Some(all))
    }

    fn protocol(&self, plan: &Plan, levels: u32, set: Set, bonus: Option<Bonus>) -> Outcome<Protocol> {
        let s = self.settings;
        let visited = if set.is_seen() {
            levels::seen(levels, s.visited_levels)
        } else {
            levels::unseen(s.visited_levels)
        };
        let no_discount = || Failure::internal("the settings of the run hold no discount");
        let discount =
            plan.settings.get("discount").and_then(toml::Value::as_float).ok_or_else(no_discount)?;
        Ok(Protocol {
            environment: plan.world.clone(),
            options: plan.options.clone(),
            // A few levels are visited more often, so that there are as many episodes of each kind.
            episodes: (s.visited_episodes as usize).div_ceil(visited.len()),
            levels: visited,
            epsilon: set.epsilon(),
            episode_steps: s.episode_steps as usize,
            // Of another manner to act only the returns are asked for.
            state_every: bonus.map_or(s.state_every, |_| s.episode_steps) as usize,
            discount,
            seed: SEED,
            bonus,
        })
    }
}

/// What was written for this state of the agent in this way. What is damaged is told, and made again.
fn read(path: &Path, state: &str, protocol: &Protocol) -> Outcome<Option<Evaluated>> {
    let Some(bytes) = Disk::default().read(path, MAX_BYTES)? else { return Ok(None) };
    let Some(content) = seal::open(&bytes) else {
        warn(&format!("{} is damaged (its checksum differs) and made again", path.display()));
        return Ok(None);
    };
    let written: Option<Written> = serde_json::from_value(content).ok();
    Ok(written.filter(|w| w.state == state && w.protocol == *protocol).map(|w| w.found))
}

/// The places of a protocol: each is one level.
fn places(protocol: &Protocol) -> Outcome<Vec<Registered>> {
    let training =
        Registered::with_options(&protocol.environment, &protocol.options).map_err(agents::refused)?;
    let place = |level: &u32| {
        let one = [("levels", "1".to_owned()), ("start_level", level.to_string())];
        training.changed(&one.map(|(key, value)| (key.to_owned(), value)).into()).map_err(agents::refused)
    };
    protocol.levels.iter().map(place).collect()
}

fn visit(agent: &mut dyn Agent, plan: &Plan, protocol: &Protocol) -> Outcome<Evaluated> {
    let visit = Visit {
        places: places(protocol)?,
        episodes: protocol.episodes,
        seed: protocol.seed,
        epsilon: protocol.epsilon,
        max_steps: protocol.episode_steps,
        apart: protocol.state_every,
        members: ours(Members::new(0..=DEEPEST))?,
        discount: protocol.discount,
        bonus: protocol.bonus,
    };
    let visited = agent.visit(&visit).map_err(|error| agents::failed(&plan.agent, error))?;
    evaluated(&protocol.levels, visited)
}

/// What is kept of a visit.
fn evaluated(levels: &[u32], visited: Visited) -> Outcome<Evaluated> {
    let mut scores: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for state in &visited.states {
        let mut note = |name: &str, x: f64| scores.entry(name.to_owned()).or_default().push(x);
        note(VALUE, state.value);
        note(REALISED, state.realised);
        if let Some(members) = &state.members {
            sigmas(members)?.into_iter().for_each(|(name, x)| note(name, x));
        }
        visited.further.iter().zip(&state.further).for_each(|(name, x)| note(name, *x));
    }
    Ok(Evaluated {
        levels: levels.to_vec(),
        returns: visited.episodes.iter().map(|e| (e.place, e.total)).collect(),
        steps: visited.episodes.iter().map(|e| e.steps as u64).sum(),
        places: visited.states.iter().map(|Met { place, .. }| *place).collect(),
        scores,
    })
}

/// σ over k = 1..5, over k = 0..5, and relative to the mean.
fn sigmas(members: &Estimates) -> Outcome<[(&'static str, f64); 3]> {
    let (all, later) = (members.values(), &members.values()[1..]);
    let sigma = ours(ive::standard_deviation(later, 0))?;
    Ok([
        (SIGMA, sigma),
        (SIGMA_WITH_ZERO, ours(ive::standard_deviation(all, 0))?),
        (SIGMA_RELATIVE, sigma / (ive::mean(later).abs() + FLOOR)),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use ive_agents::evaluation::Played;
    use ive_agents::{Signal, Space};

    /// By hand: members 9, 1, 3, 1, 3, 2 have σ √0.8 = 0.894 over k = 1..5, whose mean is 2.
    #[test]
    fn scores_follow_their_definitions() {
        let members = Estimates::new(Members::new(0..=5).unwrap(), vec![9.0, 1.0, 3.0, 1.0, 3.0, 2.0]);
        let [(_, sigma), (_, with_zero), (_, relative)] = sigmas(&members).unwrap();
        assert!((sigma - 0.8f64.sqrt()).abs() < 1e-12 && (relative - sigma / 2.1).abs() < 1e-12);
        // Mean 19/6, mean square 105/6.
        assert!((with_zero - (105.0 / 6.0 - (19.0f64 / 6.0).powi(2)).sqrt()).abs() < 1e-12);
        let met = |place| Met {
            place,
            value: 9.0,
            members: Some(members.clone()),
            further: vec![0.5],
            realised: 1.5,
        };
        let played = |place, total| Played { place, total, steps: 7, ended: true };
        let visited = Visited {
            episodes: vec![played(0, 1.0), played(1, -2.0)],
            states: vec![met(0), met(1), met(1)],
            further: vec!["sigma_heads"],
        };
        let kept = evaluated(&[3, 8], visited).unwrap();
        assert_eq!((kept.places, kept.steps, kept.returns), (vec![0, 1, 1], 14, vec![(0, 1.0), (1, -2.0)]));
        assert_eq!(kept.scores["sigma_heads"], [0.5; 3]);
        assert_eq!(kept.scores[REALISED], [1.5; 3]);
        assert_eq!(kept.scores.len(), 6);
    }

    fn protocol(levels: Vec<u32>) -> Protocol {
        let options = [("mode", "easy"), ("levels", "10")].map(|(k, v)| (k.to_owned(), v.to_owned()));
        Protocol {
            environment: "procgen:fruitbot".into(),
            options: options.into(),
            levels,
            episodes: 2,
            epsilon: 0.0,
            episode_steps: 10,
            state_every: 5,
            discount: 0.9,
            seed: 0,
            bonus: None,
        }
    }

    #[test]
    fn an_evaluation_is_used_again_only_for_the_same_agent_in_the_same_way() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("evaluation/seen.json");
        let found = Evaluated { levels: vec![0, 5], steps: 3, ..Evaluated::default() };
        let written = Written { state: "abc".into(), protocol: protocol(vec![0, 5]), found: found.clone() };
        assert_eq!(read(&path, "abc", &protocol(vec![0, 5])).unwrap(), None);
        let bytes = seal::seal_compact(&written).unwrap();
        crate::store::write_atomically(&path, &bytes).unwrap();
        assert_eq!(read(&path, "abc", &protocol(vec![0, 5])).unwrap(), Some(found));
        assert_eq!(read(&path, "abd", &protocol(vec![0, 5])).unwrap(), None, "another agent");
        assert_eq!(read(&path, "abc", &protocol(vec![0, 6])).unwrap(), None, "other levels");
        let bonus = Bonus { space: Space::Logit, signal: Signal::Sigma, depth: 5, beta: -1.0 };
        let careful = Protocol { bonus: Some(bonus), ..protocol(vec![0, 5]) };
        assert_eq!(read(&path, "abc", &careful).unwrap(), None, "another manner");
        assert!(!String::from_utf8_lossy(&bytes).contains("bonus"), "files from before have no such key");
        for at in (0..bytes.len()).step_by(29) {
            let mut bad = bytes.clone();
            bad[at] ^= 4;
            std::fs::write(&path, &bad).unwrap();
            assert_eq!(read(&path, "abc", &protocol(vec![0, 5])).unwrap(), None, "byte {at}");
        }
    }

    #[test]
    fn each_place_is_one_level_of_the_same_game() {
        let places = places(&protocol(vec![4, 1_000_003])).unwrap();
        let one = |level: &str| {
            let options = [("mode", "easy"), ("levels", "1"), ("start_level", level)];
            Registered::new("procgen:fruitbot", &options).unwrap()
        };
        assert_eq!(places.len(), 2);
        assert!(places[0] == one("4") && places[1] == one("1000003"));
    }
}
