//! Native libraries that some worlds need, and where they lie.

use std::fmt;
use std::path::PathBuf;

/// A native library that a world needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Package {
    /// The games of Procgen.
    Procgen,
    /// The physics of MuJoCo.
    Mujoco,
}

/// Where a package lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installed {
    /// The folder with everything that belongs to it.
    pub folder: PathBuf,
    /// The library itself.
    pub library: PathBuf,
    /// Whether it is the very file that we test with.
    pub exact: bool,
}

/// A library that is not there.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NativeError {
    /// It is not installed.
    Missing {
        /// Its name.
        name: &'static str,
        /// The environment variable that can point to it.
        variable: &'static str,
    },
}

impl fmt::Display for NativeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::Missing { name, variable } = self;
        write!(f, "{name} is not installed; set {variable} to a folder that holds it")
    }
}

impl std::error::Error for NativeError {}

impl Package {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Procgen, Self::Mujoco];

    /// Its name.
    pub fn name(self) -> &'static str {
        ["procgen", "mujoco"][self as usize]
    }

    /// The version that we test with.
    pub fn version(self) -> &'static str {
        ["0.10.7", "3.17.0"][self as usize]
    }

    fn variable(self) -> &'static str {
        ["IVE_PROCGEN", "IVE_MUJOCO"][self as usize]
    }

    fn file(self) -> &'static str {
        ["libenv.so", "libmujoco.so.3.17.0"][self as usize]
    }
}

/// Finds the package, or fetches it on first use.
///
/// # Errors
/// If it is not there.
pub fn provide(package: Package) -> Result<Installed, NativeError> {
    let missing = NativeError::Missing { name: package.name(), variable: package.variable() };
    installed(package)?.ok_or(missing)
}

/// Finds the package; never fetches.
///
/// # Errors
/// Never, here.
pub fn installed(package: Package) -> Result<Option<Installed>, NativeError> {
    let folder = std::env::var_os(package.variable()).map(PathBuf::from);
    let found = folder.map(|folder| {
        let library = folder.join(package.file());
        Installed { folder, library, exact: true }
    });
    Ok(found.filter(|found| found.library.is_file()))
}
