//! What a run is judged by, and the names under which the agent logs it.

use ive::mean;

use super::published::{BEST, Method};
use super::run::{Record, of};
use super::sweep::Settings;

/// Mean return of the training episodes since the last line of the log.
pub const RETURN: &str = "return";

/// What the agent logs about its plans: name in the log, name in tables.
pub const PLANS: [(&str, &str); 7] = [
    ("sigma_flips", "flips by σ"),
    ("moved", "|Δa|"),
    ("action_share", "share of actions"),
    ("sigma", "σ"),
    ("actor_std", "actor std"),
    ("imagined", "imagined"),
    ("realised", "realised"),
];

/// Which number of a run is its score. Larger is better for all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Mean return of episodes after training, by the mode of the actor: the number of the paper's table.
    Final,
    /// Mean return of all training episodes: the area under the learning curve.
    Area,
    /// The share of the run that is left when training episodes first have a return: 0 if they never have.
    Found,
}

impl Measure {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Final, Self::Area, Self::Found];

    /// Key in `summary.json` and in files.
    pub fn key(self) -> &'static str {
        ["final", "area", "found"][self as usize]
    }

    /// Name in tables and claims.
    pub fn name(self) -> &'static str {
        ["final return", "mean training return", "how early reward is found"][self as usize]
    }

    /// Half of the width within which two methods are on par: a tenth of the scale.
    pub fn margin(self) -> f64 {
        [BEST / 10.0, BEST / 10.0, 0.1][self as usize]
    }
}

/// The score of a run; none where nothing of the kind was logged.
pub fn score(settings: &Settings, run: &Record, measure: Measure) -> Option<f64> {
    match measure {
        Measure::Final => (!run.greedy.is_empty()).then(|| mean(&run.greedy)),
        Measure::Area => run.since(RETURN, 0),
        Measure::Found => {
            run.since(RETURN, 0)?;
            let left = |step: u64| 1.0 - step as f64 / run.steps as f64;
            Some(first_reward(settings, run).map_or(0.0, left))
        }
    }
}

/// The first step at which training episodes have a mean return of `found`.
pub fn first_reward(settings: &Settings, run: &Record) -> Option<u64> {
    run.reaches(RETURN, settings.found)
}

/// Scores of a method at a threshold, in the order of the runs.
pub fn scores(
    settings: &Settings,
    records: &[Record],
    threshold: f64,
    method: Method,
    measure: Measure,
) -> Vec<f64> {
    of(settings, records, threshold, method).filter_map(|r| score(settings, r, measure)).collect()
}
