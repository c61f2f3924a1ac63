//! Engines: whatever starts `ive sweep task DIR INDEX` for each task. They schedule; the directory gives the guarantees.

pub mod kubernetes;
pub mod local;
pub mod ray;
pub mod slurm;

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use clap::Args;
use serde::{Deserialize, Serialize};

use super::manifest::Sweep;
use super::{cancel, probe};
use crate::count::count;
use crate::exit::{Failure, Outcome};
use crate::progress::warn;
use crate::run::disk::Disk;

/// An engine by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Engine {
    /// A few processes on this machine
    Local,
    /// An array job of Slurm
    Slurm,
    /// Tasks of Ray, through its Python package
    Ray,
    /// Writes a manifest for an indexed Job; not tried on a cluster
    Kubernetes,
}

/// What an engine needs to know; most have use for a part of it.
#[derive(Args, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[command(next_help_heading = "How an engine does it")]
pub struct How {
    /// local, ray: how many tasks at a time
    #[arg(long, short = 'j', default_value_t = 1, value_name = "N", allow_negative_numbers = true,
          value_parser = count::<usize>(1, 100_000))]
    pub jobs: usize,
    /// slurm, kubernetes: how many tasks at a time at most
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = count::<u64>(1, 1_000_000))]
    pub max_parallel: Option<u64>,
    /// slurm: the partition
    #[arg(long, value_name = "NAME")]
    pub partition: Option<String>,
    /// slurm: the account
    #[arg(long, value_name = "NAME")]
    pub account: Option<String>,
    /// slurm: the time limit of a task, such as 4:00:00; a task that reaches it is queued again
    #[arg(long, value_name = "TIME")]
    pub time: Option<String>,
    /// slurm: how many seconds before the time limit a task is told to save and stop
    #[arg(long, default_value_t = 120, value_name = "SECONDS", allow_negative_numbers = true,
          value_parser = count::<u64>(1, 65_535))]
    pub grace: u64,
    /// slurm: a further flag of sbatch, such as --flag=--gres=gpu:1; may be repeated
    #[arg(long = "flag", value_name = "FLAG", allow_hyphen_values = true)]
    pub flags: Vec<String>,
    /// ray: the address of a running cluster [default: start one here, on the loopback interface]
    #[arg(long, value_name = "HOST:PORT")]
    pub address: Option<String>,
    /// Seconds between checkpoints
    #[arg(long, default_value = "60", value_name = "SECONDS", value_parser = crate::commands::train::seconds)]
    pub checkpoint_every: Duration,
    /// Let another version of the program than the one that planned the sweep work on it
    #[arg(long)]
    pub allow_mixed: bool,
    /// Whether only the job script is printed.
    #[arg(skip)]
    #[serde(skip)]
    pub dry_run: bool,
}

impl How {
    /// What follows `ive sweep task DIR INDEX`.
    fn task_flags(&self) -> Vec<String> {
        let every = self.checkpoint_every.as_secs_f64();
        let mut flags = Vec::new();
        if every != 60.0 {
            flags.extend(["--checkpoint-every".to_owned(), every.to_string()]);
        }
        flags.extend(self.allow_mixed.then(|| "--allow-mixed".to_owned()));
        flags
    }
}

/// The defaults of the command line.
impl Default for How {
    fn default() -> Self {
        Self {
            jobs: 1,
            max_parallel: None,
            partition: None,
            account: None,
            time: None,
            grace: 120,
            flags: Vec::new(),
            address: None,
            checkpoint_every: Duration::from_mins(1),
            allow_mixed: false,
            dry_run: false,
        }
    }
}

/// Where it is kept how a sweep was submitted last.
const LAST: &str = "last.json";
/// The largest such file that is read.
const MAX_BYTES: u64 = 1 << 20;

/// The engine that a sweep was submitted to last, and how.
pub fn last(sweep: &Sweep) -> Outcome<(Engine, How)> {
    let path = sweep.jobs().join(LAST);
    let never = || Failure::usage("nothing was submitted yet: say which --engine is to make the tasks");
    let bytes = Disk::default().read(&path, MAX_BYTES)?.ok_or_else(never)?;
    serde_json::from_slice(&bytes)
        .map_err(|e| Failure::data(format!("{}: {e}; say --engine", path.display())))
}

fn remember(sweep: &Sweep, engine: Engine, how: &How) -> Outcome {
    let disk = Disk::default();
    disk.create_directory(&sweep.jobs())?;
    let text = serde_json::to_string(&(engine, how)).map_err(|e| Failure::internal(e.to_string()))?;
    Ok(disk.replace(&sweep.jobs().join(LAST), text.as_bytes())?)
}

/// Has these tasks made by an engine. Returns when they are made (local, Ray) or queued (Slurm).
pub fn submit(sweep: &Sweep, engine: Engine, tasks: &[u64], how: &How) -> Outcome {
    sweep.same_program(how.allow_mixed)?;
    if !how.dry_run {
        cancel::take_back(sweep)?;
        remember(sweep, engine, how)?;
        if let Some(what) = probe::locks(&sweep.dir) {
            warn(&what);
        }
    }
    match engine {
        Engine::Local => local::submit(sweep, tasks, how),
        Engine::Slurm => slurm::submit(sweep, tasks, how),
        Engine::Ray => ray::submit(sweep, tasks, how),
        Engine::Kubernetes => kubernetes::submit(sweep, how),
    }
}

/// Runs a program of an engine and returns what it said. One that is not there is an error with this advice.
fn ask(command: &mut Command, advice: &str) -> Outcome<Output> {
    let name = command.get_program().display().to_string();
    command.output().map_err(|e| match e.kind() {
        ErrorKind::NotFound => Failure::usage(format!("there is no `{name}` on this machine; {advice}")),
        _ => Failure::io(format!("cannot run `{name}`: {e}")),
    })
}

/// The full path of a directory, as text.
fn full(dir: &Path) -> Outcome<String> {
    let failed = |e| Failure::io(format!("cannot find {}: {e}", dir.display()));
    let path = std::fs::canonicalize(dir).map_err(failed)?;
    let text = path.to_str().map(str::to_owned);
    text.ok_or_else(|| Failure::usage(format!("{} is not UTF-8, which job scripts need", path.display())))
}

/// The path of this program, as text.
fn program() -> Outcome<String> {
    let path: PathBuf =
        std::env::current_exe().map_err(|e| Failure::io(format!("cannot find this program: {e}")))?;
    let text = path.to_str().map(str::to_owned);
    text.ok_or_else(|| Failure::usage(format!("{} is not UTF-8, which job scripts need", path.display())))
}

/// A text that a shell takes for one word, whatever is in it.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ive::Rng;

    /// Through a real shell: text of all kinds of characters, with all that mean something to it.
    #[test]
    fn a_shell_takes_any_text_for_one_word() {
        let alphabet: Vec<char> = " \t\n'\"\\$`(){}[]*?;&|<>!#~%=-a0βñ".chars().collect();
        let rng = &mut Rng::from_seed(5);
        let random = |rng: &mut Rng| {
            let length = rng.below(12);
            (0..length).map(|_| alphabet[rng.below(alphabet.len())]).collect::<String>()
        };
        // A hundred words in each of a hundred scripts.
        for _ in 0..100 {
            let words: Vec<String> = (0..100).map(|_| random(rng)).collect();
            let script =
                words.iter().map(|word| format!("printf '%s\\0' {}\n", quoted(word))).collect::<String>();
            let said = Command::new("sh").arg("-c").arg(&script).output().unwrap();
            let expected: String = words.iter().map(|word| format!("{word}\0")).collect();
            assert_eq!(String::from_utf8(said.stdout).unwrap(), expected);
        }
    }

    #[test]
    fn the_last_submission_is_remembered() {
        #[derive(clap::Parser)]
        struct Typed {
            #[command(flatten)]
            how: How,
        }
        let typed = |words: &[&str]| <Typed as clap::Parser>::parse_from(words).how;
        assert_eq!(typed(&["x"]), How::default());
        let how = typed(&[
            "x",
            "--partition",
            "gpu",
            "--flag=--gres=gpu:1",
            "--checkpoint-every",
            "2.5",
            "-j",
            "7",
        ]);
        let dir = tempfile::tempdir().unwrap();
        let (sweep, _) = Sweep::plan(dir.path(), &crate::sweep::manifest::tests::draft(1)).unwrap();
        assert_eq!(last(&sweep).unwrap_err().code, 64);
        remember(&sweep, Engine::Slurm, &how).unwrap();
        assert_eq!(last(&sweep).unwrap(), (Engine::Slurm, how));
    }

    #[test]
    fn a_program_that_is_not_there_is_named_with_the_way_to_get_it() {
        let failure = ask(&mut Command::new("ive-no-such-program"), "install it").unwrap_err();
        assert_eq!(failure.code, 64);
        assert_eq!(failure.message, "there is no `ive-no-such-program` on this machine; install it");
    }
}
