//! NATIVE LIBRARIES: found where they are installed, or fetched on first use.
//!
//! Two families of environments are not ours to rewrite: the games of Procgen, and the physics of MuJoCo. Their libraries are
//! loaded at run time, so that nobody needs them to build this crate, or to use the other environments. They are no part of this
//! crate. Both are published as wheels, and the user's own `pip` fetches them by name and version.
//!
//! - [`provide`] finds a library or fetches it, [`installed`] only looks. `ive setup` is the same as a command.
//! - [`Package`] names the libraries; [`PackageInfo`] is what we know about one: hashes, members, licence, credits.
//! - [`Store`] is the folder with the libraries, one sub-folder per package and version.
//! - [`explain_loader_error`] says what to install when the system cannot load a library.
//!
//! What a library computes depends on its exact bytes, and so do our published numbers. Therefore a wheel is unpacked only
//! if its SHA-256 is the one in [`PackageInfo`], and so are the library and the list of all files. Of what was installed,
//! the library is hashed whenever it is used and its data are checked by presence and size; [`Store::check`] hashes them all.
//! A library runs with the rights of the user, so a folder that others can write to is warned of ([`others_can_write`]).
//!
//! The folder of a package appears by one rename, complete and synced. One process installs at a time (a file lock); others
//! wait and then find it done. A killed process leaves a temporary folder that the next one removes.
//!
//! | variable | meaning |
//! |---|---|
//! | `IVE_HOME` | the folder for data of this user, in place of the system's (`~/.local/share/ive` on Linux) |
//! | `IVE_PROCGEN`, `IVE_MUJOCO` | a folder with another copy of that library; [`Installed::exact`] says whether it is the same |
//! | `IVE_REQUIRE_NATIVE` | `1`: tests that need a library fail without it, instead of being skipped |
//!
//! ```no_run
//! use ive_envs::native::{self, Package};
//! let procgen = native::provide(Package::Procgen)?;
//! println!("{} with pictures in {}", procgen.library.display(), procgen.folder.join("assets").display());
//! # Ok::<(), native::NativeError>(())
//! ```

mod error;
mod fetch;
mod loader;
mod package;
mod store;
mod sums;
mod trust;
mod unpack;

use std::io::Write;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::{Once, OnceLock};

pub use error::{NativeError, Problem};
pub use fetch::Pip;
pub use loader::explain_loader_error;
pub use package::{Member, Package, PackageInfo, Wheel};
pub use store::{Store, other_copy};
pub use trust::others_can_write;

/// Where a package lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installed {
    /// The folder with the library, its data and its licences.
    pub folder: PathBuf,
    /// The library.
    pub library: PathBuf,
    /// Whether the library is the one that our numbers come from.
    pub exact: bool,
}

/// What happens while a package is installed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Another process installs it; we wait.
    Waiting,
    /// pip fetches the wheel.
    Fetching {
        /// How much is there.
        bytes: u64,
        /// How much there will be.
        of: u64,
    },
    /// The wheel is hashed.
    Checking,
    /// The wheel is unpacked.
    Unpacking {
        /// How many of its files were looked at.
        files: usize,
        /// How many it has.
        of: usize,
    },
}

/// Who is told about progress, several times a second, and may ask to stop.
pub type Watch<'a> = dyn FnMut(Progress) -> ControlFlow<()> + 'a;

/// Finds a package, or fetches it on first use; then it says so in a line on stderr.
///
/// # Errors
/// If it cannot be had, or what is installed is damaged. The message says what to do.
pub fn provide(package: Package) -> Result<Installed, NativeError> {
    let info = package.info();
    let (mut told_fetch, mut told_wait) = (false, false);
    let tell = |told: &mut bool, line: String| {
        if !std::mem::replace(told, true) {
            say(&line);
        }
    };
    let found = provide_with(package, &mut |progress| {
        match progress {
            Progress::Waiting => {
                tell(&mut told_wait, format!("another process is installing {}; waiting", info.name));
            }
            Progress::Fetching { of, .. } => {
                let (name, version, size) = (info.name, info.version, of.div_ceil(1_000_000));
                tell(&mut told_fetch, format!("fetching {name} {version} ({size} MB) with pip, this once"));
            }
            _ => {}
        }
        ControlFlow::Continue(())
    })?;
    if told_fetch {
        let folder = found.folder.display();
        say(&format!("{} is in {folder}; licence and credits in CREDITS.txt there", info.name));
    }
    Ok(found)
}

/// Like [`provide`], with progress told to the caller instead of on stderr.
///
/// # Errors
/// Those of [`provide`], and [`Problem::Interrupted`] if `watch` asks to stop.
pub fn provide_with(package: Package, watch: &mut Watch<'_>) -> Result<Installed, NativeError> {
    if let Some(found) = installed(package)? {
        return Ok(found);
    }
    let found = Store::of_user()?.provide(package.info(), watch)?;
    warn_of_others(package, &found);
    Ok(found)
}

/// Finds a package; never fetches. `None` if it is not installed.
///
/// A folder named by `IVE_PROCGEN` or `IVE_MUJOCO` goes before what is installed, with a warning on stderr if its library
/// is another one than ours.
///
/// # Errors
/// If what is installed is damaged, or the folder so named does not hold the library.
pub fn installed(package: Package) -> Result<Option<Installed>, NativeError> {
    static WARNED: [Once; Package::ALL.len()] = [const { Once::new() }; Package::ALL.len()];
    let info = package.info();
    let Some(folder) = info.other_folder() else {
        let found = Store::of_user()?.installed(info)?;
        found.iter().for_each(|found| warn_of_others(package, found));
        return Ok(found);
    };
    let found = other_copy(info, &folder)?;
    if !found.exact {
        WARNED[package as usize].call_once(|| {
            let (library, name, version) = (found.library.display(), info.name, info.version);
            say(&format!("{library} is not the library of {name} {version}; results may differ from ours"));
        });
    }
    warn_of_others(package, &found);
    Ok(Some(found))
}

/// Says once per package that others could put another library in place of this one.
fn warn_of_others(package: Package, found: &Installed) {
    static WARNED: [Once; Package::ALL.len()] = [const { Once::new() }; Package::ALL.len()];
    if let Some(warning) = others_can_write(found) {
        WARNED[package as usize].call_once(|| say(&warning));
    }
}

/// A line on stderr. A terminal that is gone is no reason to stop.
fn say(line: &str) {
    let _ = std::io::stderr().write_all(format!("ive: {line}\n").as_bytes());
}

/// [`provide`] for tests: where a library cannot be had they are skipped, with a word, unless `IVE_REQUIRE_NATIVE` is `1`.
///
/// # Panics
/// If the library is required and cannot be had; in any case if what arrived or is installed is not what it should be.
pub fn for_tests(package: Package) -> Option<Installed> {
    // Remembered: without a network each attempt takes seconds.
    static FOUND: [OnceLock<Option<Installed>>; Package::ALL.len()] =
        [const { OnceLock::new() }; Package::ALL.len()];
    let find = || match provide(package) {
        Ok(found) => Some(found),
        Err(error) => {
            let required = std::env::var_os("IVE_REQUIRE_NATIVE").is_some_and(|value| value == "1");
            assert!(!required && error.problem.is_of_this_machine(), "{error}");
            // Not by `eprintln`, which the test harness hides.
            let _ = writeln!(
                std::io::stderr(),
                "SKIPPED: tests that need {} (IVE_REQUIRE_NATIVE=1 makes that a failure), because {error}",
                package.name()
            );
            None
        }
    };
    FOUND[package as usize].get_or_init(find).clone()
}
