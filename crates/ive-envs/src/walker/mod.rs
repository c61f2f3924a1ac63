//! The planar walker of the DeepMind Control Suite: a torso on two legs that is to stand, walk or run.
//!
//! Tassa et al. (2018), *DeepMind Control Suite*; Tunyasuvunakool et al. (2020), *dm_control*. The physics is the real
//! MuJoCo, a library that is opened when the first walker is made; the tasks around it are written here. With MuJoCo
//! 3.17.0 positions and velocities are, bit by bit, those of dm_control 1.0.50.
//!
//! An episode has 1,000 control steps of 25 ms and is then truncated; falling does not end it. The paper holds each action
//! for two control steps and makes rewards sparse by a threshold η (Sec. 4, Table 1): options `repeat` and `threshold`.
//!
//! ```no_run
//! use ive_envs::walker::{Options, Task, make};
//! use ive_envs::Environment;
//! let mut world = make(Task::Walk, &Options { threshold: 0.3, ..Options::default() }, 1)?;
//! let first = world.reset();
//! assert_eq!(first.observation.len(), 24);
//! let next = world.step([0.5, -1.0, 0.0, 0.5, -1.0, 0.0])?;
//! println!("height {}, reward {}", next.observation[14], next.reward);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod mujoco;
mod options;
pub mod picture;
mod pixels;
mod pose;
pub mod task;
mod world;

pub use crate::random::Generator;
pub use options::{OPTIONS, Options};
pub use pixels::Pixels;
pub use pose::Start;
pub use task::Task;
pub use world::{Action, Walker, action};

use crate::native::NativeError;
use crate::registry::OptionError;
use std::fmt;
use std::path::{Path, PathBuf};

/// Where the environments come from.
pub const ORIGIN: &str = "dm_control 1.0.50 (Tunyasuvunakool et al. 2020) on MuJoCo 3.17.0; the tasks rewritten, the physics the original";
/// Under which licences their parts stand.
pub const LICENCE: &str =
    "MIT OR Apache-2.0 (ours); Apache-2.0 (MuJoCo, loaded at run time; the body's parameters, by dm_control)";

/// A walker, seeded; call `reset` to begin. Opens MuJoCo at the first call, and fetches it if it is not there.
///
/// # Errors
/// If an option is out of range, or MuJoCo cannot be had or used.
pub fn make(task: Task, options: &Options, seed: u64) -> Result<Walker, MakeError> {
    options.check(seed).map_err(MakeError::Option)?;
    let physics = mujoco::Physics::new(mujoco::Engine::shared()?)?;
    Ok(Walker::new(task, *options, seed, physics))
}

/// Why there is no walker.
#[derive(Debug)]
#[non_exhaustive]
pub enum MakeError {
    /// An option does not make sense.
    Option(OptionError),
    /// MuJoCo cannot be had.
    Native(NativeError),
    /// The library is there but cannot be used.
    Engine {
        /// The file.
        library: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// The library calculates with 32 bits.
    Precision,
    /// There is no memory for another simulation.
    Memory,
    /// A starting pose has a number that is not finite, or so large that MuJoCo refuses it.
    Pose {
        /// Which of the nine.
        index: usize,
    },
}

impl MakeError {
    fn engine(library: &Path, problem: impl Into<String>) -> Self {
        Self::Engine { library: library.to_path_buf(), problem: problem.into() }
    }
}

impl From<NativeError> for MakeError {
    fn from(error: NativeError) -> Self {
        Self::Native(error)
    }
}

/// For environments by name, where every failure is one of an option or of a library.
impl From<MakeError> for OptionError {
    fn from(error: MakeError) -> Self {
        match error {
            MakeError::Option(error) => error,
            MakeError::Native(error) => error.into(),
            other => Self::unusable(other),
        }
    }
}

impl fmt::Display for MakeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Option(error) => error.fmt(f),
            Self::Native(error) => error.fmt(f),
            Self::Engine { library, problem } => {
                write!(f, "{} cannot be used as MuJoCo: {problem}", library.display())
            }
            Self::Precision => {
                write!(f, "this MuJoCo was built for single precision; use one built for double precision")
            }
            Self::Memory => write!(f, "MuJoCo has no memory for another simulation"),
            Self::Pose { index } => {
                write!(f, "number {index} of the starting pose must be finite and at most 1e10 in size")
            }
        }
    }
}

impl std::error::Error for MakeError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Option(error) => Some(error),
            Self::Native(error) => Some(error),
            _ => None,
        }
    }
}
