//! σ-IVE of a whole table at once: the kernels.
//!
//! All of q̂⁰..q̂ⁿ and v̂⁰..v̂ⁿ are needed, but only their spread is kept: it is accumulated while the backups are made,
//! so a table of a hundred thousand states never stores its members. Three cases:
//!
//! * small dense tables stay in the cache (`small.rs`);
//! * large dense tables: products with the small matrix `P_π` give all state values, then *one* pass over `P` gives all
//!   action values; both only for a basis of the state values, which is small when the chain mixes soon;
//! * sparse tables: one pass over the entries per step, a block of states at a time, so that everything else that
//!   happens to a block finds it in the cache.
//!
//! Threads split the rows. No sum ever crosses rows, and products and sums are never contracted, so the bits of the
//! result depend neither on the number of threads nor on the CPU's vector width.

use std::ops::Range;

use multiversion::multiversion;

use super::precision::{Probabilities, Stored};
use super::small::Tables;
use super::team::{Shared, Team};
use super::{Backup, TabularModel, Transition, check_backup, reduce};
use crate::error::{finite, in_range, same_length};
use crate::sigma::{self, scale_for_squares};
use crate::signal::check_ddof;
use crate::{Members, Result};

/// What to compute: σ over which members, under which policy. Paper: Sec. 3.1, 3.2 (the maps of Fig. 3 are σ of
/// states, the policies of Fig. 5 use σ of pairs).
///
/// ```
/// use ive::{ExactIve, Members, TabularModel};
/// // One state, one action, a reward of 1 for ever; the value of the future was learned as 0.
/// let model = TabularModel::dense(1, 1, vec![1.0], vec![1.0])?;
/// let request = ExactIve::new(&[1.0], 0.5, Members::up_to(1));
/// assert_eq!(model.inconsistency(&[0.0], &request)?.states, [0.5]); // v̂⁰ = 0, v̂¹ = 1
/// # Ok::<(), ive::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ExactIve<'a> {
    pub(super) policy: &'a [f64],
    pub(super) discount: f64,
    pub(super) members: Members,
    pub(super) ddof: usize,
    pub(super) threads: usize,
}

impl<'a> ExactIve<'a> {
    /// The population σ over these members, for the policy π(a | s), `[state, action]`, and the discount γ, on one thread.
    #[must_use]
    pub fn new(policy: &'a [f64], discount: f64, members: Members) -> Self {
        Self { policy, discount, members, ddof: 0, threads: 1 }
    }

    /// 0 for the population standard deviation, which is the default, or 1 for the sample form.
    #[must_use]
    pub fn ddof(self, ddof: usize) -> Self {
        Self { ddof, ..self }
    }

    /// How many threads may be used; the result is the same for any number.
    #[must_use]
    pub fn threads(self, threads: usize) -> Self {
        Self { threads, ..self }
    }
}

/// σ-IVE for every state and every state-action pair.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
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
    /// If a length does not fit, a number is not finite, γ is outside [0, 1], `ddof` is neither 0 nor 1 or there are no more
    /// members than that, there are no threads, or σ is too large for a number.
    pub fn inconsistency(&self, q: &[f64], ive: &ExactIve<'_>) -> Result<Inconsistency> {
        same_length("action values [state, action]", self.states * self.actions, q.len())?;
        finite("action values", q)?;
        check_backup(self, Backup::Evaluation(ive.policy), ive.discount)?;
        check_ddof(ive.ddof, ive.members.len())?;
        in_range("threads", ive.threads as f64, 1.0, 1024.0)?;
        let scale = scale_for_squares(largest(q).max(largest(&self.reward)));
        let sigma = if scale == 1.0 { self.spread(q, ive) } else { self.scaled_spread(q, ive, scale) };
        finite("σ of the states", &sigma.states)?;
        finite("σ of the pairs", &sigma.pairs)?;
        Ok(sigma)
    }

    /// σ by way of a table with rewards and values divided by `scale`, which divides σ by it too.
    fn scaled_spread(&self, q: &[f64], ive: &ExactIve<'_>, scale: f64) -> Inconsistency {
        let divided = |x: &[f64]| x.iter().map(|x| x / scale).collect::<Vec<f64>>();
        let table = Self { reward: divided(&self.reward), ..self.clone() };
        let mut sigma = table.spread(&divided(q), ive);
        sigma.states.iter_mut().chain(&mut sigma.pairs).for_each(|x| *x *= scale);
        sigma
    }

    fn spread(&self, q: &[f64], ive: &ExactIve<'_>) -> Inconsistency {
        if let Transition::Small(p) = &self.transition {
            let tables = Tables { q, reward: &self.reward, policy: ive.policy };
            let [states, pairs] = p.std(tables, ive.discount, ive.members.lengths(), ive.ddof);
            return Inconsistency { states, pairs };
        }
        let threads = ive.threads.min(self.states);
        let shared = Shared::new(&reduce(q, self.actions, Backup::Evaluation(ive.policy)));
        let team = Team::new(threads);
        let rows = self.states.div_ceil(threads);
        let parts = team.run(|i| {
            let part = (i * rows).min(self.states)..((i + 1) * rows).min(self.states);
            let job = Job { table: self, ive, q, shared: &shared, team: &team };
            match &self.transition {
                Transition::Dense(Probabilities::Double(p)) => job.dense(p, part),
                Transition::Dense(Probabilities::Single(p)) => job.dense(p, part),
                Transition::Sparse { offsets, next, probability: Probabilities::Double(p) } => {
                    job.sparse(part, |v, first, out| sparse(offsets, next, p, v, first, out))
                }
                Transition::Sparse { offsets, next, probability: Probabilities::Single(p) } => {
                    job.sparse(part, |v, first, out| sparse(offsets, next, p, v, first, out))
                }
                Transition::Small(_) => Inconsistency::default(),
            }
        });
        let mut all = Inconsistency::default();
        for mut part in parts {
            all.states.append(&mut part.states);
            all.pairs.append(&mut part.pairs);
        }
        all
    }
}

/// What every thread of a computation sees.
pub(super) struct Job<'a> {
    pub(super) table: &'a TabularModel,
    pub(super) ive: &'a ExactIve<'a>,
    pub(super) q: &'a [f64],
    pub(super) shared: &'a Shared,
    pub(super) team: &'a Team,
}

/// Pairs of a sparse table that are worked on together: their action values fit the first cache.
const BLOCK: usize = 1024;

impl Job<'_> {
    /// Backs up step by step. `expect(v, first, out)` writes `Σ_s' p̂ v` for the pairs from `first` on.
    fn sparse(&self, part: Range<usize>, expect: impl Fn(&[f64], usize, &mut [f64])) -> Inconsistency {
        let (a, ive) = (self.table.actions, self.ive);
        let pairs = part.start * a..part.end * a;
        let (reward, policy) = (&self.table.reward[pairs.clone()], &ive.policy[pairs.clone()]);
        let mut v = self.shared.read(0);
        let mut own = v[part.clone()].to_vec();
        let (mut of_pairs, mut of_states) = (Spread::new(pairs.len()), Spread::new(part.len()));
        let taken = |k: usize| ive.members.contains(k);
        if taken(0) {
            of_pairs.add(&self.q[pairs.clone()]);
            of_states.add(&own);
        }
        let states_of_block = (BLOCK / a).max(1);
        let mut q = vec![0.0; states_of_block * a];
        for k in 1..=ive.members.horizon() {
            for s in (0..part.len()).step_by(states_of_block) {
                let n = states_of_block.min(part.len() - s);
                let (at, q) = (s * a..(s + n) * a, &mut q[..n * a]);
                expect(&v, pairs.start + at.start, q);
                affine(&reward[at.clone()], ive.discount, q);
                weigh(q, &policy[at.clone()], a, &mut own[s..s + n]);
                if taken(k) {
                    of_pairs.add_at(at.start, q);
                }
            }
            if taken(k) {
                of_pairs.started = true;
                of_states.add(&own);
            }
            self.shared.write(k, part.start, &own);
            self.team.meet();
            self.shared.read_into(k, &mut v);
        }
        let n = ive.members.len();
        Inconsistency { states: of_states.std(n, ive.ddof), pairs: of_pairs.std(n, ive.ddof) }
    }
}

/// Sums of deviations from the first member and of their squares.
pub(super) struct Spread {
    started: bool,
    origin: Vec<f64>,
    sum: Vec<f64>,
    squares: Vec<f64>,
}

impl Spread {
    pub(super) fn new(n: usize) -> Self {
        Self { started: false, origin: vec![0.0; n], sum: vec![0.0; n], squares: vec![0.0; n] }
    }

    /// Takes a whole member.
    pub(super) fn add(&mut self, x: &[f64]) {
        self.add_at(0, x);
        self.started = true;
    }

    /// Takes a part of a member; `started` is set when the first one is complete.
    fn add_at(&mut self, at: usize, x: &[f64]) {
        let range = at..at + x.len();
        if self.started {
            let (sum, squares) = (&mut self.sum[range.clone()], &mut self.squares[range.clone()]);
            add_deviations(&self.origin[range], x, sum, squares);
        } else {
            self.origin[range].copy_from_slice(x);
        }
    }

    /// σ of n members.
    pub(super) fn std(mut self, n: usize, ddof: usize) -> Vec<f64> {
        finish(&mut self.sum, &self.squares, n as f64, n as f64 - ddof as f64);
        self.sum
    }
}

/// [`sigma::finish_each`], compiled for the vectors of this CPU.
#[multiversion(targets = "simd")]
fn finish(sum: &mut [f64], squares: &[f64], n: f64, m: f64) {
    sigma::finish_each(sum, squares, n, m);
}

/// [`sigma::add_each`], compiled for the vectors of this CPU.
#[multiversion(targets = "simd")]
fn add_deviations(origin: &[f64], x: &[f64], sum: &mut [f64], squares: &mut [f64]) {
    sigma::add_each(x, origin, sum, squares);
}

/// The largest magnitude.
fn largest(x: &[f64]) -> f64 {
    let (chunks, rest) = x.as_chunks::<8>();
    let mut lanes = [0.0_f64; 8];
    for chunk in chunks {
        lanes
            .iter_mut()
            .zip(chunk)
            .for_each(|(most, x)| *most = if x.abs() > *most { x.abs() } else { *most });
    }
    lanes.iter().chain(rest).fold(0.0, |most, x| most.max(x.abs()))
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
fn sparse<T: Stored>(
    offsets: &[u32],
    next: &[u32],
    probability: &[T],
    v: &[f64],
    first: usize,
    out: &mut [f64],
) {
    let bounds = &offsets[first..=first + out.len()];
    for (o, ends) in out.iter_mut().zip(bounds.windows(2)) {
        let row = ends[0] as usize..ends[1] as usize;
        let entries = next[row.clone()].iter().zip(&probability[row]);
        *o = entries.map(|(&s, &p)| p.widen() * v[s as usize]).sum();
    }
}
