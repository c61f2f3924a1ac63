//! The loss of the toy: all k-step values on the same targets.

use burn::tensor::Tensor;

use super::{ToyConfig, ToyNetwork};
use crate::nn::Device;

/// The weight γʲ⁻¹ of reward rʲ in the k-step value, `[k, j]` for k = 0..n, j = 1..n: zero when j > k.
fn reward_weights(discount: f64, horizon: usize) -> Vec<f64> {
    let weight = |k: usize, j: usize| if j <= k { discount.powi(j as i32 - 1) } else { 0.0 };
    (0..=horizon).flat_map(|k| (1..=horizon).map(move |j| weight(k, j))).collect()
}

/// The weight γᵏ of v̂(zᵏ) in the k-step value, `[k]` for k = 0..n.
fn value_weights(discount: f64, horizon: usize) -> Vec<f64> {
    (0..=horizon).map(|k| discount.powi(k as i32)).collect()
}

/// States and their target values on a device, with the constants of the k-step values.
#[derive(Clone, Debug)]
pub struct Problem {
    /// `[b, 1]`.
    states: Tensor<2>,
    /// v̄, `[1, b]`.
    targets: Tensor<2>,
    /// `[k, j]`.
    reward_weights: Tensor<2>,
    /// `[k, 1]`.
    value_weights: Tensor<2>,
}

impl Problem {
    /// The given states and values.
    ///
    /// # Panics
    /// If there is not one target for each state: a mistake of the calling code.
    pub fn new(config: &ToyConfig, states: &[f64], targets: &[f64], device: &Device) -> Self {
        assert_eq!(states.len(), targets.len(), "one target for each state");
        let n = config.horizon;
        Self {
            states: device.matrix(states, [states.len(), 1]),
            targets: device.matrix(targets, [1, targets.len()]),
            reward_weights: device.matrix(&reward_weights(config.discount, n), [n + 1, n]),
            value_weights: device.matrix(&value_weights(config.discount, n), [n + 1, 1]),
        }
    }
}

/// `v̂ᵏ(s) = Σ_{j=1}^{k} γʲ⁻¹ r̂(zʲ) + γᵏ v̂(zᵏ)`, `[k, b]` for k = 0..n, all inside the engine.
///
/// The same numbers as [`ToyModel::ensemble`](super::ToyModel::ensemble), but differentiable, and with one call of the
/// value and of the reward for all steps at once: for networks this small the number of calls is the price.
pub fn model_predicted_values(network: &ToyNetwork, problem: &Problem) -> Tensor<2> {
    let [members, horizon] = problem.reward_weights.dims();
    let [batch, _] = problem.states.dims();
    let mut latents = vec![network.represent(problem.states.clone())];
    for k in 0..horizon {
        latents.push(network.transition(latents[k].clone()));
    }
    let latents = Tensor::cat(latents, 0); // [k b, latent]
    let values = network.value(latents.clone()).reshape([members, batch]);
    let bootstrap = values * problem.value_weights.clone();
    if horizon == 0 {
        return bootstrap;
    }
    let arrived = latents.narrow(0, batch, horizon * batch);
    let rewards = network.reward(arrived).reshape([horizon, batch]);
    problem.reward_weights.clone().matmul(rewards) + bootstrap
}

/// `Σᵢ Σₖ (v̂ᵏ(sᵢ) − v̄ᵢ)²`. Paper: App. A.2.1, Eq. (16).
pub fn loss(network: &ToyNetwork, problem: &Problem) -> Tensor<1> {
    (model_predicted_values(network, problem) - problem.targets.clone()).square().sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Written out by hand for γ = 1/2 and n = 2: v̂⁰ = v⁰, v̂¹ = r¹ + v¹/2, v̂² = r¹ + r²/2 + v²/4.
    #[test]
    fn weights_are_those_of_the_formula() {
        assert_eq!(reward_weights(0.5, 2), [0.0, 0.0, 1.0, 0.0, 1.0, 0.5]);
        assert_eq!(value_weights(0.5, 2), [1.0, 0.5, 0.25]);
    }
}
