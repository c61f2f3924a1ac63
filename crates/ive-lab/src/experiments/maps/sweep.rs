//! Settings of the maps.

use serde::{Deserialize, Serialize};

use crate::exit::Outcome;
use crate::experiments::tabular::Learning;
use crate::settings::range;

/// Sizes of the implicit ensembles in the paper's figures.
pub const IVE_SIZES: [usize; 5] = [1, 2, 3, 10, 20];
/// Sizes of the explicit ensembles.
pub const EXPLICIT_SIZES: [usize; 5] = [2, 3, 4, 10, 20];

/// All settings; the presets say where each number comes from, and name every key that exists.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Settings {
    #[serde(flatten)]
    pub learning: Learning,
    pub seeds: u64,
    pub shown_seed: u64,
    pub ddof: usize,
}

impl Settings {
    /// The settings, if every one is in its range.
    pub fn checked(self) -> Outcome<Self> {
        range("maps.seeds", self.seeds as f64, 1.0, 1e6)?;
        range("maps.shown_seed", self.shown_seed as f64, 0.0, self.seeds as f64 - 1.0)?;
        range("maps.ddof", self.ddof as f64, 0.0, 1.0)?;
        self.learning.check("maps")?;
        Ok(self)
    }
}
