//! Gradients of a loss with respect to the parameters of a module.

use burn::module::{Module, ModuleVisitor, Param};
use burn::optim::GradientsParams;
use burn::tensor::Tensor;

use super::device::to_host;

/// The gradient of a loss with respect to every parameter of a module.
#[derive(Debug)]
pub struct Gradients(pub(super) GradientsParams);

impl Gradients {
    /// Backpropagates from `loss`, a single number computed by `module` on a recording device.
    ///
    /// # Panics
    /// If nothing was recorded, or the loss was backpropagated before.
    pub fn of<M: Module>(loss: &Tensor<1>, module: &M) -> Self {
        Self(GradientsParams::from_grads(loss.backward(), module))
    }

    /// The gradients in the order of the module's fields, zero for parameters that the loss does not depend on.
    pub fn flat<M: Module>(&self, module: &M) -> Vec<f64> {
        let mut reader = Reader { gradients: &self.0, values: Vec::with_capacity(module.num_params()) };
        module.visit(&mut reader);
        reader.values
    }
}

struct Reader<'a> {
    gradients: &'a GradientsParams,
    values: Vec<f64>,
}

impl ModuleVisitor for Reader<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        match self.gradients.get::<D>(param.id) {
            Some(gradient) => self.values.extend(to_host(gradient)),
            None => self.values.extend(std::iter::repeat_n(0.0, param.shape().num_elements())),
        }
    }
}
