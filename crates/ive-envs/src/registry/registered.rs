//! An environment by name, with its options: checked, and made when somebody asks.

use std::collections::BTreeMap;

use ive::Rng;

use super::{
    ActionKind, AnyEnvironment, Kinds, ObservationKind, OptionError, WALKER_OPTIONS, choice, entries, find,
};
use crate::batched::{BoxedBatch, Environments, vector};
use crate::environment::{BoxedEnvironment, ByteEnvironment};
use crate::walker::{self, Pixels, Task};
use crate::{minatar, procgen};

/// An environment of the registry with its options. It is checked, but not made: no library is opened for it.
///
/// ```
/// use ive_envs::registry::{Kinds, ActionKind, ObservationKind, Registered};
/// let asterix = Registered::new("minatar:asterix", &[("sticky", "0")])?;
/// let boards = Kinds { observation: ObservationKind::Board, action: ActionKind::Numbered };
/// assert_eq!(asterix.kinds(), boards);
/// assert!(Registered::new("minatar:asterix", &[("sticky", "2")]).is_err());
/// # Ok::<(), ive_envs::OptionError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Registered {
    name: String,
    given: BTreeMap<String, String>,
    family: Family,
}

#[derive(Clone, Debug, PartialEq)]
enum Family {
    Minatar(minatar::Game, minatar::Options),
    Procgen(procgen::Game, procgen::Options),
    Walker { task: Task, options: walker::Options, pixels: bool },
}

impl Registered {
    /// The environment of this name with these options.
    ///
    /// # Errors
    /// If the environment or an option does not exist, or an option cannot have its value.
    pub fn new(name: &str, options: &[(&str, &str)]) -> Result<Self, OptionError> {
        let entry = find(name)?;
        let (family, game) = entry.name.split_once(':').unwrap_or_default();
        let unknown = || OptionError::UnknownName { name: name.to_owned(), near: Vec::new() };
        let family = match family {
            "minatar" => Family::minatar(minatar::Game::from_name(game).ok_or_else(unknown)?, options)?,
            "procgen" => Family::procgen(procgen::Game::from_name(game).ok_or_else(unknown)?, options)?,
            "walker" => Family::walker(Task::from_name(game).ok_or_else(unknown)?, options)?,
            _ => return Err(unknown()),
        };
        let given = options.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        Ok(Self { name: entry.name, given, family })
    }

    /// The same with options as a run keeps them.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_options(name: &str, options: &BTreeMap<String, String>) -> Result<Self, OptionError> {
        let options: Vec<(&str, &str)> = options.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
        Self::new(name, &options)
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The same environment with some options changed.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn changed(&self, options: &BTreeMap<String, String>) -> Result<Self, OptionError> {
        let mut all = self.given.clone();
        all.extend(options.iter().map(|(key, value)| (key.clone(), value.clone())));
        Self::with_options(&self.name, &all)
    }

    /// What it shows and takes.
    pub fn kinds(&self) -> Kinds {
        match self.family {
            Family::Minatar(..) => {
                Kinds { observation: ObservationKind::Board, action: ActionKind::Numbered }
            }
            Family::Procgen(..) => {
                Kinds { observation: ObservationKind::Pixels, action: ActionKind::Numbered }
            }
            Family::Walker { pixels, .. } => {
                let observation = if pixels { ObservationKind::Pixels } else { ObservationKind::Vector };
                Kinds { observation, action: ActionKind::Continuous }
            }
        }
    }

    /// Whether it can have this seed, which most generators can and NumPy's cannot.
    ///
    /// # Errors
    /// If it cannot.
    pub fn check_seed(&self, seed: u64) -> Result<(), OptionError> {
        match &self.family {
            Family::Minatar(game, options) => options.check(*game, seed),
            Family::Procgen(game, options) => options.check(*game),
            Family::Walker { options, .. } => options.check(seed),
        }
    }

    /// The same environment with each odd start that it offers, by name: episodes begin there as its own never do.
    pub fn odd_starts(&self) -> Vec<(&'static str, Self)> {
        let Family::Walker { task, options, pixels } = self.family else { return Vec::new() };
        let odd = walker::Start::ALL.into_iter().skip(1).map(|start| {
            let mut given = self.given.clone();
            given.insert("start".to_owned(), start.name().to_owned());
            let options = walker::Options { start, ..options };
            (
                start.name(),
                Self { name: self.name.clone(), given, family: Family::Walker { task, options, pixels } },
            )
        });
        odd.collect()
    }

    /// Makes it; call `reset` to begin.
    ///
    /// # Errors
    /// If the seed does not fit, or a native library cannot be had.
    pub fn open(&self, seed: u64) -> Result<AnyEnvironment, OptionError> {
        Ok(match &self.family {
            Family::Minatar(game, options) => AnyEnvironment::Bytes(minatar::make(*game, options, seed)?),
            Family::Procgen(game, options) => AnyEnvironment::Bytes(procgen::make(*game, options, seed)?),
            Family::Walker { task, options, pixels } => {
                let walker = walker::make(*task, options, seed)?;
                if *pixels {
                    AnyEnvironment::Pixels(Box::new(Pixels::new(walker)))
                } else {
                    AnyEnvironment::Walker(Box::new(walker))
                }
            }
        })
    }

    /// The environment for agents that see bytes and number their actions; `None` if it is of another kind.
    pub fn bytes(&self) -> Option<Bytes> {
        (self.kinds().action == ActionKind::Numbered).then(|| Bytes(self.clone()))
    }

    /// The environment for agents that see the numbers of the walker and move its motors; `None` if it is of another kind.
    pub fn states(&self) -> Option<States> {
        let vector = Kinds { observation: ObservationKind::Vector, action: ActionKind::Continuous };
        (self.kinds() == vector).then(|| States(self.clone()))
    }

    /// The environment for agents that see pictures of the walker and move its motors; `None` if it is of another kind.
    pub fn pictures(&self) -> Option<Pictures> {
        let pictures = Kinds { observation: ObservationKind::Pixels, action: ActionKind::Continuous };
        (self.kinds() == pictures).then(|| Pictures(self.clone()))
    }

    /// For how many steps of the environment an action holds.
    fn repeat(&self) -> u64 {
        if let Family::Walker { options, .. } = &self.family { options.repeat.into() } else { 1 }
    }
}

/// The names of all environments that offer this with their default options.
pub fn names_of(kinds: Kinds) -> Vec<String> {
    let names = entries().into_iter().map(|entry| entry.name);
    names.filter(|name| Registered::new(name, &[]).is_ok_and(|known| known.kinds() == kinds)).collect()
}

impl Family {
    fn minatar(game: minatar::Game, options: &[(&str, &str)]) -> Result<Self, OptionError> {
        let mut chosen = minatar::Options::default();
        options.iter().try_for_each(|(key, value)| chosen.set(key, value))?;
        // Every generator has the seed 0.
        chosen.check(game, 0)?;
        Ok(Self::Minatar(game, chosen))
    }

    fn procgen(game: procgen::Game, options: &[(&str, &str)]) -> Result<Self, OptionError> {
        let mut chosen = procgen::Options::default();
        options.iter().try_for_each(|(key, value)| chosen.set(key, value))?;
        chosen.check(game)?;
        Ok(Self::Procgen(game, chosen))
    }

    fn walker(task: Task, options: &[(&str, &str)]) -> Result<Self, OptionError> {
        let (mut chosen, mut pixels) = (walker::Options::default(), false);
        for (key, value) in options {
            match *key {
                "observation" => pixels = choice(key, value, "pixels", "state")?,
                key if walker::OPTIONS.iter().any(|option| option.key == key) => chosen.set(key, value)?,
                key => return Err(OptionError::unknown(key, &WALKER_OPTIONS)),
            }
        }
        Ok(Self::Walker { task, options: chosen, pixels })
    }
}

/// Environments of a name with numbered actions and observations of bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct Bytes(Registered);

impl Environments for Bytes {
    type Action = usize;
    type Element = u8;

    fn one(&self, seed: u64) -> Result<ByteEnvironment, OptionError> {
        match self.0.open(seed)? {
            AnyEnvironment::Bytes(environment) => Ok(environment),
            AnyEnvironment::Walker(_) | AnyEnvironment::Pixels(_) => {
                Err(OptionError::NotNumbered { name: self.0.name.clone() })
            }
        }
    }

    /// Procgen has its own batch, which needs one seed and here uses the caller's thread only: runs share a machine.
    fn many(&self, count: usize, seeds: &mut Rng) -> Result<BoxedBatch<usize, u8>, OptionError> {
        if let Family::Procgen(game, options) = &self.0.family {
            let batch = procgen::Procgen::new(*game, options, count, 1, seeds.next_u64())?;
            return Ok(Box::new(batch));
        }
        vector(self, count, seeds)
    }
}

/// Walkers that show their numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct States(Registered);

impl Environments for States {
    type Action = walker::Action;
    type Element = f64;

    fn one(&self, seed: u64) -> Result<BoxedEnvironment<walker::Action, f64>, OptionError> {
        match self.0.open(seed)? {
            AnyEnvironment::Walker(walker) => Ok(walker),
            AnyEnvironment::Pixels(pixels) => Ok(Box::new(pixels.into_walker())),
            AnyEnvironment::Bytes(_) => Err(OptionError::value("observation", "bytes", "state")),
        }
    }

    fn repeat(&self) -> u64 {
        self.0.repeat()
    }
}

/// Walkers that show pictures.
#[derive(Clone, Debug, PartialEq)]
pub struct Pictures(Registered);

impl Environments for Pictures {
    type Action = walker::Action;
    type Element = u8;

    fn one(&self, seed: u64) -> Result<BoxedEnvironment<walker::Action, u8>, OptionError> {
        match self.0.open(seed)? {
            AnyEnvironment::Pixels(pixels) => Ok(pixels),
            AnyEnvironment::Walker(walker) => Ok(Box::new(Pixels::new(*walker))),
            AnyEnvironment::Bytes(_) => Err(OptionError::value("observation", "bytes", "pixels")),
        }
    }

    fn repeat(&self) -> u64 {
        self.0.repeat()
    }
}
