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

    /// The Euclidean norm over all parameters together.
    pub fn global_norm<M: Module>(&self, module: &M) -> f64 {
        let mut sum = SquaredNorm { gradients: &self.0, total: None };
        module.visit(&mut sum);
        sum.total.map_or(0.0, |total| to_host(total)[0].sqrt())
    }

    /// Scales all gradients by `min(1, max_norm / norm)` with the norm over all parameters together, and returns that
    /// norm. If it is not finite the gradients are left as they are: the caller must not step with them.
    pub fn clip_global_norm<M: Module>(&mut self, module: &M, max_norm: f64) -> f64 {
        let norm = self.global_norm(module);
        if norm.is_finite() && norm > max_norm {
            module.visit(&mut Scale { gradients: &mut self.0, factor: max_norm / norm });
        }
        norm
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

struct SquaredNorm<'a> {
    gradients: &'a GradientsParams,
    total: Option<Tensor<1>>,
}

impl ModuleVisitor for SquaredNorm<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        if let Some(gradient) = self.gradients.get::<D>(param.id) {
            let squares = gradient.square().sum();
            self.total = Some(match self.total.take() {
                Some(total) => total + squares,
                None => squares,
            });
        }
    }
}

struct Scale<'a> {
    gradients: &'a mut GradientsParams,
    factor: f64,
}

impl ModuleVisitor for Scale<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        if let Some(gradient) = self.gradients.remove::<D>(param.id) {
            self.gradients.register(param.id, gradient.mul_scalar(self.factor));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::{Device, Linear, Precision};
    use ive::Rng;

    /// The loss is x W + b with x = (3, 0, −2), so the gradient is (3, 0, −2, 1) with norm √14.
    #[test]
    fn clipping_uses_the_norm_over_all_parameters() {
        let device = Device::cpu().with_precision(Precision::Double).recording();
        let layer = Linear::new(3, 1, &device, &mut Rng::from_seed(0));
        let x = device.matrix(&[3.0, 0.0, -2.0], [1, 3]);
        let mut gradients = Gradients::of(&layer.forward(x).sum(), &layer);
        assert_eq!(gradients.flat(&layer), [3.0, 0.0, -2.0, 1.0]);
        assert!((gradients.clip_global_norm(&layer, 10.0) - 14f64.sqrt()).abs() < 1e-15);
        assert_eq!(gradients.flat(&layer), [3.0, 0.0, -2.0, 1.0]);
        gradients.clip_global_norm(&layer, 0.5);
        assert!((gradients.global_norm(&layer) - 0.5).abs() < 1e-15);
        let ratio = gradients.flat(&layer)[0] / gradients.flat(&layer)[3];
        assert!((ratio - 3.0).abs() < 1e-14);
    }
}
