//! Dense layers.

use burn::module::{Module, Param};
use burn::tensor::{Tensor, module};
use ive::Rng;

use super::{Device, elu, truncated_normal};

/// A linear layer `x W + b`. Parameters in order: `W` `[inputs, outputs]`, `b` `[outputs]`.
#[derive(Module, Debug)]
pub struct Linear {
    weight: Param<Tensor<2>>,
    bias: Param<Tensor<1>>,
}

impl Linear {
    /// Truncated normal weights of scale `1/√inputs`, zero biases. `rng` is consumed.
    pub fn new(inputs: usize, outputs: usize, device: &Device, rng: &mut Rng) -> Self {
        let weight = truncated_normal(inputs * outputs, inputs, rng);
        Self {
            weight: Param::from_tensor(device.matrix(&weight, [inputs, outputs])),
            bias: Param::from_tensor(device.vector(&vec![0.0; outputs])),
        }
    }

    /// `x W + b`, `[b, inputs]` to `[b, outputs]`.
    pub fn forward(&self, x: Tensor<2>) -> Tensor<2> {
        module::linear(x, self.weight.val(), Some(self.bias.val()))
    }
}

/// A perceptron with one hidden layer, `elu(x W₁ + b₁) W₂ + b₂`. Parameters in order: `W₁`, `b₁`, `W₂`, `b₂`.
#[derive(Module, Debug)]
pub struct Mlp {
    hidden: Linear,
    output: Linear,
}

impl Mlp {
    /// A perceptron from `inputs` over `hidden` units to `outputs`. `rng` is consumed.
    pub fn new(inputs: usize, hidden: usize, outputs: usize, device: &Device, rng: &mut Rng) -> Self {
        Self {
            hidden: Linear::new(inputs, hidden, device, rng),
            output: Linear::new(hidden, outputs, device, rng),
        }
    }

    /// `elu(x W₁ + b₁) W₂ + b₂`, `[b, inputs]` to `[b, outputs]`.
    pub fn forward(&self, x: Tensor<2>) -> Tensor<2> {
        self.output.forward(elu(self.hidden.forward(x)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::device::to_host;
    use crate::nn::parameters::tests::check_gradients;
    use crate::nn::{Precision, flat_parameters, set_flat_parameters};

    fn device() -> Device {
        Device::cpu().with_precision(Precision::Double)
    }

    #[test]
    fn mlp_equals_the_formula_worked_out_by_hand() {
        // One input, two hidden units, one output: elu(2·1 + 1) = 3, elu(2·(−1) + 1) = e⁻¹ − 1.
        let mlp = Mlp::new(1, 2, 1, &device(), &mut Rng::from_seed(0));
        let mlp = set_flat_parameters(mlp, &[1.0, -1.0, 1.0, 1.0, 10.0, 100.0, 0.5]).unwrap();
        let y = to_host(mlp.forward(device().matrix(&[2.0], [1, 1])));
        assert!((y[0] - (30.0 + 100.0 * ((-1.0f64).exp() - 1.0) + 0.5)).abs() < 1e-12, "{y:?}");
    }

    #[test]
    fn mlp_gradients_equal_finite_differences() {
        let device = device().recording();
        let mlp = Mlp::new(3, 5, 2, &device, &mut Rng::from_seed(1));
        let x = device.matrix(&[0.3, -1.2, 0.7, 1.5, 0.1, -0.4], [2, 3]);
        check_gradients(&mlp, |mlp: &Mlp| mlp.forward(x.clone()).square().sum());
    }

    #[test]
    fn initial_weights_come_from_the_given_generator_alone() {
        let weights = |seed| flat_parameters(&Linear::new(4, 3, &device(), &mut Rng::from_seed(seed)));
        assert_eq!(weights(7), weights(7));
        assert_ne!(weights(7), weights(8));
        assert_eq!(weights(7)[12..], [0.0; 3]);
    }
}
