//! Matrix products.

use std::ops::Range;

use multiversion::multiversion;

/// A view of a matrix in a slice.
#[derive(Clone, Copy, Debug)]
pub struct Matrix<'a> {
    data: &'a [f32],
    rows: usize,
    columns: usize,
    row_stride: usize,
    column_stride: usize,
}

impl<'a> Matrix<'a> {
    /// The first `rows` rows of a matrix that is stored row by row.
    ///
    /// # Panics
    /// If the slice is too short.
    pub fn new(data: &'a [f32], rows: usize, columns: usize) -> Self {
        Self { data: &data[..rows * columns], rows, columns, row_stride: columns, column_stride: 1 }
    }

    /// Its transpose.
    #[must_use]
    pub fn t(self) -> Self {
        Self {
            rows: self.columns,
            columns: self.rows,
            row_stride: self.column_stride,
            column_stride: self.row_stride,
            ..self
        }
    }
}

/// `C = A B`, or `C += A B`, with C stored row by row.
///
/// # Panics
/// If the shapes do not fit.
pub fn matmul(c: &mut [f32], a: Matrix<'_>, b: Matrix<'_>, accumulate: bool) {
    assert_eq!(a.columns, b.rows, "inner dimensions");
    assert_eq!(c.len(), a.rows * b.columns, "size of the product");
    let stride = |s: usize| s as isize;
    // SAFETY: `Matrix` is only made with strides that keep every (row, column) inside its slice, and the product of
    // the dimensions of `c` was checked above. The three slices do not overlap: `c` is borrowed exclusively.
    #[allow(unsafe_code)]
    unsafe {
        gemm::gemm(
            a.rows,
            b.columns,
            a.columns,
            c.as_mut_ptr(),
            1,
            stride(b.columns),
            accumulate,
            a.data.as_ptr(),
            stride(a.column_stride),
            stride(a.row_stride),
            b.data.as_ptr(),
            stride(b.column_stride),
            stride(b.row_stride),
            1.0,
            1.0,
            false,
            false,
            false,
            gemm::Parallelism::None,
        );
    }
}

/// Columns of a panel: two vectors of AVX2.
const PANEL: usize = 16;
/// Rows of a tile: twelve accumulators and what feeds them fill the sixteen registers of AVX2.
const TILE: usize = 6;

/// A weight matrix cut into panels of sixteen columns, each stored row by row: the inner loop of a product then reads
/// memory from front to back. For weights that are used many times before they change.
#[derive(Clone, Debug, Default)]
pub struct Packed {
    panels: Vec<f32>,
    inputs: usize,
    outputs: usize,
}

impl Packed {
    /// Room for a matrix of this shape: at most 2048 rows, columns a multiple of sixteen.
    ///
    /// # Panics
    /// If it is not.
    pub fn new(inputs: usize, outputs: usize) -> Self {
        assert_eq!(outputs % PANEL, 0, "a packed matrix has whole panels of {PANEL} columns");
        assert!((1..=BUFFER).contains(&inputs), "a packed matrix has 1 to {BUFFER} rows");
        Self { panels: vec![0.0; inputs * outputs], inputs, outputs }
    }

    /// Stores the columns `weight` (row by row, `width` of them) from column `at` on, each entry times `scale`.
    pub fn store(&mut self, weight: &[f32], width: usize, at: usize, scale: f32) {
        for (row, entries) in weight.chunks_exact(width).enumerate() {
            self.store_row(row, entries, at, scale);
        }
    }

    /// Stores some columns of `weight` in the same columns here, each entry times `scale`.
    pub fn store_columns(&mut self, weight: &[f32], width: usize, columns: Range<usize>, scale: f32) {
        for (row, entries) in weight.chunks_exact(width).enumerate() {
            self.store_row(row, &entries[columns.clone()], columns.start, scale);
        }
    }

    fn store_row(&mut self, row: usize, mut entries: &[f32], mut column: usize, scale: f32) {
        while !entries.is_empty() {
            let (panel, lane) = (column / PANEL, column % PANEL);
            let (here, rest) = entries.split_at(entries.len().min(PANEL - lane));
            let place = &mut self.panels[(panel * self.inputs + row) * PANEL + lane..][..here.len()];
            place.iter_mut().zip(here).for_each(|(p, w)| *p = scale * w);
            (entries, column) = (rest, column + here.len());
        }
    }

    /// `Y = X W + b` for the rows of X.
    ///
    /// # Panics
    /// If the shapes do not fit.
    pub fn product(&self, x: &[f32], bias: &[f32], y: &mut [f32]) {
        let rows = x.len() / self.inputs;
        assert_eq!((x.len(), y.len()), (rows * self.inputs, rows * self.outputs), "shapes of a product");
        assert_eq!(bias.len(), self.outputs, "bias of a product");
        packed_product(&self.panels, self.inputs, self.outputs, x, bias, y);
    }
}

/// Rows of X are rearranged tile by tile into a buffer of this many groups of six, which lies on the stack.
const BUFFER: usize = 2048;

#[allow(clippy::large_stack_arrays, reason = "48 kilobytes, and never more than one at a time")]
#[multiversion(targets = "simd")]
fn packed_product(panels: &[f32], inputs: usize, outputs: usize, x: &[f32], bias: &[f32], y: &mut [f32]) {
    let mut buffer = [[0.0f32; TILE]; BUFFER];
    let rows = (BUFFER / inputs).max(1) * TILE;
    for (x, y) in x.chunks(rows * inputs).zip(y.chunks_mut(rows * outputs)) {
        for (tile, x) in buffer.chunks_exact_mut(inputs).zip(x.chunks(TILE * inputs)) {
            for (r, row) in x.chunks_exact(inputs).enumerate() {
                tile.iter_mut().zip(row).for_each(|(t, x)| t[r] = *x);
            }
        }
        for (p, panel) in panels.chunks_exact(inputs * PANEL).enumerate() {
            let (panel, _) = panel.as_chunks::<PANEL>();
            let bias = &bias[p * PANEL..][..PANEL];
            for (tile, y) in buffer.chunks_exact(inputs).zip(y.chunks_mut(TILE * outputs)) {
                let (rows, y) = (y.len() / outputs, &mut y[p * PANEL..]);
                match rows {
                    1 => tile_product::<1>(tile, panel, bias, y, outputs),
                    2 => tile_product::<2>(tile, panel, bias, y, outputs),
                    3 => tile_product::<3>(tile, panel, bias, y, outputs),
                    4 => tile_product::<4>(tile, panel, bias, y, outputs),
                    5 => tile_product::<5>(tile, panel, bias, y, outputs),
                    _ => tile_product::<TILE>(tile, panel, bias, y, outputs),
                }
            }
        }
    }
}

/// `R` rows times one panel.
#[inline(always)]
fn tile_product<const R: usize>(
    tile: &[[f32; TILE]],
    panel: &[[f32; PANEL]],
    bias: &[f32],
    y: &mut [f32],
    stride: usize,
) {
    let mut sums = [[0.0f32; PANEL]; R];
    for (x, weights) in tile.iter().zip(panel) {
        let weights = *weights;
        for r in 0..R {
            for j in 0..PANEL {
                sums[r][j] = x[r].mul_add(weights[j], sums[r][j]);
            }
        }
    }
    for (r, sums) in sums.iter().enumerate() {
        for ((y, s), b) in y[r * stride..][..PANEL].iter_mut().zip(sums).zip(bias) {
            *y = s + b;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ive::Rng;

    fn random(n: usize, rng: &mut Rng) -> Vec<f32> {
        (0..n).map(|_| rng.normal() as f32).collect()
    }

    /// The product by its definition, in double precision, and the sum of the sizes of its terms.
    fn plain(a: &[f32], b: &[f32], m: usize, k: usize, n: usize) -> Vec<(f64, f64)> {
        let mut c = vec![(0.0, 0.0); m * n];
        for (i, c) in c.iter_mut().enumerate() {
            let terms = (0..k).map(|l| f64::from(a[i / n * k + l]) * f64::from(b[l * n + i % n]));
            *c = terms.fold((0.0, 0.0), |(sum, size), t| (sum + t, size + t.abs()));
        }
        c
    }

    fn close(ours: &[f32], theirs: &[(f64, f64)]) {
        assert_eq!(ours.len(), theirs.len());
        for (o, (t, size)) in ours.iter().zip(theirs) {
            // Rounding errors of a sum grow with its terms, not with its result: a few units in the last place.
            assert!((f64::from(*o) - t).abs() <= 5e-7 * size, "{o} and {t}");
        }
    }

    #[test]
    fn products_equal_the_definition_in_every_orientation() {
        let mut rng = Rng::from_seed(1);
        for (m, k, n) in [(1, 1, 1), (7, 5, 3), (40, 128, 33), (13, 64, 16)] {
            let (a, b) = (random(m * k, &mut rng), random(k * n, &mut rng));
            let expected = plain(&a, &b, m, k, n);
            let transpose =
                |x: &[f32], r: usize, c: usize| (0..r * c).map(|i| x[i % r * c + i / r]).collect::<Vec<_>>();
            let (at, bt) = (transpose(&a, m, k), transpose(&b, k, n));
            let mut c = vec![9.0; m * n];
            matmul(&mut c, Matrix::new(&a, m, k), Matrix::new(&b, k, n), false);
            close(&c, &expected);
            matmul(&mut c, Matrix::new(&at, k, m).t(), Matrix::new(&bt, n, k).t(), false);
            close(&c, &expected);
            matmul(&mut c, Matrix::new(&a, m, k), Matrix::new(&b, k, n), true);
            close(&c, &expected.iter().map(|(x, size)| (2.0 * x, 2.0 * size)).collect::<Vec<_>>());
        }
    }

    #[test]
    fn packed_products_equal_the_definition_for_every_remainder_of_rows() {
        let mut rng = Rng::from_seed(2);
        let (k, n) = (24, 48);
        let (left, right, bias) = (random(k * 40, &mut rng), random(k * 8, &mut rng), random(n, &mut rng));
        let mut packed = Packed::new(k, n);
        packed.store(&left, 40, 0, 1.0);
        packed.store(&right, 8, 40, -2.0);
        let weight: Vec<f32> = (0..k)
            .flat_map(|i| {
                let scaled = right[i * 8..][..8].iter().map(|w| -2.0 * w);
                left[i * 40..][..40].iter().copied().chain(scaled).collect::<Vec<_>>()
            })
            .collect();
        for rows in 1..=13 {
            let x = random(rows * k, &mut rng);
            let mut y = vec![0.0; rows * n];
            packed.product(&x, &bias, &mut y);
            let mut expected = plain(&x, &weight, rows, k, n);
            expected.iter_mut().enumerate().for_each(|(i, e)| e.0 += f64::from(bias[i % n]));
            close(&y, &expected);
        }
    }
}
