//! The long short-term memory cell, all gates from one matrix product.
//!
//! Gates lie side by side in the order i, g, f, o (input, candidate, forget, output), each `units` wide:
//!
//! `c' = σ(f + 1) c + σ(i) tanh(g)`, `h' = σ(o) tanh(c')`
//!
//! with the forget gate's constant one as in Haiku (Jozefowicz et al., 2015).

use burn::module::{Module, Param};
use burn::tensor::activation::sigmoid;
use burn::tensor::{Tensor, module};
use ive::Rng;

use super::{Device, Linear, truncated_normal};

/// What an LSTM cell remembers, `[b, units]` each.
#[derive(Clone, Debug)]
pub struct LstmState {
    /// h: the output.
    pub hidden: Tensor<2>,
    /// c: the memory.
    pub cell: Tensor<2>,
}

/// An LSTM cell. Parameters in order: `W` `[inputs, 4 units]`, `U` `[units, 4 units]`, `b` `[4 units]`.
#[derive(Module, Debug)]
pub struct LstmCell {
    input: Param<Tensor<2>>,
    recurrent: Param<Tensor<2>>,
    bias: Param<Tensor<1>>,
    units: usize,
}

impl LstmCell {
    /// Truncated normal weights of scale `1/√(inputs + units)`, zero biases. `rng` is consumed.
    pub fn new(inputs: usize, units: usize, device: &Device, rng: &mut Rng) -> Self {
        let mut weight = |rows: usize| {
            let values = truncated_normal(rows * 4 * units, inputs + units, rng);
            Param::from_tensor(device.matrix(&values, [rows, 4 * units]))
        };
        let (input, recurrent) = (weight(inputs), weight(units));
        Self { input, recurrent, bias: Param::from_tensor(device.vector(&vec![0.0; 4 * units])), units }
    }

    /// One step: the new state, whose `hidden` is the output.
    pub fn forward(&self, x: Tensor<2>, state: LstmState) -> LstmState {
        let gates = module::linear(x, self.input.val(), Some(self.bias.val()));
        let gates = gates + state.hidden.matmul(self.recurrent.val());
        let forget = sigmoid(gate(&gates, 2, self.units).add_scalar(1.0));
        let cell = forget * state.cell + written(&gates, self.units);
        let hidden = sigmoid(gate(&gates, 3, self.units)) * cell.clone().tanh();
        LstmState { hidden, cell }
    }
}

/// An LSTM cell that always starts from the zero state, a map without memory:
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
    use crate::nn::{Precision, flat_parameters, set_flat_parameters};

    fn device() -> Device {
        Device::cpu().with_precision(Precision::Double)
    }

    fn state(device: &Device, hidden: &[f64], cell: &[f64]) -> LstmState {
        let shape = [1, hidden.len()];
        LstmState { hidden: device.matrix(hidden, shape), cell: device.matrix(cell, shape) }
    }

    /// One unit, worked out with the scalar formula of the module's first lines.
    #[test]
    fn cell_equals_the_scalar_formula() {
        let cell = LstmCell::new(1, 1, &device(), &mut Rng::from_seed(0));
        let (w, u, b) = ([0.5, -0.3, 0.8, 0.2], [0.1, 0.9, -0.7, 0.4], [0.05, 0.15, -0.25, 0.35]);
        let cell = set_flat_parameters(cell, &[w, u, b].concat()).unwrap();
        let (x, h, c) = (1.5, -0.6, 0.7);
        let next = cell.forward(device().matrix(&[x], [1, 1]), state(&device(), &[h], &[c]));
        let [i, g, f, o] = [0, 1, 2, 3].map(|k| w[k] * x + u[k] * h + b[k]);
        let sigma = |x: f64| 1.0 / (1.0 + (-x).exp());
        let c_next = sigma(f + 1.0) * c + sigma(i) * g.tanh();
        assert!((to_host(next.cell)[0] - c_next).abs() < 1e-14);
        assert!((to_host(next.hidden)[0] - sigma(o) * c_next.tanh()).abs() < 1e-14);
    }

    #[test]
    fn cell_from_zeros_equals_the_zero_state_form() {
        let full = LstmCell::new(3, 2, &device(), &mut Rng::from_seed(4));
        let weights = flat_parameters(&full);
        let short = ZeroStateLstm::new(3, 2, &device(), &mut Rng::from_seed(5));
        let short = set_flat_parameters(short, &[&weights[..24], &weights[40..]].concat()).unwrap();
        let x = device().matrix(&[0.3, -1.0, 2.0], [1, 3]);
        let hidden = full.forward(x.clone(), state(&device(), &[0.0; 2], &[0.0; 2])).hidden;
        assert_eq!(to_host(hidden), to_host(short.forward(x)));
    }

    #[test]
    fn gradients_equal_finite_differences() {
        let device = device().recording();
        let x = device.matrix(&[0.3, -1.0, 2.0], [1, 3]);
        let start = state(&device, &[0.4, -0.8], &[-1.1, 0.6]);
        let cell = LstmCell::new(3, 2, &device, &mut Rng::from_seed(6));
        check_gradients(&cell, |cell: &LstmCell| {
            let once = cell.forward(x.clone(), start.clone());
            cell.forward(x.clone(), once).hidden.square().sum()
        });
        let short = ZeroStateLstm::new(3, 2, &device, &mut Rng::from_seed(7));
        check_gradients(&short, |short: &ZeroStateLstm| short.forward(x.clone()).square().sum());
    }
}
