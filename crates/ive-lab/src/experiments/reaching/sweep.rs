//! Settings of the reaching experiment.

use ive::{Members, Ties};
use ive_envs::grid::Reaching;
use serde::{Deserialize, Serialize};

use crate::exit::{Failure, Outcome};
use crate::experiments::tabular::Learning;
use crate::settings::range;

/// What "reaching" means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReachingName {
    /// Being there at step l: the paper.
    BeingAt,
    /// Having been there within l steps.
    FirstPassage,
}

/// All settings; the presets say where each number comes from, and name every key that exists.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Settings {
    #[serde(flatten)]
    pub learning: Learning,
    pub seeds: u64,
    pub shifted_wind: f64,
    pub ensemble: usize,
    pub k_min: usize,
    pub k_max: usize,
    pub ddof: usize,
    pub ties: Ties,
    pub reaching: ReachingName,
    pub steps: usize,
    pub sensitivity_seeds: u64,
    pub sensitivity_sgd_seeds: u64,
}

impl Settings {
    /// The settings, if every one is in its range.
    pub fn checked(self) -> Outcome<Self> {
        range("reaching.seeds", self.seeds as f64, 1.0, 1e6)?;
        self.learning.check("reaching")?;
        range("reaching.shifted_wind", self.shifted_wind, 0.0, 1.0)?;
        range("reaching.k_max", self.k_max as f64, 1.0, 1000.0)?;
        range("reaching.k_min", self.k_min as f64, 0.0, self.k_max as f64 - 1.0)?;
        range("reaching.ensemble", self.ensemble as f64, 2.0, 100.0)?;
        range("reaching.ddof", self.ddof as f64, 0.0, 1.0)?;
        range("reaching.steps", self.steps as f64, 1.0, 1e5)?;
        range("reaching.sensitivity_seeds", self.sensitivity_seeds as f64, 0.0, 1e6)?;
        range("reaching.sensitivity_sgd_seeds", self.sensitivity_sgd_seeds as f64, 0.0, 1e6)?;
        Ok(self)
    }

    /// The members of the implicit ensemble.
    pub fn members(&self) -> Outcome<Members> {
        Members::new(self.k_min..=self.k_max).map_err(|e| Failure::config(format!("reaching.k_max: {e}")))
    }

    /// What "reaching" means.
    pub fn kind(&self) -> Reaching {
        match self.reaching {
            ReachingName::BeingAt => Reaching::BeingAt,
            ReachingName::FirstPassage => Reaching::FirstPassage,
        }
    }
}
