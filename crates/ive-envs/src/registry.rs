//! Worlds by name: `minatar:breakout`, with options as `key=value`.

use crate::environment::ByteWorld;
use crate::{minatar, nearest, procgen};
use std::fmt;

/// An option of a world, for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OptionInfo {
    /// Its name.
    pub key: &'static str,
    /// What holds when it is not given.
    pub default: &'static str,
    /// What it can be.
    pub values: &'static str,
    /// What it does.
    pub meaning: &'static str,
}

/// A world that can be made by name, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its name.
    pub name: String,
    /// What it is about, in a line.
    pub summary: &'static str,
    /// The shape of its observations.
    pub shape: Vec<usize>,
    /// What an entry of an observation can be, and the order of the entries.
    pub entries: &'static str,
    /// What the entries of the last axis mean.
    pub channels: &'static [&'static str],
    /// The names of its actions, in the order of their numbers.
    pub actions: Vec<&'static str>,
    /// The actions left when only those that do something are numbered; none where there is no such choice.
    pub minimal_actions: Vec<&'static str>,
    /// Its options.
    pub options: &'static [OptionInfo],
    /// Where the game comes from.
    pub origin: &'static str,
    /// Under which licence the code stands.
    pub licence: &'static str,
}

impl Entry {
    fn of_minatar(game: minatar::Game) -> Self {
        Self {
            name: format!("minatar:{}", game.name()),
            summary: game.summary(),
            shape: vec![10, 10, game.channels().len()],
            entries: "bytes 0 or 1: row, column, channel",
            channels: game.channels(),
            actions: minatar::Action::ALL.iter().map(|action| action.name()).collect(),
            minimal_actions: game.minimal_actions().iter().map(|action| action.name()).collect(),
            options: &minatar::OPTIONS,
            origin: "MinAtar (Young and Tian 2019), version 1.0.15; rewritten from a description of its rules",
            licence: "MIT OR Apache-2.0 (ours; none of the original's code is used)",
        }
    }

    fn of_procgen(game: procgen::Game) -> Self {
        Self {
            name: format!("procgen:{}", game.name()),
            summary: game.summary(),
            shape: vec![64, 64, 3],
            entries: "bytes 0 to 255: row, column, colour",
            channels: &["red", "green", "blue"],
            actions: procgen::ACTIONS.to_vec(),
            minimal_actions: Vec::new(),
            options: &procgen::OPTIONS,
            origin: "Procgen (Cobbe et al. 2020), version 0.10.7; the original library, loaded at run time",
            licence: "MIT (library, by OpenAI); pictures CC0 by Kenney, some CC-BY 3.0, CC-BY 4.0 and OGA-BY 3.0 by \
                ansimuz, Alucard, davis123, SugarMoonWitch, CraftPix and GameArtGuppy",
        }
    }
}

/// A name, an option or a value that does not exist.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OptionError {
    /// There is no such world.
    UnknownName {
        /// The name given.
        name: String,
        /// Names that look like it.
        near: Vec<String>,
    },
    /// The world has no such option.
    UnknownOption {
        /// The option given.
        key: String,
        /// Options that look like it, or all of them.
        near: Vec<String>,
    },
    /// The option cannot have this value.
    Value {
        /// The option.
        key: String,
        /// The value given.
        value: String,
        /// What it can be.
        allowed: String,
    },
    /// The native library of the world cannot be had.
    Native {
        /// Why, and what to do about it.
        reason: String,
    },
}

/// One of two words, or an error that names both.
pub(crate) fn choice(
    key: &str,
    value: &str,
    yes: &'static str,
    no: &'static str,
) -> Result<bool, OptionError> {
    match value {
        _ if value == yes => Ok(true),
        _ if value == no => Ok(false),
        _ => Err(OptionError::value(key, value, format!("{no} or {yes}"))),
    }
}

impl OptionError {
    pub(crate) fn value(key: &str, value: &str, allowed: impl Into<String>) -> Self {
        Self::Value { key: key.into(), value: value.into(), allowed: allowed.into() }
    }

    pub(crate) fn native(reason: impl fmt::Display) -> Self {
        Self::Native { reason: reason.to_string() }
    }

    pub(crate) fn unknown(key: &str, known: &[OptionInfo]) -> Self {
        let mut near = nearest(key, known.iter().map(|option| option.key));
        if near.is_empty() {
            near = known.iter().map(|option| option.key).collect();
        }
        Self::UnknownOption { key: key.into(), near: near.into_iter().map(String::from).collect() }
    }
}

impl fmt::Display for OptionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownName { name, near } if near.is_empty() => write!(f, "no world is called `{name}`"),
            Self::UnknownName { name, near } => {
                write!(f, "no world is called `{name}`; did you mean {}?", near.join(", "))
            }
            Self::UnknownOption { key, near } => {
                write!(f, "no option is called `{key}`; there is {}", near.join(", "))
            }
            Self::Value { key, value, allowed } => {
                write!(f, "{key} cannot be `{value}`: it must be {allowed}")
            }
            Self::Native { reason } => write!(f, "{reason}"),
        }
    }
}

impl std::error::Error for OptionError {}

/// All worlds, sorted by name.
pub fn entries() -> Vec<Entry> {
    let minatar = minatar::Game::ALL.map(Entry::of_minatar);
    minatar.into_iter().chain(procgen::Game::ALL.map(Entry::of_procgen)).collect()
}

/// The world of a name, described.
///
/// # Errors
/// If there is no such world.
pub fn find(name: &str) -> Result<Entry, OptionError> {
    let all = entries();
    if let Some(entry) = all.iter().find(|entry| entry.name == name) {
        return Ok(entry.clone());
    }
    // Compared without the family, which would make every name look like every other.
    let wanted = name.split_once(':').map_or(name, |(_, rest)| rest);
    let short = |entry: &Entry| entry.name.split_once(':').map_or(0, |(family, _)| family.len() + 1);
    let near = nearest(wanted, all.iter().map(|entry| &entry.name[short(entry)..]));
    let near = near.into_iter().filter_map(|like| all.iter().find(|entry| entry.name.ends_with(like)));
    let near = near.map(|entry| entry.name.clone()).collect();
    Err(OptionError::UnknownName { name: name.into(), near })
}

/// Makes a world by name, seeded.
///
/// ```
/// use ive_envs::{Environment, registry};
/// let world = registry::make("minatar:asterix", &[("sticky", "0"), ("actions", "minimal")], 3)?;
/// assert_eq!(world.spec().actions, ["noop", "left", "up", "right", "down"]);
/// let error = registry::make("minatar:astreix", &[], 3).err().unwrap();
/// assert_eq!(error.to_string(), "no world is called `minatar:astreix`; did you mean minatar:asterix?");
/// # Ok::<(), ive_envs::OptionError>(())
/// ```
///
/// # Errors
/// If the world or an option does not exist, an option cannot have its value, or a native library cannot be had.
pub fn make(name: &str, options: &[(&str, &str)], seed: u64) -> Result<ByteWorld, OptionError> {
    let entry = find(name)?;
    let (family, game) = entry.name.split_once(':').unwrap_or_default();
    if let Some(game) = procgen::Game::from_name(game).filter(|_| family == "procgen") {
        let mut chosen = procgen::Options::default();
        options.iter().try_for_each(|(key, value)| chosen.set(key, value))?;
        return procgen::make(game, &chosen, seed);
    }
    let game = minatar::Game::from_name(game).filter(|_| family == "minatar");
    let game = game.ok_or_else(|| OptionError::UnknownName { name: name.into(), near: Vec::new() })?;
    let mut chosen = minatar::Options::default();
    options.iter().try_for_each(|(key, value)| chosen.set(key, value))?;
    minatar::make(game, &chosen, seed)
}
