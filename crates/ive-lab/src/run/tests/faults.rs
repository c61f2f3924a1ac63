//! A disk that fails on purpose: every operation of another one, reads included, has a number and may fail.

use std::fmt;
use std::fs::TryLockError;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::run::system::{Content, Mode, Real, Seen, System};

/// How an operation fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// No room.
    Full,
    /// The device fails.
    Device,
    /// Too many files are open.
    Descriptors,
    /// Half of the bytes are written, then there is no room.
    Short,
}

type Script = dyn Fn(usize, &Path) -> Option<Fault> + Send + Sync;

/// Which operations fail: a function of their number and path.
#[derive(Clone)]
pub struct Faults {
    count: Arc<AtomicUsize>,
    script: Arc<Script>,
}

impl fmt::Debug for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "faults after {} operations", self.count())
    }
}

impl Faults {
    pub fn new(script: impl Fn(usize, &Path) -> Option<Fault> + Send + Sync + 'static) -> Self {
        Self { count: Arc::default(), script: Arc::new(script) }
    }

    /// The real disk with these faults.
    pub fn disk(&self) -> Disk {
        self.on(Real)
    }

    /// Any disk with these faults.
    pub fn on(&self, system: impl System + 'static) -> Disk {
        Disk::on(Faulty { system: Box::new(system), faults: self.clone() })
    }

    /// How many operations there were.
    pub fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    /// Whether and how this operation fails.
    pub fn script(&self, number: usize, path: &Path) -> Option<Fault> {
        (self.script)(number, path)
    }

    fn next(&self, path: &Path) -> Option<Fault> {
        self.script(self.count.fetch_add(1, Ordering::Relaxed), path)
    }

    fn strike(&self, path: &Path) -> io::Result<()> {
        self.next(path).map_or(Ok(()), |fault| Err(error(fault)))
    }
}

fn error(fault: Fault) -> io::Error {
    io::Error::from_raw_os_error(match fault {
        Fault::Full | Fault::Short => libc::ENOSPC,
        Fault::Device => libc::EIO,
        Fault::Descriptors => libc::EMFILE,
    })
}

#[derive(Debug)]
struct Faulty {
    system: Box<dyn System>,
    faults: Faults,
}

impl System for Faulty {
    fn open(&self, path: &Path, mode: Mode) -> io::Result<Box<dyn Content>> {
        self.faults.strike(path)?;
        let content = self.system.open(path, mode)?;
        Ok(Box::new(FaultyContent { content, path: path.to_owned(), faults: self.faults.clone() }))
    }

    fn look(&self, path: &Path) -> io::Result<Seen> {
        self.faults.strike(path)?;
        self.system.look(path)
    }

    fn names(&self, directory: &Path) -> io::Result<Vec<String>> {
        self.faults.strike(directory)?;
        self.system.names(directory)
    }

    fn make_directory(&self, path: &Path) -> io::Result<()> {
        self.faults.strike(path)?;
        self.system.make_directory(path)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.faults.strike(path)?;
        self.system.remove(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.faults.strike(to)?;
        self.system.rename(from, to)
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        self.faults.strike(path)?;
        self.system.sync_directory(path)
    }
}

#[derive(Debug)]
struct FaultyContent {
    content: Box<dyn Content>,
    path: PathBuf,
    faults: Faults,
}

impl Content for FaultyContent {
    fn read(&mut self, limit: u64) -> io::Result<Vec<u8>> {
        self.faults.strike(&self.path)?;
        self.content.read(limit)
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let Some(fault) = self.faults.next(&self.path) else { return self.content.write(bytes) };
        if fault == Fault::Short {
            self.content.write(&bytes[..bytes.len() / 2]).unwrap();
        }
        Err(error(fault))
    }

    fn cut(&mut self, length: u64) -> io::Result<()> {
        self.faults.strike(&self.path)?;
        self.content.cut(length)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.faults.strike(&self.path)?;
        self.content.sync()
    }

    fn look(&self) -> io::Result<Seen> {
        self.faults.strike(&self.path)?;
        self.content.look()
    }

    fn lock(&self, shared: bool) -> Result<(), TryLockError> {
        self.faults.strike(&self.path).map_err(TryLockError::Error)?;
        self.content.lock(shared)
    }
}
