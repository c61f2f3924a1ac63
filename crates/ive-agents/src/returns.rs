//! Returns: what value functions are trained to predict, from rewards, discounts and other values.
//!
//! A discount is γ, or zero where the episode ended. Sequences are given in the order of time.

/// `R_t = r_{t+1} + γ_{t+1} R_{t+1}` with `R_T` given: the n-step return of every step of a sequence. `rewards[t]` and
/// `discounts[t]` are r_{t+1} and γ_{t+1}: what came with the step that began at t.
///
/// # Panics
/// If the lengths differ.
pub fn n_step(rewards: &[f32], discounts: &[f32], bootstrap: f32, out: &mut [f32]) {
    assert_eq!((rewards.len(), discounts.len()), (out.len(), out.len()), "lengths of a sequence");
    let mut after = bootstrap;
    for t in (0..out.len()).rev() {
        after = rewards[t] + discounts[t] * after;
        out[t] = after;
    }
}

/// What [`retrace`] looks at, for steps t = 0..T − 1.
#[derive(Clone, Copy, Debug)]
pub struct Replayed<'a> {
    /// r_{t+1}, `[T]`.
    pub rewards: &'a [f32],
    /// γ_{t+1}, `[T]`.
    pub discounts: &'a [f32],
    /// `V_{t+1} = Σ_a π(a | s_{t+1}) q(s_{t+1}, a)`, `[T]`.
    pub next_values: &'a [f32],
    /// q(s_t, a_t) of the actions taken, `[T]`; the first is not used.
    pub taken: &'a [f32],
    /// π(a_t | s_t) / μ(a_t | s_t), μ the policy that acted, `[T]`; the first is not used.
    pub ratios: &'a [f32],
}

/// Retrace (Munos et al., 2016): `G_t = r_{t+1} + γ_{t+1} (V_{t+1} + c_{t+1} (G_{t+1} − q(s_{t+1}, a_{t+1})))` with
/// `c_t = λ min(1, π/μ)`, and `G_{T−1} = r_T + γ_T V_T` at the end of the sequence.
///
/// # Panics
/// If the lengths differ.
pub fn retrace(seen: Replayed<'_>, lambda: f32, out: &mut [f32]) {
    let Replayed { rewards, discounts, next_values, taken, ratios } = seen;
    let lengths = [rewards, discounts, next_values, taken, ratios].map(<[f32]>::len);
    assert_eq!(lengths, [out.len(); 5], "lengths of a sequence");
    let mut correction = 0.0;
    for t in (0..out.len()).rev() {
        out[t] = rewards[t] + discounts[t] * (next_values[t] + correction);
        correction = lambda * ratios[t].min(1.0) * (out[t] - taken[t]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ive::Rng;

    fn random(n: usize, rng: &mut Rng) -> Vec<f32> {
        (0..n).map(|_| rng.normal() as f32).collect()
    }

    fn close(ours: &[f32], theirs: &[f64]) {
        assert_eq!(ours.len(), theirs.len());
        for (o, t) in ours.iter().zip(theirs) {
            assert!((f64::from(*o) - t).abs() < 1e-5 * (1.0 + t.abs()), "{o} and {t}");
        }
    }

    /// γ = ½: 1 + ½ (2 + ½ (4 + ½ 8)), and nothing behind an end.
    #[test]
    fn n_step_returns_by_hand() {
        let mut out = [0.0; 3];
        n_step(&[1.0, 2.0, 4.0], &[0.5; 3], 8.0, &mut out);
        assert_eq!(out, [4.0, 6.0, 8.0]);
        n_step(&[1.0, 2.0, 4.0], &[0.5, 0.0, 0.5], 8.0, &mut out);
        assert_eq!(out, [2.0, 2.0, 8.0]);
        n_step(&[], &[], 8.0, &mut []);
    }

    /// The recursion against `G_t = q_t + Σ_s (Π γ c) δ_s` with `δ_s = r_{s+1} + γ_{s+1} V_{s+1} − q_s`, the operator as Munos et
    /// al. write it (their Eq. 3), summed from t on.
    #[test]
    fn retrace_is_the_sum_of_its_corrected_errors() {
        let mut rng = Rng::from_seed(2);
        for (length, lambda) in [(1, 0.95), (5, 0.95), (16, 0.5), (16, 0.0), (16, 1.0)] {
            let [r, v, q] = [(); 3].map(|()| random(length, &mut rng));
            let ratios: Vec<f32> = (0..length).map(|_| (2.0 * rng.uniform()) as f32).collect();
            let d: Vec<f32> = (0..length).map(|i| if i == 9 { 0.0 } else { 0.995 }).collect();
            let mut out = vec![0.0; length];
            let seen = Replayed { rewards: &r, discounts: &d, next_values: &v, taken: &q, ratios: &ratios };
            retrace(seen, lambda, &mut out);
            let expected = |t: usize| {
                let (mut sum, mut factor) = (f64::from(q[t]), 1.0);
                for s in t..length {
                    if s > t {
                        factor *= f64::from(d[s - 1]) * f64::from(lambda) * f64::from(ratios[s]).min(1.0);
                    }
                    sum += factor * (f64::from(r[s]) + f64::from(d[s]) * f64::from(v[s]) - f64::from(q[s]));
                }
                sum
            };
            close(&out, &(0..length).map(expected).collect::<Vec<_>>());
        }
    }
}
