//! Environments of Procgen give back what they take. Alone in its file, because it looks at the memory of the whole process.

#![cfg(all(target_os = "linux", target_env = "gnu"))]
#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

mod memory;

use ive_envs::native::{self, Package};
use ive_envs::procgen::{Game, Mode, Options, Procgen};

/// The buffers alone of one of these instances are 98 kB: if a hundredth of them stayed behind, 1,000 would make 980 kB. The
/// library keeps some tens of kilobytes of what it loads when it is first needed.
#[test]
fn a_thousand_instances_leave_no_memory_behind() {
    if native::for_tests(Package::Procgen).is_none() {
        return;
    }
    let five = [Game::Chaser, Game::Climber, Game::CoinRun, Game::FruitBot, Game::Jumper];
    let easy = Options { mode: Mode::Easy, ..Options::default() };
    let grown = memory::growth(|seed| {
        let k = seed as usize;
        let mut games = Procgen::new(five[k % 5], &easy, 8, 1 + k % 2, seed).unwrap();
        games.step(&[7; 8]).unwrap();
        let saved = games.save();
        games.restore(&saved).unwrap();
    });
    assert!(grown < 500, "{grown} kB more after 1,000 instances");
}
