//! Native libraries that some worlds need. A stand-in: it only looks where `IVE_PROCGEN` and `IVE_MUJOCO` point.

use std::fmt;
use std::path::PathBuf;

/// A native library that a world needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Package {
    /// The games of Procgen.
    Procgen,
    /// The physics of MuJoCo.
    Mujoco,
}

impl Package {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Procgen, Self::Mujoco];

    /// Its name.
    pub fn name(self) -> &'static str {
        ["procgen", "mujoco"][self as usize]
    }

    /// The version that worlds are compared with.
    pub fn version(self) -> &'static str {
        ["0.10.7", "3.17.0"][self as usize]
    }

    fn variable(self) -> &'static str {
        ["IVE_PROCGEN", "IVE_MUJOCO"][self as usize]
    }
}

/// Where a package lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installed {
    /// Its folder.
    pub folder: PathBuf,
    /// The library in it.
    pub library: PathBuf,
    /// Whether this is the pinned file.
    pub exact: bool,
}

/// Why a package cannot be had.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NativeError {
    /// It is not there.
    Missing(Package),
}

impl fmt::Display for NativeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::Missing(package) = self;
        write!(f, "{} is not installed; let {} name its folder", package.name(), package.variable())
    }
}

impl std::error::Error for NativeError {}

/// Finds the package, or fetches it on first use.
///
/// # Errors
/// If it cannot be had.
pub fn provide(package: Package) -> Result<Installed, NativeError> {
    installed(package)?.ok_or(NativeError::Missing(package))
}

/// Finds the package; never fetches.
///
/// # Errors
/// If what is there cannot be used.
pub fn installed(package: Package) -> Result<Option<Installed>, NativeError> {
    let start = ["libenv.so", "libmujoco.so"][package as usize];
    let Some(folder) = std::env::var_os(package.variable()).map(PathBuf::from) else { return Ok(None) };
    let files = std::fs::read_dir(&folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let named =
        |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(start));
    Ok(files.into_iter().find(named).map(|library| {
        let exact = library.to_string_lossy().ends_with(package.version());
        Installed { folder, library, exact }
    }))
}
