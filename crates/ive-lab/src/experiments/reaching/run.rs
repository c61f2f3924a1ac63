//! One seed of the reaching experiment: learn, choose by disagreement, follow the chain.

use ive::{Rng, greedy_policy};
use ive_agents::tabular::Learned;
use ive_envs::grid::{ACTIONS, Reaching, reaching};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::analysis;
use super::sweep::Settings;
use crate::exit::Outcome;
use crate::experiments::{Judged, Planned, ours, over_seeds, tabular::TIES, value_of};
use crate::progress::Session;
use crate::store::Store;

/// The methods, in the order of the figure.
pub const METHODS: [&str; 4] = ["IVE", "EVE", "EMVE", "greedy"];

/// Curves of one seed, one per method, each over l = 1..steps.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Curves {
    /// Seeking disagreement in the wind of the data.
    pub optimism: Vec<Vec<f64>>,
    /// Avoiding it in the stronger wind.
    pub pessimism: Vec<Vec<f64>>,
    /// Seeking: the probability of having been at the unseen cell at least once within all steps, one per method,
    /// whatever the curves show.
    pub visited: Vec<f64>,
}

/// Runs one seed; `None` if asked to stop.
pub fn seed(settings: &Settings, seed: u64, go_on: &dyn Fn() -> bool) -> Outcome<Option<Curves>> {
    let Some((_, learned)) = settings.learning.learn(seed, settings.ensemble, go_on)? else {
        return Ok(None);
    };
    curves(settings, &learned, seed).map(Some)
}

/// The policies `argmax_a σ(s, a)` and `argmin_a σ(s, a)` of each ensemble and `argmax_a q̂(s, a)`, followed through the
/// true chain. Paper: App. A.2.5.
pub fn curves(settings: &Settings, learned: &Learned, seed: u64) -> Outcome<Curves> {
    let rng = &mut Rng::from_seed(seed).fold_in(TIES);
    let n = settings.ensemble;
    let sigmas = [
        ours(learned.implicit(&settings.members()?, settings.ddof))?.pairs,
        ours(learned.explicit_values(n).and_then(|e| e.std(settings.ddof)))?.pairs,
        ours(learned.explicit_models(n).and_then(|e| e.std(settings.ddof)))?.pairs,
    ];
    let mut policy = |scores: &[f64], sign: f64| {
        let scores: Vec<f64> = scores.iter().map(|s| sign * s).collect();
        ours(greedy_policy(&scores, ACTIONS, settings.ties, rng))
    };
    let mut all = Curves { optimism: Vec::new(), pessimism: Vec::new(), visited: Vec::new() };
    // Greed follows the learned values in both panels.
    let scores = sigmas.iter().map(|sigma| (sigma, -1.0)).chain([(&learned.values[0], 1.0)]);
    for (scores, avoiding) in scores {
        let (wind, steps) = (settings.learning.wind, settings.steps);
        let seek = policy(scores, 1.0)?;
        all.optimism.push(reaching(&seek, wind, steps, settings.kind()));
        all.visited.extend(reaching(&seek, wind, steps, Reaching::FirstPassage).pop());
        let avoid = policy(scores, avoiding)?;
        all.pessimism.push(reaching(&avoid, settings.shifted_wind, steps, settings.kind()));
    }
    Ok(all)
}

impl Planned for Settings {
    fn settings(&self) -> Outcome<Value> {
        value_of(self)
    }

    fn run(&self, store: &Store, session: &Session) -> Outcome<Judged> {
        let done = over_seeds("reaching", self.seeds, store, session, |s, go_on| seed(self, s, go_on))?;
        let findings = done.map(|done| analysis::findings(self, &done, session)).transpose();
        findings.map(Judged::from)
    }
}
