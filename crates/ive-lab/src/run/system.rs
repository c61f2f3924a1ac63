//! What a run asks of the file system: a few operations, and the real ones.
//!
//! A run directory may come from somebody else. So files are opened only if they are regular files: symbolic links are
//! not followed and named pipes are not waited for.

use std::fmt::Debug;
use std::fs::{self, File, Metadata, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::path::Path;

/// A file system.
pub trait System: Debug + Send + Sync {
    /// Opens a regular file.
    fn open(&self, path: &Path, mode: Mode) -> io::Result<Box<dyn Content>>;
    /// What has this name. A link is a link, not what it points to.
    fn look(&self, path: &Path) -> io::Result<Seen>;
    /// The names in a directory.
    fn names(&self, directory: &Path) -> io::Result<Vec<String>>;
    /// Makes one directory.
    fn make_directory(&self, path: &Path) -> io::Result<()>;
    /// Removes a file or a link.
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// Gives a file another name, in place of what has that name.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Waits until the names in a directory are on the disk.
    fn sync_directory(&self, path: &Path) -> io::Result<()>;
}

/// An open file.
pub trait Content: Debug + Send + Sync {
    /// The next bytes, at most so many.
    fn read(&mut self, limit: u64) -> io::Result<Vec<u8>>;
    /// Writes all bytes at the end.
    fn write(&mut self, bytes: &[u8]) -> io::Result<()>;
    /// Cuts the file off.
    fn cut(&mut self, length: u64) -> io::Result<()>;
    /// Waits until the content is on the disk.
    fn sync(&mut self) -> io::Result<()>;
    /// What it is.
    fn look(&self) -> io::Result<Seen>;
    /// Locks it against other processes, or only against those that do not share, until it is closed.
    fn lock(&self, shared: bool) -> Result<(), TryLockError>;
}

/// How a file is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// To be read.
    Read,
    /// To be written at its end; made if it is absent.
    Append,
    /// To be written from its beginning; must be absent.
    New,
}

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// What kind of thing.
    pub kind: Kind,
    /// How many bytes.
    pub length: u64,
    /// Device and inode: a file keeps them under whatever name. Zeros where the system does not tell.
    pub identity: (u64, u64),
}

/// What kind of thing has a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A link, a pipe, a device.
    Other,
}

/// Why a thing is not read, although nothing failed: it is none that `ive` wrote.
#[derive(Debug)]
pub struct Unfit(pub String);

impl std::fmt::Display for Unfit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unfit {}

/// An error of this kind.
pub fn unfit(what: impl Into<String>) -> io::Error {
    io::Error::other(Unfit(what.into()))
}

fn irregular() -> io::Error {
    unfit(
        "it is not a regular file, and links and pipes are not followed; put a copy of the file in its place",
    )
}

/// The file system of this machine.
#[derive(Debug)]
pub struct Real;

impl System for Real {
    fn open(&self, path: &Path, mode: Mode) -> io::Result<Box<dyn Content>> {
        let mut options = OpenOptions::new();
        match mode {
            Mode::Read => options.read(true),
            Mode::Append => options.create(true).append(true),
            Mode::New => options.create_new(true).write(true),
        };
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NOFOLLOW | libc::O_NONBLOCK);
        match options.open(path) {
            Ok(file) if file.metadata()?.is_file() => Ok(Box::new(file)),
            // The system's own words for it would be "Too many levels of symbolic links" or "No such device".
            Err(_) if mode != Mode::New && self.look(path).is_ok_and(|seen| seen.kind != Kind::File) => {
                Err(irregular())
            }
            Ok(_) => Err(irregular()),
            Err(cause) => Err(cause),
        }
    }

    fn look(&self, path: &Path) -> io::Result<Seen> {
        fs::symlink_metadata(path).map(|found| seen(&found))
    }

    fn names(&self, directory: &Path) -> io::Result<Vec<String>> {
        fs::read_dir(directory)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
    }

    fn make_directory(&self, path: &Path) -> io::Result<()> {
        fs::create_dir(path)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        File::open(path)?.sync_all()
    }
}

impl Content for File {
    fn read(&mut self, limit: u64) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(usize::try_from(limit.min(self.metadata()?.len())).unwrap_or(usize::MAX))?;
        self.take(limit).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.write_all(bytes)
    }

    fn cut(&mut self, length: u64) -> io::Result<()> {
        self.set_len(length)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.sync_all()
    }

    fn look(&self) -> io::Result<Seen> {
        self.metadata().map(|found| seen(&found))
    }

    fn lock(&self, shared: bool) -> Result<(), TryLockError> {
        if shared { self.try_lock_shared() } else { self.try_lock() }
    }
}

fn seen(found: &Metadata) -> Seen {
    let kind = match () {
        () if found.is_file() => Kind::File,
        () if found.is_dir() => Kind::Directory,
        () => Kind::Other,
    };
    #[cfg(unix)]
    let identity = {
        use std::os::unix::fs::MetadataExt;
        (found.dev(), found.ino())
    };
    #[cfg(not(unix))]
    let identity = (0, 0);
    Seen { kind, length: found.len(), identity }
}
