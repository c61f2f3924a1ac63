//! Elementary functions without branches or calls, so that loops over them become vector code.
//!
//! Inline into functions that `multiversion` compiles for several machines. They use fused multiply-adds, which every
//! processor of the last ten years has; on an older one each is a slow function call with the same result.

/// The smaller one; what is not a number stays so. (The method of `f32` hides it, for two instructions more.)
#[inline(always)]
pub fn least(x: f32, bound: f32) -> f32 {
    if x > bound { bound } else { x }
}

/// `eˣ` to about one unit in the last place; arguments are limited to ±87, where single precision ends.
#[inline(always)]
pub fn exp(x: f32) -> f32 {
    exp_within(x.clamp(-87.0, 87.0))
}

/// [`exp`] for arguments that are known to lie within ±87.
///
/// `x = n ln 2 + r` with an integer n and |r| ≤ ½ ln 2, then `eˣ = 2ⁿ eʳ` with a polynomial for `eʳ`.
#[inline(always)]
pub fn exp_within(x: f32) -> f32 {
    /// 1.5 · 2²³: adding it rounds to an integer and leaves that integer in the low bits.
    const ROUND: f32 = 12_582_912.0;
    let shifted = x.mul_add(std::f32::consts::LOG2_E, ROUND);
    let n = shifted - ROUND;
    // ln 2 in two parts, the first with trailing zeros, so that n times it is exact.
    let r = n.mul_add(2.121_944_4e-4, n.mul_add(-0.693_359_4, x));
    let p = 1.987_569_1e-4f32;
    let p = p.mul_add(r, 1.398_199_9e-3);
    let p = p.mul_add(r, 8.333_452e-3);
    let p = p.mul_add(r, 4.166_579_6e-2);
    let p = p.mul_add(r, 1.666_666_5e-1);
    let p = p.mul_add(r, 0.5);
    let e = p.mul_add(r * r, r) + 1.0;
    e * f32::from_bits((shifted.to_bits() << 23).wrapping_add(0x3f80_0000))
}

/// `σ(x) = 1 / (1 + e⁻ˣ)`.
#[inline(always)]
pub fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + exp(-x))
}

/// `tanh x = (1 − e⁻²ˣ) / (1 + e⁻²ˣ)`, absolute error about one unit in the last place of 1.
#[inline(always)]
pub fn tanh(x: f32) -> f32 {
    let e = exp(-2.0 * x);
    (1.0 - e) / (1.0 + e)
}

/// `x` above zero, `eˣ − 1` below.
#[inline(always)]
pub fn elu(x: f32) -> f32 {
    (if x > 0.0 { x } else { 0.0 }) + (exp(least(x, 0.0)) - 1.0)
}

/// `ln x` for positive x, to about one unit in the last place of the larger of it and one; what is not finite becomes NaN.
///
/// `x = 2ⁿ m` with m between √½ and √2, then `ln m = 2 artanh s` with `s = (m − 1)/(m + 1)`, |s| < 0.172: five terms of the
/// series leave 2e-9.
#[inline(always)]
pub fn ln(x: f32) -> f32 {
    /// The bits of √½: what is larger has its exponent counted up.
    const ROOT_HALF: u32 = 0x3f35_04f3;
    let n = (x.to_bits().wrapping_sub(ROOT_HALF) as i32) >> 23;
    let m = f32::from_bits(x.to_bits().wrapping_sub((n as u32) << 23));
    let s = (m - 1.0) / (m + 1.0);
    let z = s * s;
    let p = (1.0f32 / 9.0).mul_add(z, 1.0 / 7.0).mul_add(z, 1.0 / 5.0).mul_add(z, 1.0 / 3.0).mul_add(z, 1.0);
    // Zero times what is not finite is not a number.
    (n as f32).mul_add(std::f32::consts::LN_2, 2.0 * s * p) + 0.0 * x
}

/// `ln(1 + eˣ)`, as `max(x, 0) + ln(1 + e^{−|x|})`; absolute error about one unit in the last place of 1.
#[inline(always)]
pub fn softplus(x: f32) -> f32 {
    (x - least(x, 0.0)) + ln(1.0 + exp(-x.abs()))
}

/// The derivative of [`elu`] as a function of its value: 1 above zero, `y + 1` below.
#[inline(always)]
pub fn elu_slope(y: f32) -> f32 {
    least(y, 0.0) + 1.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid() -> impl Iterator<Item = f32> {
        (-86_000..=86_000).map(|i| i as f32 * 1e-3)
    }

    #[test]
    fn exp_has_the_right_value_to_two_units_in_the_last_place() {
        for x in grid() {
            let (ours, theirs) = (f64::from(exp(x)), f64::from(x).exp());
            assert!(
                (ours / theirs - 1.0).abs() < 2.0 * f64::from(f32::EPSILON),
                "exp({x}) = {ours}, not {theirs}"
            );
        }
        assert!(exp(f32::INFINITY).is_finite() && exp(f32::NEG_INFINITY) > 0.0);
        assert!(exp(f32::NAN).is_nan(), "what is not a number must stay visible");
    }

    #[test]
    fn logarithms_are_right_from_the_smallest_to_the_largest() {
        let mut x = 1.5e-38f32;
        while x < 3e38 {
            let (ours, theirs) = (f64::from(ln(x)), f64::from(x).ln());
            assert!((ours - theirs).abs() < 1.5e-7 * theirs.abs().max(1.0), "ln({x}) = {ours}, not {theirs}");
            x *= 1.000_37;
        }
        assert!(ln(f32::NAN).is_nan() && softplus(f32::NAN).is_nan());
    }

    #[test]
    fn other_functions_follow_their_definitions() {
        for x in grid() {
            let y = f64::from(x);
            for (name, ours, theirs) in [
                ("sigmoid", sigmoid(x), 1.0 / (1.0 + (-y).exp())),
                ("tanh", tanh(x), y.tanh()),
                ("elu", elu(x), if x > 0.0 { y } else { y.exp_m1() }),
                ("softplus", softplus(x), y.exp().ln_1p()),
                ("elu'", elu_slope(elu(x)), if x > 0.0 { 1.0 } else { y.exp() }),
            ] {
                assert!(
                    (f64::from(ours) - theirs).abs() < 3e-7 * theirs.abs().max(1.0),
                    "{name}({x}) = {ours}"
                );
            }
        }
    }
}
