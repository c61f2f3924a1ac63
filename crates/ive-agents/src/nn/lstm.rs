//! The recurrent cell of the toy, on the tensor engine; other networks have the operation of the [graph](super::graph).

use burn::module::Module;
use burn::tensor::Tensor;
use burn::tensor::activation::sigmoid;
use ive::Rng;

use super::{Device, Linear};

/// An LSTM that always starts from the zero state, a map without memory; gates lie side by side in the order i, g, f, o:
///
/// `h' = σ(o) tanh(σ(i) tanh(g))`
///
/// The recurrent weights multiply zeros and do not exist. The forget gate multiplies zeros too; its columns are kept,
/// so that the weights have the shape of an LSTM's, but only weight decay ever changes them.
/// Parameters in order: `W` `[inputs, 4 units]`, `b` `[4 units]`.
#[derive(Module, Debug)]
pub struct ZeroStateLstm {
    gates: Linear,
    units: usize,
}

impl ZeroStateLstm {
    /// Truncated normal weights of scale `1/√inputs`, zero biases. `rng` is consumed.
    pub fn new(inputs: usize, units: usize, device: &Device, rng: &mut Rng) -> Self {
        Self { gates: Linear::new(inputs, 4 * units, device, rng), units }
    }

    /// The output after one step from the zero state, `[b, inputs]` to `[b, units]`, within (−1, 1).
    pub fn forward(&self, x: Tensor<2>) -> Tensor<2> {
        let gates = self.gates.forward(x);
        sigmoid(gate(&gates, 3, self.units)) * written(&gates, self.units).tanh()
    }
}

/// σ(i) tanh(g): what a step writes into the memory.
fn written(gates: &Tensor<2>, units: usize) -> Tensor<2> {
    sigmoid(gate(gates, 0, units)) * gate(gates, 1, units).tanh()
}

/// One of the gates, `[b, units]`.
fn gate(gates: &Tensor<2>, index: usize, units: usize) -> Tensor<2> {
    gates.clone().narrow(1, index * units, units)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::device::to_host;
    use crate::nn::parameters::tests::check_gradients;
    use crate::nn::{Precision, set_flat_parameters};

    fn device() -> Device {
        Device::cpu().with_precision(Precision::Double)
    }

    /// One unit, worked out with the scalar formula.
    #[test]
    fn output_equals_the_scalar_formula() {
        let cell = ZeroStateLstm::new(1, 1, &device(), &mut Rng::from_seed(0));
        let (w, b) = ([0.5, -0.3, 0.8, 0.2], [0.05, 0.15, -0.25, 0.35]);
        let cell = set_flat_parameters(cell, &[w, b].concat()).unwrap();
        let [i, g, _, o] = [0, 1, 2, 3].map(|k| 1.5 * w[k] + b[k]);
        let sigma = |x: f64| 1.0 / (1.0 + (-x).exp());
        let hidden = to_host(cell.forward(device().matrix(&[1.5], [1, 1])));
        assert!((hidden[0] - sigma(o) * (sigma(i) * f64::tanh(g)).tanh()).abs() < 1e-14);
    }

    #[test]
    fn gradients_equal_finite_differences() {
        let device = device().recording();
        let x = device.matrix(&[0.3, -1.0, 2.0], [1, 3]);
        let cell = ZeroStateLstm::new(3, 2, &device, &mut Rng::from_seed(7));
        check_gradients(&cell, |cell: &ZeroStateLstm| cell.forward(x.clone()).square().sum());
    }
}
