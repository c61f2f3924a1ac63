//! σ, in one place.
//!
//! Every standard deviation of this library ends in [`of_sums`]. The kernels see each number once and take deviations
//! from the first one; slices and ensembles are read twice and take them from the mean.
//!
//! Squares overflow long before the numbers do: 1e200 is finite and its square is not. A model that diverges must not
//! read as certain, so a result never hides that (decision 0012): where squares would leave the range of `f64`, the
//! numbers are brought to the order of one first, by a power of two, which changes no bit of them.

/// `√((Σd² − (Σd)²/n) / m)` for the deviations d of n numbers from any origin, with m = n − ddof.
#[inline(always)]
pub(crate) fn of_sums(sum: f64, squares: f64, n: f64, m: f64) -> f64 {
    let scatter = squares - sum * sum / n;
    // Rounding may leave less than nothing. `max(0.0)` would be shorter, and would make 0 of NaN.
    (if scatter < 0.0 { 0.0 } else { scatter } / m).sqrt()
}

/// Takes another number into Σd and Σd². The origin is one of the numbers, so nothing cancels that is not small
/// itself, and equal numbers give exactly zero.
#[inline(always)]
pub(crate) fn add(x: f64, origin: f64, sum: &mut f64, squares: &mut f64) {
    let d = x - origin;
    *sum += d;
    *squares += d * d;
}

/// [`add`] for a vector of numbers, each with its own sums.
#[inline(always)]
pub(crate) fn add_each(x: &[f64], origin: &[f64], sum: &mut [f64], squares: &mut [f64]) {
    for (((x, o), s), s2) in x.iter().zip(origin).zip(sum).zip(squares) {
        add(*x, *o, s, s2);
    }
}

/// [`of_sums`] for a vector of sums, in place of Σd.
#[inline(always)]
pub(crate) fn finish_each(sum: &mut [f64], squares: &[f64], n: f64, m: f64) {
    sum.iter_mut().zip(squares).for_each(|(d, d2)| *d = of_sums(*d, *d2, n, m));
}

/// σ of some numbers; NaN if there are no more than `ddof` of them or one is not finite.
pub(crate) fn of(x: &[f64], ddof: usize) -> f64 {
    of_columns(x, x.len(), ddof).first().copied().unwrap_or(f64::NAN)
}

/// σ of every column of n rows, `[n, width]`. The columns are the vector lanes.
///
/// Finite numbers have a finite σ if `ddof` is 0: it is at most half of their range. A column with a number that is
/// not finite has the σ NaN, and so have all if n ≤ `ddof`.
pub(crate) fn of_columns(rows: &[f64], n: usize, ddof: usize) -> Vec<f64> {
    let width = rows.len() / n.max(1);
    if n <= ddof {
        return vec![f64::NAN; width];
    }
    let (origin, members, m) = (&rows[..width], n as f64, (n - ddof) as f64);
    let row = |i: usize| rows[i * width..(i + 1) * width].iter().zip(origin);
    let mut shift = vec![0.0; width];
    for i in 0..n {
        shift.iter_mut().zip(row(i)).for_each(|(sum, (x, o))| *sum += x - o);
    }
    shift.iter_mut().for_each(|sum| *sum /= members);
    let mut squares = vec![0.0; width];
    for i in 0..n {
        for ((sum, shift), (x, o)) in squares.iter_mut().zip(&shift).zip(row(i)) {
            *sum += (x - o - shift) * (x - o - shift);
        }
    }
    let one = |(i, &squares): (usize, &f64)| match squares {
        1e-280..=f64::MAX => of_sums(0.0, squares, members, m),
        _ => of_extremes(rows.iter().skip(i).step_by(width).copied(), members, m),
    };
    squares.iter().enumerate().map(one).collect()
}

/// σ of numbers whose squares are too large or too small.
pub(crate) fn of_extremes(x: impl Iterator<Item = f64> + Clone, n: f64, m: f64) -> f64 {
    if x.clone().any(|x| !x.is_finite()) {
        return f64::NAN;
    }
    let most = x.clone().fold(f64::NEG_INFINITY, f64::max);
    let least = x.clone().fold(f64::INFINITY, f64::min);
    if most <= least {
        return 0.0;
    }
    let scale = power_of_two(most.abs().max(least.abs()));
    let d = x.map(|x| x / scale - least / scale);
    let shift = d.clone().sum::<f64>() / n;
    let sigma = scale * of_sums(0.0, d.map(|d| (d - shift) * (d - shift)).sum(), n, m);
    // Rounding must not carry the population form beyond the largest number there is.
    if m < n { sigma } else { sigma.min(f64::MAX) }
}

/// By how much to divide numbers, the largest of which has this magnitude, so that sums of their squares neither
/// overflow nor vanish: 1 unless it is necessary. Sums of [`MAX_HORIZON`](crate::MAX_HORIZON) numbers, squared and
/// summed again, stay below 10¹⁶ times the square of the largest.
pub(crate) fn scale_for_squares(largest: f64) -> f64 {
    if largest == 0.0 || (1e-130..=1e130).contains(&largest) { 1.0 } else { power_of_two(largest) }
}

/// The largest power of two that is not above a positive number.
fn power_of_two(x: f64) -> f64 {
    const EXPONENT: u64 = 0x7ff0_0000_0000_0000;
    match x.to_bits() & EXPONENT {
        0 => f64::from_bits(1),
        exponent => f64::from_bits(exponent),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// By hand: the σ of 0 and x is x/2.
    #[test]
    fn sigma_is_right_where_squares_overflow_or_vanish() {
        for x in [1e200, f64::MAX, 1e-200, f64::MIN_POSITIVE, 1.0] {
            assert_eq!(of_columns(&[0.0, x], 2, 0), [x / 2.0], "{x}");
        }
        assert_eq!(of_columns(&[f64::MAX, -f64::MAX], 2, 0), [f64::MAX]);
        assert_eq!(of_columns(&[f64::MAX, -f64::MAX], 2, 1), [f64::INFINITY]);
        assert_eq!(of_columns(&[1e300; 7], 7, 0), [0.0]);
    }

    #[test]
    fn what_is_not_finite_never_reads_as_certain() {
        for x in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert!(of_columns(&[x, x], 2, 0)[0].is_nan() && of_columns(&[1.0, x], 2, 0)[0].is_nan());
        }
        // Both sums have overflowed: ∞ − ∞.
        assert!(of_sums(1e200, f64::INFINITY, 2.0, 2.0).is_nan());
        assert_eq!(of_sums(1.0, 0.5 - 1e-17, 2.0, 2.0), 0.0);
    }

    #[test]
    fn columns_are_independent_and_may_be_none() {
        let both = of_columns(&[1.0, 1e200, 3.0, 3e200], 2, 0);
        assert_eq!(both, [1.0, 1e200]);
        assert!(of_columns(&[], 3, 0).is_empty());
        assert!(of_columns(&[1.0, 2.0], 1, 1).iter().all(|x| x.is_nan()));
    }

    proptest! {
        /// Finite numbers of any size have a finite σ, at most half of their range and zero only if they are equal.
        #[test]
        fn finite_numbers_have_a_finite_sigma(x in prop::collection::vec(any::<f64>(), 1..9)) {
            let x: Vec<f64> = x.into_iter().filter(|x| x.is_finite()).collect();
            prop_assume!(!x.is_empty());
            let sigma = of_columns(&x, x.len(), 0)[0];
            let (least, most) = (x.iter().copied().fold(f64::INFINITY, f64::min), x.iter().copied().fold(f64::NEG_INFINITY, f64::max));
            prop_assert!(sigma.is_finite() && sigma >= 0.0);
            prop_assert!(sigma / 2.0 <= (most / 4.0 - least / 4.0) * (1.0 + 1e-12) + f64::MIN_POSITIVE);
            if most / 4.0 - least / 4.0 > f64::MIN_POSITIVE {
                prop_assert!(sigma > 0.0);
            }
        }

        /// Powers of two change no bit.
        #[test]
        fn sigma_scales_with_its_numbers(x in prop::collection::vec(-1.0f64..1.0, 1..9), exponent in -900i32..900) {
            let scale = 2.0_f64.powi(exponent);
            let scaled: Vec<f64> = x.iter().map(|x| x * scale).collect();
            let (a, b) = (of_columns(&scaled, x.len(), 0)[0], of_columns(&x, x.len(), 0)[0] * scale);
            prop_assert!((a / b - 1.0).abs() < 1e-15 * 8.0 || a == b, "{a} {b}");
        }
    }
}
