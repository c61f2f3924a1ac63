//! A file system on which an attempt that was taken over can change nothing any more.
//!
//! The lock of a run directory keeps two processes of one machine apart. Where locks do not reach other machines, or a
//! machine slept for an hour and wakes up, this does: before each change it is looked whether a later attempt has begun.

use std::fs::TryLockError;
use std::io;
use std::path::{Path, PathBuf};

use super::attempt;
use crate::run::system::{Content, Mode, Real, Seen, System};

/// The file system of this machine, for one attempt.
#[derive(Clone, Debug)]
pub struct Fenced {
    /// The file of the next attempt. While it is absent, ours counts.
    next: PathBuf,
    number: u64,
}

impl Fenced {
    /// For this attempt at the task whose attempts are in `folder`.
    pub fn new(folder: &Path, number: u64) -> Self {
        Self { next: attempt::file(folder, number + 1), number }
    }

    fn check(&self) -> io::Result<()> {
        match Real.look(&self.next) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(e) => Err(e),
            Ok(_) => Err(io::Error::other(format!(
                "another process has taken the task over (attempt {}), and this is attempt {}; stopped, so that no two \
                 processes write to one run",
                self.number + 1,
                self.number
            ))),
        }
    }
}

impl System for Fenced {
    fn open(&self, path: &Path, mode: Mode) -> io::Result<Box<dyn Content>> {
        let file =
            if mode == Mode::Read { Ok(()) } else { self.check() }.and_then(|()| Real.open(path, mode))?;
        Ok(Box::new(FencedFile { file, fence: self.clone() }))
    }

    fn look(&self, path: &Path) -> io::Result<Seen> {
        Real.look(path)
    }

    fn names(&self, directory: &Path) -> io::Result<Vec<String>> {
        Real.names(directory)
    }

    fn make_directory(&self, path: &Path) -> io::Result<()> {
        self.check()?;
        Real.make_directory(path)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.check()?;
        Real.remove(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.check()?;
        Real.rename(from, to)
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        Real.sync_directory(path)
    }
}

/// A file that was opened by an attempt: what was opened before it was taken over is not written to afterwards either.
#[derive(Debug)]
struct FencedFile {
    file: Box<dyn Content>,
    fence: Fenced,
}

impl Content for FencedFile {
    fn read(&mut self, limit: u64) -> io::Result<Vec<u8>> {
        self.file.read(limit)
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.fence.check()?;
        self.file.write(bytes)
    }

    fn cut(&mut self, length: u64) -> io::Result<()> {
        self.fence.check()?;
        self.file.cut(length)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.file.sync()
    }

    fn look(&self) -> io::Result<Seen> {
        self.file.look()
    }

    fn lock(&self, shared: bool) -> Result<(), TryLockError> {
        self.file.lock(shared)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::disk::Disk;

    #[test]
    fn after_a_takeover_nothing_is_changed_any_more() {
        let dir = tempfile::tempdir().unwrap();
        let (folder, file) = (dir.path().join("tasks"), dir.path().join("result.json"));
        std::fs::create_dir(&folder).unwrap();
        let disk = Disk::on(Fenced::new(&folder, 1));
        disk.replace(&file, b"one").unwrap();
        let mut log = disk.append(&dir.path().join("log")).unwrap();
        log.write(b"before").unwrap();
        std::fs::write(attempt::file(&folder, 2), "{}").unwrap();
        for attempted in [
            disk.replace(&file, b"two"),
            disk.remove(&file),
            disk.append(&file).map(|_| ()),
            disk.create_directory(&folder.join("x")),
            log.write(b" and after"),
            log.cut(0),
        ] {
            let error = attempted.unwrap_err().to_string();
            assert!(error.contains("taken the task over (attempt 2)"), "{error}");
        }
        assert_eq!(disk.read(&file, 10).unwrap().unwrap(), b"one");
        assert_eq!(disk.read(&dir.path().join("log"), 100).unwrap().unwrap(), b"before");
    }
}
