//! Settings of the toy.

use ive_agents::toy::{DataLayout, ToyConfig};
use serde::{Deserialize, Serialize};

use crate::exit::{Failure, Outcome};
use crate::settings::range;

/// All settings; the presets say where each number comes from.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    pub seeds: u64,
    pub shown_seed: u64,
    pub discount: f64,
    pub horizon: usize,
    pub latent: usize,
    pub hidden: usize,
    pub learning_rate: f64,
    pub weight_decay: f64,
    pub steps: usize,
    pub data: DataLayout,
    pub grid: usize,
}

impl Settings {
    /// The settings, if every one is in its range.
    pub fn checked(self) -> Outcome<Self> {
        range("toy.seeds", self.seeds as f64, 1.0, 1e6)?;
        range("toy.shown_seed", self.shown_seed as f64, 0.0, self.seeds as f64 - 1.0)?;
        range("toy.horizon", self.horizon as f64, 1.0, 100.0)?;
        range("toy.grid", self.grid as f64, 13.0, 1e5)?;
        self.config().validate().map_err(|e| Failure::config(e.to_string()))?;
        Ok(self)
    }

    /// The part that learns.
    pub fn config(&self) -> ToyConfig {
        ToyConfig {
            discount: self.discount,
            horizon: self.horizon,
            latent: self.latent,
            hidden: self.hidden,
            learning_rate: self.learning_rate,
            weight_decay: self.weight_decay,
            steps: self.steps,
            data: self.data,
        }
    }

    /// Where the ensemble is drawn: the whole line from −3 to 3.
    pub fn points(&self) -> Vec<f64> {
        (0..self.grid).map(|i| -3.0 + 6.0 * i as f64 / (self.grid - 1) as f64).collect()
    }
}
