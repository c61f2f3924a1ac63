//! MinAtar: five small Atari-like games on a board of 10 × 10 cells, each object kind a channel of its own.
//!
//! Young and Tian (2019), *MinAtar: An Atari-Inspired Testbed for Thorough and Reproducible Reinforcement Learning
//! Experiments*. The code here was written from a description of the rules; with `rng=numpy` every observation,
//! reward and end of episode equals that of the original package, version 1.0.15, for the same seed and actions.
//!
//! ```
//! use ive_envs::minatar::{Game, Options, make};
//! use ive_envs::Environment;
//! let options = Options { sticky: 0.0, ..Options::default() };
//! let mut world = make(Game::Freeway, &options, 1)?;
//! assert_eq!(world.spec().shape, [10, 10, 7]);
//! let first = world.reset();
//! assert_eq!(first.observation[(9 * 10 + 4) * 7], 1); // the chicken
//! # Ok::<(), ive_envs::OptionError>(())
//! ```

mod asterix;
mod board;
mod breakout;
mod freeway;
mod options;
pub mod picture;
mod seaquest;
mod space_invaders;
mod world;

pub use crate::random::Generator;
pub use board::Action;
pub use options::{OPTIONS, Options};

use crate::environment::ByteEnvironment;
use crate::mt19937::Mt19937;
use crate::random::Random;
use crate::registry::OptionError;
use board::Rules;
use world::{Rulebook, World};

/// The five games.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Game {
    /// Collect gold, avoid enemies.
    Asterix,
    /// Break bricks with a ball.
    Breakout,
    /// Cross the road.
    Freeway,
    /// Hunt under water, mind the oxygen.
    Seaquest,
    /// Shoot aliens that march.
    SpaceInvaders,
}

impl Game {
    /// All five, in alphabetical order.
    pub const ALL: [Self; 5] =
        [Self::Asterix, Self::Breakout, Self::Freeway, Self::Seaquest, Self::SpaceInvaders];

    /// The name, such as `space_invaders`.
    pub fn name(self) -> &'static str {
        ["asterix", "breakout", "freeway", "seaquest", "space_invaders"][self as usize]
    }

    /// The game of a name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|game| game.name() == name)
    }

    /// What one does in it, in a line.
    pub fn summary(self) -> &'static str {
        match self {
            Self::Asterix => "collect gold, avoid enemies on eight lanes",
            Self::Breakout => "break bricks with a ball and a paddle",
            Self::Freeway => "bring a chicken across eight lanes of traffic",
            Self::Seaquest => "hunt under water, rescue divers, mind the oxygen",
            Self::SpaceInvaders => "shoot a marching block of aliens",
        }
    }

    /// The channels of an observation.
    pub fn channels(self) -> &'static [&'static str] {
        match self {
            Self::Asterix => asterix::Asterix::CHANNELS,
            Self::Breakout => breakout::Breakout::CHANNELS,
            Self::Freeway => freeway::Freeway::CHANNELS,
            Self::Seaquest => seaquest::Seaquest::CHANNELS,
            Self::SpaceInvaders => space_invaders::SpaceInvaders::CHANNELS,
        }
    }

    /// The actions that do something in this game.
    pub fn minimal_actions(self) -> &'static [Action] {
        use Action::{Down, Fire, Left, Noop, Right, Up};
        match self {
            Self::Asterix => &[Noop, Left, Up, Right, Down],
            Self::Breakout => &[Noop, Left, Right],
            Self::Freeway => &[Noop, Up, Down],
            Self::Seaquest => &Action::ALL,
            Self::SpaceInvaders => &[Noop, Left, Right, Fire],
        }
    }
}

/// A game, seeded; call `reset` to begin.
///
/// # Errors
/// If an option is out of range or does not fit the game or the seed.
pub fn make(game: Game, options: &Options, seed: u64) -> Result<ByteEnvironment, OptionError> {
    use asterix::Asterix;
    use breakout::Breakout;
    use freeway::Freeway;
    use seaquest::Seaquest;
    use space_invaders::SpaceInvaders;

    options.check(game, seed)?;
    Ok(match (game, options.generator) {
        (Game::Asterix, Generator::Ive) => world::<Asterix, ive::Rng>(game, options, seed),
        (Game::Asterix, Generator::NumPy) => world::<Asterix, Mt19937>(game, options, seed),
        (Game::Breakout, Generator::Ive) => world::<Breakout, ive::Rng>(game, options, seed),
        (Game::Breakout, Generator::NumPy) => world::<Breakout, Mt19937>(game, options, seed),
        (Game::Freeway, Generator::Ive) => world::<Freeway, ive::Rng>(game, options, seed),
        (Game::Freeway, Generator::NumPy) => world::<Freeway, Mt19937>(game, options, seed),
        (Game::Seaquest, Generator::Ive) => world::<Seaquest, ive::Rng>(game, options, seed),
        (Game::Seaquest, Generator::NumPy) => world::<Seaquest, Mt19937>(game, options, seed),
        (Game::SpaceInvaders, Generator::Ive) => world::<SpaceInvaders, ive::Rng>(game, options, seed),
        (Game::SpaceInvaders, Generator::NumPy) => world::<SpaceInvaders, Mt19937>(game, options, seed),
    })
}

fn world<G, R>(game: Game, options: &Options, seed: u64) -> ByteEnvironment
where
    G: Rulebook + 'static,
    R: Random + 'static,
{
    let identity = format!("minatar:{} {options}", game.name());
    let rules = Rules { ramping: options.ramping, oxygen_flash: options.oxygen_flash };
    let actions = if options.minimal_actions { game.minimal_actions() } else { &Action::ALL };
    Box::new(World::<G, R>::new(game, identity, rules, options.sticky, actions, seed))
}
