//! The folder with the native libraries: looking into it, checking it, adding to it.
//!
//! ```text
//! <data of this user>/native/
//!     procgen-0.10.7/          libenv.so  assets/  LICENSE  CREDITS.txt  SHA256SUMS
//!     mujoco-3.17.0/           libmujoco.so.3.17.0  LICENSE  …
//!     .procgen-0.10.7.lock     held by the process that installs
//!     .procgen-0.10.7.tmp/     what it is making: download-<process>/, unpacked/, and the folder that is replaced
//! ```

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use super::error::{NativeError, Problem};
use super::fetch::{Pip, fetch, needed};
use super::package::{Member, PackageInfo};
use super::unpack::unpack;
use super::{Installed, Progress, Watch, sums};

/// Where libraries are kept and how they are fetched.
#[derive(Clone, Debug)]
pub struct Store {
    /// The folder for data of this user.
    pub home: PathBuf,
    /// How to call pip.
    pub pip: Pip,
}

impl Store {
    /// The store of this user: `IVE_HOME`, or the place that the system has for such data.
    ///
    /// # Errors
    /// If the system does not say where that is.
    pub fn of_user() -> Result<Self, NativeError> {
        let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        let home = home(variable("IVE_HOME"), variable("XDG_DATA_HOME"), std::env::home_dir());
        let home = home.and_then(|home| std::path::absolute(home).ok()).ok_or(Problem::NoHome)?;
        Ok(Self { home, pip: Pip::default() })
    }

    /// Where a package is, or will be.
    pub fn folder(&self, info: &PackageInfo) -> PathBuf {
        self.shelf().join(label(info))
    }

    /// Finds a package, its library checked byte by byte and its data by presence and size; `None` if it is not there.
    ///
    /// # Errors
    /// If it is damaged or cannot be read.
    pub fn installed(&self, info: &PackageInfo) -> Result<Option<Installed>, NativeError> {
        self.look(info, false).map_err(|problem| self.told(info, problem))
    }

    /// Finds a package, checked byte by byte; `None` if it is not there.
    ///
    /// # Errors
    /// If it is damaged or cannot be read.
    pub fn check(&self, info: &PackageInfo) -> Result<Option<Installed>, NativeError> {
        self.look(info, true).map_err(|problem| self.told(info, problem))
    }

    /// Finds a package, or fetches it.
    ///
    /// # Errors
    /// If it is damaged or cannot be had.
    pub fn provide(&self, info: &PackageInfo, watch: &mut Watch<'_>) -> Result<Installed, NativeError> {
        let found = self.look(info, false);
        let found = found.and_then(|found| match found {
            Some(found) => Ok(found),
            None => self.alone(info, watch, |watch| match self.look(info, false)? {
                // Whoever we waited for has done it.
                Some(found) => Ok(found),
                None => self.install(info, None, watch),
            }),
        });
        found.map_err(|problem| self.told(info, problem))
    }

    /// Checks a package byte by byte, and fetches it if it is missing or damaged. A wheel on disk, if one is given, is
    /// installed in any case, after the same checks.
    ///
    /// # Errors
    /// If it cannot be had.
    pub fn setup(
        &self,
        info: &PackageInfo,
        wheel: Option<&Path>,
        watch: &mut Watch<'_>,
    ) -> Result<Installed, NativeError> {
        let installed = self.alone(info, watch, |watch| match self.look(info, true) {
            Ok(Some(found)) if wheel.is_none() => Ok(found),
            Ok(_) | Err(Problem::Damaged { .. }) => self.install(info, wheel, watch),
            Err(problem) => Err(problem),
        });
        installed.map_err(|problem| self.told(info, problem))
    }

    fn shelf(&self) -> PathBuf {
        self.home.join("native")
    }

    /// The error to return: a full disk is told as such, whoever met it, and there is a way out.
    fn told(&self, info: &PackageInfo, problem: Problem) -> NativeError {
        if problem.is_full() {
            return Problem::NoSpace { folder: self.shelf(), needed: needed(info) }.about(info);
        }
        problem.about(info)
    }

    fn look(&self, info: &PackageInfo, thorough: bool) -> Result<Option<Installed>, Problem> {
        let folder = self.folder(info);
        if !folder.try_exists().map_err(Problem::io("read", &folder))? {
            return Ok(None);
        }
        match sums::damage(&folder, info, thorough).map_err(Problem::io("read", &folder))? {
            None => Ok(Some(Installed { library: folder.join(info.library), folder, exact: true })),
            Some(what) => Err(Problem::Damaged { package: info.name, folder, what }),
        }
    }

    /// Does something while no other process installs this package.
    fn alone<T>(
        &self,
        info: &PackageInfo,
        watch: &mut Watch<'_>,
        work: impl FnOnce(&mut Watch<'_>) -> Result<T, Problem>,
    ) -> Result<T, Problem> {
        let shelf = self.shelf();
        fs::create_dir_all(&shelf).map_err(Problem::io("create", &shelf))?;
        // The lock ends with the process, however that ends; the file stays, and means nothing by itself.
        let path = shelf.join(format!(".{}.lock", label(info)));
        let lock =
            OpenOptions::new().create(true).append(true).open(&path).map_err(Problem::io("open", &path))?;
        loop {
            match lock.try_lock() {
                Ok(()) => break work(watch),
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(cause)) => return Err(Problem::Io { doing: "lock", path, cause }),
            }
            if watch(Progress::Waiting) == ControlFlow::Break(()) {
                return Err(Problem::Interrupted);
            }
            sleep(Duration::from_millis(100));
        }
    }

    /// Fetches, checks, unpacks, and puts the folder in its place. The caller holds the lock.
    fn install(
        &self,
        info: &PackageInfo,
        wheel: Option<&Path>,
        watch: &mut Watch<'_>,
    ) -> Result<Installed, Problem> {
        if !cfg!(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu")) {
            return Err(Problem::Platform { package: info.name, variable: info.variable });
        }
        let temporary = self.shelf().join(format!(".{}.tmp", label(info)));
        // What a killed process left behind.
        remove(&temporary)?;
        let done = self.make(info, wheel, &temporary, watch);
        let cleared = remove(&temporary);
        // The first problem is the one to tell.
        done.and(cleared)?;
        let folder = self.folder(info);
        Ok(Installed { library: folder.join(info.library), folder, exact: true })
    }

    fn make(
        &self,
        info: &PackageInfo,
        wheel: Option<&Path>,
        temporary: &Path,
        watch: &mut Watch<'_>,
    ) -> Result<(), Problem> {
        // A pip whose `ive` was killed may go on for a while: it shall not write into the folder of its successor.
        let download = temporary.join(format!("download-{}", std::process::id()));
        let unpacked = temporary.join("unpacked");
        fs::create_dir_all(&download).map_err(Problem::io("create", &download))?;
        match wheel {
            Some(wheel) => unpack(info, wheel, &unpacked, watch)?,
            None => unpack(info, &fetch(info, &self.pip, &download, watch)?, &unpacked, watch)?,
        }
        let (folder, old) = (self.folder(info), temporary.join("old"));
        match fs::rename(&folder, &old) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(Problem::io("rename", &folder)(e)),
            _ => fs::rename(&unpacked, &folder).map_err(Problem::io("rename", &unpacked))?,
        }
        let shelf = self.shelf();
        File::open(&shelf).and_then(|shelf| shelf.sync_all()).map_err(Problem::io("sync", &shelf))
    }
}

/// The name of a package's folder.
fn label(info: &PackageInfo) -> String {
    format!("{}-{}", info.name, info.version)
}

/// Removes a folder, if it is there.
fn remove(folder: &Path) -> Result<(), Problem> {
    match fs::remove_dir_all(folder) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(Problem::io("remove", folder)(e)),
        _ => Ok(()),
    }
}

/// The folder for data of this user, from `IVE_HOME`, `XDG_DATA_HOME` and the home directory.
fn home(ive: Option<OsString>, xdg: Option<OsString>, user: Option<PathBuf>) -> Option<PathBuf> {
    if ive.is_some() {
        return ive.map(PathBuf::from);
    }
    // The XDG specification tells to ignore relative paths.
    let xdg = xdg.map(PathBuf::from).filter(|folder| folder.is_absolute());
    let data = if cfg!(target_os = "macos") {
        "Library/Application Support"
    } else if cfg!(windows) {
        "AppData/Local"
    } else {
        ".local/share"
    };
    xdg.or_else(|| user.map(|user| user.join(data))).map(|data| data.join("ive"))
}

/// Another copy of a package, in a folder that the user names: as we lay it out, or as wheels and releases do.
///
/// # Errors
/// If the library or its data are not there, or cannot be read.
pub fn other_copy(info: &PackageInfo, folder: &Path) -> Result<Installed, NativeError> {
    let folder = std::path::absolute(folder).map_err(Problem::io("find", folder))?;
    let missing =
        |wanted: String| Problem::NotACopy { variable: info.variable, folder: folder.clone(), wanted };
    let library = find_library(info, &folder).ok_or_else(|| missing(info.library.to_owned()))?;
    for member in info.members {
        if let Member::Pictures(_, to) = member
            && !folder.join(to).is_dir()
        {
            return Err(missing(format!("folder {to}")).into());
        }
    }
    let sha256 = File::open(&library).and_then(|mut file| sums::of(&mut file));
    let sha256 = sha256.map_err(Problem::io("read", &library))?;
    Ok(Installed { folder, library, exact: sha256 == info.library_sha256 })
}

/// The library by its own name, else the last by name that has another ending, such as another version.
fn find_library(info: &PackageInfo, folder: &Path) -> Option<PathBuf> {
    let stem = info.library.split_inclusive('.').next()?;
    let places = ["", "prebuilt", "lib"].map(|place| folder.join(place));
    let own = places.iter().map(|place| place.join(info.library)).find(|library| library.is_file());
    own.or_else(|| {
        let files = places.iter().filter_map(|place| fs::read_dir(place).ok()).flatten().flatten();
        let named = files.filter(|file| file.file_name().to_string_lossy().starts_with(stem));
        named.map(|file| file.path()).filter(|path| path.is_file()).max()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The XDG base directory specification, version 0.8: an absolute `XDG_DATA_HOME`, else `~/.local/share`.
    #[test]
    #[cfg(target_os = "linux")]
    fn data_lie_where_the_system_keeps_data() {
        let of = |ive: Option<&str>, xdg: Option<&str>, user: Option<&str>| {
            home(ive.map(Into::into), xdg.map(Into::into), user.map(Into::into))
        };
        assert_eq!(of(Some("/i"), Some("/x"), Some("/u")), Some("/i".into()));
        assert_eq!(of(None, Some("/x"), Some("/u")), Some("/x/ive".into()));
        assert_eq!(of(None, Some("x"), Some("/u")), Some("/u/.local/share/ive".into()));
        assert_eq!(of(None, None, Some("/u")), Some("/u/.local/share/ive".into()));
        assert_eq!(of(None, None, None), None);
    }
}
