//! Room for numbers that may be too many for memory: a vector while they are few, a file without a name otherwise.

use std::fs::{File, OpenOptions};
use std::io::{self, Cursor, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::npy::ReadSeek;
use crate::exit::{Failure, Outcome};

/// Up to so many bytes stay in memory.
const IN_MEMORY: u64 = 64 << 20;

/// Bytes that are written once, from front to back, and read anywhere.
pub struct Spool {
    place: Place,
    length: u64,
    limit: u64,
}

enum Place {
    Memory(Cursor<Vec<u8>>),
    Disk(File),
}

impl std::fmt::Debug for Spool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Spool").field("length", &self.length).finish_non_exhaustive()
    }
}

impl Default for Spool {
    fn default() -> Self {
        Self::with_limit(IN_MEMORY)
    }
}

impl Spool {
    fn with_limit(limit: u64) -> Self {
        Self { place: Place::Memory(Cursor::default()), length: 0, limit }
    }

    /// Everything that can be read from somewhere.
    pub fn of(mut from: impl Read) -> io::Result<Self> {
        let mut spool = Self::default();
        let mut part = vec![0; 1 << 16];
        loop {
            match from.read(&mut part) {
                Ok(0) => return Ok(spool),
                Ok(n) => drop(spool.append(&part[..n])?),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
    }

    /// Adds bytes at the end; returns where they begin.
    pub fn append(&mut self, bytes: &[u8]) -> io::Result<u64> {
        let at = self.length;
        if let Place::Memory(memory) = &self.place
            && at + bytes.len() as u64 > self.limit
        {
            let mut file = nameless()?;
            file.write_all(memory.get_ref())?;
            self.place = Place::Disk(file);
        }
        match &mut self.place {
            Place::Memory(memory) => memory.get_mut().extend_from_slice(bytes),
            Place::Disk(file) => {
                file.seek(SeekFrom::Start(at))?;
                file.write_all(bytes)?;
            }
        }
        self.length += bytes.len() as u64;
        Ok(at)
    }

    /// Reads bytes that begin at some place.
    pub fn read_at(&mut self, at: u64, bytes: &mut [u8]) -> io::Result<()> {
        let from: &mut dyn ReadSeek = match &mut self.place {
            Place::Memory(memory) => memory,
            Place::Disk(file) => file,
        };
        from.seek(SeekFrom::Start(at))?;
        from.read_exact(bytes)
    }

    /// As something that any number of readers read.
    pub fn into_bytes(self) -> Bytes {
        match self.place {
            Place::Memory(memory) => Bytes::Memory(memory.into_inner().into()),
            Place::Disk(file) => Bytes::File(file),
        }
    }
}

/// The content of a file, for any number of readers that take turns.
#[derive(Debug)]
pub enum Bytes {
    /// On the disk. Readers share its place, so each must seek before it reads.
    File(File),
    /// In memory.
    Memory(Arc<[u8]>),
}

impl Bytes {
    /// Opens what the user named: a file, a pipe, or `-` for standard input. What cannot be read twice is kept.
    pub fn open(path: &Path) -> Outcome<Self> {
        let failed = |e: io::Error| Failure::io(format!("cannot read {}: {e}", path.display()));
        if path == Path::new("-") {
            return Ok(Spool::of(io::stdin().lock()).map_err(failed)?.into_bytes());
        }
        let file = File::open(path).map_err(failed)?;
        let about = file.metadata().map_err(failed)?;
        if about.is_dir() {
            return Err(Failure::usage(format!("{} is a directory; name a file", path.display())));
        }
        if about.is_file() { Ok(Self::File(file)) } else { Ok(Spool::of(file).map_err(failed)?.into_bytes()) }
    }

    /// Another reader.
    pub fn reader(&self) -> io::Result<Box<dyn ReadSeek>> {
        Ok(match self {
            Self::File(file) => Box::new(file.try_clone()?),
            Self::Memory(bytes) => Box::new(Cursor::new(bytes.clone())),
        })
    }

    /// As a file.
    pub fn into_file(self) -> io::Result<File> {
        match self {
            Self::File(file) => Ok(file),
            Self::Memory(bytes) => {
                let mut file = nameless()?;
                file.write_all(&bytes)?;
                Ok(file)
            }
        }
    }

    /// How many bytes there are.
    pub fn length(&self) -> io::Result<u64> {
        match self {
            Self::File(file) => Ok(file.metadata()?.len()),
            Self::Memory(bytes) => Ok(bytes.len() as u64),
        }
    }
}

/// A new file that nobody else can open and that is gone when it is closed.
fn nameless() -> io::Result<File> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let path = std::env::temp_dir().join(format!("ive-{}-{number}.tmp", std::process::id()));
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    // Windows removes it at the end: a file in use keeps its name there.
    #[cfg(windows)]
    std::os::windows::fs::OpenOptionsExt::custom_flags(&mut options, 0x0400_0000);
    let file = options.open(&path)?;
    #[cfg(unix)]
    std::fs::remove_file(&path)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read_on_either_side_of_the_limit() {
        for limit in [0, 5, 1000] {
            let mut spool = Spool::with_limit(limit);
            assert_eq!(spool.append(b"abcd").unwrap(), 0);
            assert_eq!(spool.append(b"efgh").unwrap(), 4);
            let mut middle = [0; 4];
            spool.read_at(2, &mut middle).unwrap();
            assert_eq!(&middle, b"cdef", "{limit}");
            assert_eq!(spool.append(b"ij").unwrap(), 8);
            assert_eq!(matches!(spool.place, Place::Memory(_)), limit == 1000);
            let mut all = Vec::new();
            let bytes = spool.into_bytes();
            assert_eq!(bytes.length().unwrap(), 10);
            let mut reader = bytes.reader().unwrap();
            reader.seek(SeekFrom::Start(0)).unwrap();
            reader.read_to_end(&mut all).unwrap();
            assert_eq!(all, b"abcdefghij");
        }
    }
}
