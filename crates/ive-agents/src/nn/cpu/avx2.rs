//! The matrix products of [`matmul`](super::matmul) for processors with AVX2 and fused multiply-adds: the same sums in the
//! same order, a block of the product at a time in twelve of the sixteen registers.
//!
//! Written with intrinsics: what the compiler makes of plain loops of this shape changes with every detail around them,
//! by up to a factor of ten. What is unsafe: moving numbers between memory and registers, indices in inner loops that an
//! assertion in front of the loop covers, and calling the products, which need a processor that has what they ask for.
//!
//! Measured: 97 of the 102 GFLOP/s that the processor can do for packed weights, 55 to 95 else, least where the weights do
//! not fit into the nearer caches.

#![allow(unsafe_code)]

use std::arch::x86_64::{
    __m256, _mm_add_ps, _mm_loadu_ps, _mm_storeu_ps, _mm256_castps256_ps128, _mm256_extractf128_ps,
    _mm256_fmadd_ps, _mm256_hadd_ps, _mm256_loadu_ps, _mm256_set1_ps, _mm256_setzero_ps, _mm256_storeu_ps,
};

use super::matmul::{DOTS, LANES, PANEL, Weights};

/// Most rows of a block of sixteen columns.
const TILE: usize = 6;
/// Most rows of a block of four dot products.
const DOT_TILE: usize = 3;
/// Rows of W, unless packed, that are used for the whole product before the next ones: the nearer caches hold them.
const DEEP: usize = 128;
/// Rows of dY of which a panel is copied into the nearest cache.
const HIGH: usize = 256;
/// Vectors of dY that the nearest cache holds.
const NEAR: usize = 768;

#[inline]
#[target_feature(enable = "avx2,fma")]
fn load(from: &[f32; LANES]) -> __m256 {
    // SAFETY: reads the eight numbers of the array, which need no alignment.
    unsafe { _mm256_loadu_ps(from.as_ptr()) }
}

#[inline]
#[target_feature(enable = "avx2,fma")]
fn store(to: &mut [f32; LANES], x: __m256) {
    // SAFETY: writes the eight numbers of the array, which need no alignment.
    unsafe { _mm256_storeu_ps(to.as_mut_ptr(), x) }
}

/// Both vectors of a panel.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn load_panel(from: &[f32; PANEL]) -> [__m256; 2] {
    let (halves, _) = from.as_chunks();
    [load(&halves[0]), load(&halves[1])]
}

/// `rows` dealt out evenly into blocks of at most `most`: first row and number of rows of each. Even blocks keep the
/// arithmetic units busier than full ones and a small rest.
pub(super) fn deal(rows: usize, most: usize) -> impl Iterator<Item = (usize, usize)> {
    let blocks = rows.div_ceil(most);
    (0..blocks).map(move |b| (b * rows / blocks, (b + 1) * rows / blocks - b * rows / blocks))
}

/// `Y = X W + b`.
#[target_feature(enable = "avx2,fma")]
pub(super) fn forwards(y: &mut [f32], x: &[f32], w: Weights<'_>, bias: Option<&[f32]>) {
    let (rows, panels) = (x.len() / w.rows, w.columns / PANEL);
    let (y, bias) = (y.as_chunks_mut().0, bias.map(|bias| bias.as_chunks().0));
    let most = if w.packed { w.rows } else { DEEP };
    for deep in (0..w.rows).step_by(most) {
        let steps = most.min(w.rows - deep);
        for p in 0..panels {
            let (weights, down) = w.panel(p, deep);
            let (weights, down) = (weights.as_chunks().0, down / PANEL);
            let start = match bias {
                _ if deep > 0 => Start::Here,
                Some(bias) => Start::Bias(&bias[p]),
                None => Start::Zero,
            };
            for (first, count) in deal(rows, TILE) {
                let (x, y) = (&x[first * w.rows + deep..], &mut y[first * panels + p..]);
                let shape = (steps, w.rows, panels);
                match count {
                    1 => rows_by_panel::<1>(y, x, (weights, down), start, shape),
                    2 => rows_by_panel::<2>(y, x, (weights, down), start, shape),
                    3 => rows_by_panel::<3>(y, x, (weights, down), start, shape),
                    4 => rows_by_panel::<4>(y, x, (weights, down), start, shape),
                    5 => rows_by_panel::<5>(y, x, (weights, down), start, shape),
                    _ => rows_by_panel::<TILE>(y, x, (weights, down), start, shape),
                }
            }
        }
    }
}

/// What the sums of a block start with.
#[derive(Clone, Copy)]
enum Start<'a> {
    Zero,
    Bias(&'a [f32; PANEL]),
    /// The sums of earlier rows of W.
    Here,
}

/// `R` rows of X, `width` apart, times `steps` rows of a panel, `down` apart, into rows of Y, `panels` apart.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn rows_by_panel<const R: usize>(
    y: &mut [[f32; PANEL]],
    x: &[f32],
    (w, down): (&[[f32; PANEL]], usize),
    start: Start<'_>,
    (steps, width, panels): (usize, usize, usize),
) {
    assert!(x.len() >= (R - 1) * width + steps && w.len() > (steps - 1) * down);
    let mut sums = [[_mm256_setzero_ps(); 2]; R];
    for r in 0..R {
        match start {
            Start::Zero => {}
            Start::Bias(bias) => sums[r] = load_panel(bias),
            Start::Here => sums[r] = load_panel(&y[r * panels]),
        }
    }
    for k in 0..steps {
        // SAFETY: the largest index is that of the assertion.
        let [left, right] = load_panel(unsafe { w.get_unchecked(k * down) });
        for r in 0..R {
            // SAFETY: the largest index is that of the assertion.
            let x = _mm256_set1_ps(unsafe { *x.get_unchecked(r * width + k) });
            sums[r][0] = _mm256_fmadd_ps(x, left, sums[r][0]);
            sums[r][1] = _mm256_fmadd_ps(x, right, sums[r][1]);
        }
    }
    store_panels(y, panels, sums);
}

/// `dW = Xᵀ dY`, or `dW += Xᵀ dY`.
#[target_feature(enable = "avx2,fma")]
pub(super) fn of_weights(
    dw: &mut [[f32; PANEL]],
    x: &[f32],
    dy: &[[f32; PANEL]],
    (inputs, panels, accumulate): (usize, usize, bool),
) {
    let mut panel = [[0.0; PANEL]; HIGH];
    for (high, dy) in dy.chunks(HIGH * panels).enumerate() {
        let (rows, x) = (dy.len() / panels, &x[high * HIGH * inputs..]);
        for p in 0..panels {
            panel.iter_mut().zip(dy[p..].iter().step_by(panels)).for_each(|(to, from)| *to = *from);
            let panel = &panel[..rows];
            for (first, count) in deal(inputs, TILE) {
                let (dw, shape) =
                    (&mut dw[first * panels + p..], (first, inputs, panels, accumulate || high > 0));
                match count {
                    1 => columns_by_panel::<1>(dw, x, panel, shape),
                    2 => columns_by_panel::<2>(dw, x, panel, shape),
                    3 => columns_by_panel::<3>(dw, x, panel, shape),
                    4 => columns_by_panel::<4>(dw, x, panel, shape),
                    5 => columns_by_panel::<5>(dw, x, panel, shape),
                    _ => columns_by_panel::<TILE>(dw, x, panel, shape),
                }
            }
        }
    }
}

/// `R` columns of X from `first` on, each times a panel of dY.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn columns_by_panel<const R: usize>(
    dw: &mut [[f32; PANEL]],
    x: &[f32],
    dy: &[[f32; PANEL]],
    (first, inputs, panels, accumulate): (usize, usize, usize, bool),
) {
    assert!(x.len() >= dy.len() * inputs && first + R <= inputs);
    let mut sums = [[_mm256_setzero_ps(); 2]; R];
    if accumulate {
        for r in 0..R {
            sums[r] = load_panel(&dw[r * panels]);
        }
    }
    for (k, dy) in dy.iter().enumerate() {
        let [left, right] = load_panel(dy);
        for r in 0..R {
            // SAFETY: row k < dy.len() and column first + r < inputs.
            let x = _mm256_set1_ps(unsafe { *x.get_unchecked(k * inputs + first + r) });
            sums[r][0] = _mm256_fmadd_ps(x, left, sums[r][0]);
            sums[r][1] = _mm256_fmadd_ps(x, right, sums[r][1]);
        }
    }
    store_panels(dw, panels, sums);
}

#[inline]
#[target_feature(enable = "avx2,fma")]
fn store_panels<const R: usize>(y: &mut [[f32; PANEL]], panels: usize, sums: [[__m256; 2]; R]) {
    for r in 0..R {
        let (halves, _) = y[r * panels].as_chunks_mut();
        store(&mut halves[0], sums[r][0]);
        store(&mut halves[1], sums[r][1]);
    }
}

/// `dX = dY Wᵀ`, or `dX += dY Wᵀ`, with rows of `width` vectors.
#[target_feature(enable = "avx2,fma")]
pub(super) fn backwards(
    dx: &mut [[f32; DOTS]],
    dy: &[[f32; LANES]],
    w: &[[f32; LANES]],
    width: usize,
    accumulate: bool,
) {
    let (near, groups) = ((NEAR / width).max(DOT_TILE), w.len() / width / DOTS);
    for (dx, dy) in dx.chunks_mut(near * groups).zip(dy.chunks(near * width)) {
        for (g, w) in w.chunks_exact(width * DOTS).enumerate() {
            for (first, count) in deal(dy.len() / width, DOT_TILE) {
                let (dy, dx) = (&dy[first * width..], &mut dx[first * groups + g..]);
                match count {
                    1 => rows_by_rows::<1>(dx, groups, dy, w, width, accumulate),
                    2 => rows_by_rows::<2>(dx, groups, dy, w, width, accumulate),
                    _ => rows_by_rows::<DOT_TILE>(dx, groups, dy, w, width, accumulate),
                }
            }
        }
    }
}

/// The dot products of `R` rows of dY with four rows of W.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn rows_by_rows<const R: usize>(
    dx: &mut [[f32; DOTS]],
    groups: usize,
    dy: &[[f32; LANES]],
    w: &[[f32; LANES]],
    width: usize,
    accumulate: bool,
) {
    assert!(dy.len() >= R * width && w.len() >= DOTS * width);
    let mut sums = [[_mm256_setzero_ps(); DOTS]; R];
    for k in 0..width {
        for s in 0..DOTS {
            // SAFETY: row s < DOTS and column k < width.
            let w = load(unsafe { w.get_unchecked(s * width + k) });
            for r in 0..R {
                // SAFETY: row r < R and column k < width.
                let dy = load(unsafe { dy.get_unchecked(r * width + k) });
                sums[r][s] = _mm256_fmadd_ps(dy, w, sums[r][s]);
            }
        }
    }
    for r in 0..R {
        let [a, b, c, d] = sums[r];
        let both = _mm256_hadd_ps(_mm256_hadd_ps(a, b), _mm256_hadd_ps(c, d));
        let all = _mm_add_ps(_mm256_castps256_ps128(both), _mm256_extractf128_ps::<1>(both));
        let dx = &mut dx[r * groups];
        // SAFETY: reads and writes the four numbers of the array, which need no alignment.
        unsafe {
            let all = if accumulate { _mm_add_ps(_mm_loadu_ps(dx.as_ptr()), all) } else { all };
            _mm_storeu_ps(dx.as_mut_ptr(), all);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_dealt_evenly_and_completely() {
        for rows in 0..40 {
            let blocks: Vec<_> = deal(rows, TILE).collect();
            let ends = blocks.iter().map(|&(first, count)| first + count);
            let firsts = blocks.iter().map(|&(first, _)| first);
            assert!(firsts.eq(std::iter::once(0).chain(ends).take(blocks.len())));
            assert_eq!(blocks.iter().map(|b| b.1).sum::<usize>(), rows);
            let (least, most) = blocks.iter().fold((TILE, 0), |(l, m), b| (l.min(b.1), m.max(b.1)));
            assert!(most <= TILE && (blocks.is_empty() || most - least <= 1));
        }
    }
}
