//! The experiments of the paper, one folder each: `sweep.rs` (settings), `run.rs` (one seed, or all runs), `analysis.rs`
//! (verdicts, figures), and one row in [`EXPERIMENTS`]. [`runs`] is for all that train agents, [`tabular`] for the gridworld.

pub mod detection;
pub mod maps;
pub mod minatar;
pub mod procgen;
pub mod reaching;
pub mod runs;
pub mod tabular;
pub mod toy;
pub mod trials;
pub mod walker;

use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::exit::{Failure, Outcome};
use crate::progress::Session;
use crate::report::Findings;
use crate::run;
use crate::settings::{Change, Layers};
use crate::store::Store;

/// How large a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Preset {
    /// Seconds: does everything work?
    Smoke,
    /// Minutes on a laptop for toy, maps and reaching; hours for experiments that train agents.
    Small,
    /// The published sizes.
    Paper,
    /// The published sizes with the published learning rate, which does not converge.
    PaperLr,
}

/// An experiment, as the command line knows it.
#[derive(Debug)]
pub struct Experiment {
    /// As it is typed.
    pub name: &'static str,
    /// Where it is in the paper, or what it is about.
    pub about: &'static str,
    /// Whether `all` includes it: those that take minutes. The others run only by name.
    pub in_all: bool,
    /// The texts of its presets, in the order of [`Preset`].
    presets: [&'static str; 4],
    /// Checks settings.
    plan: fn(Layers) -> Outcome<Box<dyn Planned>>,
}

/// Every experiment, in the order of the paper.
pub const EXPERIMENTS: &[Experiment] = &[
    Experiment {
        name: "toy",
        about: "Fig. 1",
        in_all: true,
        presets: [
            include_str!("../../presets/toy.smoke.toml"),
            include_str!("../../presets/toy.small.toml"),
            include_str!("../../presets/toy.paper.toml"),
            include_str!("../../presets/toy.paper.toml"),
        ],
        plan: |layers| planned(layers, toy::sweep::Settings::checked),
    },
    Experiment {
        name: "maps",
        about: "Fig. 3 and the appendix grid",
        in_all: true,
        presets: [
            include_str!("../../presets/maps.smoke.toml"),
            include_str!("../../presets/maps.small.toml"),
            include_str!("../../presets/maps.paper.toml"),
            include_str!("../../presets/maps.paper-lr.toml"),
        ],
        plan: |layers| planned(layers, maps::sweep::Settings::checked),
    },
    Experiment {
        name: "procgen",
        about: "Fig. 4",
        in_all: false,
        presets: [
            include_str!("../../presets/procgen.smoke.toml"),
            include_str!("../../presets/procgen.small.toml"),
            include_str!("../../presets/procgen.paper.toml"),
            include_str!("../../presets/procgen.paper.toml"),
        ],
        plan: |layers| planned(layers, procgen::sweep::Settings::checked),
    },
    Experiment {
        name: "reaching",
        about: "Fig. 5",
        in_all: true,
        presets: [
            include_str!("../../presets/reaching.smoke.toml"),
            include_str!("../../presets/reaching.small.toml"),
            include_str!("../../presets/reaching.paper.toml"),
            include_str!("../../presets/reaching.paper-lr.toml"),
        ],
        plan: |layers| planned(layers, reaching::sweep::Settings::checked),
    },
    Experiment {
        name: "walker",
        about: "Tables 1 and 3",
        in_all: false,
        presets: [
            include_str!("../../presets/walker.smoke.toml"),
            include_str!("../../presets/walker.small.toml"),
            include_str!("../../presets/walker.paper.toml"),
            include_str!("../../presets/walker.paper.toml"),
        ],
        plan: |layers| planned(layers, walker::sweep::Settings::checked),
    },
    Experiment {
        name: "minatar",
        about: "Table 2",
        in_all: false,
        presets: [
            include_str!("../../presets/minatar.smoke.toml"),
            include_str!("../../presets/minatar.small.toml"),
            include_str!("../../presets/minatar.paper.toml"),
            include_str!("../../presets/minatar.paper.toml"),
        ],
        plan: |layers| planned(layers, minatar::sweep::Settings::checked),
    },
    Experiment {
        name: "trials",
        about: "which settings of its agents matter",
        in_all: false,
        presets: [
            include_str!("../../presets/trials.smoke.toml"),
            include_str!("../../presets/trials.small.toml"),
            include_str!("../../presets/trials.paper.toml"),
            include_str!("../../presets/trials.paper.toml"),
        ],
        plan: |layers| planned(layers, trials::sweep::Settings::checked),
    },
    Experiment {
        name: "detection",
        about: "how good σ is as a detector, and what an alarm gains",
        in_all: false,
        presets: [
            include_str!("../../presets/detection.smoke.toml"),
            include_str!("../../presets/detection.small.toml"),
            include_str!("../../presets/detection.paper.toml"),
            include_str!("../../presets/detection.paper.toml"),
        ],
        plan: |layers| planned(layers, detection::sweep::Settings::checked),
    },
];

impl Experiment {
    /// Those that a name means, or which names are near.
    pub fn parse(text: &str) -> Outcome<Vec<&'static Self>> {
        let meant: Vec<&Self> =
            EXPERIMENTS.iter().filter(|e| e.name == text || (text == "all" && e.in_all)).collect();
        if !meant.is_empty() {
            return Ok(meant);
        }
        let words: Vec<String> = Self::names().chain(["all".to_owned()]).collect();
        let hint = crate::settings::suggest(text, words.iter());
        Err(Failure::usage(format!("there is no experiment `{text}`{hint}")))
    }

    /// The names of all.
    pub fn names() -> impl Iterator<Item = String> {
        EXPERIMENTS.iter().map(|experiment| experiment.name.to_owned())
    }

    /// What `ive reproduce --help` says of them.
    pub fn help() -> String {
        let of = |in_all: bool| {
            let some = EXPERIMENTS.iter().filter(move |e| e.in_all == in_all);
            some.map(|e| format!("{} ({})", e.name, e.about)).collect::<Vec<_>>().join(", ")
        };
        let (short, long) = (of(true), of(false));
        format!("{short}, or all of these; by name only, since they take hours: {long}")
    }

    /// The layers of settings, from the preset upwards.
    pub fn layers(&self, preset: Preset) -> Outcome<Layers> {
        Layers::from_preset(self.name, self.presets[preset as usize])
    }
}

/// Checked settings of one experiment: what each experiment implements for its own.
pub trait Planned {
    /// All settings, for people and programs.
    fn settings(&self) -> Outcome<Value>;

    /// The settings that finished work depends on: with others it cannot be used again. A seed of a small experiment
    /// is cheap, so there it is all of them; runs that took hours stay good when more of them are asked for.
    fn identity(&self) -> Outcome<Value> {
        self.settings()
    }

    /// Names and plans of the runs that it consists of, for engines that make them elsewhere; empty if it trains none.
    fn runs(&self) -> Outcome<Vec<(String, run::Plan)>> {
        Ok(Vec::new())
    }

    /// Runs everything that is not finished yet and judges what there is.
    fn run(&self, store: &Store, session: &Session) -> Outcome<Judged>;
}

fn planned<S>(layers: Layers, check: fn(S) -> Outcome<S>) -> Outcome<Box<dyn Planned>>
where
    S: Planned + DeserializeOwned + 'static,
{
    Ok(Box::new(check(layers.build()?)?))
}

/// An experiment with checked settings, ready to run.
pub struct Plan {
    /// Which one.
    pub experiment: &'static Experiment,
    planned: Box<dyn Planned>,
}

impl Plan {
    /// Builds and checks the settings.
    pub fn new(
        experiment: &'static Experiment,
        mut layers: Layers,
        changes: &[Change],
        seeds: Option<u64>,
    ) -> Outcome<Self> {
        layers.add_changes(changes)?;
        if let Some(n) = seeds {
            layers.add_changes(&[Change::parse(&format!("seeds={n}")).map_err(Failure::usage)?])?;
        }
        Ok(Self { experiment, planned: (experiment.plan)(layers)? })
    }

    /// The settings that finished work depends on.
    pub fn identity(&self) -> Outcome<Value> {
        self.planned.identity()
    }

    /// All settings, for people and programs.
    pub fn settings(&self) -> Outcome<Value> {
        self.planned.settings()
    }

    /// Names and plans of the runs that it consists of.
    pub fn runs(&self) -> Outcome<Vec<(String, run::Plan)>> {
        self.planned.runs()
    }

    /// Runs everything that is not finished yet and judges what there is.
    pub fn run(&self, store: &Store, session: &Session) -> Outcome<Judged> {
        self.planned.run(&store.part(self.experiment.name), session)
    }
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

/// Runs `one` for every seed that the store does not hold yet, on all cores, and returns all finished ones by seed.
/// After a request to stop, no seed is started any more; `None` if none is finished.
fn over_seeds<T: Serialize + DeserializeOwned + Send>(
    name: &str,
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
    let bar = session.bar(name, seeds as usize, "seeds");
    bar.set_position(done.len() as u64);
    if !done.is_empty() {
        session.say(&format!("{name}: {} of {seeds} seeds are there already", done.len()));
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
