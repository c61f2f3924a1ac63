//! What the paper's Table 2 says, and who is in it.

use ive_envs::minatar::Game;
use serde::{Deserialize, Serialize};

use crate::report::plot::colour;

/// How an agent estimates values, in the order of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Method {
    /// Without a model.
    #[serde(rename = "dqn")]
    Dqn,
    /// Acts and bootstraps on the one-step member.
    #[serde(rename = "vpn-v1")]
    FirstMember,
    /// Acts and bootstraps on the five-step member.
    #[serde(rename = "vpn-v5")]
    LastMember,
    /// Acts and bootstraps on the mean of the members k = 1..5.
    #[serde(rename = "mu-ive")]
    MeanOfMembers,
}

impl Method {
    /// All four, in the order of the table.
    pub const ALL: [Self; 4] = [Self::Dqn, Self::FirstMember, Self::LastMember, Self::MeanOfMembers];

    /// As it is typed; also the name of its agent.
    pub fn word(self) -> &'static str {
        ["dqn", "vpn-v1", "vpn-v5", "mu-ive"][self as usize]
    }

    /// As it is printed.
    pub fn label(self) -> &'static str {
        ["DQN", "VPN + v̂¹", "VPN + v̂⁵", "μ-IVE(5)"][self as usize]
    }

    /// Its colour in every figure.
    pub fn colour(self) -> &'static str {
        [colour::BASELINE, colour::FIRST_MEMBER, colour::LAST_MEMBER, colour::IVE][self as usize]
    }
}

/// Steps of a run in the paper.
pub const STEPS: u64 = 2_000_000;
/// Seeds in the paper.
pub const SEEDS: u64 = 3;

/// Mean return and standard error over three runs of 2M steps, `[method][game]` in the order of [`Method::ALL`] and
/// [`Game::ALL`]. Paper: Table 2.
const TABLE_2: [[(f64, f64); 5]; 4] = [
    [(14.7, 0.4), (12.1, 1.2), (49.6, 0.3), (2.3, 0.6), (47.2, 1.3)],
    [(15.1, 0.6), (13.8, 0.8), (49.1, 0.7), (4.7, 0.9), (53.9, 1.8)],
    [(7.1, 2.3), (4.2, 2.3), (24.3, 4.2), (1.2, 1.4), (28.6, 8.3)],
    [(18.3, 0.2), (22.0, 0.7), (49.4, 0.5), (8.6, 0.3), (97.3, 9.6)],
];

/// The paper's mean return and standard error.
pub fn table_2(method: Method, game: Game) -> (f64, f64) {
    TABLE_2[method as usize][game as usize]
}

/// The best mean return that the paper's table has for a game.
pub fn best(game: Game) -> f64 {
    Method::ALL.iter().map(|&m| table_2(m, game).0).fold(f64::NEG_INFINITY, f64::max)
}

/// A game as people write it.
pub fn title(game: Game) -> &'static str {
    ["Asterix", "Breakout", "Freeway", "Seaquest", "Space Invaders"][game as usize]
}
