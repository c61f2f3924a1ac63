//! The matrix products of [`matmul`](super::matmul) for processors with AVX-512: the same sums in the same order, a block
//! of the product at a time in 24 of the 32 registers, and matrices of any shape by masks.
//!
//! `Y = X W` and `dW = Xᵀ dY` are one block with different strides: every number of it is a sum over k, one after the
//! other. The dot products of `dX = dY Wᵀ` have eight parallel sums, half a register: the other half works on the next
//! row of dY.
//!
//! What is unsafe: moving numbers between memory and registers, at places that an assertion in front of the loop covers,
//! and calling the products, which need a processor that has what they ask for.

#![allow(unsafe_code)]

use std::arch::x86_64::{
    __m512, __mmask8, _mm_add_ps, _mm_mask_storeu_ps, _mm_maskz_loadu_ps, _mm256_maskz_loadu_ps,
    _mm512_add_ps, _mm512_broadcast_f32x8, _mm512_castps512_ps128, _mm512_extractf32x4_ps, _mm512_fmadd_ps,
    _mm512_loadu_ps, _mm512_mask_storeu_ps, _mm512_maskz_loadu_ps, _mm512_set1_ps, _mm512_setzero_ps,
    _mm512_shuffle_f32x4, _mm512_shuffle_ps,
};
use std::cell::RefCell;

use super::avx2::deal;
use super::matmul::{DOTS, LANES, PANEL, Segment, Weights};

/// Most rows of a block of two panels.
const TILE: usize = 12;
/// Most panels of a block of one, two and three rows. A sum waits four cycles for its last product, and two can be made in a cycle: eight sums at
/// least have to be in progress.
const WIDE: [usize; 3] = [8, 4, 4];
/// Rows of W that are used for the whole product before the next ones: the nearest cache holds two panels of them.
const DEEP: usize = 256;
/// Most pairs of rows of dY of a block of four dot products.
const PAIRS: usize = 6;

/// Numbers that stand `down` apart from row to row and `step` apart along k.
#[derive(Clone, Copy)]
struct Strided {
    at: *const f32,
    down: usize,
    step: usize,
}

/// What the sums of a block start with.
#[derive(Clone, Copy)]
enum Start {
    Zero,
    Bias(*const f32),
    /// The sums so far.
    Here,
}

/// Lanes of panel `p` of a matrix with so many columns.
fn lanes(columns: usize, p: usize) -> u16 {
    let left = columns - p * PANEL;
    if left >= PANEL { u16::MAX } else { (1 << left) - 1 }
}

/// `Y = X W + b`.
#[target_feature(enable = "avx512f,avx512dq,avx512vl")]
pub(super) fn forwards(y: &mut [f32], x: &[f32], w: Weights<'_>, bias: Option<&[f32]>) {
    let (rows, columns) = (x.len() / w.rows, w.columns);
    assert!(y.len() == rows * columns && w.data.len() >= w.rows * columns);
    assert!(bias.is_none_or(|bias| bias.len() == columns));
    for deep in (0..w.rows).step_by(DEEP) {
        let steps = DEEP.min(w.rows - deep);
        let wide = rows.checked_sub(1).and_then(|i| WIDE.get(i)).copied().unwrap_or(2);
        for (p, panels) in deal(columns.div_ceil(PANEL), wide) {
            let (panel, down) = w.panel(p, deep);
            // From one panel to the next.
            let next = if w.packed { w.rows * PANEL } else { PANEL };
            let start = match bias {
                _ if deep > 0 => Start::Here,
                Some(bias) => Start::Bias(bias[p * PANEL..].as_ptr()),
                None => Start::Zero,
            };
            for (first, count) in deal(rows, TILE) {
                let a = Strided { at: x[first * w.rows + deep..].as_ptr(), down: w.rows, step: 1 };
                let b = Strided { at: panel.as_ptr(), down: next, step: down };
                let y = y[first * columns + p * PANEL..].as_mut_ptr();
                // SAFETY: `count` rows of x and y from `first` on and `steps` rows of w from `deep` on exist, by the
                // assertions above; lanes behind the last column are masked.
                unsafe { block(y, columns, (count, panels, p), a, b, steps, start) };
            }
        }
    }
}

/// `dW = Σ Xᵀ dY` over segments, or `dW += Σ Xᵀ dY`.
#[target_feature(enable = "avx512f,avx512dq,avx512vl")]
pub(super) fn of_weights(
    dw: &mut [f32],
    x: &[f32],
    dy: &[f32],
    segments: &[Segment],
    ([inputs, outputs], add): ([usize; 2], bool),
) {
    assert_eq!(dw.len(), inputs * outputs);
    let mut start = if add { Start::Here } else { Start::Zero };
    for s in segments.iter().filter(|s| s.rows > 0) {
        let (x, dy) = (&x[s.x..][..s.rows * inputs], &dy[s.dy..][..s.rows * outputs]);
        for (p, panels) in deal(outputs.div_ceil(PANEL), 2) {
            for (first, count) in deal(inputs, TILE) {
                let a = Strided { at: x[first..].as_ptr(), down: 1, step: inputs };
                let b = Strided { at: dy[p * PANEL..].as_ptr(), down: PANEL, step: outputs };
                let dw = dw[first * outputs + p * PANEL..].as_mut_ptr();
                // SAFETY: `count` columns of x from `first` on exist, and so do all rows of x and dy, by the slices above;
                // lanes behind the last column are masked.
                unsafe { block(dw, outputs, (count, panels, p), a, b, s.rows, start) };
            }
        }
        start = Start::Here;
    }
    if matches!(start, Start::Zero) {
        dw.fill(0.0);
    }
}

/// `C[r, j] = start + Σ_k A[r, k] B[k, j]` for `count` rows and some panels from panel `p` on: two at most, or as many as [`WIDE`] has for so few rows.
///
/// # Safety
/// A has `count` rows and `steps` columns; B `steps` rows, and C, which has `columns`, `count` rows, both up to the last column.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512vl")]
unsafe fn block(
    c: *mut f32,
    columns: usize,
    (count, panels, p): (usize, usize, usize),
    a: Strided,
    b: Strided,
    steps: usize,
    start: Start,
) {
    let masks = std::array::from_fn(|i| if i < panels { lanes(columns, p + i) } else { 0 });
    let [m0, m1, m2, m3, m4, m5, m6, _] = masks;
    // SAFETY: passed on.
    unsafe {
        match panels {
            1 => rows_of(count, c, columns, a, b, steps, start, [m0]),
            2 => rows_of(count, c, columns, a, b, steps, start, [m0, m1]),
            3 => few_rows_of(count, c, columns, a, b, steps, start, [m0, m1, m2]),
            4 => few_rows_of(count, c, columns, a, b, steps, start, [m0, m1, m2, m3]),
            5 => tile::<1, 5>(c, columns, a, b, steps, start, [m0, m1, m2, m3, m4]),
            6 => tile::<1, 6>(c, columns, a, b, steps, start, [m0, m1, m2, m3, m4, m5]),
            7 => tile::<1, 7>(c, columns, a, b, steps, start, [m0, m1, m2, m3, m4, m5, m6]),
            _ => tile::<1, 8>(c, columns, a, b, steps, start, masks),
        }
    }
}

/// # Safety
/// As [`block`], with three rows at most.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512vl")]
#[allow(clippy::too_many_arguments, reason = "the parts of one product")]
unsafe fn few_rows_of<const P: usize>(
    count: usize,
    c: *mut f32,
    down: usize,
    a: Strided,
    b: Strided,
    steps: usize,
    start: Start,
    masks: [u16; P],
) {
    // SAFETY: passed on.
    unsafe {
        match count {
            1 => tile::<1, P>(c, down, a, b, steps, start, masks),
            2 => tile::<2, P>(c, down, a, b, steps, start, masks),
            _ => tile::<3, P>(c, down, a, b, steps, start, masks),
        }
    }
}

/// # Safety
/// As [`block`].
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512vl")]
#[allow(clippy::too_many_arguments, reason = "the parts of one product")]
unsafe fn rows_of<const P: usize>(
    count: usize,
    c: *mut f32,
    down: usize,
    a: Strided,
    b: Strided,
    steps: usize,
    start: Start,
    masks: [u16; P],
) {
    // SAFETY: passed on.
    unsafe {
        match count {
            1 => tile::<1, P>(c, down, a, b, steps, start, masks),
            2 => tile::<2, P>(c, down, a, b, steps, start, masks),
            3 => tile::<3, P>(c, down, a, b, steps, start, masks),
            4 => tile::<4, P>(c, down, a, b, steps, start, masks),
            5 => tile::<5, P>(c, down, a, b, steps, start, masks),
            6 => tile::<6, P>(c, down, a, b, steps, start, masks),
            7 => tile::<7, P>(c, down, a, b, steps, start, masks),
            8 => tile::<8, P>(c, down, a, b, steps, start, masks),
            9 => tile::<9, P>(c, down, a, b, steps, start, masks),
            10 => tile::<10, P>(c, down, a, b, steps, start, masks),
            11 => tile::<11, P>(c, down, a, b, steps, start, masks),
            _ => tile::<TILE, P>(c, down, a, b, steps, start, masks),
        }
    }
}

/// # Safety
/// As [`block`], with `R` rows and `P` panels.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512vl")]
unsafe fn tile<const R: usize, const P: usize>(
    c: *mut f32,
    down: usize,
    a: Strided,
    b: Strided,
    steps: usize,
    start: Start,
    masks: [u16; P],
) {
    let mut sums = [[_mm512_setzero_ps(); P]; R];
    // SAFETY: by the promise of the caller; masked lanes are neither read nor written.
    unsafe {
        for r in 0..R {
            for p in 0..P {
                match start {
                    Start::Zero => {}
                    Start::Bias(bias) => sums[r][p] = _mm512_maskz_loadu_ps(masks[p], bias.add(p * PANEL)),
                    Start::Here => sums[r][p] = _mm512_maskz_loadu_ps(masks[p], c.add(r * down + p * PANEL)),
                }
            }
        }
        for k in 0..steps {
            let mut row = [_mm512_setzero_ps(); P];
            for p in 0..P {
                row[p] = _mm512_maskz_loadu_ps(masks[p], b.at.add(k * b.step + p * b.down));
            }
            for r in 0..R {
                let x = _mm512_set1_ps(*a.at.add(r * a.down + k * a.step));
                for p in 0..P {
                    sums[r][p] = _mm512_fmadd_ps(x, row[p], sums[r][p]);
                }
            }
        }
        for r in 0..R {
            for p in 0..P {
                _mm512_mask_storeu_ps(c.add(r * down + p * PANEL), masks[p], sums[r][p]);
            }
        }
    }
}

thread_local! {
    /// Pairs of rows of dY, eight numbers of one beside eight of the other.
    static PACKED: RefCell<Vec<f32>> = const { RefCell::new(Vec::new()) };
}

/// `dX = dY Wᵀ`, or `dX += dY Wᵀ`.
#[target_feature(enable = "avx512f,avx512dq,avx512vl")]
pub(super) fn backwards(dx: &mut [f32], dy: &[f32], w: &[f32], columns: usize, accumulate: bool) {
    let (rows, inputs, groups) = (dy.len() / columns, w.len() / columns, columns.div_ceil(LANES));
    assert!(dx.len() == rows * inputs && dy.len() == rows * columns && w.len() == inputs * columns);
    if rows == 1 {
        return super::avx512_row::backwards(dx, dy, w, accumulate);
    }
    PACKED.with_borrow_mut(|packed| {
        for (first, count) in deal(rows, 2 * PAIRS) {
            let pairs = count.div_ceil(2);
            pack(&dy[first * columns..][..count * columns], columns, pairs, packed);
            assert!(packed.len() >= pairs * groups * 2 * LANES);
            let dx = &mut dx[first * inputs..][..count * inputs];
            for row in (0..inputs).step_by(DOTS) {
                // SAFETY: `packed` holds all pairs, and rows of w from `row` on and of dx are within their slices.
                unsafe {
                    match pairs {
                        1 => dots::<1>(dx, inputs, packed, w, (row, columns), accumulate),
                        2 => dots::<2>(dx, inputs, packed, w, (row, columns), accumulate),
                        3 => dots::<3>(dx, inputs, packed, w, (row, columns), accumulate),
                        4 => dots::<4>(dx, inputs, packed, w, (row, columns), accumulate),
                        5 => dots::<5>(dx, inputs, packed, w, (row, columns), accumulate),
                        _ => dots::<PAIRS>(dx, inputs, packed, w, (row, columns), accumulate),
                    }
                }
            }
        }
    });
}

/// Puts pairs of rows beside one another, eight columns at a time, `[group, pair, 2, 8]`; what is missing is zero.
fn pack(dy: &[f32], columns: usize, pairs: usize, packed: &mut Vec<f32>) {
    let groups = columns.div_ceil(LANES);
    packed.resize(packed.len().max(groups * pairs * 2 * LANES), 0.0);
    for half in 0..2 * pairs {
        let row = dy.get(half * columns..(half + 1) * columns).unwrap_or(&[]);
        let (whole, rest) = row.as_chunks::<LANES>();
        let (to, _) = packed.as_chunks_mut::<LANES>();
        let mut to = to.iter_mut().skip(half).step_by(2 * pairs).take(groups);
        for from in whole {
            to.next().expect("a place for each group").copy_from_slice(from);
        }
        for to in to {
            to.fill(0.0);
            if !row.is_empty() {
                to[..rest.len()].copy_from_slice(rest);
            }
        }
    }
}

/// The dot products of `R` pairs of rows of dY with four rows of W, or as many as there are.
///
/// # Safety
/// `packed` holds `R` pairs, `w` rows of `columns` numbers, at least `row + 1` of them, and `dx` the rows of those pairs, the
/// last of which may be single.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512vl")]
unsafe fn dots<const R: usize>(
    dx: &mut [f32],
    inputs: usize,
    packed: &[f32],
    w: &[f32],
    (row, columns): (usize, usize),
    accumulate: bool,
) {
    let (whole, rest) = (columns / LANES, columns % LANES);
    let mut sums = [[_mm512_setzero_ps(); DOTS]; R];
    // Rows that do not exist are the last one once more, and are not stored.
    let mut at = [w.as_ptr(); DOTS];
    for (s, at) in at.iter_mut().enumerate() {
        *at = w[(row + s).min(inputs - 1) * columns..].as_ptr();
    }
    let pairs = packed.as_ptr();
    // SAFETY: group k < whole of each row of w, and of each of the R pairs; the last lanes of the rest are masked.
    unsafe {
        for k in 0..whole {
            add_dots(&mut sums, pairs.add(k * R * 2 * LANES), &at, k, u8::MAX);
        }
        if rest > 0 {
            add_dots(&mut sums, pairs.add(whole * R * 2 * LANES), &at, whole, (1 << rest) - 1);
        }
    }
    let (valid, count) = ((inputs - row).min(DOTS), dx.len() / inputs);
    let mask: __mmask8 = (1 << valid) - 1;
    for r in 0..R {
        let [a, b, c, d] = sums[r];
        let four = neighbours(neighbours(a, b), neighbours(c, d));
        // The halves of both rows: the first row's together in the first quarter, the second row's in the third.
        let all = _mm512_add_ps(four, _mm512_shuffle_f32x4::<0b10_11_00_01>(four, four));
        for (half, dots) in
            [_mm512_castps512_ps128(all), _mm512_extractf32x4_ps::<2>(all)].into_iter().enumerate()
        {
            if 2 * r + half < count {
                let to = dx[(2 * r + half) * inputs + row..][..valid].as_mut_ptr();
                // SAFETY: `valid` numbers from there on are within the slice; other lanes are masked.
                unsafe {
                    let old = _mm_maskz_loadu_ps(mask, to);
                    _mm_mask_storeu_ps(to, mask, if accumulate { _mm_add_ps(old, dots) } else { dots });
                }
            }
        }
    }
}

/// # Safety
/// `R` pairs of eight numbers can be read at `group`, and those of the mask in group `k` of each row of W. Loops and no closures: a closure
/// that the compiler does not put in place costs a call for each load.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512vl")]
unsafe fn add_dots<const R: usize>(
    sums: &mut [[__m512; DOTS]; R],
    group: *const f32,
    rows: &[*const f32; DOTS],
    k: usize,
    mask: u8,
) {
    // SAFETY: by the promise of the caller.
    unsafe {
        let mut w = [_mm512_setzero_ps(); DOTS];
        for s in 0..DOTS {
            w[s] = _mm512_broadcast_f32x8(_mm256_maskz_loadu_ps(mask, rows[s].add(k * LANES)));
        }
        for r in 0..R {
            let dy = _mm512_loadu_ps(group.add(r * 2 * LANES));
            for s in 0..DOTS {
                sums[r][s] = _mm512_fmadd_ps(dy, w[s], sums[r][s]);
            }
        }
    }
}

/// Sums of neighbours, two of `a` and two of `b` in each quarter.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512vl")]
fn neighbours(a: __m512, b: __m512) -> __m512 {
    _mm512_add_ps(_mm512_shuffle_ps::<0b10_00_10_00>(a, b), _mm512_shuffle_ps::<0b11_01_11_01>(a, b))
}
