//! Matrix products, in the three orientations that a layer needs: forwards `Y = X W`, and backwards `dW = Xᵀ dY` and
//! `dX = dY Wᵀ`.
//!
//! Each stands here as plain loops, which say what is summed in which order and run on every processor, and once more in
//! `avx2.rs` with the same result, bit for bit. Products and sums are fused.

/// Columns of a panel: two vectors of AVX2.
pub(super) const PANEL: usize = 16;
/// Parallel sums of a dot product.
pub(super) const LANES: usize = 8;
/// Rows of W whose dot products are taken together.
pub(super) const DOTS: usize = 4;

/// A view of a matrix that is stored row by row.
#[derive(Clone, Copy, Debug)]
pub struct Matrix<'a> {
    data: &'a [f32],
    rows: usize,
    columns: usize,
}

impl<'a> Matrix<'a> {
    /// The first `rows` rows.
    ///
    /// # Panics
    /// If the slice is too short.
    pub fn new(data: &'a [f32], rows: usize, columns: usize) -> Self {
        Self { data: &data[..rows * columns], rows, columns }
    }
}

/// The weights of a product, in panels of sixteen columns.
#[derive(Clone, Copy)]
pub(super) struct Weights<'a> {
    pub(super) data: &'a [[f32; PANEL]],
    pub(super) rows: usize,
    pub(super) panels: usize,
    /// Whether panels are stored one after the other, and not rows.
    pub(super) packed: bool,
}

impl<'a> Weights<'a> {
    /// Panel `p` from row `k` on, and the distance between its rows.
    #[inline(always)]
    pub(super) fn panel(self, p: usize, k: usize) -> (&'a [[f32; PANEL]], usize) {
        if self.packed {
            (&self.data[p * self.rows + k..], 1)
        } else {
            (&self.data[k * self.panels + p..], self.panels)
        }
    }
}

/// `Y = X W`. Columns of W come in sixteens.
///
/// # Panics
/// If the shapes do not fit.
pub fn matmul(y: &mut [f32], x: Matrix<'_>, w: Matrix<'_>) {
    assert_eq!((x.columns, y.len()), (w.rows, x.rows * w.columns), "shapes of a product");
    assert_eq!(w.columns % PANEL, 0, "whole panels of a product");
    let (data, _) = w.data.as_chunks();
    product(y, x.data, Weights { data, rows: w.rows, panels: w.columns / PANEL, packed: false }, None);
}

/// `Y = X W + b`; no bias is zero, and so is a product without inner rows.
pub(super) fn product(y: &mut [f32], x: &[f32], w: Weights<'_>, bias: Option<&[[f32; PANEL]]>) {
    if w.rows == 0 {
        return y.fill(0.0);
    }
    let (y, _) = y.as_chunks_mut();
    #[cfg(target_arch = "x86_64")]
    if has_avx2() {
        // SAFETY: the processor has what the function asks for.
        #[allow(unsafe_code)]
        return unsafe { super::avx2::forwards(y, x, w, bias) };
    }
    forwards(y, x, w, bias);
}

/// `dW = Xᵀ dY`. Columns of dY come in sixteens.
///
/// # Panics
/// If the shapes do not fit.
pub fn matmul_tn(dw: &mut [f32], x: Matrix<'_>, dy: Matrix<'_>) {
    assert_eq!((x.rows, dw.len()), (dy.rows, x.columns * dy.columns), "shapes of a product");
    assert_eq!(dy.columns % PANEL, 0, "whole blocks of a product");
    let (dw, (dy, _), panels) = (dw.as_chunks_mut().0, dy.data.as_chunks(), dy.columns / PANEL);
    #[cfg(target_arch = "x86_64")]
    if has_avx2() {
        // SAFETY: the processor has what the function asks for.
        #[allow(unsafe_code)]
        return unsafe { super::avx2::of_weights(dw, x.data, dy, x.columns, panels) };
    }
    of_weights(dw, x.data, dy, x.columns, panels);
}

/// `dX = dY Wᵀ`, or `dX += dY Wᵀ`. Columns of W come in eights, its rows in fours.
///
/// # Panics
/// If the shapes do not fit.
pub fn matmul_nt(dx: &mut [f32], dy: Matrix<'_>, w: Matrix<'_>, accumulate: bool) {
    assert_eq!((dy.columns, dx.len()), (w.columns, dy.rows * w.rows), "shapes of a product");
    assert_eq!((w.columns % LANES, w.rows % DOTS), (0, 0), "whole blocks of a product");
    if dx.is_empty() || w.columns == 0 {
        if !accumulate {
            dx.fill(0.0);
        }
        return;
    }
    let (dx, (dy, _), (w, _), width) =
        (dx.as_chunks_mut().0, dy.data.as_chunks(), w.data.as_chunks(), w.columns / LANES);
    #[cfg(target_arch = "x86_64")]
    if has_avx2() {
        // SAFETY: the processor has what the function asks for.
        #[allow(unsafe_code)]
        return unsafe { super::avx2::backwards(dx, dy, w, width, accumulate) };
    }
    backwards(dx, dy, w, width, accumulate);
}

#[cfg(target_arch = "x86_64")]
fn has_avx2() -> bool {
    is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma")
}

fn forwards(y: &mut [[f32; PANEL]], x: &[f32], w: Weights<'_>, bias: Option<&[[f32; PANEL]]>) {
    for (y, x) in y.chunks_exact_mut(w.panels).zip(x.chunks_exact(w.rows)) {
        for (p, y) in y.iter_mut().enumerate() {
            let (w, down) = w.panel(p, 0);
            *y = bias.map_or([0.0; PANEL], |bias| bias[p]);
            for (x, w) in x.iter().zip(w.iter().step_by(down)) {
                y.iter_mut().zip(w).for_each(|(y, w)| *y = x.mul_add(*w, *y));
            }
        }
    }
}

fn of_weights(dw: &mut [[f32; PANEL]], x: &[f32], dy: &[[f32; PANEL]], inputs: usize, panels: usize) {
    dw.as_flattened_mut().fill(0.0);
    for (x, dy) in x.chunks_exact(inputs).zip(dy.chunks_exact(panels)) {
        for (x, dw) in x.iter().zip(dw.chunks_exact_mut(panels)) {
            for (dw, dy) in dw.as_flattened_mut().iter_mut().zip(dy.as_flattened()) {
                *dw = x.mul_add(*dy, *dw);
            }
        }
    }
}

fn backwards(
    dx: &mut [[f32; DOTS]],
    dy: &[[f32; LANES]],
    w: &[[f32; LANES]],
    width: usize,
    accumulate: bool,
) {
    if !accumulate {
        dx.as_flattened_mut().fill(0.0);
    }
    let rows = dx.as_flattened_mut().chunks_exact_mut(w.len() / width);
    for (dx, dy) in rows.zip(dy.chunks_exact(width)) {
        for (dx, w) in dx.iter_mut().zip(w.chunks_exact(width)) {
            let mut sums = [0.0f32; LANES];
            for (dy, w) in dy.iter().zip(w) {
                (0..LANES).for_each(|l| sums[l] = dy[l].mul_add(w[l], sums[l]));
            }
            *dx += total(&sums);
        }
    }
}

/// The parallel sums of a dot product together, neighbours first.
fn total(&[a, b, c, d, e, f, g, h]: &[f32; LANES]) -> f32 {
    ((a + b) + (c + d)) + ((e + f) + (g + h))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::cpu::tests::{close, plain, random};
    use ive::Rng;

    const SHAPES: [(usize, usize, usize); 7] =
        [(0, 8, 16), (1, 8, 16), (7, 136, 48), (13, 264, 16), (40, 512, 32), (17, 40, 80), (5, 0, 16)];

    fn transpose(x: &[f32], rows: usize, columns: usize) -> Vec<f32> {
        (0..rows * columns).map(|i| x[i % rows * columns + i / rows]).collect()
    }

    #[test]
    fn products_equal_the_definition_in_every_orientation() {
        let mut rng = Rng::from_seed(1);
        for (m, k, n) in SHAPES {
            let (a, b) = (random(m * k, &mut rng), random(k * n, &mut rng));
            let expected = plain(&a, &b, m, k, n);
            let mut c = vec![9.0; m * n];
            matmul(&mut c, Matrix::new(&a, m, k), Matrix::new(&b, k, n));
            close(&c, &expected);
            let at = transpose(&a, m, k);
            matmul_tn(&mut c, Matrix::new(&at, k, m), Matrix::new(&b, k, n));
            close(&c, &expected);
            let bt = transpose(&b, k, n);
            matmul_nt(&mut c, Matrix::new(&a, m, k), Matrix::new(&bt, n, k), false);
            close(&c, &expected);
            matmul_nt(&mut c, Matrix::new(&a, m, k), Matrix::new(&bt, n, k), true);
            close(&c, &expected.iter().map(|(x, size)| (2.0 * x, 2.0 * size)).collect::<Vec<_>>());
        }
    }

    /// The plain loops and whatever this processor runs.
    #[test]
    fn every_processor_gives_the_same_bits() {
        let mut rng = Rng::from_seed(2);
        for (m, k, n) in SHAPES.into_iter().filter(|s| s.1 > 0) {
            let (a, b) = (random(m * k, &mut rng), random(k * n, &mut rng));
            let mut y = vec![0.0; m * n];
            let mut c = y.clone();
            let weights = Weights { data: b.as_chunks().0, rows: k, panels: n / PANEL, packed: false };
            forwards(y.as_chunks_mut().0, &a, weights, None);
            matmul(&mut c, Matrix::new(&a, m, k), Matrix::new(&b, k, n));
            assert_eq!(y, c);
            let mut dw = vec![0.0; k * n];
            let mut c = dw.clone();
            of_weights(dw.as_chunks_mut().0, &a, y.as_chunks().0, k, n / PANEL);
            matmul_tn(&mut c, Matrix::new(&a, m, k), Matrix::new(&y, m, n));
            assert_eq!(dw, c);
            let mut dx = vec![0.0; m * k];
            let mut c = dx.clone();
            backwards(dx.as_chunks_mut().0, y.as_chunks().0, b.as_chunks().0, n / LANES, false);
            matmul_nt(&mut c, Matrix::new(&y, m, n), Matrix::new(&b, k, n), false);
            assert_eq!(dx, c);
        }
    }
}
