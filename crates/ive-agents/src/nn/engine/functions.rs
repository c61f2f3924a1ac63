//! Functions of numbers, entry by entry, whose gradients are finite wherever they should be.

use burn::tensor::Tensor;
use burn::tensor::activation::{relu, sigmoid};

use crate::nn::Activation;

/// The exponential linear unit: `x` for x > 0, `eˣ − 1` otherwise (Clevert et al., 2015).
///
/// Computed as `max(x, 0) + exp(min(x, 0)) − 1`, so that the exponential never overflows. The engine computes both
/// branches for every x and masks one: above 88.7 the masked branch is infinite, and its gradient 0 · ∞ is NaN.
pub(in crate::nn) fn elu<const D: usize>(x: Tensor<D>) -> Tensor<D> {
    let positive = relu(x.clone());
    let negative = x - positive.clone();
    positive + negative.exp().sub_scalar(1.0)
}

/// Huber's loss with threshold one: `x²/2` up to |x| = 1, `|x| − ½` beyond.
///
/// Computed as `x c − c²/2` with `c = min(max(x, −1), 1)`, whose derivative is c on both sides of the threshold.
pub(super) fn huber(x: Tensor<2>) -> Tensor<2> {
    let c = x.clone().clamp(-1.0, 1.0);
    x * c.clone() - c.square().mul_scalar(0.5)
}

/// `ln(1 + eˣ)`, as `max(x, 0) + ln(1 + e^{−|x|})`.
fn softplus(x: Tensor<2>) -> Tensor<2> {
    relu(x.clone()) + x.abs().neg().exp().log1p()
}

/// What becomes of each number.
pub(super) fn activated(x: Tensor<2>, activation: Activation) -> Tensor<2> {
    match activation {
        Activation::Linear => x,
        Activation::Relu => relu(x),
        Activation::Elu => elu(x),
        Activation::Tanh => x.tanh(),
        Activation::Sigmoid => sigmoid(x),
        Activation::Softplus => softplus(x),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::device::to_host;
    use crate::nn::{Device, Precision};

    fn values_and_gradients(x: &[f64], precision: Precision) -> (Vec<f64>, Vec<f64>) {
        let x = Device::cpu().with_precision(precision).recording().vector(x).require_grad();
        let y = elu(x.clone());
        let gradients = y.clone().sum().backward();
        (to_host(y), to_host(x.grad(&gradients).unwrap()))
    }

    /// The derivative is 1 for x ≥ 0 and eˣ below, from the definition.
    #[test]
    fn elu_has_its_closed_form_and_finite_gradients_everywhere() {
        let x = [-1e30, -200.0, -2.0, -1e-3, 0.0, 1e-3, 2.0, 88.0, 100.0, 1e30];
        for precision in [Precision::Single, Precision::Double] {
            // A few units in the last place of numbers up to one: `exp(x) − 1` cancels, which costs no more than that
            // in absolute terms.
            let tolerance = if precision == Precision::Single { 2e-7 } else { 4e-16 };
            let (y, dy) = values_and_gradients(&x, precision);
            for i in 0..x.len() {
                let x = if precision == Precision::Single { f64::from(x[i] as f32) } else { x[i] };
                let expected = if x > 0.0 { (x, 1.0) } else { (x.exp_m1(), x.exp()) };
                assert!(
                    (y[i] - expected.0).abs() <= tolerance * expected.0.abs().max(1.0),
                    "elu({x}) = {}",
                    y[i]
                );
                assert!((dy[i] - expected.1).abs() <= tolerance, "elu'({x}) = {}", dy[i]);
            }
        }
    }

    #[test]
    fn gradient_at_one_hundred_is_one() {
        assert_eq!(values_and_gradients(&[100.0], Precision::Single).1, [1.0]);
    }

    /// Values and slopes from the definition; all of them are exact in binary.
    #[test]
    fn huber_and_its_slope_equal_the_definition() {
        let device = Device::cpu().with_precision(Precision::Double).recording();
        let x = device.matrix(&[-3.0, -1.5, -0.5, 0.0, 0.25, 1.25, 8.0], [1, 7]).require_grad();
        let y = huber(x.clone());
        let gradients = y.clone().sum().backward();
        assert_eq!(to_host(y), [2.5, 1.0, 0.125, 0.0, 0.03125, 0.75, 7.5]);
        assert_eq!(to_host(x.grad(&gradients).unwrap()), [-1.0, -1.0, -0.5, 0.0, 0.25, 1.0, 1.0]);
    }
}
