//! Worlds by name: `minatar:breakout`, with options as `key=value`.
//!
//! [`open`] makes any of them, as a [`World`]: they do not all have the same kind of action and observation. [`make`] makes
//! those with numbered actions and bytes to look at, which is what most agents know.

mod options;

pub(crate) use options::choice;
pub use options::{OptionError, OptionInfo};

use crate::environment::{ByteWorld, Environment};
use crate::walker::task::{MOTOR_NAMES, OBSERVATION, OBSERVATION_NAMES};
use crate::walker::{Pixels, Walker};
use crate::{minatar, nearest, procgen, walker};
use std::fmt;

/// A world, whichever it is.
pub enum World {
    /// Numbered actions, bytes to look at: MinAtar and Procgen.
    Bytes(ByteWorld),
    /// Six numbers as an action, 24 to look at.
    Walker(Box<Walker>),
    /// Six numbers as an action, a picture to look at.
    Pixels(Box<Pixels>),
}

impl fmt::Debug for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes(world) => write!(f, "World({})", world.spec().name),
            Self::Walker(world) => world.fmt(f),
            Self::Pixels(world) => world.fmt(f),
        }
    }
}

/// What an action is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActionKind {
    /// The number of an action that has a name.
    Numbered,
    /// A number from −1 to 1 for each name.
    Continuous,
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
    /// What an action is.
    pub action_kind: ActionKind,
    /// The names of its actions in the order of their numbers, or of the numbers that make an action.
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
            action_kind: ActionKind::Numbered,
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
            action_kind: ActionKind::Numbered,
            actions: procgen::ACTIONS.to_vec(),
            minimal_actions: Vec::new(),
            options: &procgen::OPTIONS,
            origin: "Procgen (Cobbe et al. 2020), version 0.10.7; the original library, loaded at run time",
            licence: "MIT (library, by OpenAI); pictures CC0 by Kenney, some CC-BY 3.0, CC-BY 4.0 and OGA-BY 3.0 by \
                ansimuz, Alucard, davis123, SugarMoonWitch, CraftPix and GameArtGuppy",
        }
    }

    fn of_walker(task: walker::Task) -> Self {
        Self {
            name: format!("walker:{}", task.name()),
            summary: task.summary(),
            shape: vec![OBSERVATION],
            entries: "real numbers: directions of the limbs, height of the torso, velocities",
            channels: &OBSERVATION_NAMES,
            action_kind: ActionKind::Continuous,
            actions: MOTOR_NAMES.to_vec(),
            minimal_actions: Vec::new(),
            options: &WALKER_OPTIONS,
            origin: walker::ORIGIN,
            licence: walker::LICENCE,
        }
    }
}

/// The options of a walker by name: what it shows, and those of [`walker::Options`].
const WALKER_OPTIONS: [OptionInfo; 4] = [
    OptionInfo {
        key: "observation",
        default: "state",
        values: "state, pixels",
        meaning: "the 24 numbers, or a picture of 64 × 64 × 3 bytes, drawn by ourselves",
    },
    walker::OPTIONS[0],
    walker::OPTIONS[1],
    walker::OPTIONS[2],
];

/// All worlds, sorted by name.
pub fn entries() -> Vec<Entry> {
    let minatar = minatar::Game::ALL.map(Entry::of_minatar);
    let procgen = procgen::Game::ALL.map(Entry::of_procgen);
    let walker = walker::Task::ALL.map(Entry::of_walker);
    minatar.into_iter().chain(procgen).chain(walker).collect()
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

/// The names of the family that a name belongs to, or of all families: `minatar:asterix, breakout; walker:run, stand`.
fn names_like(name: &str) -> String {
    let mut families: Vec<(String, Vec<String>)> = Vec::new();
    for entry in entries() {
        let Some((family, game)) = entry.name.split_once(':') else { continue };
        match families.last_mut().filter(|(known, _)| known == family) {
            Some((_, games)) => games.push(game.to_owned()),
            None => families.push((family.to_owned(), vec![game.to_owned()])),
        }
    }
    let asked = name.split(':').next();
    if families.iter().any(|(family, _)| Some(family.as_str()) == asked) {
        families.retain(|(family, _)| Some(family.as_str()) == asked);
    }
    let shown = families.iter().map(|(family, games)| format!("{family}:{}", games.join(", ")));
    shown.collect::<Vec<_>>().join("; ")
}

/// Makes a world by name, seeded, whatever its actions and observations are.
///
/// ```no_run
/// use ive_envs::{Environment, registry::{self, World}};
/// let mut episode = 0.0;
/// if let World::Pixels(mut world) = registry::open("walker:walk", &[("observation", "pixels")], 3)? {
///     let picture = world.reset().observation;
///     assert_eq!(picture.len(), 64 * 64 * 3);
///     episode += world.step([0.0; 6])?.reward;
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If the world or an option does not exist, an option cannot have its value, or a native library cannot be had.
pub fn open(name: &str, options: &[(&str, &str)], seed: u64) -> Result<World, OptionError> {
    let Some(task) = walker_task(name) else { return make(name, options, seed).map(World::Bytes) };
    let (mut chosen, mut pixels) = (walker::Options::default(), false);
    for (key, value) in options {
        match *key {
            "observation" => pixels = choice(key, value, "pixels", "state")?,
            key if walker::OPTIONS.iter().any(|option| option.key == key) => chosen.set(key, value)?,
            key => return Err(OptionError::unknown(key, &WALKER_OPTIONS)),
        }
    }
    let walker = walker::make(task, &chosen, seed)?;
    Ok(if pixels { World::Pixels(Box::new(Pixels::new(walker))) } else { World::Walker(Box::new(walker)) })
}

/// The task of a walker with this name, if it is one.
fn walker_task(name: &str) -> Option<walker::Task> {
    name.strip_prefix("walker:").and_then(walker::Task::from_name)
}

/// Makes a world with numbered actions and observations of bytes by name, seeded.
///
/// ```
/// use ive_envs::{Environment, registry};
/// let world = registry::make("minatar:asterix", &[("sticky", "0"), ("actions", "minimal")], 3)?;
/// assert_eq!(world.spec().actions, ["noop", "left", "up", "right", "down"]);
/// let error = registry::make("minatar:astreix", &[], 3).err().unwrap();
/// assert_eq!(error.to_string(), "no environment is called `minatar:astreix`; did you mean minatar:asterix?");
/// # Ok::<(), ive_envs::OptionError>(())
/// ```
///
/// # Errors
/// If the world or an option does not exist, the world has no numbered actions, an option cannot have its value, or a native
/// library cannot be had.
pub fn make(name: &str, options: &[(&str, &str)], seed: u64) -> Result<ByteWorld, OptionError> {
    let entry = find(name)?;
    if entry.action_kind != ActionKind::Numbered {
        return Err(OptionError::NotNumbered { name: entry.name });
    }
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
