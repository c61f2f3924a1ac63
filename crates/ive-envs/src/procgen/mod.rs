//! Procgen: sixteen games whose levels are made by a generator, so that one can learn on some and be tested on others.
//!
//! Cobbe, Hesse, Hilton and Schulman (2020), *Leveraging Procedural Generation to Benchmark Reinforcement Learning*.
//! These are the real games: the library of the package `procgen`, version 0.10.7, is loaded at run time, and
//! every observation, reward, end of episode and level equals that of the Python package for the same seed and actions.
//!
//! - [`Procgen`]: many environments of one game in one call, on any number of threads.
//! - [`make`]: one environment as an [`Environment`](crate::Environment), also by name in the registry.
//! - [`LevelSplit`]: levels to learn from, and others.
//!
//! ```no_run
//! use ive_envs::procgen::{Game, LevelSplit, Mode, Options, Procgen};
//! let easy = Options { mode: Mode::Easy, ..Options::default() };
//! let train = LevelSplit::new(200)?.train(easy);
//! let mut games = Procgen::new(Game::CoinRun, &train, 64, 2, 0)?; // 64 environments on 2 threads, seed 0
//! let now = games.step(&[7; 64])?; // all run to the right
//! assert_eq!(now.observations.len(), 64 * 64 * 64 * 3);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod assets;
mod games;
mod instance;
mod levels;
mod library;
mod options;
mod workers;
mod world;

pub use games::{ACTIONS, Game};
pub use instance::{Frame, Procgen};
pub use levels::LevelSplit;
pub use options::{Mode, OPTIONS, Options};

use crate::environment::{ByteEnvironment, Spec};
use crate::registry::OptionError;

/// Pixels of a picture a side.
const SIDE: usize = 64;

/// What every game shows and accepts.
fn spec(game: Game) -> Spec {
    Spec {
        name: format!("procgen:{}", game.name()),
        shape: vec![SIDE, SIDE, 3],
        channels: vec!["red", "green", "blue"],
        actions: ACTIONS.to_vec(),
    }
}

/// One environment of a game; call `reset` to begin. It equals environment 0 of a [`Procgen`] of the same seed.
///
/// # Errors
/// If an option does not fit the game, or the library cannot be had.
pub fn make(game: Game, options: &Options, seed: u64) -> Result<ByteEnvironment, OptionError> {
    Ok(Box::new(world::World::new(game, options, seed)?))
}
