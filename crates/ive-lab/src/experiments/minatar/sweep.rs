//! Settings of the MinAtar table, and the runs that they ask for.

use ive_envs::minatar::{Game, Options};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::published::Method;
use crate::exit::{Failure, Outcome};
use crate::run::Plan;
use crate::run::agents::{Request, resolve};
use crate::settings::{Change, named, range};

/// All settings; the presets say where each number comes from.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    pub games: Vec<String>,
    pub agents: Vec<String>,
    pub seeds: u64,
    pub steps: u64,
    pub agent_preset: String,
    /// Settings of the value prediction networks, `key=value`, over those of the preset.
    pub vpn: Vec<String>,
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
        let mut all = json!({
            "steps": self.steps,
            "agent_preset": self.agent_preset,
            "oxygen_flash": self.oxygen_flash,
            "greedy_episodes": self.greedy_episodes,
        });
        if !self.vpn.is_empty() {
            all["vpn"] = json!(self.vpn);
        }
        all
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
        let texts: &[String] = if cell.method == Method::Dqn { &[] } else { &self.vpn };
        let changes: Result<Vec<Change>, String> = texts.iter().map(|text| Change::parse(text)).collect();
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
            changes: &changes.map_err(|e| Failure::config(format!("minatar.vpn: {e}")))?,
            ..Request::default()
        })
        .map_err(|e| Failure::config(format!("minatar, {}: {}", cell.method.word(), e.message)))
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

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(vpn: &[&str]) -> Settings {
        let settings: Settings = toml::from_str(include_str!("../../../presets/minatar.small.toml")).unwrap();
        Settings { vpn: vpn.iter().map(|&text| text.to_owned()).collect(), ..settings }
    }

    /// Results from before the setting was there belong to the same experiment.
    #[test]
    fn settings_of_networks_reach_every_agent_that_has_one_and_are_part_of_what_the_results_are() {
        let changed = settings(&["network=relu", "reward_weight=2"]).checked().unwrap();
        let plain = settings(&[]);
        for method in Method::ALL {
            let cell = Cell { game: Game::Breakout, method, seed: 0 };
            let found = changed.plan(cell).unwrap().settings;
            if method == Method::Dqn {
                assert_eq!(found, plain.plan(cell).unwrap().settings);
            } else {
                assert_eq!(found["network"].as_str(), Some("relu"));
                assert_eq!(found["reward_weight"].as_float(), Some(2.0));
            }
        }
        assert_ne!(changed.identity(), plain.identity());
        assert!(plain.identity().get("vpn").is_none());
        for (wrong, words) in
            [("network", "key=value"), ("networks=relu", "networks"), ("network=blue", "blue")]
        {
            let message = settings(&[wrong]).checked().unwrap_err().message;
            assert!(message.contains(words), "{wrong}: {message}");
        }
    }
}
