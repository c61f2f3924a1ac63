//! Who works on a task: attempts, numbered, of which the highest is the one that counts.
//!
//! Attempt 3 is the file `attempt-000003.json`, made by one process only ([`exclusive`]). Its owner touches it every five
//! seconds. Whoever wants to take over makes `attempt-000004.json`: from then on the owner of attempt 3, should it still
//! be alive, may not change anything any more (`fence.rs`). `attempt-000003.end.json` says how it ended.
//!
//! On one machine the system's lock decides at once whether the owner lives. Locks of other machines need not be seen
//! here (NFS without locks): their attempts are taken over only when they have not been touched for a minute.

use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime};

use serde::{Deserialize, Serialize};

use super::exclusive;
use crate::exit::{Failure, Outcome};
use crate::lock::{Lock, host};
use crate::progress::Session;
use crate::run::disk::{Disk, Done, told};
use crate::run::sessions::now;

/// How often an owner shows that it is alive.
pub const BEAT: Duration = Duration::from_secs(5);
/// After how long without that it is taken for dead, on another machine.
pub const STALE: Duration = Duration::from_mins(1);
/// The largest file that is read; ours have some hundred bytes.
const MAX_BYTES: u64 = 1 << 16;

/// Who made an attempt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Owner {
    /// The machine.
    pub host: String,
    /// The machine since it was started, and the set of process numbers: within it the system's locks hold.
    pub system: String,
    /// The process.
    pub process: u32,
    /// The job of the engine, where the engine says so.
    pub job: Option<String>,
    /// When, in seconds since 1970.
    pub began: u64,
}

/// How an attempt ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct End {
    /// The exit code.
    pub code: u8,
    /// The step of the newest checkpoint.
    pub step: u64,
    /// What was said.
    pub message: String,
    /// When, in seconds since 1970.
    pub ended: u64,
}

/// An attempt of some process, as its files show it.
#[derive(Clone, Debug)]
pub struct Seen {
    /// Its number.
    pub number: u64,
    /// Who; none if that cannot be read.
    pub owner: Option<Owner>,
    /// How it ended; none if it goes on or was killed.
    pub end: Option<End>,
    /// When its owner showed last that it is alive.
    pub beat: SystemTime,
}

impl Owner {
    /// This process.
    pub(super) fn here() -> Self {
        let job = ["SLURM_JOB_ID", "RAY_JOB_ID", "JOB_COMPLETION_INDEX", "PARALLEL_SEQ", "HQ_JOB_ID"];
        let job = job.iter().find_map(|name| Some(format!("{name}={}", std::env::var(name).ok()?)));
        Self { host: host(), system: system(), process: std::process::id(), job, began: now() as u64 }
    }

    /// Whether it is of this running system, whose locks tell at once whether it lives.
    pub fn is_here(&self) -> bool {
        self.system == system() && self.host == host()
    }

    fn shown(&self) -> String {
        let job = self.job.as_ref().map_or(String::new(), |job| format!(", {job}"));
        format!("process {} on {}{job}", self.process, self.host)
    }
}

/// What identifies a running system, so that a process number means something.
fn system() -> String {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let space = fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    format!("{} {}", boot.trim(), space.display()).trim().to_owned()
}

/// The file of an attempt.
pub fn file(folder: &Path, number: u64) -> PathBuf {
    folder.join(format!("attempt-{number:06}.json"))
}

fn end_file(folder: &Path, number: u64) -> PathBuf {
    folder.join(format!("attempt-{number:06}.end.json"))
}

/// The numbers of all attempts at a task, in order, by the names in its folder.
pub fn numbers(names: &[String]) -> Vec<u64> {
    let number = |name: &String| name.strip_prefix("attempt-")?.strip_suffix(".json")?.parse().ok();
    let mut numbers: Vec<u64> = names.iter().filter_map(number).collect();
    numbers.sort_unstable();
    numbers
}

fn numbers_in(folder: &Path) -> Done<Vec<u64>> {
    Ok(numbers(&Disk::default().names(folder)?))
}

/// Reads an attempt; none if there is none.
pub fn read(folder: &Path, number: u64) -> Done<Option<Seen>> {
    let (disk, path) = (Disk::default(), file(folder, number));
    let Some(bytes) = disk.read(&path, MAX_BYTES)? else { return Ok(None) };
    let end = disk.read(&end_file(folder, number), MAX_BYTES)?;
    let beat = told("look at", &path, fs::metadata(&path).and_then(|found| found.modified()))?;
    let owner = serde_json::from_slice(&bytes).ok();
    Ok(Some(Seen { number, owner, end: end.and_then(|bytes| serde_json::from_slice(&bytes).ok()), beat }))
}

/// The last attempt, if there was one.
pub fn last(folder: &Path) -> Done<Option<Seen>> {
    numbers_in(folder)?.last().map_or(Ok(None), |number| read(folder, *number))
}

/// How many attempts in a row, up to the last one, were stopped with the newest checkpoint at this step.
pub fn stalled(folder: &Path, step: u64) -> Done<usize> {
    let mut count = 0;
    for number in numbers_in(folder)?.into_iter().rev() {
        let end = read(folder, number)?.and_then(|seen| seen.end);
        if !end.is_some_and(|end| end.code == 75 && end.step == step) {
            break;
        }
        count += 1;
    }
    Ok(count)
}

/// An attempt of this process.
#[derive(Debug)]
pub struct Attempt {
    folder: PathBuf,
    number: u64,
    beaten: Instant,
    _lock: Lock,
}

impl Attempt {
    /// Begins an attempt, once nobody else works on the task. Somebody who does is an error (73).
    pub fn begin(folder: &Path, session: &Session) -> Outcome<Self> {
        let disk = Disk::default();
        disk.create_directory(folder)?;
        let lock = Lock::take(folder, &disk, "one process works on a task at a time")?;
        let before = last(folder)?;
        if let Some(before) = before.as_ref().filter(|seen| seen.end.is_none()) {
            wait_for_the_end_of(before, folder, session)?;
        }
        let number = before.map_or(1, |seen| seen.number + 1);
        let text = serde_json::to_string(&Owner::here()).map_err(|e| Failure::internal(e.to_string()))?;
        if !exclusive::create(&file(folder, number), text.as_bytes())? {
            return Err(Failure::busy(format!("another machine has just begun with {}", folder.display())));
        }
        Ok(Self { folder: folder.to_owned(), number, beaten: Instant::now(), _lock: lock })
    }

    /// Its number.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Whether no later attempt has begun.
    pub fn counts(&self) -> Done<bool> {
        Ok(Disk::default().look(&file(&self.folder, self.number + 1))?.is_none())
    }

    /// Shows now and then that this process is alive.
    pub fn beat(&mut self) {
        if self.beaten.elapsed() >= BEAT {
            self.beaten = Instant::now();
            touch(&file(&self.folder, self.number));
        }
    }

    /// Says how it ended. On a full disk nothing is said, and the next attempt on another machine waits a minute.
    pub fn end(self, code: u8, step: u64, message: &str) {
        let end = End { code, step, message: message.to_owned(), ended: now() as u64 };
        let text = serde_json::to_string(&end).unwrap_or_default();
        let _ = Disk::default().replace(&end_file(&self.folder, self.number), text.as_bytes());
    }
}

/// Gives a file a new time, that of the machine which keeps it: its first byte is written again. This needs no room on a
/// full disk. What fails now is tried again soon.
fn touch(path: &Path) {
    let again = || {
        let mut file = OpenOptions::new().write(true).open(path)?;
        std::io::Write::write_all(&mut file, b"{")?;
        file.sync_data()
    };
    let _ = again();
}

/// The time of the machine that keeps a directory, which need not be ours.
fn time_there(folder: &Path) -> Done<SystemTime> {
    let path = folder.join(format!(".clock.{}.tmp", std::process::id()));
    let time = fs::write(&path, b"{").and_then(|()| fs::metadata(&path)?.modified());
    let _ = fs::remove_file(&path);
    told("create", &path, time)
}

/// Returns when the owner of an attempt without an end is known to be gone; an error if it lives.
fn wait_for_the_end_of(before: &Seen, folder: &Path, session: &Session) -> Outcome {
    // We hold the lock: on this system the owner would hold it, did it live.
    if before.owner.as_ref().is_some_and(Owner::is_here) {
        return Ok(());
    }
    let age = time_there(folder)?.duration_since(before.beat).unwrap_or_default();
    let who = before.owner.as_ref().map_or("an unknown process".to_owned(), Owner::shown);
    let start = Instant::now();
    while age + start.elapsed() < STALE {
        if start.elapsed() < Duration::from_millis(200) {
            let left = (STALE.saturating_sub(age)).as_secs();
            session.say(&format!(
                "attempt {} ({who}) may still be alive: waiting for at most {left} s",
                before.number
            ));
        }
        sleep(Duration::from_millis(500));
        if session.stopped() {
            return Err(Failure::interrupted("stopped before anything was begun"));
        }
        let now = read(folder, before.number)?;
        match now {
            Some(now) if now.end.is_some() => return Ok(()),
            Some(now) if now.beat != before.beat => {
                let number = before.number;
                return Err(Failure::busy(format!(
                    "attempt {number} ({who}) is at work in {}",
                    folder.display()
                )));
            }
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    fn calm() -> Session {
        Session::silent(&Arc::new(AtomicBool::new(false)))
    }

    /// An attempt of a machine that we do not know.
    fn stranger(folder: &Path, number: u64, age: Duration) {
        fs::create_dir_all(folder).unwrap();
        let owner = Owner { host: "elsewhere".to_owned(), system: "another".to_owned(), ..Owner::here() };
        fs::write(file(folder, number), serde_json::to_string(&owner).unwrap()).unwrap();
        let file = OpenOptions::new().write(true).open(file(folder, number)).unwrap();
        file.set_modified(SystemTime::now() - age).unwrap();
    }

    #[test]
    fn a_second_process_is_refused_and_the_next_one_counts_on() {
        let dir = tempfile::tempdir().unwrap();
        let first = Attempt::begin(dir.path(), &calm()).unwrap();
        let failure = Attempt::begin(dir.path(), &calm()).unwrap_err();
        assert!(failure.code == 73 && failure.message.contains("process"), "{}", failure.message);
        first.end(75, 120, "stopped");
        let second = Attempt::begin(dir.path(), &calm()).unwrap();
        assert_eq!(second.number(), 2);
        let seen = read(dir.path(), 1).unwrap().unwrap();
        assert_eq!(seen.end.map(|end| (end.code, end.step)), Some((75, 120)));
        // A killed one leaves no end, and on this machine that is known at once.
        drop(second);
        assert_eq!(Attempt::begin(dir.path(), &calm()).unwrap().number(), 3);
        assert_eq!(numbers_in(dir.path()).unwrap(), [1, 2, 3]);
    }

    #[test]
    fn an_attempt_of_another_machine_is_taken_over_only_after_a_minute_of_silence() {
        let dir = tempfile::tempdir().unwrap();
        stranger(dir.path(), 1, STALE);
        assert_eq!(Attempt::begin(dir.path(), &calm()).unwrap().number(), 2);
        // One that is touched meanwhile is alive.
        stranger(dir.path(), 3, Duration::from_secs(30));
        let path = file(dir.path(), 3);
        let alive = std::thread::spawn(move || {
            sleep(Duration::from_secs(1));
            touch(&path);
        });
        let failure = Attempt::begin(dir.path(), &calm()).unwrap_err();
        alive.join().unwrap();
        assert!(failure.code == 73 && failure.message.contains("on elsewhere"), "{}", failure.message);
        assert_eq!(numbers_in(dir.path()).unwrap(), [1, 2, 3]);
        // One that is silent for the rest of the minute is not.
        stranger(dir.path(), 4, STALE.checked_sub(Duration::from_secs(2)).unwrap());
        assert_eq!(Attempt::begin(dir.path(), &calm()).unwrap().number(), 5);
    }

    #[test]
    fn a_heartbeat_changes_the_time_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        stranger(dir.path(), 1, STALE);
        let before = read(dir.path(), 1).unwrap().unwrap();
        touch(&file(dir.path(), 1));
        let after = read(dir.path(), 1).unwrap().unwrap();
        assert!(after.beat > before.beat && after.owner == before.owner && after.owner.is_some());
    }
}
