//! Adam, with or without decoupled weight decay.

use burn::module::Module;
use burn::optim::{AdaptiveMomentumState, LearningRate, ModuleOptimizer, Optimizer};
use burn::tensor::Tensor;

use super::Gradients;

/// The settings of [`Adam`]. There is no default: the numbers differ between papers, and each must be chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdamConfig {
    /// α: the size of a step.
    pub learning_rate: f64,
    /// β₁: the decay of the running mean of the gradient.
    pub beta_1: f64,
    /// β₂: the decay of the running mean of its square.
    pub beta_2: f64,
    /// ε, added to the root of the bias-corrected second moment.
    pub epsilon: f64,
    /// λ: decoupled weight decay of all parameters, biases too; zero gives plain Adam.
    pub weight_decay: f64,
}

/// Adam with decoupled weight decay (Kingma and Ba, 2015; Loshchilov and Hutter, 2019), for each parameter x with
/// gradient g at step t = 1, 2, …:
///
/// `m ← β₁ m + (1 − β₁) g`, `u ← β₂ u + (1 − β₂) g²`,
/// `x ← x − α ( m̂ / (√û + ε) + λ x )` with `m̂ = m / (1 − β₁ᵗ)`, `û = u / (1 − β₂ᵗ)`.
///
/// The engine's own has the same formula with its settings rounded to single precision, which moves 1 − β₂ by 1e-5.
/// A parameter without a gradient is left alone, undecayed.
#[derive(Clone)]
pub struct Adam {
    engine: ModuleOptimizer,
    learning_rate: f64,
}

impl Adam {
    /// An optimiser that has seen nothing yet.
    pub fn new(config: AdamConfig) -> Self {
        Self { engine: ModuleOptimizer::from(Rule(config)), learning_rate: config.learning_rate }
    }

    /// One step: the module with updated parameters. Pass the module by value, so that its memory is used again.
    #[must_use]
    pub fn step<M: Module>(&mut self, module: M, gradients: Gradients) -> M {
        self.engine.step(self.learning_rate, module, gradients.0)
    }
}

impl std::fmt::Debug for Adam {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Adam").field("learning_rate", &self.learning_rate).finish_non_exhaustive()
    }
}

/// The formula for one tensor; the engine walks the module and keeps the moments. They have the engine's type, because
/// its derive macro for types that can be saved works only inside the engine itself.
#[derive(Clone)]
struct Rule(AdamConfig);

impl Optimizer for Rule {
    type State<const D: usize> = AdaptiveMomentumState<D>;

    fn step<const D: usize>(
        &self,
        learning_rate: LearningRate,
        x: Tensor<D>,
        gradient: Tensor<D>,
        state: Option<Self::State<D>>,
    ) -> (Tensor<D>, Option<Self::State<D>>) {
        let AdamConfig { beta_1, beta_2, epsilon, weight_decay, .. } = self.0;
        let squared = gradient.clone().square().mul_scalar(1.0 - beta_2);
        let gradient = gradient.mul_scalar(1.0 - beta_1);
        let (time, mean, square) = match state {
            None => (1, gradient, squared),
            Some(old) => {
                let mean = old.moment_1.mul_scalar(beta_1) + gradient;
                (old.time + 1, mean, old.moment_2.mul_scalar(beta_2) + squared)
            }
        };
        let correction = |beta: f64| 1.0 - beta.powf(time as f64);
        let root = square.clone().mul_scalar(1.0 / correction(beta_2)).sqrt();
        let step = mean.clone().mul_scalar(learning_rate / correction(beta_1)) / root.add_scalar(epsilon);
        let x = if weight_decay == 0.0 { x } else { x.mul_scalar(1.0 - learning_rate * weight_decay) };
        let state = AdaptiveMomentumState { time, moment_1: mean, moment_2: square, max_moment_2: None };
        (x - step, Some(state))
    }

    fn to_device<const D: usize>(state: Self::State<D>, device: &burn::tensor::Device) -> Self::State<D> {
        state.to_device(device)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::{Device, Linear, Precision, flat_parameters, set_flat_parameters};
    use ive::Rng;

    /// Replays the formula of the type's doc in plain numbers on the loss (w x + b)², whose gradient is known.
    #[test]
    fn steps_equal_the_formula_in_plain_numbers() {
        for weight_decay in [0.0, 0.1] {
            let config =
                AdamConfig { learning_rate: 0.05, beta_1: 0.9, beta_2: 0.999, epsilon: 1e-3, weight_decay };
            let device = Device::cpu().with_precision(Precision::Double).recording();
            let layer = Linear::new(1, 1, &device, &mut Rng::from_seed(0));
            let mut layer = set_flat_parameters(layer, &[0.7, -0.2]).unwrap();
            let mut adam = Adam::new(config);
            let (mut x, mut m, mut u) = ([0.7, -0.2], [0.0; 2], [0.0; 2]);
            for t in 1..=20 {
                let y = layer.forward(device.matrix(&[1.5], [1, 1]));
                let gradients = Gradients::of(&y.square().sum(), &layer);
                layer = adam.step(layer, gradients);
                let output: f64 = x[0] * 1.5 + x[1];
                for (j, g) in [2.0 * output * 1.5, 2.0 * output].into_iter().enumerate() {
                    m[j] = 0.9 * m[j] + 0.1 * g;
                    u[j] = 0.999 * u[j] + 0.001 * g * g;
                    let (m_hat, u_hat) = (m[j] / (1.0 - 0.9f64.powi(t)), u[j] / (1.0 - 0.999f64.powi(t)));
                    x[j] -= 0.05 * (m_hat / (f64::sqrt(u_hat) + 1e-3) + weight_decay * x[j]);
                }
                for (ours, theirs) in flat_parameters(&layer).iter().zip(x) {
                    // Twenty steps of rounding; dividing by 1 − 0.999ᵗ magnifies the last bits a thousandfold.
                    assert!((ours - theirs).abs() < 1e-12, "step {t}: {ours} and {theirs}");
                }
            }
        }
    }
}
