//! Settings of the trials, and the runs that they ask for.

use ive_envs::minatar::Game;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::exit::{Failure, Outcome};
use crate::run::Plan;
use crate::run::agents::{Request, resolve};
use crate::settings::{Change, range, suggest};

/// What the runs without a change are called.
pub const BASE: &str = "base";

/// All settings; the presets say where each number comes from.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    pub agent: String,
    pub agent_preset: String,
    /// Settings that all runs have, as `key=value`, over those of the preset.
    pub base: Vec<String>,
    /// The changes, each alone over the base: `key=value`, or several joined by `; `.
    pub changes: Vec<String>,
    pub games: Vec<String>,
    pub seeds: u64,
    pub steps: u64,
    pub greedy_episodes: u64,
    pub random_episodes: u64,
}

/// One run: a change on a game with a seed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    /// As it is written in the settings, or [`BASE`].
    pub change: String,
    pub game: Game,
    pub seed: u64,
}

/// `key=value; key=value`, taken apart.
fn parse(change: &str) -> Outcome<Vec<Change>> {
    let one = |text: &str| Change::parse(text).map_err(|e| Failure::config(format!("trials: `{text}`: {e}")));
    change.split(';').map(|text| one(text.trim())).collect()
}

impl Settings {
    /// The settings, if every one is in its range and every change is one.
    pub fn checked(self) -> Outcome<Self> {
        range("trials.seeds", self.seeds as f64, 1.0, 1000.0)?;
        range("trials.steps", self.steps as f64, 1.0, 1e10)?;
        range("trials.greedy_episodes", self.greedy_episodes as f64, 1.0, 1e5)?;
        range("trials.random_episodes", self.random_episodes as f64, 10.0, 1e6)?;
        let game = self.games()?[0];
        let base = self.plan(&Cell { change: BASE.to_owned(), game, seed: 0 })?;
        for (i, change) in self.changes.iter().enumerate() {
            if self.changes[..i].contains(change) || change == BASE {
                return Err(Failure::config(format!("trials.changes: `{change}` is there twice")));
            }
            if change.contains(['/', '\\']) {
                return Err(Failure::config(format!("trials.changes: `{change}` cannot name a directory")));
            }
            if self.plan(&Cell { change: change.clone(), game, seed: 0 })? == base {
                return Err(Failure::config(format!("trials.changes: `{change}` changes nothing")));
            }
        }
        Ok(self)
    }

    /// What a run depends on. More changes, games and seeds leave finished runs as good as they are.
    pub fn identity(&self) -> Value {
        json!({
            "agent": self.agent,
            "agent_preset": self.agent_preset,
            "base": self.base,
            "steps": self.steps,
            "greedy_episodes": self.greedy_episodes,
        })
    }

    /// The games.
    pub fn games(&self) -> Outcome<Vec<Game>> {
        let one = |name: &String| {
            Game::from_name(name).ok_or_else(|| {
                let known: Vec<String> = Game::ALL.iter().map(|g| g.name().to_owned()).collect();
                Failure::config(format!("trials.games: there is no `{name}`{}", suggest(name, known.iter())))
            })
        };
        let games = self.games.iter().map(one).collect::<Outcome<Vec<Game>>>()?;
        if games.is_empty() {
            return Err(Failure::config("trials.games: at least one is needed".to_owned()));
        }
        Ok(games)
    }

    /// The base and all changes.
    pub fn variants(&self) -> impl Iterator<Item = &str> {
        std::iter::once(BASE).chain(self.changes.iter().map(String::as_str))
    }

    /// What a run is.
    pub fn plan(&self, cell: &Cell) -> Outcome<Plan> {
        let mut changes = Vec::new();
        for text in &self.base {
            changes.extend(parse(text)?);
        }
        if cell.change != BASE {
            changes.extend(parse(&cell.change)?);
        }
        resolve(&Request {
            agent: &self.agent,
            preset: &self.agent_preset,
            world: &format!("minatar:{}", cell.game.name()),
            seed: cell.seed,
            steps: Some(self.steps),
            greedy_episodes: Some(self.greedy_episodes as usize),
            changes: &changes,
            ..Request::default()
        })
        .map_err(|e| Failure::config(format!("trials, `{}`: {}", cell.change, e.message)))
    }

    /// All runs, seed by seed, so that a stopped set of trials has compared everything with the seeds that it has.
    pub fn cells(&self) -> Outcome<Vec<Cell>> {
        let games = self.games()?;
        let mut cells = Vec::new();
        for seed in 0..self.seeds {
            for change in self.variants() {
                cells.extend(games.iter().map(|&game| Cell { change: change.to_owned(), game, seed }));
            }
        }
        Ok(cells)
    }
}
