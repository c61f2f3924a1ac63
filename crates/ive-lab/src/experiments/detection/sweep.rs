//! Settings of the study, and the runs that it asks for.

use std::collections::BTreeMap;

use ive_agents::evaluation::Shift;
use ive_agents::evaluation::ood::EPSILON;
use ive_envs::minatar::Game;
use ive_envs::registry::Registered;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::exit::{Failure, Outcome};
use crate::run::Plan;
use crate::run::agents::{Request, resolve};
use crate::settings::{Change, range, suggest};

/// What agents without a change of their settings are called.
pub const BASE: &str = "base";
/// The setting that says how far a model is trained to predict, of value prediction networks and of Muesli.
const UNROLLED: [&str; 2] = ["prediction", "unroll"];
/// The shift in which everything is done at random.
const RANDOM_PLAY: &str = "random play";

/// All settings; the presets say where each number comes from.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    pub agent: String,
    pub agent_preset: String,
    /// Settings that all agents have, `key=value`, over those of the preset.
    pub base: Vec<String>,
    /// Agents beside the base: changes of its settings, `key=value`, several joined by `; `.
    pub variants: Vec<String>,
    pub games: Vec<String>,
    pub seeds: u64,
    /// Environment steps of training; the longest counts for the claims.
    pub steps: Vec<u64>,
    pub greedy_episodes: u64,
    pub states: u64,
    pub distilled: u64,
    /// Natural shifts: options of the environment, `key=value`, or `random play`.
    pub shifts: Vec<String>,
    /// Whether the state before a corrupted one is corrupted, too.
    pub corruption_lasts: bool,
    pub guard_rate: f64,
    pub guard_episodes: u64,
    pub guard_fallback: String,
    pub guard_shift: String,
    pub guard_corruption: String,
    pub grid_seeds: u64,
    pub grid_walks: u64,
}

/// One run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    /// As it is written in the settings, or [`BASE`].
    pub variant: String,
    pub game: Game,
    pub steps: u64,
    pub seed: u64,
}

impl Cell {
    /// `base/breakout/100000/seed-0`.
    pub fn name(&self) -> String {
        format!("{}/{}/{}/seed-{}", self.variant, self.game.name(), self.steps, self.seed)
    }
}

fn wrong(key: &str, what: &str) -> Failure {
    Failure::config(format!("detection.{key}: {what}"))
}

impl Settings {
    /// The settings, if every one is in its range.
    pub fn checked(self) -> Outcome<Self> {
        range("detection.seeds", self.seeds as f64, 1.0, 1000.0)?;
        range("detection.greedy_episodes", self.greedy_episodes as f64, 1.0, 1e5)?;
        range("detection.states", self.states as f64, 32.0, 1e5)?;
        range("detection.distilled", self.distilled as f64, 64.0, 1e6)?;
        range("detection.guard_rate", self.guard_rate, 1e-3, 0.5)?;
        let needed = ive::Guard::needed(self.guard_rate).map_err(|e| wrong("guard_rate", &e.to_string()))?;
        range("detection.guard_episodes", self.guard_episodes as f64, needed as f64, 1e5)?;
        range("detection.grid_seeds", self.grid_seeds as f64, 1.0, 1e5)?;
        range("detection.grid_walks", self.grid_walks as f64, needed as f64, 1e6)?;
        if self.steps.is_empty() {
            return Err(wrong("steps", "at least one length of training is needed"));
        }
        for (i, steps) in self.steps.iter().enumerate() {
            range("detection.steps", *steps as f64, 1.0, 1e10)?;
            if self.steps[..i].contains(steps) {
                return Err(wrong("steps", &format!("{steps} is there twice")));
            }
        }
        let (game, steps) = (self.games()?[0], self.steps[0]);
        for (i, variant) in self.variants.iter().enumerate() {
            if variant == BASE || self.variants[..i].contains(variant) || variant.contains(['/', '\\']) {
                return Err(wrong(
                    "variants",
                    &format!("`{variant}` is there twice, or cannot name a directory"),
                ));
            }
        }
        for variant in self.all_variants() {
            let plan = self.plan(&Cell { variant: variant.to_owned(), game, steps, seed: 0 })?;
            self.trained(&plan)?;
        }
        self.shifts(game)?;
        Self::shift(game, &self.guard_shift)?;
        Ok(self)
    }

    /// What runs depend on. More variants, games, seeds and lengths leave them as they are, and all but a longer training leave
    /// what was asked of them, too.
    pub fn identity(&self) -> Value {
        json!({
            "agent": self.agent,
            "agent_preset": self.agent_preset,
            "greedy_episodes": self.greedy_episodes,
        })
    }

    /// The base and what it is compared with.
    pub fn all_variants(&self) -> impl Iterator<Item = &str> {
        std::iter::once(BASE).chain(self.variants.iter().map(String::as_str))
    }

    /// The games.
    pub fn games(&self) -> Outcome<Vec<Game>> {
        let one = |name: &String| {
            Game::from_name(name).ok_or_else(|| {
                let known: Vec<String> = Game::ALL.iter().map(|g| g.name().to_owned()).collect();
                wrong("games", &format!("there is no `{name}`{}", suggest(name, known.iter())))
            })
        };
        let games = self.games.iter().map(one).collect::<Outcome<Vec<Game>>>()?;
        if games.is_empty() {
            return Err(wrong("games", "at least one is needed"));
        }
        Ok(games)
    }

    /// The longest training.
    pub fn longest(&self) -> u64 {
        self.steps.iter().copied().max().unwrap_or(0)
    }

    /// The natural shifts on a game.
    pub fn shifts(&self, game: Game) -> Outcome<Vec<Shift>> {
        self.shifts.iter().map(|shift| Self::shift(game, shift)).collect()
    }

    /// A natural shift.
    pub fn shift(game: Game, text: &str) -> Outcome<Shift> {
        if text == RANDOM_PLAY {
            return Ok(Shift { name: text.to_owned(), environment: None, epsilon: 1.0 });
        }
        let bad = |what: &str| wrong("shifts", &format!("`{text}`: {what}"));
        let (key, value) = text.split_once('=').ok_or_else(|| bad("expected key=value, or `random play`"))?;
        let options = BTreeMap::from([(key.to_owned(), value.to_owned())]);
        let environment = Registered::with_options(&format!("minatar:{}", game.name()), &options)
            .map_err(|e| bad(&e.to_string()))?;
        Ok(Shift { name: text.to_owned(), environment: Some(environment), epsilon: EPSILON })
    }

    /// What a run is: the same as `ive train` would make of it.
    pub fn plan(&self, cell: &Cell) -> Outcome<Plan> {
        let own = cell.variant.split(';').filter(|_| cell.variant != BASE);
        let texts = self.base.iter().map(String::as_str).chain(own);
        let changes: Result<Vec<Change>, String> = texts.map(|text| Change::parse(text.trim())).collect();
        let key = if cell.variant == BASE { "base" } else { "variants" };
        let changes = changes.map_err(|e| wrong(key, &e))?;
        resolve(&Request {
            agent: &self.agent,
            preset: &self.agent_preset,
            world: &format!("minatar:{}", cell.game.name()),
            seed: cell.seed,
            steps: Some(cell.steps),
            greedy_episodes: Some(self.greedy_episodes as usize),
            changes: &changes,
            points: 50,
            ..Request::default()
        })
        .map_err(|e| wrong(key, &format!("`{}`: {}", cell.variant, e.message)))
    }

    /// How far the model of a run was trained to predict.
    pub fn trained(&self, plan: &Plan) -> Outcome<usize> {
        let steps = |key: &str| plan.settings.get(key)?.as_integer()?.try_into().ok();
        UNROLLED.iter().find_map(|key| steps(key)).ok_or_else(|| {
            wrong("agent", &format!("`{}` has no model to unroll; mu-ive and muesli have one", self.agent))
        })
    }

    /// All runs, seed by seed, so that a study that was stopped is fair to all; of a seed the short ones first.
    pub fn cells(&self) -> Outcome<Vec<Cell>> {
        let games = self.games()?;
        let mut cells = Vec::new();
        for seed in 0..self.seeds {
            for &steps in &self.steps {
                for variant in self.all_variants() {
                    let cell = |&game: &Game| Cell { variant: variant.to_owned(), game, steps, seed };
                    cells.extend(games.iter().map(cell));
                }
            }
        }
        Ok(cells)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Muesli calls the depth of its model otherwise than value prediction networks do; DQN has no model.
    #[test]
    fn agents_with_a_model_take_part_and_others_are_refused() {
        let settings = |agent: &str| Settings {
            agent: agent.to_owned(),
            ..toml::from_str(include_str!("../../../presets/detection.small.toml")).unwrap()
        };
        for agent in ["mu-ive", "muesli"] {
            let settings = settings(agent).checked().unwrap();
            let cell = settings.cells().unwrap().swap_remove(0);
            assert_eq!(settings.trained(&settings.plan(&cell).unwrap()).unwrap(), 5, "{agent}");
        }
        let refused = settings("dqn").checked().unwrap_err();
        assert!(refused.code == 78 && refused.message.contains("`dqn` has no model"), "{}", refused.message);
        let base = vec!["network=paper".to_owned()];
        let refused = Settings { base, ..settings("muesli") }.checked().unwrap_err();
        assert!(refused.message.starts_with("detection.base: "), "{}", refused.message);
    }
}
