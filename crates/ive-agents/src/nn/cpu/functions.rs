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
    fn other_functions_follow_their_definitions() {
        for x in grid() {
            let y = f64::from(x);
            for (name, ours, theirs) in [
                ("sigmoid", sigmoid(x), 1.0 / (1.0 + (-y).exp())),
                ("tanh", tanh(x), y.tanh()),
                ("elu", elu(x), if x > 0.0 { y } else { y.exp_m1() }),
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
