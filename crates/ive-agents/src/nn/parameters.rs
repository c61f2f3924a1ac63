//! All parameters of a module as one vector of numbers.
//!
//! The order is that of the module's fields as declared, depth first, each tensor row by row.

use burn::module::{Module, ModuleMapper, ModuleVisitor, Param};
use burn::tensor::Tensor;
use ive::{Error, Result};

use super::device::to_host;

/// How many numbers the parameters of a module hold.
pub fn count_parameters<M: Module>(module: &M) -> usize {
    module.num_params()
}

/// The parameters of a module, in the order of its fields.
pub fn flat_parameters<M: Module>(module: &M) -> Vec<f64> {
    let mut reader = Reader(Vec::with_capacity(module.num_params()));
    module.visit(&mut reader);
    reader.0
}

/// The module with these parameters, in the order of its fields; device, precision and recording stay as they are.
///
/// # Errors
/// If the number of values is not the number of parameters.
pub fn set_flat_parameters<M: Module>(module: M, values: &[f64]) -> Result<M> {
    let expected = module.num_params();
    if values.len() != expected {
        return Err(Error::Shape { what: "parameters of a network", expected, got: values.len() });
    }
    Ok(module.map(&mut Writer { rest: values }))
}

struct Reader(Vec<f64>);

impl ModuleVisitor for Reader {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        self.0.extend(to_host(param.val().inner()));
    }
}

struct Writer<'a> {
    rest: &'a [f64],
}

impl ModuleMapper for Writer<'_> {
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        let (id, old, mapper) = param.consume();
        let (values, rest) = self.rest.split_at(old.shape().num_elements());
        self.rest = rest;
        let recording = old.is_require_grad();
        let new = Tensor::<1>::from_data(values, (&old.device(), old.dtype())).reshape(old.shape());
        Param::from_mapped_value(id, new.set_require_grad(recording), mapper)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::nn::{Device, Gradients, Mlp, Precision};
    use ive::Rng;

    /// Compares the gradient of `loss`, a number, with central differences for every parameter, in double precision.
    ///
    /// With step h = 1e-5 a central difference errs by h²/6 times the third derivative (about 1e-10 for losses of order
    /// one) and by rounding of about 1e-16/h = 1e-11; the tolerance leaves a factor of ten or more.
    pub(in crate::nn) fn check_gradients<M: Module>(module: &M, loss: impl Fn(&M) -> Tensor<1>) {
        let gradients = Gradients::of(&loss(module), module).flat(module);
        let x = flat_parameters(module);
        assert_eq!(gradients.len(), x.len());
        let plain = |x: &[f64]| {
            let value = loss(&set_flat_parameters(module.clone(), x).unwrap());
            let number = to_host(value.clone())[0];
            value.backward(); // frees the graph
            number
        };
        let h = 1e-5;
        for j in 0..x.len() {
            let mut shifted = x.clone();
            shifted[j] = x[j] + h;
            let above = plain(&shifted);
            shifted[j] = x[j] - h;
            let difference = (above - plain(&shifted)) / (2.0 * h);
            let error = (gradients[j] - difference).abs();
            assert!(error < 1e-8, "parameter {j}: gradient {} but slope {difference}", gradients[j]);
        }
    }

    #[test]
    fn flat_parameters_round_trip_in_order_of_fields() {
        for device in [Device::cpu(), Device::cpu().recording().with_precision(Precision::Double)] {
            let mlp = Mlp::new(2, 3, 1, &device, &mut Rng::from_seed(0));
            let values: Vec<f64> = (0..count_parameters(&mlp)).map(|j| j as f64).collect();
            assert_eq!(values.len(), 2 * 3 + 3 + 3 + 1);
            let mlp = set_flat_parameters(mlp, &values).unwrap();
            assert_eq!(flat_parameters(&mlp), values);
            let error = set_flat_parameters(mlp, &values[1..]).unwrap_err();
            assert_eq!(error.to_string(), "parameters of a network: expected length 13, got 12");
        }
    }
}
