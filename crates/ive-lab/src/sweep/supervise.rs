//! `ive sweep task`: the only thing that an engine ever runs.
//!
//! It may be started any number of times, anywhere, also twice at once: a finished task is left alone, one that somebody
//! works on is refused (73), everything else goes on from its last checkpoint. The training is done by a child process,
//! which is started again in place when it crashes; that is quicker than any engine.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::attempt::{self, Attempt, STALE};
use super::engine::slurm;
use super::manifest::Sweep;
use super::retry::{After, LIMIT, words};
use super::task::Task;
use super::{cancel, probe, publish, tether, trainer};
use crate::exit::{Failure, Outcome};
use crate::progress::{Session, warn};

/// How often it is looked whether the child has ended.
const GLANCE: Duration = Duration::from_millis(20);
/// How often it is looked whether the sweep was cancelled.
const LOOK: Duration = Duration::from_secs(1);

/// How a task is carried out.
#[derive(Clone, Debug)]
pub struct Options {
    /// Time between checkpoints.
    pub checkpoint_every: Duration,
    /// Whether another version of the program than the one that planned the sweep may work on it.
    pub allow_mixed: bool,
    /// Whether to stop when standard input ends.
    pub tethered: bool,
    /// Whether a job of Slurm does it, which is to be queued again after an interruption.
    pub slurm: bool,
}

/// Works on a task until it is done.
pub fn run(dir: &Path, index: u64, options: &Options) -> Outcome {
    let sweep = Sweep::open(dir)?;
    sweep.same_program(options.allow_mixed)?;
    let task = sweep.task(index)?;
    let session = Session::start(false)?;
    if options.tethered {
        tether::hold(&session);
    }
    if is_done(&sweep, &task)? {
        session.say(&format!("task {index} ({}) is done already", task.name));
        return Ok(());
    }
    if cancel::is_asked(&sweep) {
        return Err(cancelled(&sweep));
    }
    let attempt = Attempt::begin(&sweep.state_of(index), &session)?;
    if let Some(what) = probe::locks(&sweep.dir) {
        warn(&what);
    }
    let number = attempt.number();
    session.say(&format!("task {index} ({}), attempt {number}", task.name));
    let mut supervisor = Supervisor { sweep: &sweep, task: &task, options, session: &session, attempt };
    let outcome = supervisor.work();
    let (code, message) = outcome.as_ref().map_or_else(|e| (e.code, e.message.as_str()), |()| (0, ""));
    let (step, _) = trainer::mark(&sweep.run_of(&task));
    let Supervisor { attempt, .. } = supervisor;
    attempt.end(code, step, message);
    if options.slurm && After::code(Some(i32::from(code))) == After::Stopped {
        queue_again(&sweep, index, step);
    }
    outcome
}

/// Whether the result is published and still there. Whoever loses it may make it again: it will be the same.
fn is_done(sweep: &Sweep, task: &Task) -> Outcome<bool> {
    Ok(publish::read(sweep, task)?.is_some() && trainer::result(&sweep.run_of(task), &task.run)?.is_some())
}

fn cancelled(sweep: &Sweep) -> Failure {
    let here = sweep.dir.display();
    Failure::interrupted(format!("the sweep was cancelled; `ive sweep resume {here}` goes on with it"))
}

/// Asks Slurm for another go, unless the last ones came to nothing.
fn queue_again(sweep: &Sweep, index: u64, step: u64) {
    let stalled = attempt::stalled(&sweep.state_of(index), step).unwrap_or(0);
    if cancel::is_asked(sweep) {
        return;
    }
    if stalled > LIMIT as usize {
        warn(&format!(
            "task {index} was stopped {stalled} times at step {step}: not queued again; give it more time (--time), or \
             checkpoints more often (--checkpoint-every)"
        ));
        return;
    }
    if let Err(failure) = slurm::requeue() {
        warn(&failure.message);
    }
}

/// What watches over the process that trains.
struct Supervisor<'a> {
    sweep: &'a Sweep,
    task: &'a Task,
    options: &'a Options,
    session: &'a Session,
    attempt: Attempt,
}

impl Supervisor<'_> {
    fn work(&mut self) -> Outcome {
        let run = self.sweep.run_of(self.task);
        let (mut left, mut mark, start) = (LIMIT, trainer::mark(&run), Instant::now());
        loop {
            let status = self.train()?;
            if !self.attempt.counts()? {
                return Err(Failure::busy("another process has taken the task over".to_owned()));
            }
            match After::code(status.code()) {
                After::Done => return publish::publish(self.sweep, self.task, self.attempt.number()),
                After::Stopped => return Err(self.stopped()),
                After::Never => return Err(self.ended(status, "; it would end so again")),
                // A trainer whose task was killed saves and goes, in a moment.
                After::Busy if start.elapsed() < STALE => {}
                After::Busy => return Err(Failure::busy("another process works on the run".to_owned())),
                After::Again if self.is_to_stop() => return Err(self.gone(status)),
                After::Again => {
                    let now = trainer::mark(&run);
                    if now != mark {
                        (left, mark) = (LIMIT, now);
                    }
                    if left == 0 {
                        return Err(
                            self.ended(status, &format!(", after {LIMIT} more attempts without progress"))
                        );
                    }
                    left -= 1;
                    warn(&format!("the trainer ended with {}: it is started again", words(status)));
                }
            }
            if self.is_to_stop() {
                return Err(self.stopped());
            }
            sleep(LOOK / 2);
        }
    }

    /// Runs the trainer once.
    fn train(&mut self) -> Outcome<ExitStatus> {
        let failed = |e: std::io::Error| Failure::io(format!("cannot run the trainer: {e}"));
        let mut command = this_program();
        command.args(["sweep", "trainer"]).arg(&self.sweep.dir).arg(self.task.index.to_string());
        command.args(["--attempt", &self.attempt.number().to_string()]);
        command.args(["--checkpoint-every", &self.options.checkpoint_every.as_secs_f64().to_string()]);
        let mut child = tether::start(&mut command).map_err(failed)?;
        let mut looked = Instant::now();
        loop {
            if let Some(status) = child.try_wait().map_err(failed)? {
                return Ok(status);
            }
            self.attempt.beat();
            if self.session.stopped() || looked.elapsed() >= LOOK && self.is_to_stop() {
                tether::let_go(&mut child);
            }
            if looked.elapsed() >= LOOK {
                looked = Instant::now();
            }
            sleep(GLANCE);
        }
    }

    fn is_to_stop(&self) -> bool {
        self.session.stopped() || cancel::is_asked(self.sweep)
    }

    fn stopped(&self) -> Failure {
        if cancel::is_asked(self.sweep) {
            return cancelled(self.sweep);
        }
        Failure::interrupted(format!("task {} was stopped, everything is saved", self.task.index))
    }

    /// It was to stop, and did not do so in good order.
    fn gone(&self, status: ExitStatus) -> Failure {
        if status.code() == Some(74) {
            return self.ended(status, "");
        }
        let how = words(status);
        Failure::interrupted(format!(
            "the trainer was to stop and ended with {how}; its last checkpoint is good"
        ))
    }

    /// The trainer said why itself; we say which task it was.
    fn ended(&self, status: ExitStatus, more: &str) -> Failure {
        let message = format!(
            "task {} ({}): the trainer ended with {}{more}",
            self.task.index,
            self.task.name,
            words(status)
        );
        match status.code().and_then(|code| u8::try_from(code).ok()) {
            Some(code @ (64 | 65 | 70 | 74 | 78)) => Failure { code, message },
            _ => Failure::internal(message),
        }
    }
}

/// This program, as it was when it was started, even if its file was replaced since.
pub fn this_program() -> Command {
    let itself = Path::new("/proc/self/exe");
    let path = if itself.exists() {
        itself.to_owned()
    } else {
        std::env::current_exe().unwrap_or_else(|_| PathBuf::from("ive"))
    };
    let mut command = Command::new(path);
    #[cfg(unix)]
    std::os::unix::process::CommandExt::arg0(&mut command, "ive");
    command
}
