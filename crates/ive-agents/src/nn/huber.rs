//! Huber's loss.

use burn::tensor::Tensor;

/// Huber's loss with threshold one: `x²/2` up to |x| = 1, `|x| − ½` beyond.
///
/// Computed as `x c − c²/2` with `c = min(max(x, −1), 1)`, whose derivative is c on both sides of the threshold.
pub fn huber<const D: usize>(x: Tensor<D>) -> Tensor<D> {
    let c = x.clone().clamp(-1.0, 1.0);
    x * c.clone() - c.square().mul_scalar(0.5)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::device::to_host;
    use crate::nn::{Device, Precision};

    /// Values and slopes from the definition; all of them are exact in binary.
    #[test]
    fn huber_and_its_slope_equal_the_definition() {
        let device = Device::cpu().with_precision(Precision::Double).recording();
        let x = device.vector(&[-3.0, -1.5, -0.5, 0.0, 0.25, 1.25, 8.0]).require_grad();
        let y = huber(x.clone());
        let gradients = y.clone().sum().backward();
        assert_eq!(to_host(y), [2.5, 1.0, 0.125, 0.0, 0.03125, 0.75, 7.5]);
        assert_eq!(to_host(x.grad(&gradients).unwrap()), [-1.0, -1.0, -0.5, 0.0, 0.25, 1.0, 1.0]);
    }
}
