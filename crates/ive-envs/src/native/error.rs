//! What can go wrong on the way to a native library, each with what to do about it.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use super::package::PackageInfo;

/// Why a native library is not there, and what the user can do.
#[derive(Debug)]
pub struct NativeError {
    /// What went wrong.
    pub problem: Problem,
    /// The commands that do the same by hand, where that helps.
    pub by_hand: Option<String>,
}

/// What went wrong.
#[derive(Debug)]
#[non_exhaustive]
pub enum Problem {
    /// The system does not tell where data of this user belong.
    NoHome,
    /// The library exists only for other machines than this one.
    Platform {
        /// The package.
        package: &'static str,
        /// The variable that names a copy for this machine.
        variable: &'static str,
    },
    /// The folder that a variable names does not hold the library.
    NotACopy {
        /// The variable.
        variable: &'static str,
        /// The folder.
        folder: PathBuf,
        /// What was looked for.
        wanted: String,
    },
    /// There is no pip.
    NoPip {
        /// The commands that were tried.
        tried: String,
    },
    /// pip cannot reach the index of packages.
    Network {
        /// The last lines that it printed.
        said: String,
    },
    /// pip's index does not have the package.
    NotInIndex {
        /// The last lines that it printed.
        said: String,
    },
    /// pip failed in another way.
    Pip {
        /// The last lines that it printed.
        said: String,
    },
    /// pip did nothing for so many seconds, and was stopped.
    Stalled {
        /// The seconds.
        seconds: u64,
        /// The last lines that it printed.
        said: String,
    },
    /// The disk is full.
    NoSpace {
        /// Where room is needed.
        folder: PathBuf,
        /// How many bytes fetching and unpacking take.
        needed: u64,
    },
    /// A file is not the one we know.
    Hash {
        /// The file.
        file: String,
        /// The SHA-256 it should have.
        expected: String,
        /// The SHA-256 it has.
        got: String,
    },
    /// A wheel cannot be unpacked.
    Wheel {
        /// The wheel.
        file: PathBuf,
        /// Why not.
        reason: String,
    },
    /// What was installed has changed since.
    Damaged {
        /// The package.
        package: &'static str,
        /// Where it is.
        folder: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// The library is there, whole, and cannot be used on this machine.
    Unusable {
        /// Why, and what to do about it.
        reason: String,
    },
    /// Whoever watched the progress asked to stop.
    Interrupted,
    /// A file operation failed.
    Io {
        /// What was tried.
        doing: &'static str,
        /// With which file.
        path: PathBuf,
        /// Why it failed.
        cause: io::Error,
    },
}

impl Problem {
    /// A file operation that failed.
    pub(super) fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |cause| Self::Io { doing, path, cause }
    }

    /// Whether the cause is a disk or quota that is full.
    pub(super) fn is_full(&self) -> bool {
        match self {
            Self::NoSpace { .. } => true,
            Self::Io { cause, .. } => {
                matches!(cause.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
            }
            _ => false,
        }
    }

    /// Whether it says something about this machine and its network only, not about the library or our program.
    pub fn is_of_this_machine(&self) -> bool {
        matches!(
            self,
            Self::Platform { .. }
                | Self::NoPip { .. }
                | Self::Network { .. }
                | Self::NotInIndex { .. }
                | Self::Stalled { .. }
                | Self::NoSpace { .. }
        )
    }

    /// Whether fetching by hand, perhaps on another machine, is a way out.
    fn has_a_way_by_hand(&self) -> bool {
        !matches!(
            self,
            Self::NoHome
                | Self::Platform { .. }
                | Self::NotACopy { .. }
                | Self::Interrupted
                | Self::Damaged { .. }
        )
    }

    /// The error to return, with the way out for this package.
    pub(super) fn about(self, info: &PackageInfo) -> NativeError {
        let by_hand = self.has_a_way_by_hand().then(|| by_hand(info));
        NativeError { problem: self, by_hand }
    }
}

/// The two commands that install a package without our calling pip; the first may be run on another machine.
fn by_hand(info: &PackageInfo) -> String {
    let (pip, file, name) = (info.pip_arguments().join(" "), info.wheel.file, info.name);
    format!("  pip {pip}\n  ive setup {name} --wheel {file}")
}

impl From<Problem> for NativeError {
    fn from(problem: Problem) -> Self {
        Self { problem, by_hand: None }
    }
}

impl fmt::Display for NativeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.problem)?;
        match &self.by_hand {
            Some(commands) => write!(f, "\nBy hand, the first perhaps on another machine:\n{commands}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for NativeError {}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoHome => {
                write!(f, "no folder for data of this user is known; set IVE_HOME to one, or HOME")
            }
            Self::Platform { package, variable } => write!(
                f,
                "{package} comes ready made for Linux on x86-64 with the GNU C library only, not for {} on {}; \
                 if you have a copy for this machine, set {variable} to its folder",
                std::env::consts::OS,
                std::env::consts::ARCH
            ),
            Self::NotACopy { variable, folder, wanted } => {
                let folder = folder.display();
                write!(f, "{variable} is {folder}, where there is no {wanted}; correct it, or unset it")
            }
            Self::NoPip { tried } => write!(
                f,
                "Python's pip is needed to fetch the library, and none of {tried} works; \
                 install it (`apt-get install python3-pip` on Debian and Ubuntu)"
            ),
            Self::Network { said } => {
                write!(
                    f,
                    "pip cannot reach its index of packages; is there a network, a proxy to set?\n{said}"
                )
            }
            Self::NotInIndex { said } => {
                write!(f, "the index that pip uses does not have this wheel\n{said}")
            }
            Self::Pip { said } => write!(f, "pip failed\n{said}"),
            Self::Stalled { seconds, said } => {
                write!(f, "pip was stopped, because nothing arrived for {seconds} seconds; try again\n{said}")
            }
            Self::NoSpace { folder, needed } => write!(
                f,
                "no space left in {}: up to {} MB are needed there, some of them only for a moment; make room, \
                 or set IVE_HOME to a folder on another disk. Nothing half-made was left",
                folder.display(),
                needed.div_ceil(1_000_000)
            ),
            Self::Hash { file, expected, got } => write!(
                f,
                "{file} is not the file we know: its SHA-256 is\n  {got} instead of\n  {expected}\n\
                 It was not installed. A download that was cut short or changed on its way looks like this; try again"
            ),
            Self::Wheel { file, reason } => write!(f, "cannot unpack {}: {reason}", file.display()),
            Self::Damaged { package, folder, what } => {
                write!(f, "{} is damaged: {what}; `ive setup {package}` repairs it", folder.display())
            }
            Self::Unusable { reason } => write!(f, "{reason}"),
            Self::Interrupted => write!(f, "interrupted; nothing half-made was left"),
            Self::Io { doing, path, cause } => write!(f, "cannot {doing} {}: {cause}", path.display()),
        }
    }
}
