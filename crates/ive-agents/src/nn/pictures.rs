//! Pictures `[height, width, channel]` in the rows of matrices, on the tensor engine, which wants channels first.

use burn::tensor::ops::{ConvOptions, ConvTransposeOptions, MaxPoolOptions};
use burn::tensor::{Tensor, module};

use super::layers::Pool;

/// `W * x + b`; the picture is padded with zeros. W is `[window · channels, filters]`.
pub(super) fn conv(x: Tensor<2>, weight: Tensor<2>, bias: Tensor<2>, pool: &Pool) -> Tensor<2> {
    let filters = bias.dims()[1];
    let x = padded(channels_first(x, pool.picture), pool);
    let plain = ConvOptions::new(pool.stride, [0, 0], [1, 1], 1);
    channels_last(module::conv2d(x, kernel(weight, pool), Some(bias.reshape([filters])), plain))
}

/// `Wᵀ * x + b`: windows added up, and what lies beside the picture cut off.
pub(super) fn conv_transposed(x: Tensor<2>, weight: Tensor<2>, bias: Tensor<2>, pool: &Pool) -> Tensor<2> {
    let ([down, right], filters) = (pool.places(), weight.dims()[1]);
    let x = channels_first(x, [down, right, filters]);
    let plain = ConvTransposeOptions::new(pool.stride, [0, 0], [0, 0], [1, 1], 1);
    let mut y = module::conv_transpose2d(x, kernel(weight, pool), None, plain);
    for d in 0..2 {
        let ([before, _], size, mut dims) = (pool.padding[d], pool.picture[d], y.dims());
        // Rows that no window reaches.
        let missing = (before + size).saturating_sub(dims[2 + d]);
        if missing > 0 {
            dims[2 + d] = missing;
            let zeros = y.zeros_like().narrow(2 + d, 0, 1).expand(dims);
            y = Tensor::cat(vec![y, zeros], 2 + d);
        }
        y = y.narrow(2 + d, before, size);
    }
    let [count, channels, height, width] = y.dims();
    let y = y + bias.reshape([1, channels, 1, 1]).expand([count, channels, height, width]);
    channels_last(y)
}

/// The largest of each window.
pub(super) fn largest(x: Tensor<2>, pool: &Pool) -> Tensor<2> {
    let mut options = MaxPoolOptions::new(pool.window).with_stride(pool.stride);
    options.padding = pool.padding.map(|[before, after]| (before, after));
    channels_last(module::max_pool2d(channels_first(x, pool.picture), options))
}

/// W as the engine wants it: `[filters, channels, height, width]`.
fn kernel(weight: Tensor<2>, pool: &Pool) -> Tensor<4> {
    let ([height, width], [_, _, channels], [_, filters]) = (pool.window, pool.picture, weight.dims());
    weight.reshape([height, width, channels, filters]).permute([3, 2, 0, 1])
}

fn channels_first(x: Tensor<2>, [height, width, channels]: [usize; 3]) -> Tensor<4> {
    let [count, _] = x.dims();
    x.reshape([count, height, width, channels]).permute([0, 3, 1, 2])
}

fn channels_last(x: Tensor<4>) -> Tensor<2> {
    let [count, channels, height, width] = x.dims();
    x.permute([0, 2, 3, 1]).reshape([count, height * width * channels])
}

/// Zeros around a picture.
fn padded(mut x: Tensor<4>, pool: &Pool) -> Tensor<4> {
    for (d, [before, after]) in pool.padding.into_iter().enumerate() {
        let strip = |size: usize| {
            let mut dims = x.dims();
            dims[2 + d] = size;
            x.zeros_like().narrow(2 + d, 0, 1).expand(dims)
        };
        let mut parts = vec![x.clone()];
        if before > 0 {
            parts.insert(0, strip(before));
        }
        if after > 0 {
            parts.push(strip(after));
        }
        x = Tensor::cat(parts, 2 + d);
    }
    x
}
