//! Settings of the MinAtar table, and the runs that they ask for.

use ive_envs::minatar::{Game, Options};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::published::Method;
use crate::exit::{Failure, Outcome};
use crate::run::Plan;
use crate::run::agents::{Request, resolve};
use crate::settings::{named, range};

/// All settings; the presets say where each number comes from.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    pub games: Vec<String>,
    pub agents: Vec<String>,
    pub seeds: u64,
    pub steps: u64,
    pub agent_preset: String,
    pub oxygen_flash: bool,
    pub greedy_episodes: u64,
    pub random_episodes: u64,
    pub plan_episodes: u64,
    pub replicates: u64,
    pub curve_points: u64,
}

/// One run: an agent on a game with a seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell {
    pub game: Game,
    pub method: Method,
    pub seed: u64,
}

impl Settings {
    /// The settings, if every one is in its range.
    pub fn checked(self) -> Outcome<Self> {
        self.games()?;
        self.methods()?;
        range("minatar.seeds", self.seeds as f64, 1.0, 1000.0)?;
        range("minatar.steps", self.steps as f64, 1.0, 1e10)?;
        range("minatar.greedy_episodes", self.greedy_episodes as f64, 1.0, 1e5)?;
        range("minatar.random_episodes", self.random_episodes as f64, 10.0, 1e6)?;
        range("minatar.plan_episodes", self.plan_episodes as f64, 0.0, 1e4)?;
        range("minatar.replicates", self.replicates as f64, 100.0, 1e6)?;
        range("minatar.curve_points", self.curve_points as f64, 2.0, 1e4)?;
        self.methods()?
            .into_iter()
            .try_for_each(|method| self.plan(Cell { game: self.games()?[0], method, seed: 0 }).map(|_| ()))?;
        Ok(self)
    }

    /// What a run depends on. Other games, agents, seeds and statistics leave finished runs as good as they are.
    pub fn identity(&self) -> Value {
        json!({
            "steps": self.steps,
            "agent_preset": self.agent_preset,
            "oxygen_flash": self.oxygen_flash,
            "greedy_episodes": self.greedy_episodes,
        })
    }

    /// The games, in the order of the table.
    pub fn games(&self) -> Outcome<Vec<Game>> {
        let mut games = named("minatar.games", &self.games, &Game::ALL.map(|g| (g.name(), g)))?;
        games.sort_by_key(|g| *g as usize);
        Ok(games)
    }

    /// The agents, in the order of the table.
    pub fn methods(&self) -> Outcome<Vec<Method>> {
        let mut methods = named("minatar.agents", &self.agents, &Method::ALL.map(|m| (m.word(), m)))?;
        methods.sort_unstable();
        Ok(methods)
    }

    /// How a game is set up.
    pub fn world(&self, game: Game) -> Options {
        Options { oxygen_flash: self.oxygen_flash && game == Game::Seaquest, ..Options::default() }
    }

    /// What a run is: the preset of its agent with our number of steps.
    pub fn plan(&self, cell: Cell) -> Outcome<Plan> {
        let flash = self.world(cell.game).oxygen_flash;
        let options = flash.then(|| ("oxygen_flash".to_owned(), "on".to_owned()));
        resolve(&Request {
            agent: cell.method.word(),
            preset: &self.agent_preset,
            world: &format!("minatar:{}", cell.game.name()),
            options: options.into_iter().collect(),
            greedy_episodes: Some(self.greedy_episodes as usize),
            seed: cell.seed,
            steps: Some(self.steps),
            ..Request::default()
        })
        .map_err(|e| Failure::config(format!("minatar.agent_preset: {}", e.message)))
    }

    /// All runs, seed by seed, so that a sweep that was stopped is fair to all games and agents; of a seed those that
    /// take longest first, so that the last ones to finish are short.
    pub fn cells(&self) -> Outcome<Vec<Cell>> {
        let (games, methods) = (self.games()?, self.methods()?);
        let mut cells = Vec::new();
        for &game in &games {
            for &method in &methods {
                cells.extend((0..self.seeds).map(|seed| Cell { game, method, seed }));
            }
        }
        // A DQN learns at every step; trees cost more than one-step plans; more channels cost more.
        let cost = |c: &Cell| ([3, 0, 1, 2][c.method as usize], c.game.channels().len());
        cells.sort_by_key(|c| (c.seed, std::cmp::Reverse(cost(c))));
        Ok(cells)
    }
}
