//! Small dense tables, which fit the cache: every vector lane is a pair, and a whole step is one fused pass.

use multiversion::multiversion;
use multiversion::target::target_cfg_f;

use super::precision::Stored;
use crate::sigma;

/// Up to this many states a dense table is kept in this form.
pub(super) const SMALL: usize = 64;

/// Lanes of the widest vectors.
const VECTOR: usize = 8;

/// p̂ as `[next, lane]`; lanes are `[action, state]`, padded to whole vectors.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Small {
    states: usize,
    actions: usize,
    lanes: usize,
    p: Aligned,
}

/// Zeros that start at a multiple of the vector size: a vector that straddles two cache lines costs twice as much.
#[derive(Clone, Debug)]
struct Aligned {
    start: usize,
    data: Vec<f64>,
}

impl PartialEq for Aligned {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl Aligned {
    fn zeros(n: usize) -> Self {
        let data = vec![0.0; n + VECTOR];
        let start = data.as_ptr().align_offset(VECTOR * size_of::<f64>()).min(VECTOR);
        Self { start, data }
    }

    fn get(&self) -> &[f64] {
        &self.data[self.start..self.data.len() + self.start - VECTOR]
    }

    fn get_mut(&mut self) -> &mut [f64] {
        let end = self.data.len() + self.start - VECTOR;
        &mut self.data[self.start..end]
    }
}

impl Small {
    pub(super) fn new<P: Stored>(states: usize, actions: usize, p: &[P]) -> Self {
        let lanes = (states * actions).next_multiple_of(VECTOR);
        let mut small = Self { states, actions, lanes, p: Aligned::zeros(states * lanes) };
        for (pair, row) in p.chunks_exact(states).enumerate() {
            let lane = small.lane(pair);
            row.iter().enumerate().for_each(|(next, &x)| small.p.get_mut()[next * lanes + lane] = x.widen());
        }
        small
    }

    fn lane(&self, pair: usize) -> usize {
        (pair % self.actions) * self.states + pair / self.actions
    }

    /// p̂(next | pair).
    pub(super) fn probability(&self, pair: usize, next: usize) -> f64 {
        self.p.get()[next * self.lanes + self.lane(pair)]
    }

    /// A table over pairs, `[state, action]`, as lanes.
    fn spread_out(&self, table: &[f64], lanes: &mut [f64]) {
        for (s, row) in table.chunks_exact(self.actions).enumerate() {
            row.iter().enumerate().for_each(|(a, &x)| lanes[a * self.states + s] = x);
        }
    }

    fn gather(&self, lanes: &[f64]) -> Vec<f64> {
        let mut table = vec![0.0; self.states * self.actions];
        for (s, row) in table.chunks_exact_mut(self.actions).enumerate() {
            row.iter_mut().enumerate().for_each(|(a, x)| *x = lanes[a * self.states + s]);
        }
        table
    }

    /// `q = r̂ + γ Σ_s' p̂ v`, `[state, action]`.
    pub(super) fn backup(&self, reward: &[f64], values: &[f64], discount: f64) -> Vec<f64> {
        let mut lanes = vec![0.0; 2 * self.lanes];
        let (q, r) = lanes.split_at_mut(self.lanes);
        self.spread_out(reward, r);
        one_step(self.p.get(), values, r, discount, q);
        self.gather(q)
    }

    /// σ of the state values and of the action values over the members `ks`.
    pub(super) fn std(&self, table: Tables<'_>, discount: f64, ks: &[usize], ddof: usize) -> [Vec<f64>; 2] {
        let pairs = self.lanes;
        // One allocation for everything that is as long as the pairs, and one for the states.
        let (mut of_pairs, mut of_states) = (Aligned::zeros(6 * pairs), vec![0.0; 4 * self.states]);
        let lanes: Vec<&mut [f64]> = of_pairs.get_mut().chunks_exact_mut(pairs).collect();
        let [q, reward, policy, origin, sum, squares] = lanes.try_into().expect("six pieces");
        let lanes: Vec<&mut [f64]> = of_states.chunks_exact_mut(self.states).collect();
        let [v, v_origin, v_sum, v_squares] = lanes.try_into().expect("four pieces");
        self.spread_out(table.q, q);
        self.spread_out(table.reward, reward);
        self.spread_out(table.policy, policy);
        let pieces = Pieces {
            q,
            reward,
            policy,
            v,
            pairs: [origin, sum, squares],
            states: [v_origin, v_sum, v_squares],
        };
        all_steps(self.p.get(), pieces, discount, ks, ddof);
        [
            of_states[2 * self.states..3 * self.states].to_vec(),
            self.gather(&of_pairs.get()[4 * pairs..5 * pairs]),
        ]
    }
}

/// Tables `[state, action]`: learned values, rewards and the policy.
#[derive(Clone, Copy)]
pub(super) struct Tables<'a> {
    pub(super) q: &'a [f64],
    pub(super) reward: &'a [f64],
    pub(super) policy: &'a [f64],
}

/// The same as lanes, with what is accumulated: first member, sum of deviations from it, sum of their squares.
struct Pieces<'a> {
    q: &'a mut [f64],
    reward: &'a [f64],
    policy: &'a [f64],
    v: &'a mut [f64],
    pairs: [&'a mut [f64]; 3],
    states: [&'a mut [f64]; 3],
}

/// All backups; σ replaces the sums of deviations.
#[multiversion(targets = "simd")]
fn all_steps(p: &[f64], mut x: Pieces<'_>, discount: f64, ks: &[usize], ddof: usize) {
    let wide = target_cfg_f!(target_feature = "avx512f");
    weigh(x.q, x.policy, x.v);
    let mut taken = 0;
    for k in 0..=ks[ks.len() - 1] {
        if k > 0 {
            step(wide, p, x.v, x.reward, discount, x.q);
            weigh(x.q, x.policy, x.v);
        }
        if ks[taken] == k {
            take(taken, x.q, &mut x.pairs);
            take(taken, x.v, &mut x.states);
            taken += 1;
        }
    }
    let (n, m) = (ks.len() as f64, ks.len() as f64 - ddof as f64);
    for [_, sum, squares] in [x.pairs, x.states] {
        sigma::finish_each(sum, squares, n, m);
    }
}

#[inline(always)]
fn take(taken: usize, x: &[f64], [origin, sum, squares]: &mut [&mut [f64]; 3]) {
    if taken == 0 {
        return origin.copy_from_slice(x);
    }
    sigma::add_each(x, origin, sum, squares);
}

/// `v(s) = Σ_a π(a | s) q(s, a)`, lane by lane, over the actions in order.
#[inline(always)]
fn weigh(q: &[f64], policy: &[f64], v: &mut [f64]) {
    let states = v.len();
    let (chunks, rest) = v.as_chunks_mut::<VECTOR>();
    let done = states - rest.len();
    for (i, v) in chunks.iter_mut().enumerate() {
        let mut sum = [0.0; VECTOR];
        for (q, pi) in q.chunks_exact(states).zip(policy.chunks_exact(states)) {
            let (q, pi) = (&q[i * VECTOR..][..VECTOR], &pi[i * VECTOR..][..VECTOR]);
            for l in 0..VECTOR {
                sum[l] += pi[l] * q[l];
            }
        }
        *v = sum;
    }
    for (i, v) in rest.iter_mut().enumerate() {
        *v = 0.0;
        for (q, pi) in q.chunks_exact(states).zip(policy.chunks_exact(states)) {
            *v += pi[done + i] * q[done + i];
        }
    }
}

#[multiversion(targets = "simd")]
fn one_step(p: &[f64], v: &[f64], reward: &[f64], discount: f64, q: &mut [f64]) {
    step(target_cfg_f!(target_feature = "avx512f"), p, v, reward, discount, q);
}

/// `q = r̂ + γ Σ_s' p̂(s' | ·) v(s')`. A lane is summed over the states in order, whatever its block: blocks are as large
/// as the registers allow. Thirteen vectors are the hundred pairs of the paper's gridworld.
#[inline(always)]
fn step(wide: bool, p: &[f64], v: &[f64], reward: &[f64], discount: f64, q: &mut [f64]) {
    let mut at = 0;
    while at < q.len() {
        at = match (wide, q.len() - at) {
            (true, 104..) => block::<104>(p, v, reward, discount, q, at),
            (true, 64..) => block::<64>(p, v, reward, discount, q, at),
            (true, 32..) => block::<32>(p, v, reward, discount, q, at),
            (true, _) => block::<8>(p, v, reward, discount, q, at),
            (false, 52..) => block::<52>(p, v, reward, discount, q, at),
            (false, 48..) => block::<48>(p, v, reward, discount, q, at),
            (false, 16..) => block::<16>(p, v, reward, discount, q, at),
            (false, _) => block::<4>(p, v, reward, discount, q, at),
        };
    }
}

/// The N lanes from `at` on; returns where the next block begins.
#[inline(always)]
fn block<const N: usize>(
    p: &[f64],
    v: &[f64],
    reward: &[f64],
    discount: f64,
    q: &mut [f64],
    at: usize,
) -> usize {
    let (stride, mut sum) = (q.len(), [0.0; N]);
    for (row, &x) in p.chunks_exact(stride).zip(v) {
        let row: &[f64; N] = row[at..at + N].try_into().expect("a block within the row");
        for l in 0..N {
            sum[l] += x * row[l];
        }
    }
    for (q, (s, r)) in q[at..at + N].iter_mut().zip(sum.iter().zip(&reward[at..at + N])) {
        *q = r + discount * s;
    }
    at + N
}
