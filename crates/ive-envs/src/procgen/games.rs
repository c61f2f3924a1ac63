//! The sixteen games: names, time limits, variants.

use super::options::Mode;

/// The actions of all games, by the keys that are held down. Keys that a game does not know do nothing; where one can
/// shoot, `d` does.
pub const ACTIONS: [&str; 15] = [
    "left-down",
    "left",
    "left-up",
    "down",
    "noop",
    "up",
    "right-down",
    "right",
    "right-up",
    "d",
    "a",
    "w",
    "s",
    "q",
    "e",
];

/// A game.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "`summary` says what they are about")]
pub enum Game {
    BigFish,
    BossFight,
    CaveFlyer,
    Chaser,
    Climber,
    CoinRun,
    Dodgeball,
    FruitBot,
    Heist,
    Jumper,
    Leaper,
    Maze,
    Miner,
    Ninja,
    Plunder,
    StarPilot,
}

/// What there is to know about a game.
struct Facts {
    name: &'static str,
    /// Steps after which an episode ends whatever happens.
    time_limit: u32,
    /// Whether the game has levels of these modes; all have easy and hard ones.
    extreme: bool,
    memory: bool,
    /// The level of the exploration mode.
    exploration: Option<i32>,
    summary: &'static str,
}

const fn facts(name: &'static str, time_limit: u32, summary: &'static str) -> Facts {
    Facts { name, time_limit, extreme: false, memory: false, exploration: None, summary }
}

impl Facts {
    const fn extreme(self) -> Self {
        Self { extreme: true, ..self }
    }

    const fn memory(self) -> Self {
        Self { memory: true, ..self }
    }

    const fn exploration(self, level: i32) -> Self {
        Self { exploration: Some(level), ..self }
    }
}

/// In the order of [`Game::ALL`]. Time limits are written in the games' saved states; modes are those the library
/// accepts; exploration levels are the Python package's.
static FACTS: [Facts; 16] = [
    facts("bigfish", 6000, "eat smaller fish, grow, avoid larger ones"),
    facts("bossfight", 4000, "dodge a boss ship and shoot when its shield is down"),
    facts("caveflyer", 1000, "fly a ship through a cave to the goal").memory().exploration(1259048185),
    facts("chaser", 1000, "eat every dot of a maze, flee from enemies or, with a star, hunt them").extreme(),
    facts("climber", 1000, "climb platforms and collect stars").exploration(1561126160),
    facts("coinrun", 1000, "run and jump to the coin at the far right").exploration(1949448038),
    facts("dodgeball", 1000, "throw balls at enemies, dodge theirs, leave by the door").extreme().memory(),
    facts("fruitbot", 1000, "steer through gaps, take fruit, leave what is no fruit"),
    facts("heist", 1000, "open locks with keys of their colour to steal the gem")
        .memory()
        .exploration(876640971),
    facts("jumper", 1000, "find the carrot with double jumps and a compass").memory().exploration(1434825276),
    facts("leaper", 500, "cross lanes of cars, then a river on logs").extreme().exploration(1318677581),
    facts("maze", 500, "find the cheese in a maze").memory().exploration(158988835),
    facts("miner", 1000, "dig for diamonds below boulders, then leave").memory(),
    facts("ninja", 1000, "leap from ledge to ledge, throw stars at bombs, reach the mushroom")
        .exploration(1123500215),
    facts("plunder", 4000, "sink the ships of the right colour before time is up"),
    facts("starpilot", 1000, "shoot what comes flying, dodge the rest").extreme(),
];

impl Game {
    /// All sixteen, in alphabetical order.
    pub const ALL: [Self; 16] = [
        Self::BigFish,
        Self::BossFight,
        Self::CaveFlyer,
        Self::Chaser,
        Self::Climber,
        Self::CoinRun,
        Self::Dodgeball,
        Self::FruitBot,
        Self::Heist,
        Self::Jumper,
        Self::Leaper,
        Self::Maze,
        Self::Miner,
        Self::Ninja,
        Self::Plunder,
        Self::StarPilot,
    ];

    fn facts(self) -> &'static Facts {
        &FACTS[self as usize]
    }

    /// The name, such as `coinrun`.
    pub fn name(self) -> &'static str {
        self.facts().name
    }

    /// The game of a name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|game| game.name() == name)
    }

    /// What one does in it, in a line.
    pub fn summary(self) -> &'static str {
        self.facts().summary
    }

    /// Steps after which an episode ends whatever happens.
    pub fn time_limit(self) -> u32 {
        self.facts().time_limit
    }

    /// Whether the game has levels of this mode.
    pub fn has(self, mode: Mode) -> bool {
        match mode {
            Mode::Easy | Mode::Hard => true,
            Mode::Extreme => self.facts().extreme,
            Mode::Memory => self.facts().memory,
            Mode::Exploration => self.facts().exploration.is_some(),
        }
    }

    /// The one level of the exploration mode.
    pub(super) fn exploration_level(self) -> Option<i32> {
        self.facts().exploration
    }
}
