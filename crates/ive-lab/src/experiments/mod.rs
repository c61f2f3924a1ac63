//! The experiments of the paper, one folder each: `sweep.rs` (settings), `run.rs` (one seed), `analysis.rs` (verdicts,
//! figures). To add one, copy a folder, add its presets, and a line in [`Name`].

pub mod fleet;
pub mod maps;
pub mod minatar;
pub mod reaching;
pub mod tabular;
pub mod toy;
pub mod trials;

use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::exit::{Failure, Outcome};
use crate::progress::Session;
use crate::report::Findings;
use crate::settings::{Change, Layers};
use crate::store::Store;

/// How large a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Preset {
    /// Seconds: does everything work?
    Smoke,
    /// Minutes on a laptop.
    Small,
    /// The published sizes.
    Paper,
    /// The published sizes with the published learning rate, which does not converge.
    PaperLr,
}

/// An experiment by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Name {
    /// Figure 1: a value ensemble on a line.
    Toy,
    /// Figure 3 and the appendix grid: maps of disagreement.
    Maps,
    /// Figure 5: reaching or avoiding the unseen cell.
    Reaching,
    /// Table 2: deep agents on MinAtar.
    Minatar,
    /// Not of the paper: which settings of the agents of Table 2 matter.
    Trials,
}

impl Name {
    /// Every experiment, in the order of the paper.
    pub const EVERY: [Self; 5] = [Self::Toy, Self::Maps, Self::Reaching, Self::Minatar, Self::Trials];

    /// What `all` means: those that take minutes. The others run only by name.
    pub const ALL: [Self; 3] = [Self::Toy, Self::Maps, Self::Reaching];

    /// As it is typed.
    pub fn word(self) -> &'static str {
        match self {
            Self::Toy => "toy",
            Self::Maps => "maps",
            Self::Reaching => "reaching",
            Self::Minatar => "minatar",
            Self::Trials => "trials",
        }
    }

    /// Reads a name, or says which are near.
    pub fn parse(text: &str) -> Outcome<Vec<Self>> {
        if text == "all" {
            return Ok(Self::ALL.to_vec());
        }
        if let Some(name) = Self::EVERY.iter().find(|n| n.word() == text) {
            return Ok(vec![*name]);
        }
        let words: Vec<String> =
            Self::EVERY.iter().map(|n| n.word().to_owned()).chain(["all".to_owned()]).collect();
        let hint = crate::settings::suggest(text, words.iter());
        Err(Failure::usage(format!("there is no experiment `{text}`{hint}")))
    }

    /// The text of a preset.
    fn preset(self, preset: Preset) -> &'static str {
        macro_rules! presets {
            ($name:literal) => {
                match preset {
                    Preset::Smoke => include_str!(concat!("../../presets/", $name, ".smoke.toml")),
                    Preset::Small => include_str!(concat!("../../presets/", $name, ".small.toml")),
                    Preset::Paper => include_str!(concat!("../../presets/", $name, ".paper.toml")),
                    Preset::PaperLr => include_str!(concat!("../../presets/", $name, ".paper-lr.toml")),
                }
            };
        }
        match self {
            Self::Toy => match preset {
                Preset::Smoke => include_str!("../../presets/toy.smoke.toml"),
                Preset::Small => include_str!("../../presets/toy.small.toml"),
                Preset::Paper | Preset::PaperLr => include_str!("../../presets/toy.paper.toml"),
            },
            Self::Maps => presets!("maps"),
            Self::Reaching => presets!("reaching"),
            Self::Minatar => match preset {
                Preset::Smoke => include_str!("../../presets/minatar.smoke.toml"),
                Preset::Small => include_str!("../../presets/minatar.small.toml"),
                Preset::Paper | Preset::PaperLr => include_str!("../../presets/minatar.paper.toml"),
            },
            Self::Trials => match preset {
                Preset::Smoke => include_str!("../../presets/trials.smoke.toml"),
                Preset::Small => include_str!("../../presets/trials.small.toml"),
                Preset::Paper | Preset::PaperLr => include_str!("../../presets/trials.paper.toml"),
            },
        }
    }

    /// The layers of settings, from the preset upwards.
    pub fn layers(self, preset: Preset) -> Outcome<Layers> {
        Layers::from_preset(self.word(), self.preset(preset))
    }
}

/// Checked settings of one experiment, ready to run.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum Plan {
    /// Figure 1.
    Toy(toy::sweep::Settings),
    /// Figure 3.
    Maps(maps::sweep::Settings),
    /// Figure 5.
    Reaching(reaching::sweep::Settings),
    /// Table 2.
    Minatar(minatar::sweep::Settings),
    /// Which settings matter.
    Trials(trials::sweep::Settings),
}

/// What became of an experiment.
#[derive(Debug, Default)]
pub struct Judged {
    /// What the finished part says; none if nothing was finished before a stop.
    pub findings: Option<Findings>,
    /// Why the rest is missing, where something failed.
    pub failure: Option<Failure>,
}

impl From<Option<Findings>> for Judged {
    fn from(findings: Option<Findings>) -> Self {
        Self { findings, failure: None }
    }
}

impl Plan {
    /// Builds and checks the settings.
    pub fn new(name: Name, mut layers: Layers, changes: &[Change], seeds: Option<u64>) -> Outcome<Self> {
        layers.add_changes(changes)?;
        if let Some(n) = seeds {
            layers.add_changes(&[Change::parse(&format!("seeds={n}")).map_err(Failure::usage)?])?;
        }
        Ok(match name {
            Name::Toy => Self::Toy(layers.build::<toy::sweep::Settings>()?.checked()?),
            Name::Maps => Self::Maps(layers.build::<maps::sweep::Settings>()?.checked()?),
            Name::Reaching => Self::Reaching(layers.build::<reaching::sweep::Settings>()?.checked()?),
            Name::Minatar => Self::Minatar(layers.build::<minatar::sweep::Settings>()?.checked()?),
            Name::Trials => Self::Trials(layers.build::<trials::sweep::Settings>()?.checked()?),
        })
    }

    /// Which experiment it is.
    pub fn name(&self) -> Name {
        match self {
            Self::Toy(_) => Name::Toy,
            Self::Maps(_) => Name::Maps,
            Self::Reaching(_) => Name::Reaching,
            Self::Minatar(_) => Name::Minatar,
            Self::Trials(_) => Name::Trials,
        }
    }

    /// The settings that finished work depends on: with others it cannot be used again. A seed of a small experiment
    /// is cheap, so there it is all of them; runs that took hours stay good when more of them are asked for.
    pub fn identity(&self) -> Outcome<Value> {
        match self {
            Self::Minatar(settings) => Ok(settings.identity()),
            Self::Trials(settings) => Ok(settings.identity()),
            _ => self.settings(),
        }
    }

    /// All settings, for people and programs.
    pub fn settings(&self) -> Outcome<Value> {
        value_of(self)
    }

    /// Runs everything that is not finished yet and judges what there is.
    pub fn run(&self, store: &Store, session: &Session) -> Outcome<Judged> {
        let store = store.part(self.name().word());
        let findings = match self {
            Self::Minatar(settings) => return minatar::run::all(settings, &store, session),
            Self::Trials(settings) => return trials::run::all(settings, &store, session),
            Self::Toy(settings) => {
                let done = over_seeds(self.name(), settings.seeds, &store, session, |s, go| {
                    toy::run::seed(settings, s, go)
                })?;
                done.map(|d| toy::analysis::findings(settings, &d)).transpose()
            }
            Self::Maps(settings) => {
                let done = over_seeds(self.name(), settings.seeds, &store, session, |s, go| {
                    maps::run::seed(settings, s, go)
                })?;
                done.map(|d| maps::analysis::findings(settings, &d)).transpose()
            }
            Self::Reaching(settings) => {
                let done = over_seeds(self.name(), settings.seeds, &store, session, |s, go| {
                    reaching::run::seed(settings, s, go)
                })?;
                done.map(|d| reaching::analysis::findings(settings, &d, session)).transpose()
            }
        };
        findings.map(Judged::from)
    }
}

/// Runs `one` for every seed that the store does not hold yet, on all cores, and returns all finished ones by seed.
/// After a request to stop, no seed is started any more; `None` if none is finished.
fn over_seeds<T: Serialize + DeserializeOwned + Send>(
    name: Name,
    seeds: u64,
    store: &Store,
    session: &Session,
    one: impl Fn(u64, &dyn Fn() -> bool) -> Outcome<Option<T>> + Sync,
) -> Outcome<Option<Vec<(u64, T)>>> {
    let (mut done, log) = store.seeds::<T>()?;
    done.retain(|(seed, _)| *seed < seeds);
    done.sort_by_key(|(seed, _)| *seed);
    done.dedup_by_key(|(seed, _)| *seed);
    let missing: Vec<u64> = (0..seeds).filter(|s| done.binary_search_by_key(s, |d| d.0).is_err()).collect();
    let bar = session.bar(name.word(), seeds as usize, "seeds");
    bar.set_position(done.len() as u64);
    if !done.is_empty() {
        session.say(&format!("{}: {} of {seeds} seeds are there already", name.word(), done.len()));
    }
    let failed = AtomicBool::new(false);
    let go_on = || !session.stopped() && !failed.load(Ordering::Relaxed);
    let fresh: Vec<Option<(u64, T)>> = missing
        .into_par_iter()
        .map(|seed| {
            if !go_on() {
                return Ok(None);
            }
            let outcome = one(seed, &go_on).inspect_err(|_| failed.store(true, Ordering::Relaxed))?;
            if let Some(outcome) = &outcome {
                log.add(seed, outcome).inspect_err(|_| failed.store(true, Ordering::Relaxed))?;
                bar.inc(1);
            }
            Ok(outcome.map(|o| (seed, o)))
        })
        .collect::<Outcome<_>>()?;
    bar.finish();
    done.extend(fresh.into_iter().flatten());
    done.sort_by_key(|(seed, _)| *seed);
    Ok((!done.is_empty()).then_some(done))
}

/// Settings as JSON, which must hold every one of them: a number that is not finite has no place there.
fn value_of(settings: &impl Serialize) -> Outcome<Value> {
    let failed = |what: &str| Failure::internal(format!("settings cannot be written down: {what}"));
    let value = serde_json::to_value(settings).map_err(|e| failed(&e.to_string()))?;
    if value.as_object().is_none_or(|all| all.values().any(Value::is_null)) {
        return Err(failed("one of them is not finite"));
    }
    Ok(value)
}

/// A number of the library that cannot fail here, or a bug of ours.
pub fn ours<T>(result: ive::Result<T>) -> Outcome<T> {
    result.map_err(|e| Failure::internal(e.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_that_cannot_be_written_down_are_no_identity() {
        assert_eq!(
            value_of(&serde_json::json!({ "rate": 0.5 })).unwrap(),
            serde_json::json!({ "rate": 0.5 })
        );
        let nan = std::collections::BTreeMap::from([("rate", f64::NAN)]);
        let not_text = std::collections::BTreeMap::from([((1, 2), 0.5)]);
        for failure in
            [value_of(&nan).unwrap_err(), value_of(&not_text).unwrap_err(), value_of(&()).unwrap_err()]
        {
            assert!(
                failure.code == 70 && failure.message.contains("cannot be written down"),
                "{}",
                failure.message
            );
        }
    }
}
