//! What an agent reports on its way: `metrics.jsonl`, and the same for TensorBoard.

use std::collections::BTreeMap;
use std::path::Path;

use ive_agents::Metrics;
use serde_json::{Value, json};

use super::disk::{Disk, DiskError, Done};
use super::events;
use super::log::Log;
use super::manifest::{Flaw, Manifest, Piece};
use super::sessions::now;
use crate::exit::{Failure, Outcome};

/// The learning curve.
pub const METRICS: &str = "metrics.jsonl";
/// The largest one that is read; a line has some hundred bytes.
const MAX_BYTES: u64 = 1 << 30;

/// The two logs of a run.
#[derive(Debug)]
pub struct Journal {
    metrics: Log,
    events: Log,
}

impl Journal {
    /// Opens the logs as a checkpoint knows them, or empties them if there is none.
    pub fn open(dir: &Path, disk: &Disk, pinned: Option<&Manifest>) -> Outcome<Self> {
        let kept = pinned.map(|manifest| lines(manifest, dir, disk)).transpose()?.unwrap_or_default();
        let metrics = Log::open(disk, &dir.join(METRICS), &kept)?;
        let path = dir.join(events::FILE);
        let piece = pinned.and_then(|manifest| manifest.logs.get(events::FILE));
        let events = match piece.map(|piece| piece.beginning(disk, &path)) {
            Some(Ok(records)) => Log::open(disk, &path, &records)?,
            Some(Err(Flaw::Refused(failure))) => return Err(failure),
            Some(Err(Flaw::Damaged(_))) | None => repeat(&kept, Log::open(disk, &path, &[])?),
        };
        let mut journal = Self { metrics, events };
        journal.flush()?;
        Ok(journal)
    }

    /// Whether the metrics that a checkpoint pins are there. The event file does not matter: it is made again.
    pub fn check(manifest: &Manifest, dir: &Path, disk: &Disk) -> Result<(), Flaw> {
        lines(manifest, dir, disk).map(|_| ())
    }

    /// Adds a report; fails with the name of a number that is not finite.
    pub fn add(&mut self, news: &Metrics) -> Result<(), &'static str> {
        let mut line = format!("{{\"step\":{}", news.step);
        for (name, value) in &news.values {
            if !value.is_finite() {
                return Err(name);
            }
            line += &format!(",{}:{}", json!(name), json!(value));
        }
        self.metrics.add((line + "}\n").as_bytes());
        self.events.add(&events::scalars(now(), news.step, news.values.iter().copied()));
        Ok(())
    }

    /// Lets others see what was added. That there is no room is a matter for the next [`sync`](Self::sync).
    pub fn flush(&mut self) -> Outcome {
        let full = |error: DiskError| if error.is_full() { Ok(()) } else { Err(error.into()) };
        self.metrics.flush().or_else(full)?;
        self.events.flush().or_else(full)
    }

    /// Waits until all is on the disk, and says what the logs are now.
    pub fn sync(&mut self) -> Done<BTreeMap<String, Piece>> {
        let logs = [(METRICS, self.metrics.sync()?), (events::FILE, self.events.sync()?)];
        Ok(logs.map(|(name, piece)| (name.to_owned(), piece)).into())
    }
}

fn lines(manifest: &Manifest, dir: &Path, disk: &Disk) -> Result<Vec<u8>, Flaw> {
    let unknown = || Flaw::Damaged(format!("it does not know {METRICS}"));
    manifest.logs.get(METRICS).ok_or_else(unknown)?.beginning(disk, &dir.join(METRICS))
}

/// Fills an event file with metrics that are there already, if any: it only repeats them, so that its loss is no loss.
fn repeat(metrics: &[u8], mut events: Log) -> Log {
    let now = now();
    events.add(&events::first(now));
    for (step, values) in String::from_utf8_lossy(metrics).lines().filter_map(parse) {
        events.add(&events::scalars(now, step, values.iter().map(|(name, x)| (name.as_str(), *x))));
    }
    events
}

/// What a run logged: steps, and numbers by name.
pub type History = Vec<(u64, BTreeMap<String, f64>)>;

/// The learning curve of a run: all lines of `metrics.jsonl`.
pub fn metrics(dir: &Path) -> Outcome<History> {
    metrics_on(&Disk::default(), dir)
}

/// The same on any disk.
pub fn metrics_on(disk: &Disk, dir: &Path) -> Outcome<History> {
    let path = dir.join(METRICS);
    let bytes = disk.read(&path, MAX_BYTES)?;
    let bytes = bytes.ok_or_else(|| Failure::io(format!("there is no {}", path.display())))?;
    let text = String::from_utf8(bytes)
        .map_err(|_| Failure::data(format!("{} is damaged: it is not text", path.display())))?;
    // The last line may be in the middle of being written.
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    let read = |(i, line): (usize, &str)| {
        parse(line)
            .ok_or_else(|| Failure::data(format!("{} line {}: not a line of metrics", path.display(), i + 1)))
    };
    whole.lines().enumerate().map(read).collect()
}

fn parse(line: &str) -> Option<(u64, BTreeMap<String, f64>)> {
    let mut object: BTreeMap<String, Value> = serde_json::from_str(line).ok()?;
    let step = object.remove("step")?.as_u64()?;
    let values = object.into_iter().map(|(key, value)| Some((key, value.as_f64()?)));
    Some((step, values.collect::<Option<_>>()?))
}
