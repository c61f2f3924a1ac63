//! The options of the games, and how they are written: `sticky=0.25`, `ramping=off`, …

use super::Game;
use crate::random::Generator;
use crate::registry::{OptionError, OptionInfo, choice};
use std::fmt;

/// What can be chosen about a game. The defaults are those of the original.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// The probability that the last action is executed again instead of the one chosen.
    pub sticky: f64,
    /// Whether the game gets harder with time.
    pub ramping: bool,
    /// Whether only the actions that do something are numbered.
    pub minimal_actions: bool,
    /// Where the game draws from.
    pub generator: Generator,
    /// Seaquest as in the releases before 1.0.11 (October 2022), the game of results published until then: one more
    /// step of life without oxygen, in which the gauge looks full.
    pub oxygen_flash: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            sticky: 0.1,
            ramping: true,
            minimal_actions: false,
            generator: Generator::Ive,
            oxygen_flash: false,
        }
    }
}

/// The options as they are written, with their defaults.
pub const OPTIONS: [OptionInfo; 5] = [
    OptionInfo {
        key: "sticky",
        default: "0.1",
        values: "0 to 1",
        meaning: "probability that the last action is executed again",
    },
    OptionInfo {
        key: "ramping",
        default: "on",
        values: "on, off",
        meaning: "the game gets harder with time",
    },
    OptionInfo {
        key: "actions",
        default: "all",
        values: "all, minimal",
        meaning: "number all six actions, or only those that do something",
    },
    OptionInfo {
        key: "rng",
        default: "ive",
        values: "ive, numpy",
        meaning: "random numbers of our own, or those of the original",
    },
    OptionInfo {
        key: "oxygen_flash",
        default: "off",
        values: "on, off",
        meaning: "Seaquest as before October 2022: a full gauge one step before suffocation",
    },
];

impl Options {
    /// Sets an option by its name.
    ///
    /// # Errors
    /// If there is no such option or it cannot have this value.
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), OptionError> {
        match key {
            "sticky" => {
                let bad = || OptionError::value(key, value, "a probability, 0 to 1");
                self.sticky = value.parse().map_err(|_| bad())?;
                if !(0.0..=1.0).contains(&self.sticky) {
                    return Err(bad());
                }
            }
            "ramping" => self.ramping = choice(key, value, "on", "off")?,
            "actions" => self.minimal_actions = choice(key, value, "minimal", "all")?,
            "rng" => self.generator = Generator::from_option(value)?,
            "oxygen_flash" => self.oxygen_flash = choice(key, value, "on", "off")?,
            _ => return Err(OptionError::unknown(key, &OPTIONS)),
        }
        Ok(())
    }

    /// Whether the options make sense for this game and seed.
    pub(crate) fn check(&self, game: Game, seed: u64) -> Result<(), OptionError> {
        if !(0.0..=1.0).contains(&self.sticky) {
            return Err(OptionError::value("sticky", &self.sticky.to_string(), "a probability, 0 to 1"));
        }
        if self.oxygen_flash && game != Game::Seaquest {
            return Err(OptionError::value(
                "oxygen_flash",
                "on",
                format!("off for {}: it belongs to seaquest", game.name()),
            ));
        }
        self.generator.check(seed)
    }
}

/// As they are written, for names and saved states.
impl fmt::Display for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let on = |yes| if yes { "on" } else { "off" };
        let actions = if self.minimal_actions { "minimal" } else { "all" };
        let rng = self.generator.name();
        let (ramping, flash) = (on(self.ramping), on(self.oxygen_flash));
        write!(f, "sticky={} ramping={ramping} actions={actions} rng={rng} oxygen_flash={flash}", self.sticky)
    }
}
