//! How the tasks of a sweep stand, from files alone: no engine is asked.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use serde::Serialize;

use super::attempt::{self, STALE, Seen};
use super::manifest::Sweep;
use super::publish;
use super::retry::After;
use super::task::Headline;
use crate::exit::Outcome;
use crate::lock::holder;
use crate::run::disk::Disk;
use crate::run::{RESULT, sessions};

/// What can be said of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// Its result is published.
    Done,
    /// A process works on it.
    Running,
    /// It was interrupted, and can go on.
    Stopped,
    /// It ended in a way that would repeat itself.
    Failed,
    /// Nobody has begun with it.
    Waiting,
}

impl State {
    /// All of them, in the order in which they are told.
    pub const ALL: [Self; 5] = [Self::Done, Self::Running, Self::Stopped, Self::Failed, Self::Waiting];

    /// As it is shown.
    pub fn word(self) -> &'static str {
        ["done", "running", "stopped", "failed", "waiting"][self as usize]
    }
}

/// A task at a glance.
#[derive(Clone, Debug, Serialize)]
pub struct Look {
    /// Its number.
    pub index: u64,
    /// Its name.
    pub name: String,
    /// How it stands.
    pub state: State,
    /// Environment steps done.
    pub step: u64,
    /// Environment steps in all.
    pub steps: u64,
    /// How often it was begun.
    pub attempts: usize,
    /// How long it will take, if one may judge by what was done so far; none where nothing is known.
    pub seconds_left: Option<f64>,
    /// Who works on it, or what went wrong.
    pub note: Option<String>,
    /// Seconds per step of its last process.
    #[serde(skip)]
    pace: Option<f64>,
    /// The number of its agent and environment.
    #[serde(skip)]
    kind: usize,
}

/// As many finished tasks of an agent in an environment tell how fast the others will be.
const ENOUGH: usize = 100;

/// Looks at all tasks. Of a large sweep most have not been begun, or are done: of these no more is read than is told.
pub fn all(sweep: &Sweep) -> Outcome<Vec<Look>> {
    let begun = sweep.begun()?;
    let mut looks = Vec::new();
    // Each pair of agent and environment has a number, and its tasks their seconds per step.
    let (mut kinds, mut paces) = (BTreeMap::new(), Vec::<Vec<f64>>::new());
    for task in sweep.headlines()? {
        let task = task?;
        let kind = *kinds.entry((task.run.agent.clone(), task.run.world.clone())).or_insert(paces.len());
        if kind == paces.len() {
            paces.push(Vec::new());
        }
        let mut look = waiting(&task, kind);
        if begun.contains(&task.index) {
            look_closer(&mut look, sweep, &task, paces[kind].len() < ENOUGH)?;
        }
        paces[kind].extend(look.pace);
        looks.push(look);
    }
    let mean = |paces: &Vec<f64>| (!paces.is_empty()).then(|| paces.iter().sum::<f64>() / paces.len() as f64);
    let usual: Vec<Option<f64>> = paces.iter().map(mean).collect();
    for look in &mut looks {
        let left = look.steps.saturating_sub(look.step) as f64;
        look.seconds_left = look.pace.or(usual[look.kind]).map(|pace| pace * left);
    }
    Ok(looks)
}

/// A task that nobody has begun with.
fn waiting(task: &Headline, kind: usize) -> Look {
    Look {
        index: task.index,
        name: task.name.clone(),
        state: State::Waiting,
        step: 0,
        steps: task.run.steps,
        attempts: 0,
        seconds_left: None,
        note: None,
        pace: None,
        kind,
    }
}

/// What the files of a task say. How fast a finished one was is read only if that is wanted.
fn look_closer(look: &mut Look, sweep: &Sweep, task: &Headline, wanted: bool) -> Outcome {
    let folder = sweep.state_of(task.index);
    let names = Disk::default().names(&folder)?;
    let attempts = attempt::numbers(&names);
    look.attempts = attempts.len();
    let published = names.iter().any(|name| name == publish::FILE);
    let done = published && sweep.dir.join(&task.dir).join(RESULT).try_exists().unwrap_or(true);
    if done {
        (look.state, look.step) = (State::Done, look.steps);
    } else if published {
        (look.state, look.note) =
            (State::Stopped, Some("its result is gone; made again, it must be the same".to_owned()));
    } else {
        let last = attempts.last().map_or(Ok(None), |number| attempt::read(&folder, *number))?;
        (look.state, look.note) = judge(last.as_ref(), holder(&folder).is_some());
    }
    if done && !wanted {
        return Ok(());
    }
    if let Some(session) = sessions::read(&sweep.dir.join(&task.dir)).last() {
        if !done {
            look.step = session.to_step;
        }
        let made = session.to_step.saturating_sub(session.from_step);
        look.pace = (made > 0 && session.wall_seconds > 0.0).then(|| session.wall_seconds / made as f64);
    }
    Ok(())
}

/// How far apart two times are. The clock of a file server may be ahead of ours.
fn apart(a: SystemTime, b: SystemTime) -> Duration {
    a.duration_since(b).unwrap_or_else(|e| e.duration())
}

/// The state of a task that is not done, by the last attempt and whether somebody on this machine holds the lock.
fn judge(last: Option<&Seen>, locked: bool) -> (State, Option<String>) {
    let Some(last) = last else { return (State::Waiting, None) };
    let who = last.owner.as_ref().map(|owner| format!("process {} on {}", owner.process, owner.host));
    match &last.end {
        Some(end) if After::code(Some(i32::from(end.code))) == After::Never => {
            (State::Failed, Some(format!("exit code {}: {}", end.code, end.message)))
        }
        Some(end) => (State::Stopped, Some(end.message.clone()).filter(|_| end.code != 75)),
        None if locked => (State::Running, who),
        None if last.owner.as_ref().is_none_or(|owner| !owner.is_here())
            && apart(SystemTime::now(), last.beat) < STALE =>
        {
            (State::Running, who)
        }
        None => (State::Stopped, Some("it was killed".to_owned())),
    }
}

/// Seconds until all are done, with as many at once as now; none where nothing is known.
pub fn seconds_left(looks: &[Look]) -> Option<f64> {
    let open = looks.iter().filter(|look| !matches!(look.state, State::Done | State::Failed));
    let total = open.map(|look| look.seconds_left).sum::<Option<f64>>()?;
    Some(total / looks.iter().filter(|look| look.state == State::Running).count().max(1) as f64)
}

/// How many there are of each state.
pub fn counts(looks: &[Look]) -> Vec<(State, usize)> {
    State::ALL.map(|state| (state, looks.iter().filter(|look| look.state == state).count())).to_vec()
}

#[cfg(test)]
mod tests {
    use super::super::attempt::{End, Owner};
    use super::*;
    use std::time::Duration;

    fn seen(end: Option<u8>, age: u64) -> Seen {
        let owner = Owner { host: "n1".to_owned(), system: String::new(), process: 7, job: None, began: 0 };
        let end = end.map(|code| End { code, step: 5, message: "words".to_owned(), ended: 0 });
        Seen { number: 1, owner: Some(owner), end, beat: SystemTime::now() - Duration::from_secs(age) }
    }

    #[test]
    fn states_follow_the_last_attempt() {
        let state = |last: Option<Seen>, locked| judge(last.as_ref(), locked).0;
        assert_eq!(state(None, false), State::Waiting);
        assert_eq!(state(Some(seen(None, 3)), false), State::Running);
        assert_eq!(state(Some(seen(None, 500)), true), State::Running);
        assert_eq!(state(Some(seen(None, 500)), false), State::Stopped);
        // On this system a killed process is known to be gone at once.
        let mut here = seen(None, 3);
        here.owner = Some(Owner::here());
        assert_eq!(state(Some(here), false), State::Stopped);
        for code in [73, 74, 75] {
            assert_eq!(state(Some(seen(Some(code), 0)), false), State::Stopped);
        }
        for code in [64, 65, 70, 78] {
            assert_eq!(state(Some(seen(Some(code), 0)), false), State::Failed);
        }
    }
}
