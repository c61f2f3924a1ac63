//! Large dense tables: all values from few products.
//!
//! Products with the small matrix `P_π = Σ_a π P_a` give all state values, then *one* pass over `P` gives all action
//! values; both only for a basis of the state values. The values of a chain that mixes soon differ from step to step by
//! less and less, so n of them span few dimensions.
//!
//! Inner loops are plain loops over arrays: what is not inlined is not compiled for the vectors of the CPU, and a closure
//! handed to an iterator is inlined only if the compiler likes to.

use std::ops::Range;

use multiversion::multiversion;
use multiversion::target::target_cfg_f;

use super::exact::{ExactIve, Inconsistency, Job, Spread};
use super::precision::Stored;
use super::{Backup, reduce};
use crate::sigma;

impl Job<'_> {
    /// State values in a space that grows as they do: `v̂ᵏ⁺¹ = r_π + γ P_π v̂ᵏ` needs a product with `P_π` only for what
    /// is new in v̂ᵏ. Then one pass over `P`, for the vectors of that space, gives all action values.
    pub(super) fn dense<T: Stored>(&self, p: &[T], part: Range<usize>) -> Inconsistency {
        let (table, ive) = (self.table, self.ive);
        let (s_all, a, n) = (table.states, table.actions, ive.members.horizon());
        let pairs = part.start * a..part.end * a;
        let p = &p[pairs.start * s_all..pairs.end * s_all];
        let reward_pi = reduce(&table.reward, a, Backup::Evaluation(ive.policy));
        let (mut space, mut images, mut p_pi) = (Space::default(), Vec::new(), None::<Vec<T>>);
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
            if let Some(new) = space.take(&v, T::NEGLIGIBLE) {
                match &p_pi {
                    Some(p_pi) => product(p_pi, new, &mut own),
                    None => p_pi = Some(mix_actions(p, &ive.policy[pairs.clone()], a, new, &mut own)),
                }
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
        let pairs = self.spread_of_pairs(p, pairs, &space);
        Inconsistency { states: of_states.std(ive.members.len(), ive.ddof), pairs }
    }

    /// σ of the action values `q̂ᵏ = r̂ + γ P v̂ᵏ⁻¹` of some pairs, whose rows of `P` are `p`.
    fn spread_of_pairs<T: Stored>(&self, p: &[T], pairs: Range<usize>, space: &Space) -> Vec<f64> {
        let (table, ive) = (self.table, self.ive);
        let (q, reward) = (&self.q[pairs.clone()], &table.reward[pairs.clone()]);
        let (basis, size) = (space.blocks(table.states), space.vectors.len());
        let mut projected = vec![[0.0; LANES]; size * ROWS / LANES];
        let mut sigma = vec![0.0; pairs.len()];
        // From the end: what was read last is still in the cache.
        for (i, p) in p.chunks(ROWS * table.states).enumerate().rev() {
            project(p, &basis, size, &mut projected);
            let (first, last) = (i * ROWS, i * ROWS + p.len() / table.states);
            for (j, at) in (first..last).step_by(LANES).enumerate() {
                let at = at..last.min(at + LANES);
                let of_rows = &projected[j * size..(j + 1) * size];
                spread(
                    ive,
                    &space.coefficients,
                    of_rows,
                    [&q[at.clone()], &reward[at.clone()]],
                    &mut sigma[at],
                );
            }
        }
        sigma
    }
}

/// An orthonormal basis of the vectors taken so far, up to rounding, and their coefficients in it.
#[derive(Default)]
struct Space {
    vectors: Vec<Vec<f64>>,
    /// `coefficients[k][m]`: how much of vector m is in the k-th vector taken.
    coefficients: Vec<Vec<f64>>,
}

/// Some vectors of a basis that are multiplied together, `[state, vector]`; the last block is padded with zeros.
struct Block {
    width: usize,
    vectors: Vec<f64>,
}

impl Space {
    /// Takes a vector; returns the direction that it adds, if any: what is outside the space counts as nothing if it is
    /// a `negligible` share of the vector. Gram–Schmidt with a second pass, which keeps the basis orthogonal to rounding.
    fn take(&mut self, x: &[f64], negligible: f64) -> Option<&[f64]> {
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
        let new = left > negligible * whole;
        if new {
            rest.iter_mut().for_each(|r| *r /= left);
            parts.push(left);
            self.vectors.push(rest);
        }
        self.coefficients.push(parts);
        if new { self.vectors.last().map(Vec::as_slice) } else { None }
    }

    /// The vectors in blocks of twelve, eight or four, whatever leaves the least padding.
    fn blocks(&self, states: usize) -> Vec<Block> {
        let (mut blocks, mut left) = (Vec::new(), self.vectors.as_slice());
        while !left.is_empty() {
            let width = left.len().next_multiple_of(4).min(12);
            let (these, rest) = left.split_at(width.min(left.len()));
            let mut vectors = vec![0.0; width * states];
            for (m, vector) in these.iter().enumerate() {
                vectors.chunks_exact_mut(width).zip(vector).for_each(|(row, x)| row[m] = *x);
            }
            blocks.push(Block { width, vectors });
            left = rest;
        }
        blocks
    }
}

/// Rows between two statistics: a multiple of [`LANES`] and of the rows that are multiplied together.
const ROWS: usize = 48;
/// Entries of a row that are widened together.
const WIDENED: usize = 64;
/// Rows whose statistics are taken together.
const LANES: usize = 16;

/// σ of some pairs, at most [`LANES`], from `P` times the basis, `[vector, pair]`, and the coefficients of the values.
#[multiversion(targets = "simd")]
fn spread(
    ive: &ExactIve<'_>,
    coefficients: &[Vec<f64>],
    projected: &[[f64; LANES]],
    table: [&[f64]; 2],
    out: &mut [f64],
) {
    let (mut q, mut reward) = ([0.0; LANES], [0.0; LANES]);
    q[..out.len()].copy_from_slice(table[0]);
    reward[..out.len()].copy_from_slice(table[1]);
    let (mut origin, mut sum, mut squares) = ([0.0; LANES], [0.0; LANES], [0.0; LANES]);
    for (i, &k) in ive.members.lengths().iter().enumerate() {
        let mut member = q;
        if k > 0 {
            let mut expected = [0.0; LANES];
            for (c, y) in coefficients[k - 1].iter().zip(projected) {
                for l in 0..LANES {
                    expected[l] += c * y[l];
                }
            }
            for l in 0..LANES {
                member[l] = reward[l] + ive.discount * expected[l];
            }
        }
        if i == 0 {
            origin = member;
        }
        sigma::add_each(&member, &origin, &mut sum, &mut squares);
    }
    let n = ive.members.len();
    sigma::finish_each(&mut sum, &squares, n as f64, n as f64 - ive.ddof as f64);
    out.copy_from_slice(&sum[..out.len()]);
}

/// `P_π(s, ·) = Σ_a π(a | s) P(s, a, ·)`, and `out = P_π v` while its rows are in the cache.
fn mix_actions<T: Stored>(p: &[T], policy: &[f64], actions: usize, v: &[f64], out: &mut [f64]) -> Vec<T> {
    let (states, mut mixed) = (v.len(), Vec::with_capacity(p.len() / actions));
    for (i, (p, policy)) in p.chunks_exact(actions * states).zip(policy.chunks_exact(actions)).enumerate() {
        let at = mixed.len();
        // Zeroed row by row, so that the zeros are still in the cache when they are replaced.
        mixed.resize(at + states, T::default());
        mix_row(p, policy, &mut mixed[at..]);
        product(&mixed[at..], v, &mut out[i..=i]);
    }
    mixed
}

#[multiversion(targets = "simd")]
fn mix_row<T: Stored>(p: &[T], policy: &[f64], out: &mut [T]) {
    let states = out.len();
    let (chunks, rest) = out.as_chunks_mut::<16>();
    for (i, chunk) in chunks.iter_mut().enumerate() {
        let mut sum = [0.0; 16];
        for (row, pi) in p.chunks_exact(states).zip(policy) {
            let row = &row[16 * i..16 * i + 16];
            for j in 0..16 {
                sum[j] += pi * row[j].widen();
            }
        }
        for j in 0..16 {
            chunk[j] = T::round(sum[j]);
        }
    }
    let done = states - rest.len();
    for (i, x) in rest.iter_mut().enumerate() {
        *x = T::round(p.chunks_exact(states).zip(policy).map(|(row, pi)| pi * row[done + i].widen()).sum());
    }
}

#[multiversion(targets = "simd")]
fn add_scaled(x: &[f64], scale: f64, out: &mut [f64]) {
    out.iter_mut().zip(x).for_each(|(o, x)| *o += scale * x);
}

/// `x · y`, in sixteen lanes.
#[inline(always)]
fn lanes_dot<T: Stored>(x: &[T], y: &[f64]) -> f64 {
    let (x, x_rest) = x.as_chunks::<16>();
    let (y, y_rest) = y.as_chunks::<16>();
    let mut lanes = [0.0; 16];
    for (x, y) in x.iter().zip(y) {
        for i in 0..16 {
            lanes[i] += x[i].widen() * y[i];
        }
    }
    let tail: f64 = x_rest.iter().zip(y_rest).map(|(x, y)| x.widen() * y).sum();
    lanes.iter().sum::<f64>() + tail
}

#[multiversion(targets = "simd")]
fn dot(x: &[f64], y: &[f64]) -> f64 {
    lanes_dot(x, y)
}

/// `out = M v`.
#[multiversion(targets = "simd")]
fn product<T: Stored>(m: &[T], v: &[f64], out: &mut [f64]) {
    m.chunks_exact(v.len()).zip(out).for_each(|(row, o)| *o = lanes_dot(row, v));
}

/// `out(m, i) = Σ_s p(i, s) v(s, m)` for at most [`ROWS`] rows i and the `size` vectors m of a basis: `p` is
/// `[row, state]`, `out` is `[row / LANES, vector, row % LANES]`. Every sum goes through the states in order, so the
/// blocks are a matter of speed: as many sums at a time as the vector registers hold.
#[multiversion(targets = "simd")]
fn project<T: Stored>(p: &[T], basis: &[Block], size: usize, out: &mut [[f64; LANES]]) {
    let mut first = 0;
    for block in basis {
        let mut put = |row: usize, sums: &[f64]| {
            let at = row / LANES * size + first;
            let vectors = out[at..].iter_mut().take(size - first);
            vectors.zip(sums).for_each(|(out, x)| out[row % LANES] = *x);
        };
        match (block.width, target_cfg_f!(target_feature = "avx512f")) {
            (12, true) => multiply::<T, 4, 12>(p, &block.vectors, &mut put),
            (12, false) => multiply::<T, 3, 12>(p, &block.vectors, &mut put),
            (8, true) => multiply::<T, 8, 8>(p, &block.vectors, &mut put),
            (8, false) => multiply::<T, 4, 8>(p, &block.vectors, &mut put),
            _ => multiply::<T, 8, 4>(p, &block.vectors, &mut put),
        }
        first += block.width;
    }
}

/// R rows at a time with W vectors.
#[inline(always)]
fn multiply<T: Stored, const R: usize, const W: usize>(
    p: &[T],
    v: &[f64],
    put: &mut impl FnMut(usize, &[f64]),
) {
    let v = v.as_chunks::<W>().0;
    let together = p.chunks_exact(R * v.len());
    let (rest, done) = (together.remainder(), p.len() / v.len() / R * R);
    for (i, rows) in together.enumerate() {
        let sums = products::<T, R, W>(rows, v);
        sums.iter().enumerate().for_each(|(r, sums)| put(i * R + r, sums));
    }
    for (i, row) in rest.chunks_exact(v.len()).enumerate() {
        put(done + i, &products::<T, 1, W>(row, v)[0]);
    }
}

#[inline(always)]
fn products<T: Stored, const R: usize, const W: usize>(p: &[T], v: &[[f64; W]]) -> [[f64; W]; R] {
    let (states, mut room) = (v.len(), [[0.0; WIDENED]; R]);
    let mut sums = [[0.0; W]; R];
    for (i, v) in v.chunks(WIDENED).enumerate() {
        let mut rows: [&[f64]; R] = [&[]; R];
        for (r, room) in room.iter_mut().enumerate() {
            rows[r] = T::widen_all(&p[r * states + i * WIDENED..][..v.len()], room);
        }
        for (s, v) in v.iter().enumerate() {
            for r in 0..R {
                let x = rows[r][s];
                for m in 0..W {
                    sums[r][m] += x * v[m];
                }
            }
        }
    }
    sums
}
