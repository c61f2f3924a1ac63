//! What a checkpoint consists of, and how one knows that it is whole.
//!
//! A manifest is JSON whose last field, `blake3`, is the hash of all bytes before that field: so each byte of it is
//! covered, whatever version wrote it. It names each file with its length and hash, and how long the logs were.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::Plan;
use super::disk::{Disk, DiskError, OpenFile, told};
use super::seal;
use crate::exit::{Failure, Outcome};

/// The version of the format of a checkpoint that is one payload.
const PAYLOAD: u64 = 1;
/// The version of the format of one with segments beside its payload.
const SEGMENTS: u64 = 2;
/// The largest manifest that is read; ours have about 2 KB, and 150 bytes more for each segment.
const MAX_BYTES: u64 = 1 << 20;
/// How many bytes are read at once.
const CHUNK: u64 = 1 << 20;

/// The version of the format of a checkpoint with so many files. Those without segments are as they have always been.
pub fn format(files: usize) -> u64 {
    if files == 1 { PAYLOAD } else { SEGMENTS }
}

/// The beginning of a file: its length and hash.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Piece {
    /// How many bytes.
    pub bytes: u64,
    /// Their BLAKE3 hash.
    pub blake3: String,
}

impl Piece {
    /// The piece that these bytes are.
    pub fn of(bytes: &[u8]) -> Self {
        Self { bytes: bytes.len() as u64, blake3: blake3::hash(bytes).to_string() }
    }

    /// The bytes, if the file is exactly that; what is wrong otherwise.
    pub fn whole(&self, disk: &Disk, path: &Path) -> Result<Vec<u8>, Flaw> {
        self.read(disk, path, |found| found == self.bytes)
    }

    /// Whether the file is exactly that, without taking room for it.
    pub fn check(&self, disk: &Disk, path: &Path) -> Result<(), Flaw> {
        let file = self.open(disk, path, |found| found == self.bytes)?;
        self.walk(file, path, |_| ())
    }

    /// The bytes, if the file begins with them; what is wrong otherwise.
    pub fn beginning(&self, disk: &Disk, path: &Path) -> Result<Vec<u8>, Flaw> {
        self.read(disk, path, |found| found >= self.bytes)
    }

    /// Makes room only after the file has been found to have the right length.
    fn read(&self, disk: &Disk, path: &Path, fits: impl Fn(u64) -> bool) -> Result<Vec<u8>, Flaw> {
        let file = self.open(disk, path, fits)?;
        let mut bytes = Vec::new();
        let room = bytes.try_reserve_exact(usize::try_from(self.bytes).unwrap_or(usize::MAX));
        told("read", path, room.map_err(io::Error::from))?;
        self.walk(file, path, |chunk| bytes.extend_from_slice(chunk))?;
        Ok(bytes)
    }

    fn open(&self, disk: &Disk, path: &Path, fits: impl Fn(u64) -> bool) -> Result<OpenFile, Flaw> {
        let damaged = |what: String| Flaw::Damaged(format!("{} {what}", path.display()));
        let file = disk.open(path)?.ok_or_else(|| damaged("is missing".to_owned()))?;
        let found = file.look()?.length;
        if !fits(found) {
            return Err(damaged(format!("has {found} bytes instead of {}", self.bytes)));
        }
        Ok(file)
    }

    /// Hands out the bytes of a file, chunk by chunk, and compares their hash.
    fn walk(&self, mut file: OpenFile, path: &Path, mut each: impl FnMut(&[u8])) -> Result<(), Flaw> {
        let (mut left, mut hash) = (self.bytes, blake3::Hasher::new());
        while left > 0 {
            let chunk = file.read(left.min(CHUNK))?;
            if chunk.is_empty() {
                break;
            }
            hash.update(&chunk);
            each(&chunk);
            left -= chunk.len() as u64;
        }
        if left > 0 || hash.finalize().to_string() != self.blake3 {
            return Err(Flaw::Damaged(format!("{} has another checksum", path.display())));
        }
        Ok(())
    }
}

impl From<Flaw> for Failure {
    fn from(flaw: Flaw) -> Self {
        match flaw {
            Flaw::Damaged(what) => Self::data(what),
            Flaw::Refused(failure) => failure,
        }
    }
}

/// The list of what belongs to a checkpoint.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// The version of the format.
    pub format: u64,
    /// The version of the program that wrote it.
    pub program: String,
    /// Environment steps done.
    pub step: u64,
    /// The run that it belongs to.
    pub run: Plan,
    /// The files beside the manifest.
    pub files: BTreeMap<String, Piece>,
    /// The logs in the run directory as they were at that moment.
    pub logs: BTreeMap<String, Piece>,
}

/// Why a checkpoint cannot be used.
#[derive(Debug)]
pub enum Flaw {
    /// It is damaged; an older one may be good.
    Damaged(String),
    /// To use an older one would be wrong: this one is whole but of another version or run, or it cannot be read now.
    Refused(Failure),
}

impl From<DiskError> for Flaw {
    fn from(error: DiskError) -> Self {
        if error.is_unfit() { Self::Damaged(error.to_string()) } else { Self::Refused(error.into()) }
    }
}

impl Manifest {
    /// The text of the file.
    pub fn to_bytes(&self) -> Outcome<Vec<u8>> {
        seal::seal(self)
    }

    /// Reads a file.
    pub fn read(disk: &Disk, path: &Path) -> Result<Self, Flaw> {
        let damaged = |what: String| Flaw::Damaged(format!("{}: {what}", path.display()));
        let bytes = disk.read(path, MAX_BYTES)?.ok_or_else(|| damaged("it is missing".to_owned()))?;
        Self::from_bytes(&bytes).map_err(|flaw| match flaw {
            Flaw::Damaged(what) => damaged(what),
            Flaw::Refused(failure) => Flaw::Refused(Failure {
                message: format!("{}: {}", path.display(), failure.message),
                ..failure
            }),
        })
    }

    fn from_bytes(bytes: &[u8]) -> Result<Self, Flaw> {
        let value = seal::open(bytes).ok_or_else(|| Flaw::Damaged("its checksum differs".to_owned()))?;
        let format = &value["format"];
        if ![PAYLOAD, SEGMENTS].iter().any(|known| format == known) {
            return Err(Flaw::Refused(Failure::data(format!(
                "checkpoint of format version {format}, this program reads versions {PAYLOAD} and {SEGMENTS}; \
                 go on with the version of `ive` that wrote it ({})",
                value["program"].as_str().unwrap_or("unknown")
            ))));
        }
        serde_json::from_value(value).map_err(|e| {
            Flaw::Refused(Failure::data(format!("the manifest is whole, but not as expected: {e}")))
        })
    }
}
