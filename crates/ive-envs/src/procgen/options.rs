//! The options of the games, and how they are written: `levels=500`, `mode=easy`, …

use super::Game;
use crate::registry::{OptionError, OptionInfo, choice};
use std::fmt;

/// Levels are numbered from 0 to one less than this.
pub(super) const NUM_LEVELS: u32 = i32::MAX as u32;

/// Which kind of levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    /// Smaller and kinder levels, for less computation.
    Easy,
    /// The full game.
    Hard,
    /// Beyond hard; four games.
    Extreme,
    /// Larger environments of which one sees only a part; six games.
    Memory,
    /// One hard level whose reward is difficult to find; eight games.
    Exploration,
}

impl Mode {
    /// All modes.
    pub const ALL: [Self; 5] = [Self::Easy, Self::Hard, Self::Extreme, Self::Memory, Self::Exploration];

    /// The name, such as `easy`.
    pub fn name(self) -> &'static str {
        ["easy", "hard", "extreme", "memory", "exploration"][self as usize]
    }

    /// The library's number. It does not know exploration, which is a choice of level.
    pub(super) fn number(self) -> i32 {
        [0, 1, 2, 10, 1][self as usize]
    }
}

/// What can be chosen about a game. The defaults are those of the Python package.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "they are independent switches, as in the Python package")]
pub struct Options {
    /// How many levels there are; 0 for all that can be.
    pub levels: u32,
    /// The number of the first level.
    pub start_level: u32,
    /// Which kind of levels.
    pub mode: Mode,
    /// Pictures behind the scene, or black.
    pub backgrounds: bool,
    /// Textures made at random in place of the pictures.
    pub generated_assets: bool,
    /// Rectangles of one colour in place of the pictures.
    pub monochrome: bool,
    /// One theme where a game has several.
    pub restrict_themes: bool,
    /// The picture follows the player, or shows the whole level, in games that leave the choice.
    pub center_agent: bool,
    /// The player's velocity painted into the upper left corner, in games where it is hidden.
    pub velocity_info: bool,
    /// The end of a level leads on to another within the episode.
    pub sequential_levels: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            levels: 0,
            start_level: 0,
            mode: Mode::Hard,
            backgrounds: true,
            generated_assets: false,
            monochrome: false,
            restrict_themes: false,
            center_agent: true,
            velocity_info: false,
            sequential_levels: false,
        }
    }
}

const fn switch(key: &'static str, default: &'static str, meaning: &'static str) -> OptionInfo {
    OptionInfo { key, default, values: "on, off", meaning }
}

/// The options as they are written, with their defaults.
pub const OPTIONS: [OptionInfo; 10] = [
    OptionInfo {
        key: "levels",
        default: "0",
        values: "0 to 2147483647",
        meaning: "how many levels there are, 0 for all that can be",
    },
    OptionInfo {
        key: "start_level",
        default: "0",
        values: "0 to 2147483646",
        meaning: "number of the first level",
    },
    OptionInfo {
        key: "mode",
        default: "hard",
        values: "easy, hard; extreme, memory, exploration in some games",
        meaning: "which kind of levels",
    },
    switch("backgrounds", "on", "pictures behind the scene, or black"),
    switch("generated_assets", "off", "random textures in place of the pictures"),
    switch("monochrome", "off", "rectangles of one colour in place of the pictures"),
    switch("restrict_themes", "off", "one theme where a game has several"),
    switch("center_agent", "on", "the picture follows the player, in games that leave the choice"),
    switch("velocity_info", "off", "velocity painted into the upper left corner, in some games"),
    switch("sequential_levels", "off", "the end of a level leads on to another within the episode"),
];

impl Options {
    /// Sets an option by its name.
    ///
    /// # Errors
    /// If there is no such option or it cannot have this value.
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), OptionError> {
        let number = || {
            let number = value.parse().ok().filter(|&number| number <= NUM_LEVELS);
            number.ok_or_else(|| OptionError::value(key, value, "a whole number, 0 to 2147483647"))
        };
        let on = || choice(key, value, "on", "off");
        match key {
            "levels" => self.levels = number()?,
            "start_level" => self.start_level = number()?,
            "mode" => {
                let known = Mode::ALL.map(Mode::name).join(", ");
                let found = Mode::ALL.into_iter().find(|mode| mode.name() == value);
                self.mode = found.ok_or_else(|| OptionError::value(key, value, format!("one of {known}")))?;
            }
            "backgrounds" => self.backgrounds = on()?,
            "generated_assets" => self.generated_assets = on()?,
            "monochrome" => self.monochrome = on()?,
            "restrict_themes" => self.restrict_themes = on()?,
            "center_agent" => self.center_agent = on()?,
            "velocity_info" => self.velocity_info = on()?,
            "sequential_levels" => self.sequential_levels = on()?,
            _ => return Err(OptionError::unknown(key, &OPTIONS)),
        }
        Ok(())
    }

    /// Whether the options make sense for this game. Everything that the library would end the process for is refused here.
    pub(crate) fn check(&self, game: Game) -> Result<(), OptionError> {
        let Self { levels, start_level, mode, .. } = *self;
        let refuse =
            |key, value: u32, allowed: String| Err(OptionError::value(key, &value.to_string(), allowed));
        if !game.has(mode) {
            let modes: Vec<&str> = Mode::ALL.into_iter().filter(|&m| game.has(m)).map(Mode::name).collect();
            let allowed = format!("one of {} in {}", modes.join(", "), game.name());
            return Err(OptionError::value("mode", mode.name(), allowed));
        }
        if mode == Mode::Exploration && levels != 0 {
            return refuse("levels", levels, "left out with mode=exploration, which is one level".into());
        }
        if levels == 0 && start_level != 0 {
            let allowed = "0 unless `levels` says how many there are from there on";
            return refuse("start_level", start_level, allowed.into());
        }
        if start_level.checked_add(levels).is_none_or(|end| end > NUM_LEVELS) {
            let allowed =
                format!("at most {} with start_level={start_level}", NUM_LEVELS.saturating_sub(start_level));
            return refuse("levels", levels, allowed);
        }
        Ok(())
    }

    /// Number of levels and first level, for the library.
    pub(super) fn level_range(&self, game: Game) -> (i32, i32) {
        match game.exploration_level().filter(|_| self.mode == Mode::Exploration) {
            Some(level) => (1, level),
            None => (self.levels as i32, self.start_level as i32),
        }
    }
}

/// As they are written, for names and saved states.
impl fmt::Display for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "levels={} start_level={} mode={}", self.levels, self.start_level, self.mode.name())?;
        let switches = [
            ("backgrounds", self.backgrounds),
            ("generated_assets", self.generated_assets),
            ("monochrome", self.monochrome),
            ("restrict_themes", self.restrict_themes),
            ("center_agent", self.center_agent),
            ("velocity_info", self.velocity_info),
            ("sequential_levels", self.sequential_levels),
        ];
        switches.iter().try_for_each(|(key, yes)| write!(f, " {key}={}", if *yes { "on" } else { "off" }))
    }
}
