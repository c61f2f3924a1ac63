//! σ-IVE of a whole table at once: the kernels.
//!
//! All of q̂⁰..q̂ⁿ and v̂⁰..v̂ⁿ are needed, but only their spread is kept: it is accumulated while the backups are made,
//! so a table of a hundred thousand states never stores its members. Three cases:
//!
//! * small dense tables stay in the cache (`small.rs`);
//! * large dense tables are bound by memory: n products with the small matrix `P_π` give all state values, then *one*
//!   pass over `P` gives all action values (a matrix product);
//! * sparse tables: one pass over the entries per step.
//!
//! Threads split the rows. No sum ever crosses rows, and products and sums are never contracted, so the bits of the
//! result depend neither on the number of threads nor on the CPU's vector width.

use multiversion::multiversion;

use super::{Backup, TabularModel, Transition, check_backup, reduce_actions};
use crate::error::{finite, in_range, same_length};
use crate::{Members, Result};

/// What to compute. Paper: Sec. 3.1, 3.2 (the maps of Fig. 3 are `states`, the policies of Fig. 5 use `pairs`).
#[derive(Clone, Debug)]
pub struct ExactIve<'a> {
    /// π(a | s), `[state, action]`.
    pub policy: &'a [f64],
    /// γ.
    pub discount: f64,
    /// Which k take part.
    pub members: Members,
    /// 0 for the population standard deviation, 1 for the sample form.
    pub ddof: usize,
    /// How many threads may be used; the result is the same for any number.
    pub threads: usize,
}

/// σ-IVE for every state and every state-action pair.
#[derive(Clone, Debug, PartialEq)]
pub struct Inconsistency {
    /// `[state]`
    pub states: Vec<f64>,
    /// `[state, action]`
    pub pairs: Vec<f64>,
}

impl TabularModel {
    /// σ over the members of the exact implicit ensemble, for states and pairs, from learned action values
    /// `q` = q̂, `[state, action]`: `q̂⁰ = q̂`, `q̂ᵏ = r̂ + γ P̂ v̂ᵏ⁻¹`, `v̂ᵏ = Σ_a π q̂ᵏ`.
    ///
    /// The same numbers as [`ValueEnsemble::implicit_exact`](crate::ValueEnsemble::implicit_exact) with
    /// [`action_operator`](Self::action_operator), up to rounding, and much faster.
    ///
    /// # Errors
    /// If a length does not fit, a number is not finite, γ is outside [0, 1], or there are no threads.
    pub fn inconsistency(&self, q: &[f64], ive: &ExactIve<'_>) -> Result<Inconsistency> {
        same_length("action values [state, action]", self.states * self.actions, q.len())?;
        finite("action values", q)?;
        check_backup(self, Backup::Evaluation(ive.policy), ive.discount)?;
        in_range("threads", ive.threads as f64, 1.0, 1024.0)?;
        match &self.transition {
            Transition::Dense(p) => Ok(self.large_dense(p, q, ive)),
            Transition::Small(p) => {
                let sums = p.deviations(q, &self.reward, ive.policy, ive.discount, ive.members.ks());
                let [pairs_d, pairs_d2, states_d, states_d2] = &sums;
                let n = ive.members.len();
                let std = |d: &[f64], d2: &[f64]| {
                    d.iter().zip(d2).map(|(&d, &d2)| deviation(d, d2, n, ive.ddof)).collect()
                };
                Ok(Inconsistency { states: std(states_d, states_d2), pairs: std(pairs_d, pairs_d2) })
            }
            Transition::Sparse { offsets, next, probability } => {
                let step = |v: &[f64], first: usize, out: &mut [f64]| {
                    sparse(offsets, next, probability, v, first, out)
                };
                Ok(self.scan(q, ive, &step))
            }
        }
    }

    /// Backs up step by step. `expect(v, first, out)` writes `Σ_s' p̂ v` for the pairs from `first` on.
    fn scan(
        &self,
        q: &[f64],
        ive: &ExactIve<'_>,
        expect: &(dyn Fn(&[f64], usize, &mut [f64]) + Sync),
    ) -> Inconsistency {
        let a = self.actions;
        let rows = self.states.div_ceil(ive.threads);
        let mut parts: Vec<Part> =
            (0..self.states).step_by(rows).map(|s| Part::new(s, rows.min(self.states - s), a)).collect();
        let mut v = reduce_actions(q, a, Backup::Evaluation(ive.policy));
        for part in &mut parts {
            let (rows, pairs) = (part.rows(), part.rows().start * a..part.rows().end * a);
            part.q.copy_from_slice(&q[pairs]);
            part.v.copy_from_slice(&v[rows]);
            part.take(&ive.members, 0);
        }
        for k in 1..=ive.members.horizon() {
            in_parallel(&mut parts, |part| {
                expect(&v, part.first * a, &mut part.q);
                affine(&self.reward[part.first * a..][..part.q.len()], ive.discount, &mut part.q);
                weigh(&part.q, &ive.policy[part.first * a..][..part.q.len()], a, &mut part.v);
                part.take(&ive.members, k);
            });
            for part in &parts {
                v[part.rows()].copy_from_slice(&part.v);
            }
        }
        Inconsistency {
            states: parts.iter().flat_map(|p| p.states.std(ive.members.len(), ive.ddof)).collect(),
            pairs: parts.iter().flat_map(|p| p.pairs.std(ive.members.len(), ive.ddof)).collect(),
        }
    }

    /// All state values by products with `P_π = Σ_a π P_a`, then all action values in one pass over `P`.
    fn large_dense(&self, p: &[f64], q: &[f64], ive: &ExactIve<'_>) -> Inconsistency {
        let (s_all, a, n) = (self.states, self.actions, ive.members.horizon());
        let rows = s_all.div_ceil(ive.threads);
        let starts = || (0..s_all).step_by(rows);
        let reward_pi = reduce_actions(&self.reward, a, Backup::Evaluation(ive.policy));

        // v̂⁰..v̂ⁿ, [k, state].
        let mut values = reduce_actions(q, a, Backup::Evaluation(ive.policy));
        let mut parts: Vec<(usize, Vec<f64>, Vec<f64>)> =
            starts().map(|s| (s, Vec::new(), vec![0.0; rows.min(s_all - s)])).collect();
        for k in 1..=n {
            let v = &values[(k - 1) * s_all..];
            in_parallel(&mut parts, |(first, p_pi, out)| {
                if p_pi.is_empty() {
                    *p_pi =
                        mix_actions(&p[*first * a * s_all..], &ive.policy[*first * a..], a, s_all, out.len());
                }
                product(p_pi, v, &reward_pi[*first..], ive.discount, out);
            });
            parts.iter().for_each(|(_, _, out)| values.extend_from_slice(out));
        }
        let mut states = Spread::new(s_all);
        ive.members.ks().iter().for_each(|&k| states.add(&values[k * s_all..(k + 1) * s_all]));

        // v̂⁰..v̂ⁿ⁻¹ as [state, k], padded to whole blocks of k.
        let width = n.next_multiple_of(K_BLOCK);
        let mut by_state = vec![0.0; s_all * width];
        for k in 0..n {
            (0..s_all).for_each(|s| by_state[s * width + k] = values[k * s_all + s]);
        }
        let mut parts: Vec<(usize, Vec<f64>)> =
            starts().map(|s| (s * a, vec![0.0; rows.min(s_all - s) * a])).collect();
        in_parallel(&mut parts, |(first, out)| {
            all_steps(
                &p[*first * s_all..],
                &by_state,
                s_all,
                width,
                |i, expected| {
                    let row = *first + i;
                    let member = |k: usize| {
                        if k == 0 { q[row] } else { self.reward[row] + ive.discount * expected[k - 1] }
                    };
                    out[i] =
                        spread_of(ive.members.ks().iter().map(|&k| member(k)), ive.members.len(), ive.ddof);
                },
                rows.min(s_all - *first / a) * a,
            );
        });
        Inconsistency {
            states: states.std(ive.members.len(), ive.ddof),
            pairs: parts.into_iter().flat_map(|(_, out)| out).collect(),
        }
    }
}

/// Runs `work` on every part, each on its own thread if there are several.
fn in_parallel<T: Send>(parts: &mut [T], work: impl Fn(&mut T) + Sync) {
    if let [only] = parts {
        return work(only);
    }
    std::thread::scope(|scope| {
        let (last, others) = parts.split_last_mut().expect("a table has at least one state");
        for part in others {
            scope.spawn(|| work(part));
        }
        work(last);
    });
}

/// Rows of the table that one thread works on, from state `first` on.
struct Part {
    first: usize,
    q: Vec<f64>,
    v: Vec<f64>,
    pairs: Spread,
    states: Spread,
}

impl Part {
    fn new(first: usize, states: usize, actions: usize) -> Self {
        let pairs = states * actions;
        Self {
            first,
            q: vec![0.0; pairs],
            v: vec![0.0; states],
            pairs: Spread::new(pairs),
            states: Spread::new(states),
        }
    }

    fn rows(&self) -> std::ops::Range<usize> {
        self.first..self.first + self.v.len()
    }

    fn take(&mut self, members: &Members, k: usize) {
        if members.ks().binary_search(&k).is_ok() {
            self.pairs.add(&self.q);
            self.states.add(&self.v);
        }
    }
}

/// Sums of deviations from the first member and of their squares. The first member is one of the numbers, so nothing
/// cancels that is not small itself, and equal members give exactly zero.
struct Spread {
    origin: Vec<f64>,
    sum: Vec<f64>,
    squares: Vec<f64>,
}

impl Spread {
    fn new(n: usize) -> Self {
        Self { origin: Vec::new(), sum: vec![0.0; n], squares: vec![0.0; n] }
    }

    fn add(&mut self, x: &[f64]) {
        if self.origin.is_empty() {
            self.origin = x.to_vec();
        } else {
            add_deviations(&self.origin, x, &mut self.sum, &mut self.squares);
        }
    }

    fn std(&self, n: usize, ddof: usize) -> Vec<f64> {
        self.sum.iter().zip(&self.squares).map(|(&d, &d2)| deviation(d, d2, n, ddof)).collect()
    }
}

/// σ from Σd and Σd² of n numbers.
fn deviation(sum: f64, squares: f64, n: usize, ddof: usize) -> f64 {
    if n <= ddof {
        return f64::NAN;
    }
    ((squares - sum * sum / n as f64).max(0.0) / (n - ddof) as f64).sqrt()
}

fn spread_of(mut x: impl Iterator<Item = f64>, n: usize, ddof: usize) -> f64 {
    let origin = x.next().unwrap_or(f64::NAN);
    let (mut sum, mut squares) = (0.0, 0.0);
    for v in x {
        let d = v - origin;
        sum += d;
        squares += d * d;
    }
    deviation(sum, squares, n, ddof)
}

#[multiversion(targets = "simd")]
pub(super) fn add_deviations(origin: &[f64], x: &[f64], sum: &mut [f64], squares: &mut [f64]) {
    for (((o, x), s), s2) in origin.iter().zip(x).zip(sum).zip(squares) {
        let d = x - o;
        *s += d;
        *s2 += d * d;
    }
}

/// `x ← r + γ x`.
#[multiversion(targets = "simd")]
fn affine(r: &[f64], discount: f64, x: &mut [f64]) {
    x.iter_mut().zip(r).for_each(|(x, r)| *x = r + discount * *x);
}

/// `v(s) = Σ_a π(a | s) q(s, a)`.
#[multiversion(targets = "simd")]
fn weigh(q: &[f64], policy: &[f64], actions: usize, v: &mut [f64]) {
    if actions == 4 {
        for ((v, q), pi) in v.iter_mut().zip(q.as_chunks::<4>().0).zip(policy.as_chunks::<4>().0) {
            *v = pi[0] * q[0] + pi[1] * q[1] + pi[2] * q[2] + pi[3] * q[3];
        }
        return;
    }
    for ((v, q), pi) in v.iter_mut().zip(q.chunks(actions)).zip(policy.chunks(actions)) {
        *v = q.iter().zip(pi).map(|(q, p)| p * q).sum();
    }
}

/// `Σ_s' p̂ v` for the pairs from `first` on.
fn sparse(offsets: &[usize], next: &[u32], probability: &[f64], v: &[f64], first: usize, out: &mut [f64]) {
    let bounds = &offsets[first..=first + out.len()];
    for (o, ends) in out.iter_mut().zip(bounds.windows(2)) {
        let entries = next[ends[0]..ends[1]].iter().zip(&probability[ends[0]..ends[1]]);
        *o = entries.map(|(&s, &p)| p * v[s as usize]).sum();
    }
}

/// `P_π(s, ·) = Σ_a π(a | s) P(s, a, ·)` for `rows` states.
fn mix_actions(p: &[f64], policy: &[f64], actions: usize, states: usize, rows: usize) -> Vec<f64> {
    let mut mixed = vec![0.0; rows * states];
    for (s, out) in mixed.chunks_exact_mut(states).enumerate() {
        for a in 0..actions {
            add_scaled(&p[(s * actions + a) * states..][..states], policy[s * actions + a], out);
        }
    }
    mixed
}

#[multiversion(targets = "simd")]
fn add_scaled(x: &[f64], scale: f64, out: &mut [f64]) {
    out.iter_mut().zip(x).for_each(|(o, x)| *o += scale * x);
}

/// `out = r + γ M v`.
#[multiversion(targets = "simd")]
fn product(m: &[f64], v: &[f64], r: &[f64], discount: f64, out: &mut [f64]) {
    let n = v.len().min(m.len() / out.len());
    for ((row, o), r) in m.chunks_exact(n).zip(out).zip(r) {
        let (row, rest) = row.as_chunks::<16>();
        let (v, v_rest) = v[..n].as_chunks::<16>();
        let mut lanes = [0.0; 16];
        for (x, y) in row.iter().zip(v) {
            lanes.iter_mut().zip(x.iter().zip(y)).for_each(|(l, (x, y))| *l += x * y);
        }
        let tail: f64 = rest.iter().zip(v_rest).map(|(x, y)| x * y).sum();
        *o = r + discount * (lanes.iter().sum::<f64>() + tail);
    }
}

/// Steps per block of the matrix product: five vectors of four, twice, fill the registers of AVX2.
const K_BLOCK: usize = 20;

/// For each of `rows` rows i of `p`: all of `Σ_s' p(i, s') v(s', k)`, handed to `take(i, [k])`.
#[multiversion(targets = "simd")]
fn all_steps(
    p: &[f64],
    v: &[f64],
    states: usize,
    width: usize,
    mut take: impl FnMut(usize, &[f64]),
    rows: usize,
) {
    #[inline(always)]
    fn block<const R: usize>(
        p: &[f64],
        v: &[f64],
        states: usize,
        width: usize,
        at: usize,
    ) -> [[f64; K_BLOCK]; R] {
        let mut sum = [[0.0; K_BLOCK]; R];
        for (s, values) in v.chunks_exact(width).enumerate() {
            let values: &[f64; K_BLOCK] = values[at..at + K_BLOCK].try_into().expect("whole blocks of k");
            for r in 0..R {
                let x = p[r * states + s];
                sum[r].iter_mut().zip(values).for_each(|(t, v)| *t += x * v);
            }
        }
        sum
    }
    let mut both = vec![[0.0; K_BLOCK]; 2 * width / K_BLOCK];
    let blocks = width / K_BLOCK;
    let mut i = 0;
    while i + 2 <= rows {
        for b in 0..blocks {
            let [x, y] = block::<2>(&p[i * states..], v, states, width, b * K_BLOCK);
            (both[b], both[blocks + b]) = (x, y);
        }
        take(i, both[..blocks].as_flattened());
        take(i + 1, both[blocks..].as_flattened());
        i += 2;
    }
    if i < rows {
        for b in 0..blocks {
            [both[b]] = block::<1>(&p[i * states..], v, states, width, b * K_BLOCK);
        }
        take(i, both[..blocks].as_flattened());
    }
}
