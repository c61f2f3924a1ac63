//! Several estimates of the value of the same states.
//!
//! Implicit (IVE), explicit value (EVE) and explicit model (EMVE) ensembles differ in how their members arise, not in
//! what is done with them, so there is one type with one door for each.

use crate::error::{finite, same_length};
use crate::signal::{self, Signal};
use crate::{BellmanOperator, Error, Members, Result, Rollout, SampledEnsemble, sigma};

/// Estimates `[member, state]` of the values of the same states (or state-action pairs). All of them are finite: whatever
/// is not is refused where it arises.
#[derive(Clone, Debug, PartialEq)]
pub struct ValueEnsemble {
    pub(crate) size: usize,
    pub(crate) states: usize,
    /// `[member, state]`
    pub(crate) data: Vec<f64>,
    pub(crate) members: Option<Members>,
}

impl ValueEnsemble {
    /// The implicit ensemble along an imagined path, members k = 0..n:
    ///
    /// `v̂ᵏ(s) = Σ_{i=0}^{k-1} γⁱ rⁱ⁺¹ + γᵏ v̂(sᵏ)`, with the products of the predicted discounts in place of γⁱ.
    ///
    /// With a stochastic model or policy one path is one *sample* of each member, and its noise would read as
    /// disagreement: take several paths and [`average`](Self::average) them first. Paper: Sec. 3.3, Eq. (7), with the
    /// summation bounds of Eq. (23) (`docs/deviations.md`, 1).
    pub fn implicit(path: &Rollout) -> Self {
        let n = path.horizon();
        let data = (0..=n).flat_map(|k| path.k_step_values(k)).copied().collect();
        let members = Members::new(0..=n).expect("a path is never longer than MAX_HORIZON");
        Self { size: n + 1, states: path.batch(), data, members: Some(members) }
    }

    /// The implicit ensemble of state-action pairs, numbered `s·A + a`, from one path for each first action (of
    /// [`branch`](crate::branch)). Its scores are tables for [`greedy_policy`](crate::greedy_policy).
    ///
    /// Member 0 must know the action: give a learned q̂, `[state, action]`, and the members are k = 0..n. Without one
    /// they are k = 1..n, since v̂(s) says nothing about actions. Paper: App. C.2, Eq. (23).
    ///
    /// ```
    /// use ive::{Imagined, ModelError, Rng, Ties, ValueEnsemble, branch, greedy_policy};
    /// // On a line, to the left and to the right. The value is wrong beyond 1.
    /// let model = |x: &Vec<f64>, step: &f64, _: &mut Rng| -> Result<_, ModelError> {
    ///     let next: Vec<f64> = x.iter().map(|x| x + step).collect();
    ///     Ok(Imagined { reward: vec![0.0; next.len()], discount: vec![0.9; next.len()], next })
    /// };
    /// let value = |x: &Vec<f64>| -> Result<_, ModelError> { Ok(x.iter().map(|x| if *x > 1.0 { *x } else { 0.0 }).collect()) };
    /// let stay = |_: &Vec<f64>, _: &mut Rng| -> Result<_, ModelError> { Ok(0.0) };
    /// let rng = &mut Rng::from_seed(0);
    /// let paths = branch(&model, &value, &stay, &vec![0.0, 1.0], &[-1.0, 1.0], 3, rng)?;
    /// let sigma = ValueEnsemble::from_branches(&paths, None)?.std(); // [state, action]
    /// let explore = greedy_policy(&sigma, 2, Ties::Uniform, rng)?;
    /// assert_eq!(explore, [0.5, 0.5, 0.0, 1.0]); // from 1, to the right
    /// # Ok::<(), ive::Error>(())
    /// ```
    ///
    /// # Errors
    /// If there is no path, the paths differ in batch or horizon, q̂ has another length or is not finite, or there is no
    /// member (paths without a step and no q̂).
    pub fn from_branches(paths: &[Rollout], q: Option<&[f64]>) -> Result<Self> {
        let first = paths.first().ok_or(Error::Empty { what: "branches, one for each action" })?;
        let (batch, n) = (first.batch(), first.horizon());
        for path in paths {
            same_length("start states of a branch", batch, path.batch())?;
            same_length("steps of a branch", n, path.horizon())?;
        }
        let members = Members::new(usize::from(q.is_none())..=n)?;
        let mut data = Vec::with_capacity(members.len() * batch * paths.len());
        if let Some(q) = q {
            same_length("q [state, action]", batch * paths.len(), q.len())?;
            finite("q", q)?;
            data.extend_from_slice(q);
        }
        for k in 1..=n {
            let pairs = (0..batch).flat_map(|s| paths.iter().map(move |path| path.k_step_values(k)[s]));
            data.extend(pairs);
        }
        Ok(Self { size: members.len(), states: batch * paths.len(), data, members: Some(members) })
    }

    /// The implicit ensemble of a table, without sampling: member k is `Tᵏ v̂`. Paper: Sec. 3.1, Eq. (5), (6).
    ///
    /// # Errors
    /// If a backup changes the length of the table or is not finite.
    pub fn implicit_exact(
        op: &(impl BellmanOperator + ?Sized),
        values: &[f64],
        members: &Members,
    ) -> Result<Self> {
        finite("values", values)?;
        let mut data = Vec::with_capacity(members.len() * values.len());
        let mut v = values.to_vec();
        for k in 0..=members.horizon() {
            if k > 0 {
                v = op.backup(&v);
                same_length("backed-up values", values.len(), v.len())?;
                finite("backed-up values", &v)?;
            }
            if members.contains(k) {
                data.extend_from_slice(&v);
            }
        }
        Ok(Self { size: members.len(), states: values.len(), data, members: Some(members.clone()) })
    }

    /// Any members, each with one value per state: explicit ensembles (EVE, EMVE), trees, logged values.
    ///
    /// # Errors
    /// If there is no member, the lengths differ, or a value is not finite.
    pub fn from_members<M: AsRef<[f64]>>(members: impl IntoIterator<Item = M>) -> Result<Self> {
        let (mut size, mut states, mut data) = (0, 0, Vec::new());
        for member in members {
            let member = member.as_ref();
            if size == 0 {
                states = member.len();
            }
            same_length("states of an ensemble member", states, member.len())?;
            finite("ensemble member", member)?;
            data.extend_from_slice(member);
            size += 1;
        }
        if size == 0 {
            Err(Error::Empty { what: "ensemble" })
        } else {
            Ok(Self { size, states, data, members: None })
        }
    }

    /// The same members, which are said to be the k-step values of these k, in their order: for values that somebody else has
    /// unrolled.
    ///
    /// # Errors
    /// If there are not as many k as members.
    pub fn with_unroll_lengths(self, members: Members) -> Result<Self> {
        same_length("unroll lengths, one for each member", self.size, members.len())?;
        Ok(Self { members: Some(members), ..self })
    }

    /// The mean of several ensembles, member by member: for stochastic models and policies, so that the noise of
    /// sampling is not taken for inconsistency. Paper: App. D.1 ("an average over 100 action sequences").
    ///
    /// # Errors
    /// If there is none, their members or states differ, or a sum is not finite.
    pub fn average(samples: &[Self]) -> Result<Self> {
        SampledEnsemble::of(samples, 1)?.mean()
    }

    /// σ over the members of the averaged samples, and the standard error of that σ from the number of samples (the
    /// jackknife), both `[state]`. A σ of the order of its standard error says nothing about inconsistency.
    /// [`SampledEnsemble`] does the same for samples that come one at a time.
    ///
    /// # Errors
    /// As [`average`](Self::average); and at least two samples are needed.
    pub fn sampled_std(samples: &[Self]) -> Result<(Vec<f64>, Vec<f64>)> {
        SampledEnsemble::of(samples, samples.len())?.std()
    }

    /// The ensemble restricted to some unroll lengths.
    ///
    /// # Errors
    /// If this is not an implicit ensemble, or it has no such member.
    pub fn select(&self, members: &Members) -> Result<Self> {
        let own =
            self.members.as_ref().ok_or(Error::Empty { what: "unroll lengths of an explicit ensemble" })?;
        let mut data = Vec::with_capacity(members.len() * self.states);
        for &k in members.lengths() {
            let at = own.lengths().binary_search(&k).map_err(|_| Error::OutOfRange {
                what: "member k",
                value: k as f64,
                min: own.lengths()[0] as f64,
                max: own.horizon() as f64,
            })?;
            data.extend_from_slice(self.member(at));
        }
        Ok(Self { size: members.len(), states: self.states, data, members: Some(members.clone()) })
    }

    /// How many members there are.
    pub fn size(&self) -> usize {
        self.size
    }

    /// How many states (or pairs) each member values.
    pub fn states(&self) -> usize {
        self.states
    }

    /// Which k-step values an implicit ensemble holds: one unroll length for each of its [`members`](Self::members).
    pub fn unroll_lengths(&self) -> Option<&Members> {
        self.members.as_ref()
    }

    /// The i-th member, `[state]`.
    pub fn member(&self, i: usize) -> &[f64] {
        &self.data[i * self.states..(i + 1) * self.states]
    }

    /// The values of all members in order, `[state]` each.
    pub fn members(&self) -> impl Iterator<Item = &[f64]> {
        (0..self.size).map(|i| self.member(i))
    }

    /// μ over the members, `[state]`, always finite. Paper: Sec. 3.2.
    pub fn mean(&self) -> Vec<f64> {
        signal::means(&self.data, self.size)
    }

    /// σ over the members, `[state]`, always finite: the self-inconsistency, when the ensemble is implicit. The population
    /// standard deviation (ddof = 0), as in every figure of ours. Paper: Sec. 3.2.
    pub fn std(&self) -> Vec<f64> {
        sigma::of_columns(&self.data, self.size, 0)
    }

    /// Any statistic over the members, `[state]`.
    ///
    /// # Errors
    /// If there are too few members for it, or it is not finite.
    pub fn score(&self, signal: Signal) -> Result<Vec<f64>> {
        signal.of_columns(&self.data, self.size)
    }
}
