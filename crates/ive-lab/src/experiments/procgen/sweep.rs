//! Settings of the Procgen experiment, and the runs that they ask for.

use std::collections::BTreeMap;

use ive_agents::Further;
use ive_agents::muesli::further::SEQUENCES;
use ive_envs::procgen::{Game, Mode};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::acting;
use super::evaluate::SIGMA;
use super::levels::{GAMES, UNSEEN};
use crate::exit::{Failure, Outcome};
use crate::run::Plan;
use crate::run::agents::{Request, resolve};
use crate::settings::{Change, range, suggest};

/// All settings; the presets say where each number comes from.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    pub games: Vec<String>,
    /// Numbers of training levels.
    pub levels: Vec<u32>,
    pub seeds: u64,
    pub steps: u64,
    pub mode: String,
    pub agent_preset: String,
    /// Settings that all agents have, as `key=value`, over those of the preset.
    pub base: Vec<String>,
    /// What is trained beside the agent of the paper.
    pub controls: Vec<String>,
    pub warm_up_steps: u64,
    pub visited_levels: u32,
    pub visited_episodes: u64,
    pub state_every: u64,
    pub episode_steps: u64,
    /// Which σ is judged, or how it is acted upon.
    pub ablation: String,
    /// With `ablation = "optimism"`: where agents are trained, and those that act on their signal in training (`space:signal:n:β`).
    pub optimism_games: Vec<String>,
    pub optimism_levels: Vec<u32>,
    pub optimists: Vec<String>,
    /// With `ablation = "pessimism"`: numbers of training levels, the signal and n, every β, and the one that is judged.
    pub pessimism_levels: Vec<u32>,
    pub pessimism_signal: String,
    pub pessimism_depth: usize,
    pub pessimism_betas: Vec<f64>,
    pub pessimism_judged: f64,
    pub least_explained: f64,
    pub replicates: u64,
    pub curve_points: u64,
}

/// What is trained.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Variant {
    /// The agent of the paper, with random priors of the scale of its preset.
    Prior,
    /// Control: no random priors, and so no warm-up of the heads.
    NoPrior,
    /// Control: only the warm-up of the heads on a random torso; nothing else is learned.
    WarmUp,
}

impl Variant {
    /// The standing controls.
    pub const CONTROLS: [Self; 2] = [Self::NoPrior, Self::WarmUp];

    /// In settings and paths.
    pub fn word(self) -> &'static str {
        ["prior", "no-prior", "warm-up"][self as usize]
    }

    /// In tables and figures.
    pub fn label(self) -> &'static str {
        ["Muesli", "control: no priors", "control: heads only"][self as usize]
    }

    /// What it changes in the settings of the agent.
    fn changes(self) -> &'static [&'static str] {
        match self {
            Self::Prior => &[],
            Self::NoPrior => &["prior=0.0", "warm_up=0"],
            // The smallest learning rate there is: behind the warm-up nothing moves.
            Self::WarmUp => &["learning_rate=1e-12", "learning_rate_final=0.0"],
        }
    }
}

/// Which σ is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Judged {
    /// In settings.
    word: &'static str,
    /// The name of the score.
    pub score: &'static str,
    /// In claims and captions.
    pub symbol: &'static str,
    /// How it is computed.
    pub how: &'static str,
    /// Where it is in the paper.
    pub figure: &'static str,
}

impl Judged {
    /// All of them; the first is the main figure's.
    pub const ALL: [Self; 3] = [
        Self {
            word: "none",
            score: SIGMA,
            symbol: "σ-IVE(5)",
            how: "k = 1..5, one sequence of actions",
            figure: "Fig. 4",
        },
        Self {
            word: "sequences",
            score: SEQUENCES,
            symbol: "σ-IVE(5) of 100 sequences",
            how: "k = 1..5, each k-step value averaged over 100 sequences of actions",
            figure: "Fig. 11",
        },
        Self {
            word: "heads",
            score: Further::EVE,
            symbol: "σ-EVE",
            how: "the values of explicit heads",
            figure: "Fig. 12",
        },
    ];
}

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ablation {
    /// What σ says of levels: Figs. 4, 11 and 12.
    Signal(Judged),
    /// Agents that seek what they do not know while they learn: Fig. 13.
    Optimism,
    /// Agents that avoid it when they have learned: Fig. 14.
    Pessimism,
}

/// One run: what is trained, on which levels, with which seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell {
    pub game: Game,
    pub levels: u32,
    pub variant: Variant,
    pub seed: u64,
}

impl Cell {
    /// `fruitbot/10-levels/prior/seed-0`.
    pub fn name(&self) -> String {
        format!("{}/{}-levels/{}/seed-{}", self.game.name(), self.levels, self.variant.word(), self.seed)
    }
}

/// Refuses a list that is empty or has something twice.
pub(super) fn distinct<T: PartialEq>(field: &str, all: Vec<T>, may_be_empty: bool) -> Outcome<Vec<T>> {
    if all.is_empty() && !may_be_empty {
        return Err(Failure::config(format!("procgen.{field}: at least one is needed")));
    }
    if (1..all.len()).any(|i| all[..i].contains(&all[i])) {
        return Err(Failure::config(format!("procgen.{field}: one is there twice")));
    }
    Ok(all)
}

/// Reads names, each of which must be known and given once.
pub(super) fn named<T: PartialEq + Copy>(
    field: &str,
    names: &[String],
    known: &[(&str, T)],
    empty: bool,
) -> Outcome<Vec<T>> {
    let one = |name: &String| {
        let found = known.iter().find(|(word, _)| word == name).map(|(_, item)| *item);
        found.ok_or_else(|| {
            let words: Vec<String> = known.iter().map(|(word, _)| (*word).to_owned()).collect();
            Failure::config(format!("procgen.{field}: there is no `{name}`{}", suggest(name, words.iter())))
        })
    };
    distinct(field, names.iter().map(one).collect::<Outcome<_>>()?, empty)
}

/// Games by name, in alphabetical order.
pub(super) fn alphabetical(field: &str, names: &[String]) -> Outcome<Vec<Game>> {
    let mut games = named(field, names, &GAMES.map(|game| (game.name(), game)), false)?;
    games.sort_by_key(|game| *game as usize);
    Ok(games)
}

impl Settings {
    /// The settings, if every one is in its range.
    pub fn checked(self) -> Outcome<Self> {
        range("procgen.seeds", self.seeds as f64, 1.0, 1000.0)?;
        range("procgen.steps", self.steps as f64, 1.0, 1e10)?;
        range("procgen.warm_up_steps", self.warm_up_steps as f64, 1.0, 1e8)?;
        range("procgen.visited_levels", f64::from(self.visited_levels), 2.0, 1e4)?;
        range("procgen.visited_episodes", self.visited_episodes as f64, 1.0, 1e6)?;
        range("procgen.state_every", self.state_every as f64, 1.0, 1e4)?;
        range("procgen.episode_steps", self.episode_steps as f64, 1.0, 1e5)?;
        range("procgen.least_explained", self.least_explained, 0.0, 1.0)?;
        range("procgen.replicates", self.replicates as f64, 100.0, 1e6)?;
        range("procgen.curve_points", self.curve_points as f64, 2.0, 1e4)?;
        let counts = [
            ("levels", &self.levels),
            ("optimism_levels", &self.optimism_levels),
            ("pessimism_levels", &self.pessimism_levels),
        ];
        for (field, levels) in counts {
            let key = format!("procgen.{field}");
            levels.iter().try_for_each(|n| range(&key, f64::from(*n), 2.0, f64::from(UNSEEN)))?;
            distinct(field, levels.clone(), false)?;
        }
        self.mode()?;
        self.ablation()?;
        acting::check(&self)?;
        let (game, levels) = (self.games()?[0], self.levels[0]);
        self.variants()?
            .into_iter()
            .try_for_each(|variant| self.plan(&Cell { game, levels, variant, seed: 0 }).map(|_| ()))?;
        Ok(self)
    }

    /// What a run depends on. Other games, numbers of levels, seeds and evaluations leave finished runs as good as they are.
    pub fn identity(&self) -> Value {
        json!({
            "steps": self.steps,
            "mode": self.mode,
            "agent_preset": self.agent_preset,
            "base": self.base,
            "warm_up_steps": self.warm_up_steps,
        })
    }

    /// The games, in alphabetical order.
    pub fn games(&self) -> Outcome<Vec<Game>> {
        alphabetical("games", &self.games)
    }

    /// Which kind of levels.
    pub fn mode(&self) -> Outcome<Mode> {
        let known = [Mode::Easy, Mode::Hard].map(|mode| (mode.name(), mode));
        Ok(named("mode", std::slice::from_ref(&self.mode), &known, false)?[0])
    }

    /// What is asked.
    pub fn ablation(&self) -> Outcome<Ablation> {
        let acting = [("optimism", Ablation::Optimism), ("pessimism", Ablation::Pessimism)];
        let signals = Judged::ALL.map(|judged| (judged.word, Ablation::Signal(judged)));
        let known: Vec<_> = signals.into_iter().chain(acting).collect();
        Ok(named("ablation", std::slice::from_ref(&self.ablation), &known, false)?[0])
    }

    /// The σ that is judged: that of Fig. 4, of Fig. 11 or of Fig. 12. Which one was chosen before the runs is for the user to say.
    pub fn judged(&self) -> Outcome<Judged> {
        Ok(if let Ablation::Signal(judged) = self.ablation()? { judged } else { Judged::ALL[0] })
    }

    /// The agent of the paper, and the controls.
    pub fn variants(&self) -> Outcome<Vec<Variant>> {
        let mut all = named("controls", &self.controls, &Variant::CONTROLS.map(|v| (v.word(), v)), true)?;
        all.push(Variant::Prior);
        all.sort_unstable();
        Ok(all)
    }

    /// Numbers of levels, rising.
    pub fn counts(&self) -> Vec<u32> {
        let mut counts = self.levels.clone();
        counts.sort_unstable();
        counts
    }

    /// Steps of a run.
    pub fn steps_of(&self, variant: Variant) -> u64 {
        if variant == Variant::WarmUp { self.warm_up_steps } else { self.steps }
    }

    /// The options of the environment of training.
    fn options(&self, levels: u32) -> BTreeMap<String, String> {
        [("levels", levels.to_string()), ("mode", self.mode.clone())].map(|(k, v)| (k.to_owned(), v)).into()
    }

    /// What a run is.
    pub fn plan(&self, cell: &Cell) -> Outcome<Plan> {
        self.plan_with(cell, &[])
    }

    /// What a run is, with further settings of its agent.
    pub fn plan_with(&self, cell: &Cell, more: &[String]) -> Outcome<Plan> {
        let own = cell.variant.changes().iter().copied();
        let texts = self.base.iter().map(String::as_str).chain(own).chain(more.iter().map(String::as_str));
        let changes: Result<Vec<Change>, String> = texts.map(Change::parse).collect();
        resolve(&Request {
            agent: super::run::AGENT,
            preset: &self.agent_preset,
            world: &format!("procgen:{}", cell.game.name()),
            options: self.options(cell.levels),
            greedy_episodes: Some(0),
            seed: cell.seed,
            steps: Some(self.steps_of(cell.variant)),
            changes: &changes.map_err(|e| Failure::config(format!("procgen.base: {e}")))?,
            points: self.curve_points,
            ..Request::default()
        })
        .map_err(|e| Failure::config(format!("procgen, {}: {}", cell.variant.word(), e.message)))
    }

    /// All runs, seed by seed, so that a sweep that was stopped is fair to all games and numbers of levels; of a seed the longest first.
    pub fn cells(&self) -> Outcome<Vec<Cell>> {
        let (games, variants) = (self.games()?, self.variants()?);
        let mut cells = Vec::new();
        for seed in 0..self.seeds {
            for &variant in &variants {
                for &game in &games {
                    cells.extend(self.counts().iter().map(|&levels| Cell { game, levels, variant, seed }));
                }
            }
        }
        Ok(cells)
    }
}
