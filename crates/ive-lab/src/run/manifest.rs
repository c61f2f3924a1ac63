//! What a checkpoint consists of, and how one knows that it is whole.
//!
//! A manifest is JSON whose last field, `blake3`, is the hash of all bytes before that field: so each byte of it is
//! covered, whatever version wrote it. It names each file with its length and hash, and how long the logs were.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::config::Config;
use super::disk::{Disk, DiskError};
use super::seal;
use crate::exit::{Failure, Outcome};

/// The version of the format that this program writes and reads.
pub const FORMAT: u64 = 1;
/// The largest manifest that is read; ours have about 2 KB.
const MAX_BYTES: u64 = 1 << 20;

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

    /// The bytes, if the file begins with them; what is wrong otherwise.
    pub fn beginning(&self, disk: &Disk, path: &Path) -> Result<Vec<u8>, Flaw> {
        self.read(disk, path, |found| found >= self.bytes)
    }

    /// Makes room only after the file has been found to have the right length.
    fn read(&self, disk: &Disk, path: &Path, fits: impl Fn(u64) -> bool) -> Result<Vec<u8>, Flaw> {
        let damaged = |what: String| Flaw::Damaged(format!("{} {what}", path.display()));
        let mut file = disk.open(path)?.ok_or_else(|| damaged("is missing".to_owned()))?;
        let found = file.look()?.length;
        if !fits(found) {
            return Err(damaged(format!("has {found} bytes instead of {}", self.bytes)));
        }
        let bytes = file.read(self.bytes)?;
        if *self != Self::of(&bytes) {
            return Err(damaged("has another checksum".to_owned()));
        }
        Ok(bytes)
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
    pub run: Config,
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
        if *format != FORMAT {
            return Err(Flaw::Refused(Failure::data(format!(
                "checkpoint of format version {format}, this program reads version {FORMAT}; \
                 go on with the version of `ive` that wrote it ({})",
                value["program"].as_str().unwrap_or("unknown")
            ))));
        }
        serde_json::from_value(value).map_err(|e| {
            Flaw::Refused(Failure::data(format!("the manifest is whole, but not as expected: {e}")))
        })
    }
}
