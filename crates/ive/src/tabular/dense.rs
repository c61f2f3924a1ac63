//! Large dense tables: all values from few products.
//!
//! Products with the small matrix `P_π = Σ_a π P_a` give all state values, then *one* pass over `P` gives all action
//! values; both only for a basis of the state values. The values of a chain that mixes soon differ from step to step by
//! less and less, so n of them span few dimensions.

use std::ops::Range;

use multiversion::multiversion;

use super::exact::{Inconsistency, Job, Spread};
use super::{Backup, reduce};
use crate::sigma;

impl Job<'_> {
    /// State values in a space that grows as they do: `v̂ᵏ⁺¹ = r_π + γ P_π v̂ᵏ` needs a product with `P_π` only for what
    /// is new in v̂ᵏ. Then one pass over `P`, for the vectors of that space, gives all action values.
    pub(super) fn dense(&self, p: &[f64], part: Range<usize>) -> Inconsistency {
        let (table, ive) = (self.table, self.ive);
        let (s_all, a, n) = (table.states, table.actions, ive.members.horizon());
        let pairs = part.start * a..part.end * a;
        let p = &p[pairs.start * s_all..pairs.end * s_all];
        let p_pi = mix_actions(p, &ive.policy[pairs.clone()], a, s_all);
        let reward_pi = reduce(&table.reward, a, Backup::Evaluation(ive.policy));
        let (mut space, mut images) = (Space::default(), Vec::new());
        let mut of_states = Spread::new(part.len());
        let (mut v, mut own) = (self.shared.read(0), vec![0.0; part.len()]);
        for k in 0..=n {
            if ive.members.contains(k) {
                of_states.add(&v[part.clone()]);
            }
            if k == n {
                break;
            }
            // Every thread finds the same space by itself and multiplies its own rows with what is new.
            if let Some(new) = space.take(&v) {
                product(&p_pi, new, &mut own);
                // From copy 1 on: copy 0 holds the start, which a slower thread may still be reading.
                let step = images.len() + 1;
                self.shared.write(step, part.start, &own);
                self.team.meet();
                images.push(self.shared.read(step));
            }
            v.copy_from_slice(&reward_pi);
            images
                .iter()
                .zip(&space.coefficients[k])
                .for_each(|(image, c)| add_scaled(image, ive.discount * c, &mut v));
        }
        let vectors = space.blocks(s_all);
        let mut sigma = vec![0.0; pairs.len()];
        let mut projected = vec![[0.0; WIDTH]; ROWS * vectors.len() / s_all];
        // From the end: what was read last is still in the cache.
        for (i, rows) in p.chunks(ROWS * s_all).enumerate().rev() {
            let count = rows.len() / s_all;
            for (vectors, out) in vectors.chunks_exact(s_all).zip(projected.chunks_exact_mut(ROWS)) {
                project(rows, vectors, &mut out[..count]);
            }
            for j in 0..count {
                let row = pairs.start + i * ROWS + j;
                let expected = |k: usize| -> f64 {
                    let parts = space.coefficients[k].iter().enumerate();
                    parts.map(|(m, c)| c * projected[m / WIDTH * ROWS + j][m % WIDTH]).sum()
                };
                let member = |k: usize| {
                    if k == 0 { self.q[row] } else { table.reward[row] + ive.discount * expected(k - 1) }
                };
                sigma[i * ROWS + j] =
                    spread_of(ive.members.lengths().iter().map(|&k| member(k)), ive.members.len(), ive.ddof);
            }
        }
        Inconsistency { states: of_states.std(ive.members.len(), ive.ddof), pairs: sigma }
    }
}

/// An orthonormal basis of the vectors taken so far, up to rounding, and their coefficients in it.
#[derive(Default)]
struct Space {
    vectors: Vec<Vec<f64>>,
    /// `coefficients[k][m]`: how much of vector m is in the k-th vector taken.
    coefficients: Vec<Vec<f64>>,
}

/// What a vector has outside the space is rounding if it is smaller than this share of the vector.
const NEGLIGIBLE: f64 = 4.0 * f64::EPSILON;

impl Space {
    /// Takes a vector; returns the direction that it adds, if any. Gram–Schmidt with a second pass, which keeps the
    /// basis orthogonal to rounding.
    fn take(&mut self, x: &[f64]) -> Option<&[f64]> {
        let mut rest = x.to_vec();
        let mut parts = vec![0.0; self.vectors.len()];
        for _ in 0..2 {
            for (vector, part) in self.vectors.iter().zip(&mut parts) {
                let share = dot(vector, &rest);
                *part += share;
                add_scaled(vector, -share, &mut rest);
            }
        }
        let (left, whole) = (dot(&rest, &rest).sqrt(), dot(x, x).sqrt());
        let new = left > NEGLIGIBLE * whole;
        if new {
            rest.iter_mut().for_each(|r| *r /= left);
            parts.push(left);
            self.vectors.push(rest);
        }
        self.coefficients.push(parts);
        if new { self.vectors.last().map(Vec::as_slice) } else { None }
    }

    /// The vectors as `[block, state, vector within the block]`, the last block padded with zeros.
    fn blocks(&self, states: usize) -> Vec<[f64; WIDTH]> {
        let mut blocks = vec![[0.0; WIDTH]; self.vectors.len().div_ceil(WIDTH) * states];
        for (m, vector) in self.vectors.iter().enumerate() {
            let block = &mut blocks[m / WIDTH * states..][..states];
            block.iter_mut().zip(vector).for_each(|(row, v)| row[m % WIDTH] = *v);
        }
        blocks
    }
}

/// σ of one row of members.
fn spread_of(mut x: impl Iterator<Item = f64>, n: usize, ddof: usize) -> f64 {
    let origin = x.next().unwrap_or(f64::NAN);
    let (mut sum, mut squares) = (0.0, 0.0);
    x.for_each(|x| sigma::add(x, origin, &mut sum, &mut squares));
    sigma::of_sums(sum, squares, n as f64, n as f64 - ddof as f64)
}

/// `P_π(s, ·) = Σ_a π(a | s) P(s, a, ·)`.
fn mix_actions(p: &[f64], policy: &[f64], actions: usize, states: usize) -> Vec<f64> {
    let mut mixed = Vec::with_capacity(p.len() / actions);
    for (p, policy) in p.chunks_exact(actions * states).zip(policy.chunks_exact(actions)) {
        let at = mixed.len();
        // Zeroed row by row, so that the zeros are still in the cache when they are replaced.
        mixed.resize(at + states, 0.0);
        mix_row(p, policy, &mut mixed[at..]);
    }
    mixed
}

#[multiversion(targets = "simd")]
fn mix_row(p: &[f64], policy: &[f64], out: &mut [f64]) {
    let states = out.len();
    let (chunks, rest) = out.as_chunks_mut::<16>();
    for (i, chunk) in chunks.iter_mut().enumerate() {
        let mut sum = [0.0; 16];
        for (row, pi) in p.chunks_exact(states).zip(policy) {
            sum.iter_mut().zip(&row[16 * i..16 * i + 16]).for_each(|(s, x)| *s += pi * x);
        }
        *chunk = sum;
    }
    let done = states - rest.len();
    for (i, x) in rest.iter_mut().enumerate() {
        *x = p.chunks_exact(states).zip(policy).map(|(row, pi)| pi * row[done + i]).sum();
    }
}

#[multiversion(targets = "simd")]
fn add_scaled(x: &[f64], scale: f64, out: &mut [f64]) {
    out.iter_mut().zip(x).for_each(|(o, x)| *o += scale * x);
}

/// `x · y`, in sixteen lanes.
#[inline(always)]
fn lanes_dot(x: &[f64], y: &[f64]) -> f64 {
    let (x, x_rest) = x.as_chunks::<16>();
    let (y, y_rest) = y.as_chunks::<16>();
    let mut lanes = [0.0; 16];
    for (x, y) in x.iter().zip(y) {
        lanes.iter_mut().zip(x.iter().zip(y)).for_each(|(l, (x, y))| *l += x * y);
    }
    let tail: f64 = x_rest.iter().zip(y_rest).map(|(x, y)| x * y).sum();
    lanes.iter().sum::<f64>() + tail
}

#[multiversion(targets = "simd")]
fn dot(x: &[f64], y: &[f64]) -> f64 {
    lanes_dot(x, y)
}

/// `out = M v`.
#[multiversion(targets = "simd")]
fn product(m: &[f64], v: &[f64], out: &mut [f64]) {
    m.chunks_exact(v.len()).zip(out).for_each(|(row, o)| *o = lanes_dot(row, v));
}

/// Vectors per block of a basis: three AVX2 vectors for each of three rows, with room for the factors.
const WIDTH: usize = 12;
/// Rows between two statistics.
const ROWS: usize = 33;

/// `out(i, m) = Σ_s p(i, s) v(s, m)`: `p` is `[row, state]`, `v` is `[state, vector]`, `out` is `[row, vector]`.
#[multiversion(targets = "simd")]
fn project(p: &[f64], v: &[[f64; WIDTH]], out: &mut [[f64; WIDTH]]) {
    let states = v.len();
    for (p, out) in p.chunks(3 * states).zip(out.chunks_mut(3)) {
        if let [a, b, c] = out {
            let (x, rest) = p.split_at(states);
            let (y, z) = rest.split_at(states);
            let mut sums = [[0.0; WIDTH]; 3];
            for (((x, y), z), v) in x.iter().zip(y).zip(z).zip(v) {
                for m in 0..WIDTH {
                    sums[0][m] += x * v[m];
                    sums[1][m] += y * v[m];
                    sums[2][m] += z * v[m];
                }
            }
            [*a, *b, *c] = sums;
        } else {
            for (row, out) in p.chunks_exact(states).zip(out) {
                *out = [0.0; WIDTH];
                row.iter().zip(v).for_each(|(x, v)| (0..WIDTH).for_each(|m| out[m] += x * v[m]));
            }
        }
    }
}
