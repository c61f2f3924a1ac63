//! One seed of the toy.

use ive::{ValueEnsemble, mean};
use ive_agents::nn::Device;
use ive_agents::toy;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::analysis;
use super::sweep::Settings;
use crate::exit::{Failure, Outcome};
use crate::experiments::{Judged, Planned, over_seeds, value_of};
use crate::progress::Session;
use crate::store::Store;

/// What one seed says.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Line {
    /// Members on the grid, `[member, point]`, before and after training; only for the seed that is shown.
    pub members: Option<[Vec<Vec<f64>>; 2]>,
    /// Mean σ at the data, before and after.
    pub at_data: [f64; 2],
    /// Mean σ over the points further than 0.5 from all data, divided by the mean σ at the data, before and after.
    pub ratio: [f64; 2],
    /// Root mean square error of all members at the data after training.
    pub error: f64,
}

/// Runs one seed; `None` if asked to stop.
pub fn seed(settings: &Settings, seed: u64, go_on: &dyn Fn() -> bool) -> Outcome<Option<Line>> {
    let run = toy::run(&settings.config(), seed, &settings.points(), &Device::cpu(), &mut |_| go_on())
        .map_err(|e| Failure::internal(format!("toy, seed {seed}: {e}")))?;
    if run.stopped {
        return Ok(None);
    }
    let members = |e: &ValueEnsemble| e.members().map(<[f64]>::to_vec).collect();
    let far = |ratio: Option<f64>| {
        ratio.ok_or_else(|| {
            Failure::internal(format!("toy, seed {seed}: the members agree exactly at the data"))
        })
    };
    Ok(Some(Line {
        members: (seed == settings.shown_seed).then(|| [members(&run.before), members(&run.after)]),
        at_data: [mean(&run.before_at_data.std()), mean(&run.after_at_data.std())],
        ratio: [far(run.sigma_ratio_before())?, far(run.sigma_ratio_after())?],
        error: run.root_mean_square_error(),
    }))
}

impl Planned for Settings {
    fn settings(&self) -> Outcome<Value> {
        value_of(self)
    }

    fn run(&self, store: &Store, session: &Session) -> Outcome<Judged> {
        let done = over_seeds("toy", self.seeds, store, session, |s, go_on| seed(self, s, go_on))?;
        let findings = done.map(|done| analysis::findings(self, &done)).transpose();
        findings.map(Judged::from)
    }
}
