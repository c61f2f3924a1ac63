//! The settings of the toy, and its data.

use serde::{Deserialize, Serialize};

use super::ToyError;

/// Where the ten given states lie. Their values are sin(2s). The paper does not say where they lie nor what they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DataLayout {
    /// Five states in [−2, −1] and five in [0.8, 1.8]: a gap in the middle and two open ends.
    #[default]
    Gap,
    /// Ten states in [−1, 1]: two open ends.
    Centre,
}

impl DataLayout {
    /// The ten states and their values.
    pub fn points(self) -> (Vec<f64>, Vec<f64>) {
        let states = match self {
            Self::Gap => [evenly(-2.0, -1.0, 5), evenly(0.8, 1.8, 5)].concat(),
            Self::Centre => evenly(-1.0, 1.0, 10),
        };
        let values = states.iter().map(|s| libm::sin(2.0 * s)).collect();
        (states, values)
    }
}

/// `count` ≥ 2 numbers from `first` to `last`, equally spaced.
fn evenly(first: f64, last: f64, count: usize) -> Vec<f64> {
    let step = (last - first) / (count - 1) as f64;
    (0..count).map(|i| if i + 1 == count { last } else { first + i as f64 * step }).collect()
}

/// The settings of the toy. The seed is not one of them: a setting names an experiment, a seed a repetition of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ToyConfig {
    /// γ. Paper: App. A.2.1, 0.9.
    pub discount: f64,
    /// n of IVE(n): members k = 0..n. Paper: Fig. 1, 10.
    pub horizon: usize,
    /// The size of the latent state z. Paper: App. A.2.1, 32.
    pub latent: usize,
    /// Units of the hidden layer of every perceptron. Paper: App. A.2.1, 32.
    pub hidden: usize,
    /// The step size of Adam. The paper does not say.
    pub learning_rate: f64,
    /// The decoupled weight decay of Adam. The paper does not say.
    pub weight_decay: f64,
    /// Steps of training, each on all ten pairs. The paper does not say.
    pub steps: usize,
    /// The given states. The paper does not say.
    pub data: DataLayout,
}

impl Default for ToyConfig {
    fn default() -> Self {
        Self {
            discount: 0.9,
            horizon: 10,
            latent: 32,
            hidden: 32,
            learning_rate: 1e-3,
            weight_decay: 1e-4,
            steps: 2000,
            data: DataLayout::Gap,
        }
    }
}

impl ToyConfig {
    /// Checks every setting. The upper bounds are far beyond use; they keep a typing error from filling the memory.
    ///
    /// # Errors
    /// The first setting outside its range, with the range.
    pub fn validate(&self) -> Result<(), ToyError> {
        in_range("discount", self.discount, 0.0, 1.0)?;
        in_range("horizon", self.horizon as f64, 0.0, 1000.0)?;
        in_range("latent", self.latent as f64, 1.0, 4096.0)?;
        in_range("hidden", self.hidden as f64, 1.0, 4096.0)?;
        in_range("learning_rate", self.learning_rate, 1e-12, 1.0)?;
        in_range("weight_decay", self.weight_decay, 0.0, 1.0)?;
        in_range("steps", self.steps as f64, 0.0, 1e8)
    }
}

fn in_range(field: &'static str, value: f64, min: f64, max: f64) -> Result<(), ToyError> {
    ive::in_range(field, value, min, max).map_err(|_| ToyError::Setting { field, value, min, max })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_valid_and_bad_settings_are_named() {
        assert!(ToyConfig::default().validate().is_ok());
        let message = |config: ToyConfig| config.validate().unwrap_err().to_string();
        let discount = message(ToyConfig { discount: 1.5, ..ToyConfig::default() });
        assert_eq!(discount, "toy setting discount: 1.5 is outside the range 0 to 1");
        let latent = message(ToyConfig { latent: 0, ..ToyConfig::default() });
        assert_eq!(latent, "toy setting latent: 0 is outside the range 1 to 4096");
        let rate = message(ToyConfig { learning_rate: f64::NAN, ..ToyConfig::default() });
        assert_eq!(rate, "toy setting learning_rate: NaN is outside the range 0.000000000001 to 1");
    }

    #[test]
    fn settings_read_from_text_fill_in_defaults_and_refuse_unknown_names() {
        let config: ToyConfig = serde_json::from_str(r#"{"steps": 5000, "data": "centre"}"#).unwrap();
        let expected = ToyConfig { steps: 5000, data: DataLayout::Centre, ..ToyConfig::default() };
        assert_eq!(config, expected);
        assert!(serde_json::from_str::<ToyConfig>(r#"{"stepz": 5000}"#).is_err());
    }
}
