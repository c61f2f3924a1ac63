//! Matrix products, in the three orientations that a layer needs: forwards `Y = X W`, and backwards `dW = Xᵀ dY` and
//! `dX = dY Wᵀ`. Matrices may have any shape.
//!
//! Each stands here as plain loops, which say what is summed in which order and run on every processor, and once more in
//! `avx2.rs` and `avx512.rs` with the same result, bit for bit. Products and sums are fused.

use multiversion::multiversion;

/// Columns of a panel: two vectors of AVX2, one of AVX-512.
pub(crate) const PANEL: usize = 16;
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

/// The weights of a product.
#[derive(Clone, Copy)]
pub(super) struct Weights<'a> {
    pub(super) data: &'a [f32],
    pub(super) rows: usize,
    pub(super) columns: usize,
    /// Whether panels of sixteen columns are stored one after the other, and not rows.
    pub(super) packed: bool,
}

impl<'a> Weights<'a> {
    /// Panel `p` from row `k` on, and the distance between its rows.
    #[inline(always)]
    pub(super) fn panel(self, p: usize, k: usize) -> (&'a [f32], usize) {
        if self.packed {
            (&self.data[(p * self.rows + k) * PANEL..], PANEL)
        } else {
            (&self.data[k * self.columns + p * PANEL..], self.columns)
        }
    }
}

/// What this processor can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Plain,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Unit {
    /// The widest that there is.
    fn best() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            let has_512 = is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512vl");
            if has_512 {
                return Self::Avx512;
            }
            if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                return Self::Avx2;
            }
        }
        Self::Plain
    }
}

/// `Y = X W`.
///
/// # Panics
/// If the shapes do not fit.
pub fn matmul(y: &mut [f32], x: Matrix<'_>, w: Matrix<'_>) {
    assert_eq!((x.columns, y.len()), (w.rows, x.rows * w.columns), "shapes of a product");
    let w = Weights { data: w.data, rows: w.rows, columns: w.columns, packed: false };
    product(Unit::best(), y, x.data, w, None);
}

/// `Y = X W + b`; no bias is zero, and so is a product without inner rows.
pub(super) fn product(unit: Unit, y: &mut [f32], x: &[f32], w: Weights<'_>, bias: Option<&[f32]>) {
    if w.rows == 0 || w.columns == 0 {
        return y.fill(0.0);
    }
    match unit {
        // SAFETY: the processor has what the function asks for.
        #[cfg(target_arch = "x86_64")]
        #[allow(unsafe_code)]
        Unit::Avx512 => unsafe { super::avx512::forwards(y, x, w, bias) },
        // SAFETY: the processor has what the function asks for.
        #[cfg(target_arch = "x86_64")]
        #[allow(unsafe_code)]
        Unit::Avx2 if w.columns.is_multiple_of(PANEL) => unsafe { super::avx2::forwards(y, x, w, bias) },
        _ => forwards(y, x, w, bias),
    }
}

impl Unit {
    /// [`product`](product()) by the best unit of this processor.
    pub(super) fn forwards(y: &mut [f32], x: &[f32], w: Weights<'_>, bias: Option<&[f32]>) {
        product(Self::best(), y, x, w, bias);
    }
}

/// Rows of X and dY that belong together: where they begin in their vectors, and how many there are.
#[derive(Clone, Copy, Debug)]
pub struct Segment {
    /// How many rows.
    pub rows: usize,
    /// Where X begins.
    pub x: usize,
    /// Where dY begins.
    pub dy: usize,
}

/// `dW = Xᵀ dY`.
///
/// # Panics
/// If the shapes do not fit.
pub fn matmul_tn(dw: &mut [f32], x: Matrix<'_>, dy: Matrix<'_>) {
    assert_eq!(x.rows, dy.rows, "shapes of a product");
    let all = [Segment { rows: x.rows, x: 0, dy: 0 }];
    matmul_tn_of(dw, x.data, dy.data, &all, [x.columns, dy.columns]);
}

/// `dW = Σ Xᵀ dY` over segments, as if their rows stood below one another.
///
/// # Panics
/// If the shapes do not fit.
pub fn matmul_tn_of(dw: &mut [f32], x: &[f32], dy: &[f32], segments: &[Segment], shape: [usize; 2]) {
    of_weights_by(Unit::best(), dw, x, dy, segments, (shape, false));
}

/// `dW += Σ Xᵀ dY`, likewise.
///
/// # Panics
/// If the shapes do not fit.
pub fn matmul_tn_add(dw: &mut [f32], x: &[f32], dy: &[f32], segments: &[Segment], shape: [usize; 2]) {
    of_weights_by(Unit::best(), dw, x, dy, segments, (shape, true));
}

fn of_weights_by(
    unit: Unit,
    dw: &mut [f32],
    x: &[f32],
    dy: &[f32],
    segments: &[Segment],
    (shape, add): ([usize; 2], bool),
) {
    let [inputs, outputs] = shape;
    assert_eq!(dw.len(), inputs * outputs, "shapes of a product");
    for s in segments {
        assert!(s.x + s.rows * inputs <= x.len() && s.dy + s.rows * outputs <= dy.len(), "rows of a product");
    }
    if dw.is_empty() {
        return;
    }
    match unit {
        // SAFETY: the processor has what the function asks for, and all rows are there.
        #[cfg(target_arch = "x86_64")]
        #[allow(unsafe_code)]
        Unit::Avx512 => unsafe { super::avx512::of_weights(dw, x, dy, segments, (shape, add)) },
        #[cfg(target_arch = "x86_64")]
        Unit::Avx2 if outputs.is_multiple_of(PANEL) => {
            if !add && segments.iter().all(|s| s.rows == 0) {
                dw.fill(0.0);
            }
            let mut accumulate = add;
            for s in segments.iter().filter(|s| s.rows > 0) {
                let (dw, (dy, _)) = (dw.as_chunks_mut().0, dy[s.dy..][..s.rows * outputs].as_chunks());
                let shape = (inputs, outputs / PANEL, accumulate);
                // SAFETY: the processor has what the function asks for.
                #[allow(unsafe_code)]
                unsafe {
                    super::avx2::of_weights(dw, &x[s.x..], dy, shape);
                }
                accumulate = true;
            }
        }
        _ => of_weights(dw, x, dy, segments, (shape, add)),
    }
}

/// `dX = dY Wᵀ`, or `dX += dY Wᵀ`.
///
/// # Panics
/// If the shapes do not fit.
pub fn matmul_nt(dx: &mut [f32], dy: Matrix<'_>, w: Matrix<'_>, accumulate: bool) {
    backwards_by(Unit::best(), dx, dy, w, accumulate);
}

fn backwards_by(unit: Unit, dx: &mut [f32], dy: Matrix<'_>, w: Matrix<'_>, accumulate: bool) {
    assert_eq!((dy.columns, dx.len()), (w.columns, dy.rows * w.rows), "shapes of a product");
    if dx.is_empty() || w.columns == 0 {
        if !accumulate {
            dx.fill(0.0);
        }
        return;
    }
    let columns = w.columns;
    match unit {
        // SAFETY: the processor has what the function asks for.
        #[cfg(target_arch = "x86_64")]
        #[allow(unsafe_code)]
        Unit::Avx512 => unsafe { super::avx512::backwards(dx, dy.data, w.data, columns, accumulate) },
        #[cfg(target_arch = "x86_64")]
        Unit::Avx2 if w.columns.is_multiple_of(LANES) && w.rows.is_multiple_of(DOTS) => {
            let (dx, (dy, _), (w, _)) = (dx.as_chunks_mut().0, dy.data.as_chunks(), w.data.as_chunks());
            let width = columns / LANES;
            // SAFETY: the processor has what the function asks for.
            #[allow(unsafe_code)]
            unsafe {
                super::avx2::backwards(dx, dy, w, width, accumulate);
            }
        }
        _ => backwards(dx, dy.data, w.data, columns, accumulate),
    }
}

#[multiversion(targets = "simd")]
fn forwards(y: &mut [f32], x: &[f32], w: Weights<'_>, bias: Option<&[f32]>) {
    for (y, x) in y.chunks_exact_mut(w.columns).zip(x.chunks_exact(w.rows)) {
        match bias {
            Some(bias) => y.copy_from_slice(bias),
            None => y.fill(0.0),
        }
        for (p, y) in y.chunks_mut(PANEL).enumerate() {
            let (w, down) = w.panel(p, 0);
            for (x, w) in x.iter().zip(w.chunks(down)) {
                y.iter_mut().zip(w).for_each(|(y, w)| *y = x.mul_add(*w, *y));
            }
        }
    }
}

#[multiversion(targets = "simd")]
fn of_weights(
    dw: &mut [f32],
    x: &[f32],
    dy: &[f32],
    segments: &[Segment],
    ([inputs, outputs], add): ([usize; 2], bool),
) {
    if !add {
        dw.fill(0.0);
    }
    for s in segments {
        let (x, dy) = (x[s.x..].chunks_exact(inputs), dy[s.dy..].chunks_exact(outputs));
        for (x, dy) in x.zip(dy).take(s.rows) {
            for (x, dw) in x.iter().zip(dw.chunks_exact_mut(outputs)) {
                dw.iter_mut().zip(dy).for_each(|(dw, dy)| *dw = x.mul_add(*dy, *dw));
            }
        }
    }
}

#[multiversion(targets = "simd")]
fn backwards(dx: &mut [f32], dy: &[f32], w: &[f32], columns: usize, accumulate: bool) {
    let rows = dx.chunks_exact_mut(w.len() / columns);
    for (dx, dy) in rows.zip(dy.chunks_exact(columns)) {
        for (dx, w) in dx.iter_mut().zip(w.chunks_exact(columns)) {
            let mut sums = [0.0f32; LANES];
            let ((dy, dy_rest), (w, w_rest)) = (dy.as_chunks::<LANES>(), w.as_chunks::<LANES>());
            for (dy, w) in dy.iter().zip(w) {
                (0..LANES).for_each(|l| sums[l] = dy[l].mul_add(w[l], sums[l]));
            }
            for (s, (dy, w)) in sums.iter_mut().zip(dy_rest.iter().zip(w_rest)) {
                *s = dy.mul_add(*w, *s);
            }
            *dx = if accumulate { *dx + total(&sums) } else { total(&sums) };
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

    /// Rows, inner size, columns: whole blocks, remainders of every kind, and nothing.
    const SHAPES: [(usize, usize, usize); 18] = [
        (0, 8, 16),
        (1, 8, 16),
        (1, 22, 128),
        (1, 144, 33),
        (1, 13, 7),
        (1, 128, 384),
        (7, 136, 48),
        (13, 264, 16),
        (40, 512, 32),
        (17, 40, 80),
        (5, 0, 16),
        (25, 22, 128),
        (13, 144, 12),
        (3, 5, 1),
        (30, 300, 41),
        (29, 7, 35),
        (1, 1, 1),
        (5, 3, 0),
    ];

    fn units() -> Vec<Unit> {
        #[cfg(target_arch = "x86_64")]
        match Unit::best() {
            Unit::Avx512 => return vec![Unit::Plain, Unit::Avx2, Unit::Avx512],
            Unit::Avx2 => return vec![Unit::Plain, Unit::Avx2],
            Unit::Plain => {}
        }
        vec![Unit::Plain]
    }

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

    fn bits(x: &[f32]) -> Vec<u32> {
        x.iter().map(|x| x.to_bits()).collect()
    }

    /// The plain loops and whatever this processor runs; X has zeros of both signs, as a ReLU and its gradient make them.
    #[test]
    fn every_unit_gives_the_same_bits() {
        let mut rng = Rng::from_seed(2);
        // Few rows have blocks of every width.
        let few = (1..=3).flat_map(|rows| (1..=9).map(move |panels| (rows, 300, PANEL * panels - 3)));
        for (m, k, n) in SHAPES.into_iter().chain(few) {
            let (mut a, b, c) = (random(m * k, &mut rng), random(k * n, &mut rng), random(n, &mut rng));
            a.iter_mut().step_by(3).for_each(|x| *x *= 0.0);
            let start = random(m * k, &mut rng);
            let run = |unit: Unit| {
                let weights = Weights { data: &b, rows: k, columns: n, packed: false };
                let (mut y, mut biased) = (vec![9.0; m * n], vec![9.0; m * n]);
                product(unit, &mut y, &a, weights, None);
                product(unit, &mut biased, &a, weights, Some(&c));
                let mut dw = vec![9.0; k * n];
                let cut = m / 3;
                let all = [
                    Segment { rows: cut, x: 0, dy: 0 },
                    Segment { rows: 0, x: 0, dy: 0 },
                    Segment { rows: m - cut, x: cut * k, dy: cut * n },
                ];
                of_weights_by(unit, &mut dw, &a, &y, &all, ([k, n], false));
                of_weights_by(unit, &mut dw, &a, &biased, &all, ([k, n], true));
                let (mut dx, mut added) = (vec![9.0; m * k], start.clone());
                let (dy, w) = (Matrix::new(&y, m, n), Matrix::new(&b, k, n));
                backwards_by(unit, &mut dx, dy, w, false);
                backwards_by(unit, &mut added, dy, w, true);
                [y, biased, dw, dx, added].map(|x| bits(&x))
            };
            let expected = run(Unit::Plain);
            for unit in units() {
                assert_eq!(run(unit), expected, "{unit:?}, {m} × {k} × {n}");
            }
        }
    }

    /// However rows are cut into segments, the sum is the same in every bit.
    #[test]
    fn segments_add_up_as_one_product() {
        let mut rng = Rng::from_seed(3);
        let (m, k, n) = (40, 36, 24);
        let (x, dy) = (random(m * k, &mut rng), random(m * n, &mut rng));
        let mut whole = vec![0.0; k * n];
        matmul_tn(&mut whole, Matrix::new(&x, m, k), Matrix::new(&dy, m, n));
        let all: Vec<_> = [0, 7, 8, 25, 40]
            .windows(2)
            .map(|c| Segment { rows: c[1] - c[0], x: c[0] * k, dy: c[0] * n })
            .collect();
        let mut parts = vec![0.0; k * n];
        matmul_tn_of(&mut parts, &x, &dy, &all, [k, n]);
        assert_eq!(bits(&whole), bits(&parts));
    }
}
