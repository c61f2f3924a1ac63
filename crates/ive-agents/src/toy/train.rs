//! Training the toy.

use super::{Problem, ToyConfig, ToyError, ToyModel, ToyOutcome, loss};
use crate::nn::{Adam, AdamConfig, Device, Gradients, to_host};

/// A trained toy and how it got there.
#[derive(Clone, Debug)]
pub struct Training {
    /// The toy after the last step.
    pub model: ToyModel,
    /// The loss before each step.
    pub losses: Vec<f64>,
    /// Whether the caller stopped it before the last step.
    pub stopped: bool,
}

/// Fits all members to the data of the settings with Adam and decoupled weight decay, all pairs in every step.
/// Paper: App. A.2.1, Eq. (16).
///
/// After each step `progress` hears how many steps were made; training stops when it answers `false`.
///
/// # Errors
/// If a setting is out of range or the loss is not finite.
pub fn train(
    config: &ToyConfig,
    start: &ToyModel,
    progress: &mut dyn FnMut(usize) -> bool,
) -> Result<Training, ToyError> {
    config.validate()?;
    let (states, targets) = config.data.points();
    let problem = Problem::new(config, &states, &targets, &start.device().recording());
    let mut network = start.recording_network();
    let mut adam = Adam::new(AdamConfig {
        learning_rate: config.learning_rate,
        beta_1: 0.9,
        beta_2: 0.999,
        epsilon: 1e-8,
        weight_decay: config.weight_decay,
    });
    let (mut losses, mut stopped) = (Vec::with_capacity(config.steps), false);
    for step in 1..=config.steps {
        let error = loss(&network, &problem);
        let gradients = Gradients::of(&error, &network);
        let error = to_host(error)[0];
        if !error.is_finite() {
            return Err(ToyError::LossNotFinite { step, loss: error });
        }
        losses.push(error);
        network = adam.step(network, gradients);
        if !progress(step) {
            stopped = step < config.steps;
            break;
        }
    }
    Ok(Training { model: ToyModel::of_network(&network, config, start.device()), losses, stopped })
}

/// One whole run: random weights from `seed`, the ensemble on `grid` and at the data, training, and both again.
///
/// The same settings, seed and device give the same bits, whatever else runs beside it.
///
/// # Errors
/// If a setting is out of range, the grid is empty or not finite, or the loss or a prediction is not finite.
pub fn run(
    config: &ToyConfig,
    seed: u64,
    grid: &[f64],
    device: &Device,
    progress: &mut dyn FnMut(usize) -> bool,
) -> Result<ToyOutcome, ToyError> {
    let untrained = ToyModel::new(config, seed, device)?;
    let (states, targets) = config.data.points();
    let (before, before_at_data) = (untrained.ensemble(grid)?, untrained.ensemble(&states)?);
    let Training { model, losses, stopped } = train(config, &untrained, progress)?;
    let (after, after_at_data) = (model.ensemble(grid)?, model.ensemble(&states)?);
    let grid = grid.to_vec();
    Ok(ToyOutcome { states, targets, grid, before, after, before_at_data, after_at_data, losses, stopped })
}
