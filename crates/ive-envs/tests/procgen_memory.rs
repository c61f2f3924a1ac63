//! Environments of Procgen give back what they take. Alone in its file, because it looks at the memory of the whole process.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

use ive_envs::native::{self, Package};
use ive_envs::procgen::{Game, Mode, Options, Procgen};

/// Kilobytes of memory in use.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// The buffers alone of one of these instances are 98 kB: if a tenth of them stayed behind, 1,000 would make 10 MB.
#[test]
fn a_thousand_instances_leave_no_memory_behind() {
    if native::for_tests(Package::Procgen).is_none() {
        return;
    }
    let five = [Game::Chaser, Game::Climber, Game::CoinRun, Game::FruitBot, Game::Jumper];
    let easy = Options { mode: Mode::Easy, ..Options::default() };
    let cycle = |k: usize| {
        let mut games = Procgen::new(five[k % 5], &easy, 8, 1 + k % 2, k as u64).unwrap();
        games.step(&[7; 8]).unwrap();
        let saved = games.save();
        games.restore(&saved).unwrap();
    };
    (0..100).for_each(cycle);
    let before = resident();
    (100..1100).for_each(cycle);
    let grown = resident().saturating_sub(before);
    assert!(grown < 5000, "{grown} kB more after 1,000 instances");
}
