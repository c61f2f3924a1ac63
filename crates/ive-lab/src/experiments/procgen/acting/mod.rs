//! Acting on the signal: what an agent gains that seeks what it does not know while it learns ([`optimism`], Fig. 13), or avoids it when it has learned
//! ([`pessimism`], Fig. 14). Paper: App. D.3 and D.4.
//!
//! The plain agent of both is that of Fig. 4, in the same directories: finished runs are used again.

pub mod optimism;
pub mod pessimism;

use ive_agents::{Bonus, Signal, Space};
use ive_envs::procgen::Game;

use super::levels::GAMES;
use super::run::Tested;
use super::sweep::{Ablation, Cell, Settings, Variant, alphabetical, distinct, named};
use crate::claim::UNBOUNDED;
use crate::exit::{Failure, Outcome};
use crate::experiments::runs::compare::average;
use crate::run::Plan;

/// Colours that stay apart for colour-blind eyes: training levels, unseen levels, a random policy.
const SEEN: &str = "#009e73";
const UNSEEN: &str = "#cc79a7";
const RANDOM: &str = "#777777";

/// One run: the agent of Fig. 4, or the same as an optimist.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Actor {
    pub cell: Cell,
    /// How it acts on its signal in training.
    pub bonus: Option<Bonus>,
}

impl Actor {
    /// `climber/100-levels/logit-jsd-increasing-n5-b1/seed-0`; the plain agent has the name that it has in Fig. 4.
    pub fn name(&self) -> String {
        let Cell { game, levels, seed, .. } = self.cell;
        match self.bonus {
            None => self.cell.name(),
            Some(bonus) => format!("{}/{levels}-levels/{bonus}/seed-{seed}", game.name()),
        }
    }

    fn plan(&self, settings: &Settings) -> Outcome<Plan> {
        let changes = self.bonus.map_or(Vec::new(), |bonus| {
            vec![
                format!("optimism={}", bonus.space.word()),
                format!("optimism_signal={}", bonus.signal.word()),
                format!("optimism_beta={:?}", bonus.beta),
                format!("optimism_depth={}", bonus.depth),
            ]
        });
        settings.plan_with(&self.cell, &changes)
    }
}

/// How an optimist is called in tables and figures: `z + 1 d inc, n = 5`.
fn label(bonus: Option<Bonus>) -> String {
    let Some(Bonus { space, signal, depth, beta }) = bonus else { return "plain".to_owned() };
    let signal = ["σ", "d uni", "d dec", "d inc", "EVE σ", "EVE d inc"][signal as usize];
    let space = if space == Space::Logit { "z" } else { "π" };
    format!("{space} + {beta} {signal}, n = {depth}")
}

/// Reads `space:signal:n:β`.
fn optimist(text: &str) -> Outcome<Bonus> {
    let wrong = |problem: &str| {
        Failure::config(format!(
            "procgen.optimists: `{text}`: {problem}; expected space:signal:n:β, for example logit:jsd-increasing:5:1"
        ))
    };
    let [space, signal, depth, beta] = text.split(':').collect::<Vec<_>>()[..] else {
        return Err(wrong("it has not four parts"));
    };
    let spaces = [Space::Probability, Space::Logit].map(|space| (space.word(), space));
    let bonus = Bonus {
        space: named("optimists", &[space.to_owned()], &spaces, false)?[0],
        signal: named("optimists", &[signal.to_owned()], &signals(), false)?[0],
        depth: depth.parse().map_err(|_| wrong("n is not a whole number"))?,
        beta: beta.parse().map_err(|_| wrong("β is not a number"))?,
    };
    bonus.check("β", "n").map_err(|e| wrong(&e.to_string()))?;
    if bonus.beta < 0.0 {
        return Err(wrong("β of an optimist is not below zero"));
    }
    Ok(bonus)
}

fn signals() -> [(&'static str, Signal); 6] {
    Signal::ALL.map(|signal| (signal.word(), signal))
}

impl Settings {
    /// The plain agent, and the optimists in the order of the settings.
    pub fn optimists(&self) -> Outcome<Vec<Option<Bonus>>> {
        let all = self.optimists.iter().map(|text| optimist(text)).collect::<Outcome<Vec<_>>>()?;
        let all = distinct("optimists", all, false)?;
        Ok([None].into_iter().chain(all.into_iter().map(Some)).collect())
    }

    /// How a finished agent acts on its signal with this β: `softmax(z_π − β d)`.
    pub fn pessimist(&self, beta: f64) -> Outcome<Bonus> {
        let word = std::slice::from_ref(&self.pessimism_signal);
        let signal = named("pessimism_signal", word, &signals(), false)?[0];
        Ok(Bonus { space: Space::Logit, signal, depth: self.pessimism_depth, beta: -beta })
    }

    /// How many value heads the agents of Fig. 4 have.
    fn value_heads(&self) -> Outcome<usize> {
        let cell = Cell { game: GAMES[0], levels: 1, variant: Variant::Prior, seed: 0 };
        let plan = self.plan(&cell)?;
        let heads = plan.settings.get("value_heads").and_then(toml::Value::as_integer);
        heads
            .map(|heads| heads as usize)
            .ok_or_else(|| Failure::internal("Muesli has value heads".to_owned()))
    }

    /// Every β of Fig. 14, rising, with the plain agent, β = 0.
    pub fn betas(&self) -> Vec<f64> {
        let mut all = self.pessimism_betas.clone();
        if !all.contains(&0.0) {
            all.push(0.0);
        }
        all.sort_by(f64::total_cmp);
        all
    }
}

/// Refuses settings of Figs. 13 and 14 that make no sense.
pub fn check(settings: &Settings) -> Outcome {
    let wrong = |text: String| Err(Failure::config(format!("procgen.{text}")));
    let heads = settings.value_heads()?;
    for beta in distinct("pessimism_betas", settings.pessimism_betas.clone(), false)? {
        let bonus = settings.pessimist(beta)?;
        let checked = bonus.check("pessimism_betas", "pessimism_depth");
        if let Err(error) = checked.and_then(|()| bonus.check_heads(heads, "pessimism_depth")) {
            return wrong(error.to_string());
        }
    }
    let judged = settings.pessimism_judged;
    if judged == 0.0 || !settings.betas().contains(&judged) {
        return wrong(format!("pessimism_judged: {judged} must be one of pessimism_betas, and not 0"));
    }
    let game = alphabetical("optimism_games", &settings.optimism_games)?[0];
    let cell = Cell { game, levels: settings.optimism_levels[0], variant: Variant::Prior, seed: 0 };
    settings.optimists()?.into_iter().try_for_each(|bonus| Actor { cell, bonus }.plan(settings).map(|_| ()))
}

/// All runs of the figure that is asked for, seed by seed.
pub fn actors(settings: &Settings) -> Outcome<Vec<Actor>> {
    let optimism = settings.ablation()? == Ablation::Optimism;
    let (games, levels, bonuses) = if optimism {
        let games = alphabetical("optimism_games", &settings.optimism_games)?;
        (games, &settings.optimism_levels, settings.optimists()?)
    } else {
        (settings.games()?, &settings.pessimism_levels, vec![None])
    };
    let mut all = Vec::new();
    for seed in 0..settings.seeds {
        for &bonus in &bonuses {
            for &game in &games {
                let cell = |&levels| Cell { game, levels, variant: Variant::Prior, seed };
                all.extend(levels.iter().map(|levels| Actor { cell: cell(levels), bonus }));
            }
        }
    }
    Ok(all)
}

/// Names and plans of all runs.
pub fn runs(settings: &Settings) -> Outcome<Vec<(String, Plan)>> {
    actors(settings)?.iter().map(|actor| Ok((actor.name(), actor.plan(settings)?))).collect()
}

/// Games and numbers of levels with a finished run, in their order.
fn places(settings: &Settings, runs: &[&Tested]) -> Outcome<Vec<(Game, u32)>> {
    let mut all: Vec<(Game, u32)> = Vec::new();
    for actor in actors(settings)? {
        let place = (actor.cell.game, actor.cell.levels);
        let has = |t: &&Tested| (t.cell().game, t.cell().levels) == place;
        if !all.contains(&place) && runs.iter().any(has) {
            all.push(place);
        }
    }
    all.sort_by_key(|(game, levels)| (*levels, *game as usize));
    Ok(all)
}

/// A mean over seeds, and the ends of its 95 % t interval; no ends with one seed.
fn over_seeds(all: &[f64]) -> Outcome<(f64, (f64, f64))> {
    Ok(average(&[all.to_vec()])?.unwrap_or((f64::NAN, UNBOUNDED)))
}

#[cfg(test)]
mod tests {
    use super::super::made_up::settings;
    use super::*;

    #[test]
    fn optimists_are_read_and_what_makes_no_sense_is_refused() {
        let bonus = optimist("logit:jsd-increasing:10:0.5").unwrap();
        assert_eq!(bonus.to_string(), "logit-jsd-increasing-n10-b0.5");
        assert_eq!(label(Some(bonus)), "z + 0.5 d inc, n = 10");
        assert_eq!(label(optimist("probability:sigma:5:0.1").ok()), "π + 0.1 σ, n = 5");
        assert_eq!(label(optimist("logit:eve-jsd-increasing:5:1").ok()), "z + 1 EVE d inc, n = 5");
        for (text, words) in [
            ("logit:sigma:5", "not four parts"),
            ("logits:sigma:5:1", "logit"),
            ("logit:jsd:5:1", "there is no `jsd`"),
            ("logit:sigma:0:1", "at least 2"),
            ("logit:sigma:1000:1", "between 2 and 100"),
            ("logit:sigma:5:NaN", "between"),
            ("logit:sigma:5:-1", "not below zero"),
            ("probability:sigma:5:1.5", "between 0 and 1"),
            ("logit:sigma:5:one", "not a number"),
        ] {
            let message = optimist(text).unwrap_err().message;
            assert!(message.contains(words), "{text}: {message}");
        }
        let refused = |s: Settings| s.checked().unwrap_err().message;
        assert!(refused(Settings { pessimism_judged: 2.0, ..settings() }).contains("pessimism_judged"));
        assert!(
            refused(Settings { pessimism_betas: vec![f64::NAN], ..settings() }).contains("pessimism_betas")
        );
        assert!(refused(Settings { pessimism_depth: 1, ..settings() }).contains("pessimism_depth"));
        assert!(refused(Settings { pessimism_signal: "jsd".into(), ..settings() }).contains("jsd-"));
        assert!(refused(Settings { optimism_games: vec!["maze".into()], ..settings() }).contains("maze"));
        let twice = vec!["logit:sigma:5:1".to_owned(), "logit:sigma:5:1.0".to_owned()];
        assert!(refused(Settings { optimists: twice, ..settings() }).contains("twice"));
    }

    /// The plain agent is that of Fig. 4; the others differ from it in nothing but how they act.
    #[test]
    fn runs_are_those_of_figure_4_and_optimists_beside_them() {
        let s = Settings { ablation: "optimism".into(), seeds: 2, ..settings() };
        let all = runs(&s).unwrap();
        assert_eq!(all.len(), 2 * 14);
        assert_eq!(all[0].0, "climber/100-levels/prior/seed-0");
        assert_eq!(all[1].0, "climber/100-levels/logit-jsd-increasing-n5-b1/seed-0");
        let mut plain = all[1].1.clone();
        assert_eq!(plain.settings["optimism"].as_str(), Some("logit"));
        assert_eq!(plain.settings["optimism_signal"].as_str(), Some("jsd-increasing"));
        for key in ["optimism", "optimism_signal", "optimism_beta", "optimism_depth"] {
            plain.settings[key] = all[0].1.settings[key].clone();
        }
        assert_eq!(plain, all[0].1);
        let s = Settings { ablation: "pessimism".into(), seeds: 1, ..settings() };
        let names: Vec<String> = runs(&s).unwrap().into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["fruitbot/10-levels/prior/seed-0", "fruitbot/100-levels/prior/seed-0"]);
        assert_eq!(s.betas()[0], 0.0);
        assert_eq!(s.pessimist(3.0).unwrap().to_string(), "logit-jsd-increasing-n5-b-3");
    }
}
