//! Small operations on the rows of a matrix, forwards and backwards.

use multiversion::multiversion;

use super::functions::{elu, elu_slope, exp, sigmoid, softplus, tanh};
use crate::nn::graph::Activation;

/// Added to the variance of a row before it is normalised.
const NORM_EPSILON: f32 = 1e-5;

/// Adds a row to every row.
#[multiversion(targets = "simd")]
pub fn add_row(y: &mut [f32], row: &[f32]) {
    for y in y.chunks_exact_mut(row.len()) {
        y.iter_mut().zip(row).for_each(|(y, b)| *y += b);
    }
}

/// Adds the row of each action.
#[multiversion(targets = "simd")]
pub fn add_action_rows(y: &mut [f32], columns: usize, table: &[f32], actions: &[u8]) {
    for (row, &action) in y.chunks_exact_mut(columns).zip(actions) {
        let entries = &table[usize::from(action) * columns..][..columns];
        row.iter_mut().zip(entries).for_each(|(y, t)| *y += t);
    }
}

/// The activation of each number.
#[multiversion(targets = "simd")]
pub fn activate(y: &mut [f32], activation: Activation) {
    match activation {
        Activation::Linear => {}
        Activation::Relu => y.iter_mut().for_each(|y| *y = y.max(0.0)),
        Activation::Elu => y.iter_mut().for_each(|y| *y = elu(*y)),
        Activation::Tanh => y.iter_mut().for_each(|y| *y = tanh(*y)),
        Activation::Sigmoid => y.iter_mut().for_each(|y| *y = sigmoid(*y)),
        Activation::Softplus => y.iter_mut().for_each(|y| *y = softplus(*y)),
    }
}

/// Turns the gradient after an activation into that before it, given its value.
#[multiversion(targets = "simd")]
pub fn through(d: &mut [f32], y: &[f32], activation: Activation) {
    let pairs = d.iter_mut().zip(y);
    match activation {
        Activation::Linear => {}
        Activation::Relu => pairs.for_each(|(d, y)| *d = if *y > 0.0 { *d } else { 0.0 }),
        Activation::Elu => pairs.for_each(|(d, y)| *d *= elu_slope(*y)),
        Activation::Tanh => pairs.for_each(|(d, y)| *d *= 1.0 - y * y),
        Activation::Sigmoid => pairs.for_each(|(d, y)| *d *= y * (1.0 - y)),
        // y = ln(1 + eˣ), so σ(x) = 1 − e⁻ʸ.
        Activation::Softplus => pairs.for_each(|(d, y)| *d *= 1.0 - exp(-*y)),
    }
}

/// Adds up rows.
#[multiversion(targets = "simd")]
pub fn sum_rows(rows: &[f32], sums: &mut [f32]) {
    for row in rows.chunks_exact(sums.len()) {
        sums.iter_mut().zip(row).for_each(|(s, r)| *s += r);
    }
}

/// Adds up the rows of each action.
#[multiversion(targets = "simd")]
pub fn sum_by_action(rows: &[f32], columns: usize, actions: &[u32], table: &mut [f32]) {
    for (row, &action) in rows.chunks_exact(columns).zip(actions) {
        let sums = &mut table[action as usize * columns..][..columns];
        sums.iter_mut().zip(row).for_each(|(s, r)| *s += r);
    }
}

/// `s w d` for each row d, a weight for each.
pub fn scale_rows(d: &mut [f32], weights: &[f32], scale: f32) {
    let columns = d.len() / weights.len().max(1);
    for (row, w) in d.chunks_exact_mut(columns.max(1)).zip(weights) {
        row.iter_mut().for_each(|d| *d = scale * (w * *d));
    }
}

/// Copies `count` columns of each row, from column `first` of rows of length `width` to column `to_first` of rows of `to_width`.
pub fn copy_columns(
    from: &[f32],
    first: usize,
    width: usize,
    to: &mut [f32],
    to_first: usize,
    to_width: usize,
    count: usize,
) {
    for (from, to) in from.chunks_exact(width).zip(to.chunks_exact_mut(to_width)) {
        to[to_first..][..count].copy_from_slice(&from[first..][..count]);
    }
}

/// A product of two vectors, in eight parallel sums.
#[inline(always)]
pub fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [0.0f32; 8];
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<8>(), b.as_chunks::<8>());
    for (a, b) in a.iter().zip(b) {
        for l in 0..8 {
            sums[l] += a[l] * b[l];
        }
    }
    for (s, (a, b)) in sums.iter_mut().zip(a_rest.iter().zip(b_rest)) {
        *s += a * b;
    }
    sums.iter().sum()
}

/// `x · W[j] + b[j]` for each row x.
#[multiversion(targets = "simd")]
pub fn readout(x: &[f32], w: &[f32], bias: &[f32], y: &mut [f32]) {
    let inputs = w.len() / bias.len();
    for (x, y) in x.chunks_exact(inputs).zip(y.chunks_exact_mut(bias.len())) {
        for ((y, w), b) in y.iter_mut().zip(w.chunks_exact(inputs)).zip(bias) {
            *y = dot(x, w) + b;
        }
    }
}

/// The gradient of the inputs of [`readout`].
#[multiversion(targets = "simd")]
pub fn readout_back(dy: &[f32], w: &[f32], inputs: usize, dx: &mut [f32]) {
    let outputs = w.len() / inputs;
    for (dy, dx) in dy.chunks_exact(outputs).zip(dx.chunks_exact_mut(inputs)) {
        for (j, (&d, w)) in dy.iter().zip(w.chunks_exact(inputs)).enumerate() {
            if j == 0 {
                dx.iter_mut().zip(w).for_each(|(dx, w)| *dx = d * w);
            } else if d != 0.0 {
                dx.iter_mut().zip(w).for_each(|(dx, w)| *dx += d * w);
            }
        }
    }
}

/// Adds the gradient of the weights of [`readout`].
#[multiversion(targets = "simd")]
pub fn readout_weights(dy: &[f32], x: &[f32], inputs: usize, dw: &mut [f32]) {
    let outputs = dw.len() / inputs;
    for (dy, x) in dy.chunks_exact(outputs).zip(x.chunks_exact(inputs)) {
        for (&d, dw) in dy.iter().zip(dw.chunks_exact_mut(inputs)) {
            if d != 0.0 {
                dw.iter_mut().zip(x).for_each(|(dw, x)| *dw += d * x);
            }
        }
    }
}

/// Adds `xᵢ yⱼ` for all i and j.
pub fn add_outer(x: &[f32], y: &[f32], sums: &mut [f32]) {
    for (x, sums) in x.iter().zip(sums.chunks_exact_mut(y.len())) {
        sums.iter_mut().zip(y).for_each(|(s, y)| *s += x * y);
    }
}

/// The mean of each row.
pub fn mean(x: &[f32], columns: usize, y: &mut [f32]) {
    for (x, y) in x.chunks_exact(columns).zip(y) {
        *y = x.iter().sum::<f32>() / columns as f32;
    }
}

/// Mean and mean squared deviation of a row.
#[inline(always)]
fn moments(x: &[f32]) -> (f32, f32) {
    let n = x.len() as f32;
    let mean = x.iter().sum::<f32>() / n;
    (mean, x.iter().map(|x| (x - mean) * (x - mean)).sum::<f32>() / n)
}

/// The standard deviation of each row.
pub fn std(x: &[f32], columns: usize, y: &mut [f32]) {
    for (x, y) in x.chunks_exact(columns).zip(y) {
        *y = moments(x).1.sqrt();
    }
}

/// `dx = dy (x − mean) / (n σ)`, zero where σ is zero.
pub fn std_back(x: &[f32], std: &[f32], columns: usize, dy: &[f32], dx: &mut [f32]) {
    let rows = x.chunks_exact(columns).zip(dx.chunks_exact_mut(columns));
    for ((x, dx), (std, dy)) in rows.zip(std.iter().zip(dy)) {
        let (mean, _) = moments(x);
        let factor = if *std > 0.0 { dy / (columns as f32 * std) } else { 0.0 };
        dx.iter_mut().zip(x).for_each(|(dx, x)| *dx = factor * (x - mean));
    }
}

/// Sixteen parallel sums of a row and one number of them: rows are long enough for that to matter.
#[inline(always)]
fn wide_sum(x: &[f32], term: impl Fn(usize, f32) -> f32) -> f32 {
    let mut sums = [0.0f32; 16];
    let (chunks, rest) = x.as_chunks::<16>();
    for (k, chunk) in chunks.iter().enumerate() {
        for l in 0..16 {
            sums[l] += term(16 * k + l, chunk[l]);
        }
    }
    for (l, x) in rest.iter().enumerate() {
        sums[l] += term(16 * chunks.len() + l, *x);
    }
    sums.iter().sum()
}

/// `(x − mean) / √(variance + ε)`; keeps the reciprocal root of each row.
#[multiversion(targets = "simd")]
pub fn layer_norm(x: &[f32], columns: usize, y: &mut [f32], scales: &mut [f32]) {
    let n = columns as f32;
    for ((x, y), scale) in x.chunks_exact(columns).zip(y.chunks_exact_mut(columns)).zip(scales) {
        let mean = wide_sum(x, |_, x| x) / n;
        let variance = wide_sum(x, |_, x| (x - mean) * (x - mean)) / n;
        *scale = 1.0 / (variance + NORM_EPSILON).sqrt();
        y.iter_mut().zip(x).for_each(|(y, x)| *y = (x - mean) * *scale);
    }
}

/// `dx = scale (dy − mean dy − y mean(y dy))`.
#[multiversion(targets = "simd")]
pub fn layer_norm_back(y: &[f32], scales: &[f32], columns: usize, dy: &[f32], dx: &mut [f32]) {
    let n = columns as f32;
    let rows = y.chunks_exact(columns).zip(dy.chunks_exact(columns)).zip(dx.chunks_exact_mut(columns));
    for (((y, dy), dx), scale) in rows.zip(scales) {
        let (mean, along) = (wide_sum(dy, |_, d| d) / n, wide_sum(dy, |j, d| d * y[j]) / n);
        for ((dx, dy), y) in dx.iter_mut().zip(dy).zip(y) {
            *dx = scale * (dy - mean - y * along);
        }
    }
}
