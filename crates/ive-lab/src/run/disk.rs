//! Every file operation of a run, in one place: so that errors name the file, and so that a test can make each
//! operation fail in turn.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::exit::Failure;

/// A file operation that failed.
#[derive(Debug)]
pub struct DiskError {
    doing: &'static str,
    path: PathBuf,
    cause: io::Error,
}

impl DiskError {
    /// Whether there is just no room at the moment.
    pub fn is_full(&self) -> bool {
        matches!(self.cause.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
    }
}

impl std::fmt::Display for DiskError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "cannot {} {}: {}", self.doing, self.path.display(), self.cause)
    }
}

impl From<DiskError> for Failure {
    fn from(error: DiskError) -> Self {
        Self::io(error.to_string())
    }
}

/// What a file operation returns.
pub type Done<T = ()> = Result<T, DiskError>;

/// The file system.
#[derive(Clone, Debug, Default)]
pub struct Disk {
    #[cfg(test)]
    pub faults: super::tests::faults::Faults,
}

/// The name under which a file is written before it is complete.
fn temporary(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{}.tmp", std::process::id()))
}

/// Whether a file is what a killed writer left behind.
pub fn is_leftover(name: &str) -> bool {
    name.strip_suffix(".tmp").is_some_and(|rest| rest.starts_with('.'))
}

#[cfg_attr(not(test), allow(clippy::unused_self, reason = "in tests it says what fails"))]
impl Disk {
    fn attempt<T>(&self, doing: &'static str, path: &Path, work: impl FnOnce() -> io::Result<T>) -> Done<T> {
        #[cfg(test)]
        let work = || self.faults.strike().map_or_else(work, Err);
        work().map_err(|cause| DiskError { doing, path: path.to_owned(), cause })
    }

    /// Opens a file at its end, made if it is absent.
    pub fn append(&self, path: &Path) -> Done<File> {
        self.attempt("open", path, || OpenOptions::new().create(true).append(true).open(path))
    }

    /// Cuts a file off.
    pub fn cut(&self, path: &Path, file: &File, length: u64) -> Done {
        self.attempt("cut", path, || file.set_len(length))
    }

    /// Writes all bytes.
    pub fn write(&self, path: &Path, file: &mut File, bytes: &[u8]) -> Done {
        #[cfg(test)]
        if let Some(cause) = self.faults.strike_within(file, bytes) {
            return Err(DiskError { doing: "write", path: path.to_owned(), cause });
        }
        file.write_all(bytes).map_err(|cause| DiskError { doing: "write", path: path.to_owned(), cause })
    }

    /// Waits until the content is on the disk.
    pub fn sync(&self, path: &Path, file: &File) -> Done {
        self.attempt("sync", path, || file.sync_all())
    }

    /// Waits until the names in a directory are on the disk.
    pub fn sync_directory(&self, path: &Path) -> Done {
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        self.attempt("sync", path, || File::open(path)?.sync_all())
    }

    /// Makes a directory and those above it.
    pub fn create_directory(&self, path: &Path) -> Done {
        self.attempt("create", path, || fs::create_dir_all(path))
    }

    /// Removes a file, if it is there.
    pub fn remove(&self, path: &Path) -> Done {
        self.attempt("remove", path, || match fs::remove_file(path) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other,
        })
    }

    /// Writes a file so that it is there completely or not at all, even after a power cut: a temporary name, sync,
    /// rename, sync of the directory.
    pub fn replace(&self, path: &Path, bytes: &[u8]) -> Done {
        let temporary = temporary(path);
        let whole = self.put(&temporary, path, bytes);
        if whole.is_err() {
            let _ = self.remove(&temporary);
        }
        whole?;
        self.sync_directory(path.parent().unwrap_or(Path::new(".")))
    }

    fn put(&self, temporary: &Path, path: &Path, bytes: &[u8]) -> Done {
        let mut file = self.attempt("create", path, || File::create(temporary))?;
        self.write(path, &mut file, bytes)?;
        self.sync(path, &file)?;
        self.attempt("rename", path, || fs::rename(temporary, path))
    }
}
