//! Environments by name: `minatar:breakout`, with options as `key=value`.
//!
//! [`Registered`] is one of them with its options: checked, described, and opened when somebody asks, one at a time or as a
//! batch. [`open`] and [`make`] are short for it; `make` makes those with numbered actions and bytes to look at.

mod options;
mod registered;

pub(crate) use options::choice;
pub use options::{OptionError, OptionInfo};
pub use registered::{Bytes, Pictures, Registered, States, names_of};

use crate::environment::{ByteEnvironment, Environment, Sight};
use crate::walker::task::{MOTOR_NAMES, OBSERVATION, OBSERVATION_NAMES};
use crate::walker::{Pixels, Walker};
use crate::{minatar, nearest, procgen, walker};
use std::fmt;

/// An environment, whichever it is.
pub enum AnyEnvironment {
    /// Numbered actions, bytes to look at: MinAtar and Procgen.
    Bytes(ByteEnvironment),
    /// Six numbers as an action, 24 to look at.
    Walker(Box<Walker>),
    /// Six numbers as an action, a picture to look at.
    Pixels(Box<Pixels>),
}

impl AnyEnvironment {
    /// What a person sees now, as [`Environment::sight`] says.
    pub fn sight(&self, side: usize) -> Option<Sight> {
        match self {
            Self::Bytes(world) => world.sight(side),
            Self::Walker(world) => world.sight(side),
            Self::Pixels(world) => world.sight(side),
        }
    }
}

impl fmt::Debug for AnyEnvironment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes(world) => write!(f, "Environment({})", world.spec().name),
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

/// What an observation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObservationKind {
    /// Cells that hold objects or not: bytes 0 or 1, `[row, column, channel]`.
    Board,
    /// A picture: bytes 0 to 255, `[row, column, colour]`.
    Pixels,
    /// Real numbers, each with a meaning of its own.
    Vector,
}

/// What an environment offers, and what an agent wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kinds {
    /// What one sees.
    pub observation: ObservationKind,
    /// What one does.
    pub action: ActionKind,
}

impl fmt::Display for Kinds {
    /// `boards with numbered actions`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seen = match self.observation {
            ObservationKind::Board => "boards",
            ObservationKind::Pixels => "pixels",
            ObservationKind::Vector => "vectors of numbers",
        };
        let done = match self.action {
            ActionKind::Numbered => "numbered",
            ActionKind::Continuous => "continuous",
        };
        write!(f, "{seen} with {done} actions")
    }
}

/// An environment that can be made by name, for people.
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
const WALKER_OPTIONS: [OptionInfo; 5] = [
    OptionInfo {
        key: "observation",
        default: "state",
        values: "state, pixels",
        meaning: "the 24 numbers, or a picture of 64 × 64 × 3 bytes, drawn by ourselves",
    },
    walker::OPTIONS[0],
    walker::OPTIONS[1],
    walker::OPTIONS[2],
    walker::OPTIONS[3],
];

/// All environments, sorted by name.
pub fn entries() -> Vec<Entry> {
    let minatar = minatar::Game::ALL.map(Entry::of_minatar);
    let procgen = procgen::Game::ALL.map(Entry::of_procgen);
    let walker = walker::Task::ALL.map(Entry::of_walker);
    minatar.into_iter().chain(procgen).chain(walker).collect()
}

/// The environment of a name, described.
///
/// # Errors
/// If there is no such environment.
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

/// Makes an environment by name, seeded, whatever its actions and observations are.
///
/// ```no_run
/// use ive_envs::{Environment, registry::{self, AnyEnvironment}};
/// let mut episode = 0.0;
/// if let AnyEnvironment::Pixels(mut world) = registry::open("walker:walk", &[("observation", "pixels")], 3)? {
///     let picture = world.reset().observation;
///     assert_eq!(picture.len(), 64 * 64 * 3);
///     episode += world.step([0.0; 6])?.reward;
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If the environment or an option does not exist, an option cannot have its value, or a native library cannot be had.
pub fn open(name: &str, options: &[(&str, &str)], seed: u64) -> Result<AnyEnvironment, OptionError> {
    Registered::new(name, options)?.open(seed)
}

/// Makes an environment with numbered actions and observations of bytes by name, seeded.
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
/// If the environment or an option does not exist, it has no numbered actions, an option cannot have its value, or a native
/// library cannot be had.
pub fn make(name: &str, options: &[(&str, &str)], seed: u64) -> Result<ByteEnvironment, OptionError> {
    if find(name)?.action_kind != ActionKind::Numbered {
        return Err(OptionError::NotNumbered { name: name.to_owned() });
    }
    match Registered::new(name, options)?.open(seed)? {
        AnyEnvironment::Bytes(environment) => Ok(environment),
        AnyEnvironment::Walker(_) | AnyEnvironment::Pixels(_) => {
            Err(OptionError::NotNumbered { name: name.to_owned() })
        }
    }
}
