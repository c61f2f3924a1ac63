//! The options of the walker, and how they are written: `repeat=2`, `threshold=0.3`, `rng=numpy`, `start=air`.

use super::pose::Start;
use super::task::EPISODE;
use crate::random::Generator;
use crate::registry::{OptionError, OptionInfo};
use std::fmt;

/// What can be chosen about the walker. The defaults are those of the paper without a threshold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// For how many control steps each action holds; their rewards are summed.
    pub repeat: u32,
    /// η: the reward of a control step counts only if it is at least this.
    pub threshold: f64,
    /// Where the starting poses are drawn from.
    pub generator: Generator,
    /// How episodes start.
    pub start: Start,
}

impl Default for Options {
    fn default() -> Self {
        Self { repeat: 2, threshold: 0.0, generator: Generator::Ive, start: Start::Ordinary }
    }
}

/// The options as they are written, with their defaults.
pub const OPTIONS: [OptionInfo; 4] = [
    OptionInfo {
        key: "repeat",
        default: "2",
        values: "1 to 1000",
        meaning: "control steps for which an action holds; their rewards are summed",
    },
    OptionInfo {
        key: "threshold",
        default: "0",
        values: "0 to 1",
        meaning: "the paper's η: the reward of a control step counts only from here on",
    },
    OptionInfo {
        key: "rng",
        default: "ive",
        values: "ive, numpy",
        meaning: "random numbers of our own, or those of the original",
    },
    OptionInfo {
        key: "start",
        default: "ordinary",
        values: "ordinary, air, joints, fast",
        meaning: "how episodes start: as in the original, or oddly, to test what an agent makes of it",
    },
];

impl Options {
    /// Sets an option by its name.
    ///
    /// # Errors
    /// If there is no such option or it cannot have this value.
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), OptionError> {
        let mut changed = *self;
        match key {
            "repeat" => changed.repeat = value.parse().map_err(|_| bad_repeat(value))?,
            "threshold" => changed.threshold = value.parse().map_err(|_| bad_threshold(value))?,
            "start" => changed.start = Start::from_option(value)?,
            "rng" => changed.generator = Generator::from_option(value)?,
            _ => return Err(OptionError::unknown(key, &OPTIONS)),
        }
        changed.check(0)?;
        *self = changed;
        Ok(())
    }

    /// Whether the options make sense together with this seed.
    pub(crate) fn check(&self, seed: u64) -> Result<(), OptionError> {
        if !(1..=EPISODE).contains(&self.repeat) {
            return Err(bad_repeat(&self.repeat.to_string()));
        }
        if !(0.0..=1.0).contains(&self.threshold) {
            return Err(bad_threshold(&self.threshold.to_string()));
        }
        self.generator.check(seed)
    }
}

fn bad_repeat(value: &str) -> OptionError {
    OptionError::value("repeat", value, format!("a number of control steps, 1 to {EPISODE}"))
}

fn bad_threshold(value: &str) -> OptionError {
    OptionError::value("threshold", value, "a reward, 0 to 1")
}

/// As they are written, for names and saved states.
impl fmt::Display for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "repeat={} threshold={} rng={}", self.repeat, self.threshold, self.generator.name())?;
        // States that were saved before there were odd starts stay good.
        if self.start == Start::Ordinary { Ok(()) } else { write!(f, " start={}", self.start.name()) }
    }
}
