//! One task of a sweep: a run, its name, its place, its hash.

use std::path::{Component, Path};

use serde::{Deserialize, Serialize};

use crate::exit::{Failure, Outcome};
use crate::run::Plan;

/// A line of `tasks.jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Task {
    /// Its number, from zero: all that an engine has to know of it.
    pub index: u64,
    /// Its name, for people.
    pub name: String,
    /// Its run directory, below that of the sweep.
    pub dir: String,
    /// BLAKE3 of `run`: agent, environment, options, seed, steps, every setting.
    pub hash: String,
    /// The run, resolved: what `config.toml` of its directory holds.
    pub run: Plan,
}

/// As much of a line as is needed to say how its task stands. A large sweep is read so many times faster.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Headline {
    /// Its number.
    pub index: u64,
    /// Its name.
    pub name: String,
    /// Its run directory.
    pub dir: String,
    /// What is run.
    pub run: Work,
}

/// As much of a run.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Work {
    /// Who learns.
    pub agent: String,
    /// Where.
    pub world: String,
    /// Environment steps.
    pub steps: u64,
}

impl Headline {
    /// Reads it from a line of a list whose hash was checked.
    pub fn read(line: &str, index: u64) -> Outcome<Self> {
        let wrong = |what: String| Failure::data(format!("task {index}: {what}; plan the sweep again"));
        let task: Self = serde_json::from_str(line).map_err(|e| wrong(format!("it is not a task ({e})")))?;
        if task.index != index || !stays_below(Path::new(&task.dir)) {
            return Err(wrong(format!("its line is that of task {} in `{}`", task.index, task.dir)));
        }
        Ok(task)
    }
}

/// The hash of a run: of its JSON with sorted keys and without spaces.
pub fn hash(run: &Plan) -> Outcome<String> {
    let json = serde_json::to_value(run).map_err(|e| Failure::internal(format!("a task: {e}")))?;
    Ok(blake3::hash(json.to_string().as_bytes()).to_string())
}

impl Task {
    /// The task of a run.
    pub fn new(index: u64, name: String, dir: String, run: Plan) -> Outcome<Self> {
        Ok(Self { index, name, dir, hash: hash(&run)?, run })
    }

    /// Its line.
    pub fn line(&self) -> Outcome<String> {
        let line = serde_json::to_string(self).map_err(|e| Failure::internal(format!("a task: {e}")))?;
        Ok(line + "\n")
    }

    /// Reads a line. The file as a whole is covered by a hash, but its author may be anybody: nothing leads out of the
    /// directory of the sweep, and the hash of the run is the right one.
    pub fn read(line: &str, index: u64) -> Outcome<Self> {
        let wrong = |what: String| Failure::data(format!("task {index}: {what}; plan the sweep again"));
        let task: Self = serde_json::from_str(line).map_err(|e| wrong(format!("it is not a task ({e})")))?;
        if task.index != index {
            return Err(wrong(format!("it says that it is task {}", task.index)));
        }
        if !stays_below(Path::new(&task.dir)) {
            return Err(wrong(format!("`{}` leads out of the sweep", task.dir)));
        }
        if hash(&task.run)? != task.hash {
            return Err(wrong("its hash is not that of its run".to_owned()));
        }
        Ok(task)
    }
}

/// Whether a path stays below the directory that it is joined to.
fn stays_below(path: &Path) -> bool {
    path.components().next().is_some() && path.components().all(|part| matches!(part, Component::Normal(_)))
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::run::agents::{Request, resolve};

    pub fn task(index: u64, seed: u64) -> Task {
        let request =
            Request { agent: "dqn", preset: "smoke", world: "minatar:breakout", seed, ..Request::default() };
        let run = resolve(&request).unwrap();
        Task::new(index, format!("a \"name\" $(x) β {index}"), format!("runs/t/seed-{seed}"), run).unwrap()
    }

    #[test]
    fn a_task_reads_back_as_it_was_written() {
        let task = task(3, 7);
        let line = task.line().unwrap();
        assert_eq!(Task::read(line.trim(), 3).unwrap(), task);
        let headline = Headline::read(line.trim(), 3).unwrap();
        let (run, work) = (&task.run, &headline.run);
        assert_eq!((&headline.name, &headline.dir), (&task.name, &task.dir));
        assert_eq!((&work.agent, &work.world, work.steps), (&run.agent, &run.world, run.steps));
    }

    /// The hash covers everything that the result depends on.
    #[test]
    fn whatever_changes_a_run_changes_its_hash() {
        let one = task(0, 1);
        assert_eq!(one.hash, task(5, 1).hash, "the number of a task is no part of it");
        let changed = |change: &dyn Fn(&mut Plan)| {
            let mut run = one.run.clone();
            change(&mut run);
            hash(&run).unwrap()
        };
        let others = [
            task(0, 2).hash,
            changed(&|run| run.agent = "mu-ive".to_owned()),
            changed(&|run| run.world = "minatar:freeway".to_owned()),
            changed(&|run| drop(run.options.insert("sticky".to_owned(), "0".to_owned()))),
            changed(&|run| run.steps += 1),
            changed(&|run| drop(run.settings.insert("batch".to_owned(), toml::Value::Integer(9)))),
            changed(&|run| run.greedy_episodes += 1),
            changed(&|run| run.device = "engine".to_owned()),
        ];
        for (i, other) in others.iter().enumerate() {
            assert!(*other != one.hash && !others[..i].contains(other), "change {i}");
        }
    }

    #[test]
    fn lines_that_lead_elsewhere_or_were_edited_are_refused() {
        let task = task(0, 1);
        let line = task.line().unwrap();
        for (from, to, words) in [
            ("runs/t/seed-1", "../t", "leads out"),
            ("runs/t/seed-1", "/etc", "leads out"),
            ("runs/t/seed-1", "", "leads out"),
            ("\"seed\":1", "\"seed\":2", "hash"),
            ("\"index\":0", "\"index\":1", "task 1"),
            ("\"name\"", "\"nome\"", "not a task"),
        ] {
            let failure = Task::read(&line.replacen(from, to, 1), 0).unwrap_err();
            assert!(failure.code == 65 && failure.message.contains(words), "{to}: {}", failure.message);
            // The hash of the run is not looked at, the rest is.
            let glanced = Headline::read(&line.replacen(from, to, 1), 0);
            assert_eq!(glanced.is_err(), words != "hash", "{to}");
        }
    }
}
