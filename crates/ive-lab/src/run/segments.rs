//! Logs of an agent as segments: files beside the payload that are written once and never changed.
//!
//! A log is what only grows at its end and is forgotten at its beginning, such as experience. Its bytes have positions that
//! never change, and a segment is named after those it holds: `replay-0000000000000000-0000000067108864.segment`. A save writes
//! the bytes that no segment of the checkpoint before it holds; the manifest names all segments that its log still needs.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::path::{Path, PathBuf};

use ive_agents::{LogReader, LogWriter, Stopped};

use super::disk::{Disk, DiskError, Done, NewFile, OpenFile, told};
use super::manifest::Piece;
use super::system::unfit;

/// How many bytes a segment has at most. One with less than a quarter of it is written again together with what follows, so
/// that many small saves do not leave many small files.
pub const SEGMENT: u64 = 64 << 20;
/// How many bytes are read at once.
const CHUNK: u64 = 1 << 20;

/// Segments by name.
pub type Segments = BTreeMap<String, Piece>;

/// Whether a log may have this name: a manifest may come from anybody, and must not name files elsewhere.
fn is_plain(log: &str) -> bool {
    !log.is_empty() && log.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// A part of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Segment {
    log: String,
    bytes: Range<u64>,
}

impl Segment {
    fn name(&self) -> String {
        let Range { start, end } = self.bytes;
        format!("{}-{start:016}-{end:016}.segment", self.log)
    }

    fn length(&self) -> u64 {
        self.bytes.end - self.bytes.start
    }

    /// The segment of a file of ours.
    fn parse(name: &str) -> Option<Self> {
        let mut parts = name.strip_suffix(".segment")?.rsplitn(3, '-');
        let (end, start) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        let segment = Self { log: parts.next()?.to_owned(), bytes: start..end };
        (start < end && is_plain(&segment.log) && segment.name() == name).then_some(segment)
    }

    /// The segments of a log, in order.
    fn of(log: &str, files: &Segments) -> Vec<Self> {
        let mut found: Vec<Self> = files.keys().filter_map(|name| Self::parse(name)).collect();
        found.retain(|segment| segment.log == log);
        found.sort_unstable_by_key(|segment| segment.bytes.start);
        found
    }
}

/// Whether a file has the name of a segment.
pub fn is_segment(name: &str) -> bool {
    Segment::parse(name).is_some()
}

/// Writes what is new of the logs of an agent. Waiting for the disk comes later, so that the agent need not wait.
#[derive(Debug)]
pub struct Writer {
    disk: Disk,
    folder: PathBuf,
    largest: u64,
    /// Those of the checkpoint before.
    before: Segments,
    /// Those of the checkpoint that is being written.
    files: Segments,
    /// Those of them that are written but not safe yet.
    written: Vec<NewFile>,
    /// Those of them that are new.
    new: Vec<PathBuf>,
    /// The log that is being written: its name, the position reached, and its end.
    log: (String, Range<u64>),
    open: Option<Open>,
    failure: Option<DiskError>,
}

#[derive(Debug)]
struct Open {
    segment: Segment,
    file: NewFile,
    hash: blake3::Hasher,
}

impl Writer {
    /// Writes into a folder, beside the segments of the checkpoint before.
    pub fn new(disk: &Disk, folder: &Path, largest: u64, before: Segments) -> Self {
        Self {
            disk: disk.clone(),
            folder: folder.to_owned(),
            largest: largest.max(1),
            before,
            files: Segments::new(),
            written: Vec::new(),
            new: Vec::new(),
            log: (String::new(), 0..0),
            open: None,
            failure: None,
        }
    }

    /// All segments of the checkpoint.
    pub fn files(&self) -> &Segments {
        &self.files
    }

    /// Why it stopped.
    pub fn failure(&mut self) -> Option<DiskError> {
        self.failure.take()
    }

    /// Waits until all that was written is on the disk, under its name.
    pub fn finish(&mut self) -> Done {
        self.written.drain(..).try_for_each(NewFile::finish)
    }

    /// Removes what it wrote: without a manifest it only takes room.
    pub fn discard(&mut self) {
        self.open = None;
        self.written.clear();
        for path in self.new.drain(..) {
            let _ = self.disk.remove(&path);
        }
    }

    fn put(&mut self, mut bytes: &[u8]) -> Done {
        while !bytes.is_empty() {
            if self.open.is_none() {
                self.open = Some(self.create()?);
            }
            let (Some(open), rest) = (&mut self.open, &mut self.log.1) else { return Ok(()) };
            let room = open.segment.bytes.end - rest.start;
            let (now, later) = bytes.split_at(bytes.len().min(room as usize));
            open.file.write(now)?;
            open.hash.update(now);
            rest.start += now.len() as u64;
            bytes = later;
            if rest.start == open.segment.bytes.end {
                self.close();
            }
        }
        Ok(())
    }

    /// The next segment of the log.
    fn create(&mut self) -> Done<Open> {
        let (log, rest) = &self.log;
        let end = rest.end.min(rest.start + self.largest);
        let segment = Segment { log: log.clone(), bytes: rest.start..end };
        let path = self.folder.join(segment.name());
        // One that is there already belongs to a checkpoint whose save failed only after its manifest was in place.
        if self.disk.look(&path)?.is_none() {
            self.new.push(path.clone());
        }
        Ok(Open { segment, file: self.disk.create(&path)?, hash: blake3::Hasher::new() })
    }

    fn close(&mut self) {
        if let Some(Open { segment, file, hash }) = self.open.take() {
            let piece = Piece { bytes: segment.length(), blake3: hash.finalize().to_string() };
            self.files.insert(segment.name(), piece);
            self.written.push(file);
        }
    }
}

impl LogWriter for Writer {
    fn begin(&mut self, log: &str, live: Range<u64>) -> Result<u64, Stopped> {
        assert!(is_plain(log), "`{log}` is not a name for a log");
        let mut kept = Segment::of(log, &self.before);
        kept.retain(|segment| segment.bytes.end > live.start && segment.bytes.end <= live.end);
        let mut from = kept.last().map_or(live.start, |last| last.bytes.end);
        let small = |last: &Segment| last.length() < self.largest / 4 && last.bytes.start >= live.start;
        if from < live.end
            && let Some(last) = kept.pop_if(|last| small(last))
        {
            from = last.bytes.start;
        }
        for segment in kept {
            let name = segment.name();
            self.files.insert(name.clone(), self.before[&name].clone());
        }
        self.log = (log.to_owned(), from..live.end);
        Ok(from)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), Stopped> {
        assert!(bytes.len() as u64 <= self.log.1.end - self.log.1.start, "a log ends where it said");
        self.put(bytes).map_err(|error| {
            self.failure = Some(error);
            Stopped
        })
    }
}

/// Reads the logs of an agent from the segments of a checkpoint.
#[derive(Debug)]
pub struct Reader {
    disk: Disk,
    folder: PathBuf,
    files: Segments,
    /// What is still to be read of a log.
    segments: VecDeque<Segment>,
    open: Option<OpenFile>,
    chunk: Vec<u8>,
    /// How much of the chunk was handed out.
    used: usize,
    failure: Option<DiskError>,
}

impl Reader {
    /// Reads from a folder.
    pub fn new(disk: &Disk, folder: &Path, files: Segments) -> Self {
        Self {
            disk: disk.clone(),
            folder: folder.to_owned(),
            files,
            segments: VecDeque::new(),
            open: None,
            chunk: Vec::new(),
            used: 0,
            failure: None,
        }
    }

    /// Why it stopped, if reading failed.
    pub fn failure(&mut self) -> Option<DiskError> {
        self.failure.take()
    }

    fn fill(&mut self, mut bytes: &mut [u8]) -> Done {
        while !bytes.is_empty() {
            if self.used == self.chunk.len() {
                self.refill()?;
            }
            let n = bytes.len().min(self.chunk.len() - self.used);
            let (now, later) = bytes.split_at_mut(n);
            now.copy_from_slice(&self.chunk[self.used..][..n]);
            self.used += n;
            bytes = later;
        }
        Ok(())
    }

    /// The next bytes of a segment, or the first of the next one.
    fn refill(&mut self) -> Done {
        self.used = 0;
        loop {
            if let Some(file) = &mut self.open {
                self.chunk = file.read(CHUNK)?;
                if !self.chunk.is_empty() {
                    return Ok(());
                }
            }
            let next = self.segments.pop_front().map(|segment| self.folder.join(segment.name()));
            self.open = next.as_deref().map_or(Ok(None), |path| self.disk.open(path))?;
            if self.open.is_none() {
                let changed = unfit("a segment has changed while it was read");
                return told("read", next.as_deref().unwrap_or(&self.folder), Err(changed));
            }
        }
    }
}

impl LogReader for Reader {
    fn begin(&mut self, log: &str, live: Range<u64>) -> Result<(), Stopped> {
        let mut segments = Segment::of(log, &self.files);
        segments.retain(|segment| segment.bytes.end > live.start);
        let first = segments.first().map_or(live.start, |first| first.bytes.start);
        let last = segments.last().map_or(live.start, |last| last.bytes.end);
        let whole = segments.windows(2).all(|pair| pair[0].bytes.end == pair[1].bytes.start);
        if !whole || first > live.start || last != live.end {
            return Err(Stopped);
        }
        (self.segments, self.open, self.used) = (segments.into(), None, 0);
        self.chunk.clear();
        let mut before = live.start - first;
        let mut skipped = vec![0; CHUNK.min(before) as usize];
        while before > 0 {
            let n = CHUNK.min(before);
            self.read(&mut skipped[..n as usize])?;
            before -= n;
        }
        Ok(())
    }

    fn read(&mut self, bytes: &mut [u8]) -> Result<(), Stopped> {
        self.fill(bytes).map_err(|error| {
            self.failure = Some(error);
            Stopped
        })
    }
}

/// The hash of a state with logs: of its payload, and of what its logs hold, however that lies in segments.
#[derive(Debug, Default)]
pub struct Fingerprint {
    logs: Vec<(String, blake3::Hasher)>,
}

impl Fingerprint {
    /// The hash, given that of the payload.
    pub fn with(&self, payload: &str) -> String {
        let mut all = blake3::Hasher::new();
        all.update(payload.as_bytes());
        for (log, hash) in &self.logs {
            all.update(format!("\n{log} {}", hash.finalize()).as_bytes());
        }
        all.finalize().to_string()
    }
}

impl LogWriter for Fingerprint {
    fn begin(&mut self, log: &str, live: Range<u64>) -> Result<u64, Stopped> {
        self.logs.push((log.to_owned(), blake3::Hasher::new()));
        Ok(live.start)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), Stopped> {
        if let Some((_, hash)) = self.logs.last_mut() {
            hash.update(bytes);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back_and_only_ours_are() {
        let segment = Segment { log: "replay".to_owned(), bytes: 330..1 << 40 };
        assert_eq!(segment.name(), "replay-0000000000000330-0001099511627776.segment");
        assert_eq!(Segment::parse(&segment.name()), Some(segment));
        for name in [
            "replay-330-400.segment",
            "replay-0000000000000400-0000000000000330.segment",
            "replay-0000000000000330-0000000000000330.segment",
            "../replay-0000000000000330-0000000000000400.segment",
            "-0000000000000330-0000000000000400.segment",
            "a/b-0000000000000330-0000000000000400.segment",
            "replay-0000000000000330.segment",
            "replay-+000000000000330-0000000000000400.segment",
            "replay-0000000000000330-0000000000000400.segment.tmp",
        ] {
            assert_eq!(Segment::parse(name), None, "{name}");
        }
    }
}
