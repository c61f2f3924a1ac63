//! Levels to learn from and levels to be tested on.

use super::options::{NUM_LEVELS, Options};
use crate::registry::OptionError;

/// The first levels to learn from, and others to be tested on.
///
/// A test in the sense of Procgen's authors draws from *all* levels, those of training included: with 500 of 2³¹ − 1
/// levels, one episode in four million would be a known one. That is [`test`](Self::test). Whoever wants to exclude even
/// that takes [`unseen`](Self::unseen).
///
/// ```
/// use ive_envs::procgen::{LevelSplit, Options};
/// let split = LevelSplit::new(500)?;
/// let range = |options: Options| (options.start_level, options.levels);
/// assert_eq!(range(split.train(Options::default())), (0, 500));
/// assert_eq!(range(split.test(Options::default())), (0, 0)); // all
/// assert_eq!(range(split.unseen(Options::default())), (500, i32::MAX as u32 - 500));
/// # Ok::<(), ive_envs::OptionError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LevelSplit {
    train: u32,
}

impl LevelSplit {
    /// The split after this many levels of training.
    ///
    /// # Errors
    /// If it leaves no level on one side.
    pub fn new(train: u32) -> Result<Self, OptionError> {
        if (1..NUM_LEVELS).contains(&train) {
            return Ok(Self { train });
        }
        Err(OptionError::value("levels", &train.to_string(), "1 to 2147483646 for a split"))
    }

    /// These options with the levels of training.
    pub fn train(self, options: Options) -> Options {
        Options { levels: self.train, start_level: 0, ..options }
    }

    /// These options with all levels, as in the results that Procgen's authors publish.
    pub fn test(self, options: Options) -> Options {
        Options { levels: 0, start_level: 0, ..options }
    }

    /// These options with all levels but those of training.
    pub fn unseen(self, options: Options) -> Options {
        Options { levels: NUM_LEVELS - self.train, start_level: self.train, ..options }
    }
}
