//! One seed of the maps: learn twenty tables and models, and measure every ensemble of the figure.

use ive::{Inconsistency, Members, auroc};
use ive_agents::tabular::Dataset;
use ive_envs::grid::{ACTIONS, UNSEEN};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::analysis;
use super::sweep::{EXPLICIT_SIZES, IVE_SIZES, Settings};
use crate::exit::Outcome;
use crate::experiments::{Judged, Planned, ours, over_seeds, value_of};
use crate::progress::Session;
use crate::store::Store;

/// What one seed says.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Maps {
    /// How often the data show each cell.
    pub visits: Vec<f64>,
    /// σ of every ensemble, in the order of [`names`].
    pub panels: Vec<PanelOfSeed>,
}

/// One ensemble of one seed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PanelOfSeed {
    /// σ of the state values, `[state]`.
    pub sigma: Vec<f64>,
    /// Area under the ROC curve for "the data never show this cell", from σ of the state values.
    pub auroc_states: f64,
    /// The same for pairs, from σ of the action values.
    pub auroc_pairs: f64,
    /// σ of the unseen cell divided by the mean σ of the visited cells; none if it is infinite, because σ is zero on all of
    /// them and not there.
    pub ratio: Option<f64>,
    /// Whether the unseen cell has the largest σ.
    pub largest: bool,
}

/// The ensembles: five implicit, five of values, five of models.
pub fn names() -> Vec<String> {
    let named = |kind: &str, sizes: [usize; 5]| sizes.map(|n| format!("σ-{kind}({n})"));
    [named("IVE", IVE_SIZES), named("EVE", EXPLICIT_SIZES), named("EMVE", EXPLICIT_SIZES)].concat()
}

/// Runs one seed; `None` if asked to stop.
pub fn seed(settings: &Settings, seed: u64, go_on: &dyn Fn() -> bool) -> Outcome<Option<Maps>> {
    let Some((data, learned)) = settings.learning.learn(seed, EXPLICIT_SIZES[4], go_on)? else {
        return Ok(None);
    };
    let ddof = settings.ddof;
    let mut sigmas = Vec::new();
    for n in IVE_SIZES {
        sigmas.push(ours(learned.implicit(&ours(Members::new(0..=n))?, ddof))?);
    }
    for n in EXPLICIT_SIZES {
        sigmas.push(ours(learned.explicit_values(n).and_then(|e| e.std(ddof)))?);
    }
    for n in EXPLICIT_SIZES {
        sigmas.push(ours(learned.explicit_models(n).and_then(|e| e.std(ddof)))?);
    }
    let visits = data.pair_counts.chunks(ACTIONS).map(|c| f64::from(c.iter().sum::<u32>())).collect();
    let panels = sigmas.into_iter().map(|s| judge(&data, s)).collect::<Outcome<_>>()?;
    Ok(Some(Maps { visits, panels }))
}

fn judge(data: &Dataset, sigma: Inconsistency) -> Outcome<PanelOfSeed> {
    let split = |x: &[f64], visited: &dyn Fn(usize) -> bool| -> (Vec<f64>, Vec<f64>) {
        let pick = |keep: bool| (0..x.len()).filter(|&i| visited(i) == keep).map(|i| x[i]).collect();
        (pick(true), pick(false))
    };
    let (known, unknown) = split(&sigma.states, &|s| data.visited_state(s));
    let (known_pairs, unknown_pairs) = split(&sigma.pairs, &|p| data.visited(p));
    Ok(PanelOfSeed {
        auroc_states: ours(auroc(&known, &unknown))?,
        auroc_pairs: ours(auroc(&known_pairs, &unknown_pairs))?,
        ratio: ratio(sigma.states[UNSEEN], ive::mean(&known)),
        largest: sigma.states.iter().all(|s| *s <= sigma.states[UNSEEN]),
        sigma: sigma.states,
    })
}

/// How many times larger one σ is than another: one if both are zero, none if only the other is.
fn ratio(there: f64, elsewhere: f64) -> Option<f64> {
    match () {
        () if elsewhere > 0.0 => Some(there / elsewhere),
        () if there > 0.0 => None,
        () => Some(1.0),
    }
}

impl Planned for Settings {
    fn settings(&self) -> Outcome<Value> {
        value_of(self)
    }

    fn run(&self, store: &Store, session: &Session) -> Outcome<Judged> {
        let done = over_seeds("maps", self.seeds, store, session, |s, go_on| seed(self, s, go_on))?;
        let findings = done.map(|done| analysis::findings(self, &done)).transpose();
        findings.map(Judged::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_of_zeros_are_what_they_mean() {
        assert_eq!(ratio(3.0, 2.0), Some(1.5));
        assert_eq!(ratio(0.0, 2.0), Some(0.0));
        assert_eq!(ratio(3.0, 0.0), None);
        assert_eq!(ratio(0.0, 0.0), Some(1.0));
    }
}
