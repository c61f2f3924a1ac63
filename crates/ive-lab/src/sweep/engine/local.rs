//! A few processes on this machine. They stop in good order with the one that started them, even if that is killed.

use std::collections::VecDeque;
use std::fs::OpenOptions;
use std::process::{Child, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::How;
use crate::exit::{Failure, Outcome};
use crate::output;
use crate::progress::{Session, warn};
use crate::sweep::manifest::Sweep;
use crate::sweep::retry::{After, LIMIT, words};
use crate::sweep::supervise::this_program;
use crate::sweep::{cancel, tether};

/// How long to leave a task alone that somebody else works on.
const LATER: Duration = Duration::from_secs(1);

/// A task to be started.
struct Turn {
    index: u64,
    tries: u32,
    not_before: Option<Instant>,
}

/// Makes tasks, so many at a time; returns when all are made.
pub fn submit(sweep: &Sweep, tasks: &[u64], how: &How) -> Outcome {
    if how.dry_run {
        return output::print(&format!(
            "{} tasks, {} at a time, by child processes\n",
            tasks.len(),
            how.jobs
        ));
    }
    let session = Session::start(false)?;
    let bar = session.bar("sweep", tasks.len(), "tasks");
    let mut queue: VecDeque<Turn> =
        tasks.iter().map(|&index| Turn { index, tries: 0, not_before: None }).collect();
    let mut working: Vec<(Turn, Child)> = Vec::new();
    let mut failed: Vec<(u64, ExitStatus)> = Vec::new();
    let mut elsewhere = 0;
    loop {
        let to_stop = session.stopped() || cancel::is_asked(sweep);
        if to_stop {
            queue.clear();
            working.iter_mut().for_each(|(_, child)| tether::let_go(child));
        }
        let ready = |turn: &Turn| turn.not_before.is_none_or(|time| Instant::now() >= time);
        while working.len() < how.jobs {
            let Some(at) = queue.iter().position(ready) else { break };
            let Some(turn) = queue.remove(at) else { break };
            let child = start(sweep, turn.index, how)?;
            working.push((turn, child));
        }
        if working.is_empty() && queue.is_empty() {
            break;
        }
        let mut still = Vec::new();
        for (turn, mut child) in working {
            match child.try_wait().map_err(|e| Failure::io(format!("cannot wait for a task: {e}")))? {
                None => still.push((turn, child)),
                Some(status) => match After::code(status.code()) {
                    After::Done => bar.inc(1),
                    _ if to_stop => {}
                    After::Stopped | After::Busy | After::Again if turn.tries < LIMIT => {
                        warn(&format!(
                            "task {} ended with {}: it is started again",
                            turn.index,
                            words(status)
                        ));
                        let not_before = Some(Instant::now() + LATER);
                        queue.push_back(Turn { tries: turn.tries + 1, not_before, ..turn });
                    }
                    After::Busy => elsewhere += 1,
                    _ => {
                        warn(&format!("task {} ended with {}", turn.index, words(status)));
                        failed.push((turn.index, status));
                    }
                },
            }
        }
        working = still;
        sleep(Duration::from_millis(20));
    }
    bar.finish_and_clear();
    let here = sweep.dir.display();
    if session.stopped() || cancel::is_asked(sweep) {
        return Err(Failure::interrupted(format!(
            "stopped, everything is saved; `ive sweep resume {here}` goes on"
        )));
    }
    summed_up(sweep, failed, tasks.len())?;
    if elsewhere > 0 {
        return Err(Failure::busy(format!(
            "other processes work on {elsewhere} of the tasks; all others are done"
        )));
    }
    Ok(())
}

fn start(sweep: &Sweep, index: u64, how: &How) -> Outcome<Child> {
    let log = sweep.log_of(index);
    let failed = |e: std::io::Error| Failure::io(format!("cannot start task {index}: {e}"));
    std::fs::create_dir_all(log.parent().unwrap_or(&sweep.dir)).map_err(failed)?;
    let log = OpenOptions::new().create(true).append(true).open(log).map_err(failed)?;
    let mut command = this_program();
    command.args(["sweep", "task"]).arg(&sweep.dir).arg(index.to_string()).arg("--tethered");
    command
        .args(how.task_flags())
        .stdout(Stdio::from(log.try_clone().map_err(failed)?))
        .stderr(Stdio::from(log));
    tether::start(&mut command).map_err(failed)
}

/// The first failure, with how many there are.
fn summed_up(sweep: &Sweep, mut failed: Vec<(u64, ExitStatus)>, total: usize) -> Outcome {
    failed.sort_by_key(|(index, _)| *index);
    let Some((index, status)) = failed.first() else { return Ok(()) };
    let (count, log) = (failed.len(), sweep.log_of(*index));
    let which = if count == 1 { "it is" } else { "the first is" };
    let message = format!(
        "{count} of {total} tasks failed, {which} task {index} with {}; {} says why",
        words(*status),
        log.display()
    );
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Err(Failure { message, code: code.unwrap_or(Failure::internal("").code) })
}
