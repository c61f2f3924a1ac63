//! Every file operation of a run, in one place: errors name the file, nothing is written once the run is not ours any
//! more, and a test can put another [`System`] underneath.

use std::fs::TryLockError;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::system::{Content, Kind, Mode, Real, Seen, System, Unfit, unfit};
use crate::exit::Failure;
use crate::lock::Lock;

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

    /// Whether there can be no such file, as far as we may know: no directory, or none that we may enter.
    pub fn is_elsewhere(&self) -> bool {
        matches!(self.cause.kind(), io::ErrorKind::NotADirectory | io::ErrorKind::PermissionDenied)
    }

    /// Whether nothing failed, but the thing is none that we wrote: trying again would not help.
    pub fn is_unfit(&self) -> bool {
        matches!(self.cause.get_ref(), Some(cause) if cause.is::<Unfit>())
    }
}

impl std::fmt::Display for DiskError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "cannot {} {}: {}", self.doing, self.path.display(), self.cause)
    }
}

impl From<DiskError> for Failure {
    fn from(error: DiskError) -> Self {
        if error.is_unfit() { Self::data(error.to_string()) } else { Self::io(error.to_string()) }
    }
}

/// What a file operation returns.
pub type Done<T = ()> = Result<T, DiskError>;

/// Says of an error what was attempted with which file.
pub fn told<T>(doing: &'static str, path: &Path, done: io::Result<T>) -> Done<T> {
    done.map_err(|cause| DiskError { doing, path: path.to_owned(), cause })
}

/// `None` for what is not there; every other error stays one.
fn if_there<T>(done: io::Result<T>) -> io::Result<Option<T>> {
    match done {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        other => other.map(Some),
    }
}

/// The name under which a file is written before it is complete.
fn temporary(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{}.tmp", std::process::id()))
}

/// Whether a file is what a killed writer left behind.
fn is_leftover(name: &str) -> bool {
    name.strip_suffix(".tmp").is_some_and(|rest| rest.starts_with('.'))
}

/// The directory that a path is in.
fn above(path: &Path) -> &Path {
    path.parent().map_or(Path::new("."), here)
}

/// The empty path is the working directory.
fn here(path: &Path) -> &Path {
    if path.as_os_str().is_empty() { Path::new(".") } else { path }
}

/// The file system.
#[derive(Clone, Debug)]
pub struct Disk {
    system: Arc<dyn System>,
    /// Who has it writes only while the lock is the one on the directory.
    lock: Option<Arc<Lock>>,
}

impl Default for Disk {
    fn default() -> Self {
        Self::on(Real)
    }
}

impl Disk {
    /// The disk of a file system.
    pub fn on(system: impl System + 'static) -> Self {
        Self { system: Arc::new(system), lock: None }
    }

    /// The same, for the holder of a lock: every change fails once somebody else could hold it.
    #[must_use]
    pub fn held_by(&self, lock: Lock) -> Self {
        Self { lock: Some(Arc::new(lock)), ..self.clone() }
    }

    /// Fails if others could write to the directory that we have locked.
    fn guard(&self, doing: &'static str, path: &Path) -> Done {
        match &self.lock {
            Some(lock) if !lock.is_in_place()? => told(doing, path, Err(io::Error::other(lock.lost()))),
            _ => Ok(()),
        }
    }

    /// What has this name, if anything.
    pub fn look(&self, path: &Path) -> Done<Option<Seen>> {
        told("look at", path, if_there(self.system.look(path)))
    }

    /// The names in a directory; none if there is no directory.
    pub fn names(&self, directory: &Path) -> Done<Vec<String>> {
        Ok(told("list", directory, if_there(self.system.names(directory)))?.unwrap_or_default())
    }

    /// The names in a directory that we made; that it is a link now is an error.
    pub fn names_within(&self, folder: &Path) -> Done<Vec<String>> {
        if self.look(folder)?.is_some_and(|seen| seen.kind != Kind::Directory) {
            return told(
                "list",
                folder,
                Err(unfit(
                    "it is not a directory, and links are not followed; put the directory in its place",
                )),
            );
        }
        self.names(folder)
    }

    /// Opens a file to be read, if it is there.
    pub fn open(&self, path: &Path) -> Done<Option<OpenFile>> {
        let content = told("open", path, if_there(self.system.open(path, Mode::Read)))?;
        Ok(content.map(|content| OpenFile { path: path.to_owned(), content }))
    }

    /// The content of a file, if it is there; one that is larger than `limit` is none that we wrote.
    pub fn read(&self, path: &Path, limit: u64) -> Done<Option<Vec<u8>>> {
        let Some(mut file) = self.open(path)? else { return Ok(None) };
        if file.look()?.length > limit {
            return told(
                "read",
                path,
                Err(unfit(format!("it is larger than {limit} bytes, and none of `ive` is"))),
            );
        }
        file.read(limit).map(Some)
    }

    /// Opens a file at its end, made if it is absent.
    pub fn append(&self, path: &Path) -> Done<OpenFile> {
        self.guard("open", path)?;
        let content = told("open", path, self.system.open(path, Mode::Append))?;
        Ok(OpenFile { path: path.to_owned(), content })
    }

    /// Makes a directory and those above it.
    pub fn create_directory(&self, path: &Path) -> Done {
        match self.create_folder(path) {
            Ok(true) => self.secure(path),
            Err(e) if e.cause.kind() == io::ErrorKind::NotFound && path.parent().is_some() => {
                self.create_directory(above(path))?;
                self.create_folder(path)?;
                self.secure(path)
            }
            other => other.map(|_| ()),
        }
    }

    /// Makes one directory in one that is there; `false` if it is there already.
    pub fn create_folder(&self, path: &Path) -> Done<bool> {
        self.guard("create", path)?;
        match self.system.make_directory(here(path)) {
            Ok(()) => Ok(true),
            Err(_) if self.look(here(path))?.is_some_and(|seen| seen.kind != Kind::File) => Ok(false),
            Err(cause) => told("create", path, Err(cause)),
        }
    }

    /// Waits until the name of a directory is on the disk. If we may not read the directory above it, nobody can tell.
    pub fn secure(&self, path: &Path) -> Done {
        match self.system.sync_directory(above(path)) {
            Err(e) if e.kind() == io::ErrorKind::PermissionDenied => Ok(()),
            other => told("sync the name of", path, other),
        }
    }

    /// Waits until the names in a directory are on the disk.
    pub fn sync_directory(&self, path: &Path) -> Done {
        told("sync", path, self.system.sync_directory(here(path)))
    }

    /// Removes a file, if it is there.
    pub fn remove(&self, path: &Path) -> Done {
        self.guard("remove", path)?;
        told("remove", path, if_there(self.system.remove(path)).map(|_| ()))
    }

    /// Removes what killed writers left behind in a directory.
    pub fn tidy(&self, directory: &Path) -> Done {
        for name in self.names(directory)?.into_iter().filter(|name| is_leftover(name)) {
            let path = directory.join(name);
            // Whatever directory has such a name, we did not make it.
            if self.look(&path)?.is_some_and(|seen| seen.kind != Kind::Directory) {
                self.remove(&path)?;
            }
        }
        Ok(())
    }

    /// The names in a directory, without what killed writers left behind.
    pub fn lasting_names(&self, directory: &Path) -> Done<Vec<String>> {
        Ok(self.names(directory)?.into_iter().filter(|name| !is_leftover(name)).collect())
    }

    /// Writes a file so that it is there completely or not at all, even after a power cut: a temporary name, sync,
    /// rename, sync of the directory.
    pub fn replace(&self, path: &Path, bytes: &[u8]) -> Done {
        let mut file = self.create(path)?;
        file.write(bytes)?;
        file.finish()
    }

    /// The same for a file that is written bit by bit: it is there once it is [finished](NewFile::finish).
    pub fn create(&self, path: &Path) -> Done<NewFile> {
        let temporary = temporary(path);
        self.guard("write", path)?;
        // A killed process may have had our number.
        told("remove", &temporary, if_there(self.system.remove(&temporary)))?;
        let content = told("create", path, self.system.open(&temporary, Mode::New))?;
        let file = OpenFile { path: path.to_owned(), content };
        Ok(NewFile { disk: self.clone(), temporary: Some(temporary), file })
    }
}

/// A file that does not have its name yet. If it never gets it, it is removed.
#[derive(Debug)]
pub struct NewFile {
    disk: Disk,
    temporary: Option<PathBuf>,
    file: OpenFile,
}

impl NewFile {
    /// Writes all bytes.
    pub fn write(&mut self, bytes: &[u8]) -> Done {
        self.file.write(bytes)
    }

    /// Gives it its name, in place of what has that name.
    pub fn finish(mut self) -> Done {
        self.file.sync()?;
        let Self { disk, temporary, file: OpenFile { path, .. } } = &mut self;
        // That may have taken a while.
        disk.guard("write", path)?;
        if let Some(from) = temporary {
            told("rename", path, disk.system.rename(from, path))?;
        }
        *temporary = None;
        disk.sync_directory(above(path))
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if let Some(temporary) = &self.temporary {
            let _ = self.disk.remove(temporary);
        }
    }
}

/// An open file that knows its name.
#[derive(Debug)]
pub struct OpenFile {
    path: PathBuf,
    content: Box<dyn Content>,
}

impl OpenFile {
    /// The next bytes, at most so many.
    pub fn read(&mut self, limit: u64) -> Done<Vec<u8>> {
        told("read", &self.path, self.content.read(limit))
    }

    /// Writes all bytes.
    pub fn write(&mut self, bytes: &[u8]) -> Done {
        told("write", &self.path, self.content.write(bytes))
    }

    /// Cuts the file off.
    pub fn cut(&mut self, length: u64) -> Done {
        told("cut", &self.path, self.content.cut(length))
    }

    /// Waits until the content is on the disk.
    pub fn sync(&mut self) -> Done {
        told("sync", &self.path, self.content.sync())
    }

    /// What it is.
    pub fn look(&self) -> Done<Seen> {
        told("look at", &self.path, self.content.look())
    }

    /// Locks it until it is closed; `false` if another process holds it.
    pub fn lock(&self, shared: bool) -> Done<bool> {
        match self.content.lock(shared) {
            Ok(()) => Ok(true),
            Err(TryLockError::WouldBlock) => Ok(false),
            Err(TryLockError::Error(cause)) => told("lock", &self.path, Err(cause)),
        }
    }
}
