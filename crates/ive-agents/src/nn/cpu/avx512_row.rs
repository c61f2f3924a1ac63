//! `dX = dY Wᵀ` of a single row, for processors with AVX-512: the sums of [`matmul`](super::matmul), in the same order.
//!
//! Every number of W is used once, so the product takes as long as W takes to come from the second cache. Twelve rows of W are
//! read side by side: that many sums in progress wait neither for one another nor for memory. Forwards, the block of
//! [`avx512`](super::avx512) does as well.

#![allow(unsafe_code)]

use std::arch::x86_64::{
    __m256, _mm_add_ps, _mm_mask_storeu_ps, _mm_maskz_loadu_ps, _mm256_castps256_ps128,
    _mm256_extractf128_ps, _mm256_hadd_ps, _mm256_mask3_fmadd_ps, _mm256_maskz_loadu_ps, _mm256_setzero_ps,
};

use super::avx2::deal;
use super::matmul::{DOTS, LANES};

/// Most groups of four rows of W that are read side by side.
const QUADS: usize = 3;

/// `dX = dY Wᵀ`, or `dX += dY Wᵀ`, for one row.
#[target_feature(enable = "avx512f,avx512dq,avx512vl")]
pub(super) fn backwards(dx: &mut [f32], dy: &[f32], w: &[f32], accumulate: bool) {
    assert_eq!(w.len(), dx.len() * dy.len());
    for (first, count) in deal(dx.len().div_ceil(DOTS), QUADS) {
        let row = first * DOTS;
        let (here, w) = (row..dx.len().min(row + count * DOTS), &w[row * dy.len()..]);
        let dx = &mut dx[here];
        // SAFETY: as many rows of w as numbers of dx begin there, each as long as dy, by the assertion above.
        unsafe {
            match count {
                1 => dots::<1>(dx, dy, w, accumulate),
                2 => dots::<2>(dx, dy, w, accumulate),
                _ => dots::<QUADS>(dx, dy, w, accumulate),
            }
        }
    }
}

/// The dot products of dY with up to `4 Q` rows of W, at least one in each group of four.
///
/// # Safety
/// `w` begins with a row of `dy.len()` numbers for each number of `dx`, of which there are `4 Q` at most.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512vl")]
unsafe fn dots<const Q: usize>(dx: &mut [f32], dy: &[f32], w: &[f32], accumulate: bool) {
    let (columns, last) = (dy.len(), dx.len() - 1);
    let mut sums = [[_mm256_setzero_ps(); DOTS]; Q];
    // Rows that do not exist are the last one once more, and are not stored.
    let mut at = [[w.as_ptr(); DOTS]; Q];
    for (i, at) in at.as_flattened_mut().iter_mut().enumerate() {
        *at = w[i.min(last) * columns..].as_ptr();
    }
    let (whole, rest) = (columns / LANES * LANES, columns % LANES);
    // SAFETY: eight numbers of dy and of each row from k on, or those of the mask.
    unsafe {
        for k in (0..whole).step_by(LANES) {
            add(&mut sums, dy.as_ptr().add(k), &at, k, u8::MAX);
        }
        if rest > 0 {
            add(&mut sums, dy.as_ptr().add(whole), &at, whole, (1 << rest) - 1);
        }
    }
    for (dx, [a, b, c, d]) in dx.chunks_mut(DOTS).zip(sums) {
        let four = _mm256_hadd_ps(_mm256_hadd_ps(a, b), _mm256_hadd_ps(c, d));
        let dots = _mm_add_ps(_mm256_castps256_ps128(four), _mm256_extractf128_ps::<1>(four));
        let mask = (1 << dx.len()) - 1;
        // SAFETY: the lanes of the mask are the numbers of the slice.
        unsafe {
            let old = _mm_maskz_loadu_ps(mask, dx.as_ptr());
            let new = if accumulate { _mm_add_ps(old, dots) } else { dots };
            _mm_mask_storeu_ps(dx.as_mut_ptr(), mask, new);
        }
    }
}

/// Adds the products of the lanes of the mask to the sums of each row.
///
/// # Safety
/// Those lanes can be read, at `dy` and at entry `k` of each row.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512vl")]
unsafe fn add<const Q: usize>(
    sums: &mut [[__m256; DOTS]; Q],
    dy: *const f32,
    rows: &[[*const f32; DOTS]; Q],
    k: usize,
    mask: u8,
) {
    // SAFETY: by the promise of the caller.
    unsafe {
        let dy = _mm256_maskz_loadu_ps(mask, dy);
        for (sum, row) in sums.as_flattened_mut().iter_mut().zip(rows.as_flattened()) {
            *sum = _mm256_mask3_fmadd_ps(dy, _mm256_maskz_loadu_ps(mask, row.add(k)), *sum, mask);
        }
    }
}
