//! A file to which lines or records are added, and which a checkpoint pins: on resuming it is cut to what the checkpoint
//! knows, so that nothing is missing and nothing is there twice.

use std::path::Path;

use super::disk::{Disk, Done, OpenFile};
use super::manifest::Piece;

/// An append-only file.
#[derive(Debug)]
pub struct Log {
    file: OpenFile,
    length: u64,
    hash: blake3::Hasher,
    pending: Vec<u8>,
}

impl Log {
    /// Opens a log that begins with `kept`, and cuts off everything behind it.
    pub fn open(disk: &Disk, path: &Path, kept: &[u8]) -> Done<Self> {
        let mut file = disk.append(path)?;
        file.cut(kept.len() as u64)?;
        let mut hash = blake3::Hasher::new();
        hash.update(kept);
        Ok(Self { file, length: kept.len() as u64, hash, pending: Vec::new() })
    }

    /// Adds bytes, to be written at the next [`flush`](Self::flush).
    pub fn add(&mut self, bytes: &[u8]) {
        self.pending.extend_from_slice(bytes);
    }

    /// Writes what was added. If that fails, the file ends where it ended before, and the bytes wait for the next time.
    pub fn flush(&mut self) -> Done {
        if self.pending.is_empty() {
            return Ok(());
        }
        if let Err(error) = self.file.write(&self.pending) {
            self.file.cut(self.length)?;
            return Err(error);
        }
        self.length += self.pending.len() as u64;
        self.hash.update(&self.pending);
        self.pending.clear();
        Ok(())
    }

    /// Writes what was added, waits until it is on the disk, and says what the file is now.
    pub fn sync(&mut self) -> Done<Piece> {
        self.flush()?;
        self.file.sync()?;
        Ok(Piece { bytes: self.length, blake3: self.hash.finalize().to_string() })
    }
}
