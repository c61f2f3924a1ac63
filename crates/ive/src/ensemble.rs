//! Several estimates of the value of the same states.
//!
//! Implicit (IVE), explicit value (EVE) and explicit model (EMVE) ensembles differ in how their members arise, not in
//! what is done with them, so there is one type with one door for each.

use crate::error::{finite, same_length};
use crate::signal::{self, Signal};
use crate::{BellmanOperator, Error, Members, Result, Rollout};

/// Estimates `[member, state]` of the values of the same states (or state-action pairs).
#[derive(Clone, Debug, PartialEq)]
pub struct ValueEnsemble {
    size: usize,
    states: usize,
    data: Vec<f64>,
    members: Option<Members>,
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
        let (b, n) = (path.batch(), path.horizon());
        let mut data = path.values(0).to_vec();
        let (mut reward_sum, mut discount) = (vec![0.0; b], vec![1.0; b]);
        for k in 1..=n {
            let (r, d, v) = (path.rewards(k), path.discounts(k), path.values(k));
            for i in 0..b {
                reward_sum[i] += discount[i] * r[i];
                discount[i] *= d[i];
                data.push(reward_sum[i] + discount[i] * v[i]);
            }
        }
        let members = Members::up_to(n).expect("a path is never longer than MAX_HORIZON");
        Self { size: n + 1, states: b, data, members: Some(members) }
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
            if members.ks().binary_search(&k).is_ok() {
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

    /// The mean of several ensembles, member by member: for stochastic models and policies, so that the noise of
    /// sampling is not taken for inconsistency. Paper: App. D.1 ("an average over 100 action sequences").
    ///
    /// # Errors
    /// If there is none, or their shapes differ.
    pub fn average(samples: &[Self]) -> Result<Self> {
        let mut mean = samples.first().ok_or(Error::Empty { what: "ensembles to average" })?.clone();
        for other in &samples[1..] {
            same_length("members of the ensembles to average", mean.size, other.size)?;
            same_length("states of the ensembles to average", mean.states, other.states)?;
            mean.data.iter_mut().zip(&other.data).for_each(|(m, x)| *m += x);
        }
        mean.data.iter_mut().for_each(|m| *m /= samples.len() as f64);
        Ok(mean)
    }

    /// σ over the members of the averaged samples, and the standard error of that σ from the number of samples (the
    /// jackknife), both `[state]`. A σ of the order of its standard error says nothing about inconsistency.
    ///
    /// # Errors
    /// As [`average`](Self::average); and at least two samples are needed.
    pub fn sampled_std(samples: &[Self]) -> Result<(Vec<f64>, Vec<f64>)> {
        let n = samples.len();
        if n < 2 {
            return Err(Error::Shape { what: "samples for a standard error", expected: 2, got: n });
        }
        let all = Self::average(samples)?;
        let mut replicates = Vec::with_capacity(n);
        for sample in samples {
            let mut rest = all.clone();
            let nf = n as f64;
            rest.data.iter_mut().zip(&sample.data).for_each(|(m, x)| *m = (*m * nf - x) / (nf - 1.0));
            replicates.push(rest.std());
        }
        let jackknife = |s: usize| {
            let column: Vec<f64> = replicates.iter().map(|r| r[s]).collect();
            signal::std(&column, 0) * ((n - 1) as f64).sqrt()
        };
        Ok((all.std(), (0..all.states).map(jackknife).collect()))
    }

    /// The ensemble restricted to some unroll lengths.
    ///
    /// # Errors
    /// If this is not an implicit ensemble, or it has no such member.
    pub fn select(&self, members: &Members) -> Result<Self> {
        let own =
            self.members.as_ref().ok_or(Error::Empty { what: "unroll lengths of an explicit ensemble" })?;
        let mut data = Vec::with_capacity(members.len() * self.states);
        for &k in members.ks() {
            let at = own.ks().binary_search(&k).map_err(|_| Error::OutOfRange {
                what: "member k",
                value: k as f64,
                min: own.ks()[0] as f64,
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

    /// The unroll lengths of an implicit ensemble.
    pub fn ks(&self) -> Option<&Members> {
        self.members.as_ref()
    }

    /// The i-th member, `[state]`.
    pub fn member(&self, i: usize) -> &[f64] {
        &self.data[i * self.states..(i + 1) * self.states]
    }

    /// All members in order.
    pub fn members(&self) -> impl Iterator<Item = &[f64]> {
        (0..self.size).map(|i| self.member(i))
    }

    /// μ over the members, `[state]`. Paper: Sec. 3.2.
    pub fn mean(&self) -> Vec<f64> {
        self.score(Signal::Mean)
    }

    /// σ over the members, `[state]`: the self-inconsistency, when the ensemble is implicit. The population standard
    /// deviation (ddof = 0), as in every figure of ours. Paper: Sec. 3.2.
    pub fn std(&self) -> Vec<f64> {
        self.score(Signal::Std { ddof: 0 })
    }

    /// Any statistic over the members, `[state]`.
    pub fn score(&self, signal: Signal) -> Vec<f64> {
        match signal {
            Signal::Mean => self
                .each_from(0.0, |sum, x| *sum += x)
                .into_iter()
                .map(|sum| sum / self.size as f64)
                .collect(),
            Signal::Std { ddof } => self.deviations(ddof),
            Signal::MeanPlusStd { beta } => {
                self.mean().into_iter().zip(self.deviations(0)).map(|(mean, std)| mean + beta * std).collect()
            }
            Signal::Range => {
                let largest = self.each_from(f64::NEG_INFINITY, |most, x| *most = most.max(x));
                let smallest = self.each_from(f64::INFINITY, |least, x| *least = least.min(x));
                largest.into_iter().zip(smallest).map(|(most, least)| most - least).collect()
            }
        }
    }

    /// [`signal::std`] of every column, member by member, so that the states are the vector lanes.
    fn deviations(&self, ddof: usize) -> Vec<f64> {
        if self.size <= ddof {
            return vec![f64::NAN; self.states];
        }
        let (origin, n) = (self.member(0), self.size as f64);
        let mut shift = vec![0.0; self.states];
        for member in self.members() {
            shift.iter_mut().zip(member.iter().zip(origin)).for_each(|(sum, (x, o))| *sum += x - o);
        }
        shift.iter_mut().for_each(|sum| *sum /= n);
        let mut squares = vec![0.0; self.states];
        for member in self.members() {
            for ((sum, shift), (x, o)) in squares.iter_mut().zip(&shift).zip(member.iter().zip(origin)) {
                *sum += (x - o - shift) * (x - o - shift);
            }
        }
        squares.into_iter().map(|sum| (sum / (n - ddof as f64)).sqrt()).collect()
    }

    fn each_from(&self, start: f64, update: impl Fn(&mut f64, f64)) -> Vec<f64> {
        let mut all = vec![start; self.states];
        for member in self.members() {
            all.iter_mut().zip(member).for_each(|(sum, x)| update(sum, *x));
        }
        all
    }
}
