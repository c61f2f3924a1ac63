//! Fully connected layers, `Y = X W + b`, faster than the engine's own for batches of states.
//!
//! The engine's product copies X into another order before each layer, and the copy costs as much as a sixth of the product.
//! Here W is packed once into panels of columns, X stays as it is, and a tile of some rows and columns is summed in registers.

use multiversion::multiversion;
use multiversion::target::target_cfg_f;

/// Columns of a wide panel, four vectors of AVX-512; the rest comes in narrow ones.
const WIDE: usize = 64;
const NARROW: usize = 16;

/// A layer with its weights in panels.
#[derive(Debug)]
pub(crate) struct Dense {
    inputs: usize,
    outputs: usize,
    /// `[panel, input]` rows of a panel.
    wide: Vec<[f32; WIDE]>,
    narrow: Vec<[f32; NARROW]>,
    /// Of all columns, up to the end of the last panel.
    bias: Vec<f32>,
}

impl Dense {
    /// `weight(input, output)` and `bias(output)` are the numbers of the layer.
    pub(crate) fn new(
        inputs: usize,
        outputs: usize,
        weight: impl Fn(usize, usize) -> f32,
        bias: impl Fn(usize) -> f32,
    ) -> Self {
        let (panels, rest) = (outputs / WIDE, outputs % WIDE);
        let entry = |i: usize, o: usize| if o < outputs { weight(i, o) } else { 0.0 };
        let wide = rows(panels, inputs, |p, i, c| entry(i, p * WIDE + c));
        let narrow = rows(rest.div_ceil(NARROW), inputs, |p, i, c| entry(i, panels * WIDE + p * NARROW + c));
        let padded = panels * WIDE + rest.next_multiple_of(NARROW);
        let bias = (0..padded).map(|o| if o < outputs { bias(o) } else { 0.0 }).collect();
        Self { inputs, outputs, wide, narrow, bias }
    }

    pub(crate) fn inputs(&self) -> usize {
        self.inputs
    }

    pub(crate) fn outputs(&self) -> usize {
        self.outputs
    }

    /// `Y = X W + b` for rows of X, into rows of Y.
    ///
    /// # Panics
    /// If X or Y are not as many whole rows.
    pub(crate) fn forward(&self, x: &[f32], y: &mut [f32]) {
        assert_eq!(x.len() * self.outputs, y.len() * self.inputs, "rows of a product");
        if !y.is_empty() {
            product(self, x, y);
        }
    }
}

/// Whether this processor fuses products and sums in vectors. If it does not, the engine's product is the better one.
pub(crate) fn is_fast() -> bool {
    #[cfg(target_arch = "x86_64")]
    return std::is_x86_feature_detected!("avx2") && std::is_x86_feature_detected!("fma");
    #[cfg(not(target_arch = "x86_64"))]
    return cfg!(target_arch = "aarch64");
}

/// Rows of all panels in order.
fn rows<const N: usize>(
    panels: usize,
    inputs: usize,
    entry: impl Fn(usize, usize, usize) -> f32,
) -> Vec<[f32; N]> {
    let row = |p: usize, i: usize| std::array::from_fn(|c| entry(p, i, c));
    (0..panels).flat_map(|p| (0..inputs).map(move |i| (p, i))).map(|(p, i)| row(p, i)).collect()
}

#[multiversion(targets(
    "x86_64+avx512f+avx512vl+avx512dq+avx512bw+avx2+fma",
    "x86_64+avx2+fma",
    "aarch64+neon"
))]
fn product(layer: &Dense, x: &[f32], y: &mut [f32]) {
    let panels = layer.outputs / WIDE;
    for p in 0..panels {
        let w = &layer.wide[p * layer.inputs..(p + 1) * layer.inputs];
        // As many sums as there are registers: 6 × 64 in 32 vectors of sixteen, 6 × 16 in 16 vectors of eight.
        if target_cfg_f!(target_feature = "avx512f") {
            panel::<6, 64, WIDE>(layer, x, y, w, p * WIDE, 0);
        } else {
            for c in (0..WIDE).step_by(16) {
                panel::<6, 16, WIDE>(layer, x, y, w, p * WIDE + c, c);
            }
        }
    }
    for p in 0..layer.narrow.len() / layer.inputs.max(1) {
        let w = &layer.narrow[p * layer.inputs..(p + 1) * layer.inputs];
        panel::<6, 16, NARROW>(layer, x, y, w, panels * WIDE + p * NARROW, 0);
    }
}

/// `C` columns of Y from `first` on: those of a panel of `N` from `offset` on. In tiles of `R` rows.
#[inline(always)]
fn panel<const R: usize, const C: usize, const N: usize>(
    layer: &Dense,
    x: &[f32],
    y: &mut [f32],
    w: &[[f32; N]],
    first: usize,
    offset: usize,
) {
    let bias: &[f32; C] =
        layer.bias[first..].first_chunk().expect("biases reach to the end of the last panel");
    let count = C.min(layer.outputs - first);
    let batch = y.len() / layer.outputs;
    // Sums leave their registers once, into these; with a part of them copied at run time they would not stay there.
    let mut out = [[0.0; C]; R];
    let mut row = 0;
    while row < batch {
        let x = &x[row * layer.inputs..];
        let rows = if batch - row >= R { R } else { 1 };
        if rows == R {
            tile::<R, C, N>(x, w, bias, offset, &mut out);
        } else {
            tile::<1, C, N>(x, w, bias, offset, out.first_chunk_mut().expect("a tile has rows"));
        }
        for (r, out) in out[..rows].iter().enumerate() {
            let at = (row + r) * layer.outputs + first;
            match y[at..].first_chunk_mut::<C>() {
                Some(y) if count == C => *y = *out,
                _ => y[at..at + count].copy_from_slice(&out[..count]),
            }
        }
        row += rows;
    }
}

/// `R` rows times `C` columns.
#[inline(always)]
fn tile<const R: usize, const C: usize, const N: usize>(
    x: &[f32],
    w: &[[f32; N]],
    bias: &[f32; C],
    offset: usize,
    out: &mut [[f32; C]; R],
) {
    let rows: [&[f32]; R] = std::array::from_fn(|r| &x[r * w.len()..(r + 1) * w.len()]);
    let mut sums = [*bias; R];
    for (i, w) in w.iter().enumerate() {
        let w: &[f32; C] = w[offset..].first_chunk().expect("a block lies inside of its panel");
        for r in 0..R {
            let x = rows[r][i];
            for c in 0..C {
                sums[r][c] = x.mul_add(w[c], sums[r][c]);
            }
        }
    }
    *out = sums;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Small integers, whose products and sums are exact in any order, so that plain loops must agree to the bit.
    #[test]
    fn layers_of_all_sizes_equal_plain_loops() {
        let number = |i: usize| ((i * 2_654_435_761) % 17) as f32 - 8.0;
        for (batch, inputs, outputs) in
            [(1, 1, 1), (6, 3, 16), (7, 5, 17), (13, 70, 65), (256, 9, 200), (5, 64, 64), (2, 4, 128)]
        {
            let x: Vec<f32> = (0..batch * inputs).map(number).collect();
            let weight = |i: usize, o: usize| number(7 * i + 31 * o + 3);
            let layer = Dense::new(inputs, outputs, weight, |o| number(o + 5));
            let mut y = vec![f32::NAN; batch * outputs];
            layer.forward(&x, &mut y);
            for (at, got) in y.iter().enumerate() {
                let (row, o) = (at / outputs, at % outputs);
                let sum: f32 = (0..inputs).map(|i| x[row * inputs + i] * weight(i, o)).sum();
                assert_eq!(*got, sum + number(o + 5), "{batch} × {inputs} × {outputs}, entry {at}");
            }
        }
    }
}
