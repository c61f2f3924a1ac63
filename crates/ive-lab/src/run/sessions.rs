//! `sessions.jsonl`: who worked on a run, when, and for how long; one line per process.
//!
//! It holds clocks and machines, so it is outside of the promise that an interrupted run leaves the same files as an
//! uninterrupted one. A line is refreshed now and then: of a killed process it tells nearly all.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use cpu_time::ThreadTime;
use serde::{Deserialize, Serialize};

use super::disk::{Disk, Done};
use crate::commands::reproduce::cpu_name;
use crate::exit::Outcome;
use crate::lock::host;

/// The name of the file in a run directory.
pub const FILE: &str = "sessions.jsonl";
/// How often a line is refreshed.
const EVERY: Duration = Duration::from_secs(10);
/// The largest file that is read; a line has about 300 bytes.
const MAX_BYTES: u64 = 64 << 20;

/// One process that worked on a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// When it began, in seconds since 1970.
    pub began: u64,
    /// The machine.
    pub host: String,
    /// Its processor.
    pub cpu: Option<String>,
    /// The process.
    pub process: u32,
    /// The program.
    pub program: String,
    /// The step at which it began.
    pub from_step: u64,
    /// The step that it reached.
    pub to_step: u64,
    /// The step of the last checkpoint that it is known to have saved.
    #[serde(default)]
    pub saved_step: Option<u64>,
    /// How long it took.
    pub wall_seconds: f64,
    /// How long its thread was computing.
    pub cpu_seconds: f64,
    /// How it ended: `finished`, `stopped`, `failed`; `working` of a process that still works or was killed.
    pub end: String,
}

/// All that worked on the run in `dir`, for people. Lines that cannot be read are left out.
pub fn read(dir: &Path) -> Vec<Record> {
    text(dir, &Disk::default()).map(|text| parse(&text)).unwrap_or_default()
}

/// The largest step of which a checkpoint was saved, or taken up, as far as is known.
pub fn last_saved(dir: &Path, disk: &Disk) -> Outcome<Option<u64>> {
    let known = |record: Record| record.saved_step.max(Some(record.from_step).filter(|&step| step > 0));
    Ok(parse(&text(dir, disk)?).into_iter().filter_map(known).max())
}

fn text(dir: &Path, disk: &Disk) -> Done<String> {
    let bytes = disk.read(&dir.join(FILE), MAX_BYTES)?.unwrap_or_default();
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn parse(text: &str) -> Vec<Record> {
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// Seconds since 1970.
pub fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}

/// The line of this process.
#[derive(Debug)]
pub struct Writer {
    path: PathBuf,
    disk: Disk,
    others: String,
    record: Record,
    wall: Instant,
    cpu: ThreadTime,
    refreshed: Instant,
}

impl Writer {
    /// Begins a line.
    pub fn begin(dir: &Path, disk: &Disk, step: u64) -> Done<Self> {
        let path = dir.join(FILE);
        let mut others = text(dir, disk)?;
        if !others.is_empty() && !others.ends_with('\n') {
            others.push('\n');
        }
        let record = Record {
            began: now() as u64,
            host: host(),
            cpu: cpu_name(),
            process: std::process::id(),
            program: super::program(),
            from_step: step,
            to_step: step,
            saved_step: None,
            wall_seconds: 0.0,
            cpu_seconds: 0.0,
            end: "working".to_owned(),
        };
        let (wall, cpu) = (Instant::now(), ThreadTime::now());
        let writer = Self { path, disk: disk.clone(), others, record, wall, cpu, refreshed: wall };
        writer.write();
        Ok(writer)
    }

    /// Notes that a checkpoint was saved; the first at once, so that its loss would be noticed.
    pub fn saved(&mut self, step: u64) {
        if self.record.saved_step.replace(step).is_none() {
            self.end(step, "working");
        }
    }

    /// Refreshes the line if it is old.
    pub fn refresh(&mut self, step: u64) {
        if self.refreshed.elapsed() >= EVERY {
            self.end(step, "working");
        }
    }

    /// Refreshes the line and says how the process ended.
    pub fn end(&mut self, step: u64, how: &str) {
        let tenths = |time: Duration| (time.as_secs_f64() * 10.0).round() / 10.0;
        self.record.to_step = step;
        self.record.wall_seconds = tenths(self.wall.elapsed());
        self.record.cpu_seconds = tenths(self.cpu.elapsed());
        how.clone_into(&mut self.record.end);
        self.refreshed = Instant::now();
        self.write();
    }

    /// On a full disk the line waits for the next time: it is no reason to stop.
    fn write(&self) {
        let line = serde_json::to_string(&self.record).unwrap_or_default();
        let _ = self.disk.replace(&self.path, format!("{}{line}\n", self.others).as_bytes());
    }
}
