//! `sweep.json` and `tasks.jsonl`: what a sweep consists of, frozen when it is planned.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::task::{Headline, Task};
use crate::exit::{Failure, Outcome};
use crate::run::disk::{Disk, told};
use crate::run::{program, seal};

/// The file by which a directory is known to be a sweep. Written last.
pub const MARK: &str = "sweep.json";
/// One line per task.
pub const TASKS: &str = "tasks.jsonl";
/// The numbers of all tasks, one per line: for GNU parallel, HyperQueue and the like.
const LIST: &str = "tasks.txt";
/// What was asked for, as it was written.
const SOURCE: &str = "sweep.toml";
/// The version of the format that this program writes and reads.
const FORMAT: u64 = 1;
/// The largest mark that is read.
const MAX_BYTES: u64 = 16 << 20;

/// What `sweep.json` says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// The version of the format.
    pub format: u64,
    /// The program that planned it, and with which its tasks are to be made.
    pub program: String,
    /// How many tasks.
    pub tasks: u64,
    /// BLAKE3 of `tasks.jsonl`.
    pub tasks_blake3: String,
    /// Settings that differ between tasks: columns of the table of results.
    pub columns: Vec<String>,
    /// The experiment whose runs they are, if they are of one.
    pub experiment: Option<Experiment>,
}

/// An experiment of `ive reproduce`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Experiment {
    /// Its name.
    pub name: String,
    /// All its settings, resolved.
    pub settings: Value,
}

/// What is to be frozen.
#[derive(Debug, Default)]
pub struct Draft {
    /// The lines of `tasks.jsonl`.
    pub lines: String,
    /// How many.
    pub tasks: u64,
    /// Settings that differ between tasks.
    pub columns: Vec<String>,
    /// The experiment, if it is one.
    pub experiment: Option<Experiment>,
    /// The file that asked for it, if there was one.
    pub source: Option<Vec<u8>>,
}

/// A planned sweep.
#[derive(Clone, Debug)]
pub struct Sweep {
    /// Its directory.
    pub dir: PathBuf,
    /// What it consists of.
    pub manifest: Manifest,
}

impl Sweep {
    /// Freezes a draft in a directory that is absent, empty, or holds the very same sweep. `false` if it was there.
    pub fn plan(dir: &Path, draft: &Draft) -> Outcome<(Self, bool)> {
        let disk = Disk::default();
        let manifest = Manifest {
            format: FORMAT,
            program: program(),
            tasks: draft.tasks,
            tasks_blake3: blake3::hash(draft.lines.as_bytes()).to_string(),
            columns: draft.columns.clone(),
            experiment: draft.experiment.clone(),
        };
        if disk.look(&dir.join(MARK))?.is_some() {
            let there = Self::open(dir)?;
            return there.same_as(&manifest).map(|()| (there, false));
        }
        refuse_strangers(dir, &disk, draft.experiment.is_some())?;
        disk.create_directory(dir)?;
        disk.replace(&dir.join(TASKS), draft.lines.as_bytes())?;
        let list: String = (0..draft.tasks).map(|index| format!("{index}\n")).collect();
        disk.replace(&dir.join(LIST), list.as_bytes())?;
        if let Some(source) = &draft.source {
            disk.replace(&dir.join(SOURCE), source)?;
        }
        disk.replace(&dir.join(MARK), &seal::seal(&manifest)?)?;
        Ok((Self { dir: dir.to_owned(), manifest }, true))
    }

    /// Opens a planned sweep, and checks that it is as it was planned.
    pub fn open(dir: &Path) -> Outcome<Self> {
        let path = dir.join(MARK);
        let absent = || {
            let here = dir.display();
            Failure::usage(format!(
                "{here} is not a sweep: it has no {MARK}; `ive sweep plan FILE -o {here}` makes one"
            ))
        };
        let bytes = Disk::default().read(&path, MAX_BYTES)?.ok_or_else(absent)?;
        let damaged = |what: &str| {
            Failure::data(format!(
                "{} is damaged ({what}); plan the sweep again, in another directory",
                path.display()
            ))
        };
        let content = seal::open(&bytes).ok_or_else(|| damaged("its checksum differs"))?;
        let manifest: Manifest = serde_json::from_value(content).map_err(|e| damaged(&e.to_string()))?;
        if manifest.format != FORMAT {
            return Err(Failure::data(format!(
                "{} has format {}, and this is {}, which reads format {FORMAT}",
                path.display(),
                manifest.format,
                program()
            )));
        }
        let sweep = Self { dir: dir.to_owned(), manifest };
        sweep.verify()?;
        Ok(sweep)
    }

    /// Refuses a list of tasks that is not the one that was planned.
    fn verify(&self) -> Outcome {
        let path = self.dir.join(TASKS);
        let mut hasher = blake3::Hasher::new();
        let read = File::open(&path).and_then(|file| hasher.update_reader(file).map(|_| ()));
        told("read", &path, read)?;
        if hasher.finalize().to_string() == self.manifest.tasks_blake3 {
            return Ok(());
        }
        Err(Failure::data(format!(
            "{} is not the list of tasks that was planned (its checksum differs); put the original back, or plan again in \
             another directory",
            path.display()
        )))
    }

    /// All tasks, in order, one at a time.
    pub fn tasks(&self) -> Outcome<impl Iterator<Item = Outcome<Task>> + use<>> {
        self.lines(Task::read)
    }

    /// The same, as far as one must know them to say how they stand.
    pub fn headlines(&self) -> Outcome<impl Iterator<Item = Outcome<Headline>> + use<>> {
        self.lines(Headline::read)
    }

    fn lines<T>(
        &self,
        read: fn(&str, u64) -> Outcome<T>,
    ) -> Outcome<impl Iterator<Item = Outcome<T>> + use<T>> {
        let path = self.dir.join(TASKS);
        let file = told("open", &path, File::open(&path))?;
        let lines = BufReader::new(file).lines().enumerate();
        Ok(lines.map(move |(index, line)| read(&told("read", &path, line)?, index as u64)))
    }

    /// The numbers of the tasks that somebody has begun with.
    pub fn begun(&self) -> Outcome<BTreeSet<u64>> {
        let names = Disk::default().names(&self.dir.join("tasks"))?;
        Ok(names.iter().filter_map(|name| name.parse().ok()).collect())
    }

    /// One task.
    pub fn task(&self, index: u64) -> Outcome<Task> {
        let absent = || {
            let (count, here) = (self.manifest.tasks, self.dir.display());
            Failure::usage(format!("there is no task {index}: {here} has {count}, numbered from 0"))
        };
        let path = self.dir.join(TASKS);
        let file = told("open", &path, File::open(&path))?;
        let line = BufReader::new(file).lines().nth(usize::try_from(index).unwrap_or(usize::MAX));
        Task::read(&told("read", &path, line.ok_or_else(absent)?)?, index)
    }

    /// The run directory of a task.
    pub fn run_of(&self, task: &Task) -> PathBuf {
        self.dir.join(&task.dir)
    }

    /// Where it is kept who worked on a task, and what came out.
    pub fn state_of(&self, index: u64) -> PathBuf {
        self.dir.join("tasks").join(format!("{index:06}"))
    }

    /// What a task said.
    pub fn log_of(&self, index: u64) -> PathBuf {
        self.dir.join("logs").join(format!("{index}.log"))
    }

    /// Where job scripts and submissions are kept.
    pub fn jobs(&self) -> PathBuf {
        self.dir.join("jobs")
    }

    /// Refuses to make results with another version of the program, which could not be put together in the end.
    pub fn same_program(&self, allow_mixed: bool) -> Outcome {
        let (planned, here) = (&self.manifest.program, program());
        if *planned == here || allow_mixed {
            return Ok(());
        }
        Err(Failure::config(format!(
            "the sweep was planned by {planned}, and this is {here}; use that program, plan again, or say --allow-mixed"
        )))
    }

    fn same_as(&self, other: &Manifest) -> Outcome {
        let what = match &self.manifest {
            there if there == other => return Ok(()),
            there if there.program != other.program => format!("planned by {}", there.program),
            there if there.tasks != other.tasks => format!("of {} tasks, not {}", there.tasks, other.tasks),
            _ => "with other runs".to_owned(),
        };
        Err(Failure::usage(format!(
            "{} holds another sweep, {what}; choose another directory",
            self.dir.display()
        )))
    }
}

/// Refuses a directory with files that are not ours. That of an experiment was opened as such, and bears its mark.
fn refuse_strangers(dir: &Path, disk: &Disk, experiment: bool) -> Outcome {
    let ours = |name: &str| {
        [TASKS, LIST, SOURCE].contains(&name) || experiment && ["ive.json", "LOCK"].contains(&name)
    };
    match disk.lasting_names(dir)?.iter().find(|name| !ours(name)) {
        None => Ok(()),
        Some(other) => Err(Failure::usage(format!(
            "{} is not empty and not a sweep (it holds {other}); choose another directory",
            dir.display()
        ))),
    }
}

#[cfg(test)]
pub mod tests {
    use super::super::task::tests::task;
    use super::*;

    pub fn draft(seeds: u64) -> Draft {
        let lines = (0..seeds).map(|i| task(i, i).line().unwrap()).collect();
        Draft { lines, tasks: seeds, ..Draft::default() }
    }

    #[test]
    fn planning_twice_gives_the_same_bytes_and_other_sweeps_are_refused() {
        let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        assert!(Sweep::plan(one.path(), &draft(3)).unwrap().1);
        assert!(Sweep::plan(two.path(), &draft(3)).unwrap().1);
        for name in [MARK, TASKS, LIST] {
            let read = |dir: &Path| std::fs::read(dir.join(name)).unwrap();
            assert_eq!(read(one.path()), read(two.path()), "{name}");
        }
        let (sweep, new) = Sweep::plan(one.path(), &draft(3)).unwrap();
        assert!(!new && sweep.tasks().unwrap().count() == 3);
        assert_eq!(sweep.task(2).unwrap(), task(2, 2));
        assert_eq!(sweep.task(3).unwrap_err().code, 64);
        let failure = Sweep::plan(one.path(), &draft(4)).unwrap_err();
        assert!(failure.code == 64 && failure.message.contains("of 3 tasks, not 4"), "{}", failure.message);
        std::fs::write(two.path().join("thesis.tex"), "").unwrap();
        std::fs::remove_file(two.path().join(MARK)).unwrap();
        assert!(Sweep::plan(two.path(), &draft(3)).unwrap_err().message.contains("it holds thesis.tex"));
    }

    #[test]
    fn a_changed_list_of_tasks_is_noticed() {
        let dir = tempfile::tempdir().unwrap();
        Sweep::plan(dir.path(), &draft(2)).unwrap();
        for name in [MARK, TASKS] {
            let path = dir.path().join(name);
            let good = std::fs::read(&path).unwrap();
            for at in (0..good.len()).step_by(97) {
                let mut bytes = good.clone();
                bytes[at] ^= 1;
                std::fs::write(&path, bytes).unwrap();
                assert_eq!(Sweep::open(dir.path()).unwrap_err().code, 65, "byte {at} of {name}");
            }
            std::fs::write(&path, good).unwrap();
        }
        Sweep::open(dir.path()).unwrap();
    }
}
