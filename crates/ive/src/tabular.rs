//! Tables: models with finitely many states, for which every k-step value is computed exactly.
//!
//! State-action pairs are numbered `s·A + a`; tables over pairs are `[state, action]` in row-major order.

use crate::error::{finite, in_range, same_length};
use crate::{BellmanOperator, Error, Imagined, Model, ModelError, Result, Rng};

mod dense;
mod equivalence;
mod exact;
mod precision;
mod small;
mod team;
pub use exact::{ExactIve, Inconsistency};
use precision::Probabilities;
pub use precision::Probability;
use small::{SMALL, Small};

/// A model of a finite world: expected rewards r̂(s, a) and next-state probabilities p̂(s' | s, a).
#[derive(Clone, Debug, PartialEq)]
pub struct TabularModel {
    pub(crate) states: usize,
    pub(crate) actions: usize,
    /// `[state, action]`
    pub(crate) reward: Vec<f64>,
    pub(crate) transition: Transition,
}

/// p̂, one row per pair.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Transition {
    /// A dense table in the layout for few states.
    Small(Small),
    /// `[state, action, next]`
    Dense(Probabilities),
    /// The entries of row i are `offsets[i]..offsets[i + 1]`.
    Sparse { offsets: Vec<u32>, next: Vec<u32>, probability: Probabilities },
}

/// Which backup an operator makes. Paper: Sec. 2 Eq. (1), App. C.1 Eq. (19).
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Backup<'a> {
    /// Evaluation of a policy π(a | s), `[state, action]`.
    Evaluation(&'a [f64]),
    /// Optimality: the best action.
    Optimality,
}

impl TabularModel {
    /// A model with a probability for every next state: `reward` is `[state, action]`, `transition` is
    /// `[state, action, next]`, in `f64` or [in `f32`](Probability).
    ///
    /// # Errors
    /// If a length does not fit, a number is not finite, or a row is not a distribution.
    pub fn dense<P: Probability>(
        states: usize,
        actions: usize,
        reward: Vec<f64>,
        transition: Vec<P>,
    ) -> Result<Self> {
        Self::check_size(states, actions, &reward)?;
        same_length("transition [state, action, next]", states * actions * states, transition.len())?;
        check_rows("transition", &transition, transition.chunks(states))?;
        let transition = match states {
            ..=SMALL => Transition::Small(Small::new(states, actions, &transition)),
            _ => Transition::Dense(P::store(transition)),
        };
        Ok(Self { states, actions, reward, transition })
    }

    /// A model with a list of possible next states for each pair, in compressed sparse rows: the next states of pair i
    /// and their probabilities are entries `offsets[i]..offsets[i + 1]`.
    ///
    /// # Errors
    /// As [`dense`](Self::dense), and if the offsets do not increase from 0 to the number of entries, or a next state
    /// does not exist.
    pub fn sparse<P: Probability>(
        states: usize,
        actions: usize,
        reward: Vec<f64>,
        offsets: Vec<usize>,
        next: Vec<u32>,
        probability: Vec<P>,
    ) -> Result<Self> {
        Self::check_size(states, actions, &reward)?;
        same_length("offsets of the rows", states * actions + 1, offsets.len())?;
        same_length("probabilities of the next states", next.len(), probability.len())?;
        same_length("entries before the first offset", 0, offsets[0])?;
        same_length("entries up to the last offset", next.len(), offsets[states * actions])?;
        for ends in offsets.windows(2) {
            if ends[0] > ends[1] || ends[1] > next.len() {
                return Err(Error::Shape { what: "offset after a row", expected: ends[0], got: ends[1] });
            }
        }
        check_rows(
            "probability",
            &probability,
            offsets.windows(2).map(|ends| &probability[ends[0]..ends[1]]),
        )?;
        if let Some(bad) = next.iter().find(|&&s| s as usize >= states) {
            in_range("next state", f64::from(*bad), 0.0, (states - 1) as f64)?;
        }
        in_range("entries of a sparse table", next.len() as f64, 1.0, f64::from(u32::MAX))?;
        let offsets = offsets.into_iter().map(|o| o as u32).collect();
        let transition = Transition::Sparse { offsets, next, probability: P::store(probability) };
        Ok(Self { states, actions, reward, transition })
    }

    fn check_size(states: usize, actions: usize, reward: &[f64]) -> Result<()> {
        if states == 0 || actions == 0 {
            return Err(Error::Empty { what: "states and actions of a table" });
        }
        in_range("states", states as f64, 1.0, f64::from(u32::MAX))?;
        same_length("reward [state, action]", states * actions, reward.len())?;
        finite("reward", reward)
    }

    /// How many states there are.
    pub fn states(&self) -> usize {
        self.states
    }

    /// How many actions there are.
    pub fn actions(&self) -> usize {
        self.actions
    }

    /// One step from state values to action values: `q(s, a) = r̂(s, a) + γ Σ_s' p̂(s' | s, a) v(s')`.
    ///
    /// # Errors
    /// If there is not one finite value for every state, γ is outside [0, 1], or a result is not finite.
    pub fn action_values(&self, values: &[f64], discount: f64) -> Result<Vec<f64>> {
        same_length("values [state]", self.states, values.len())?;
        finite("values", values)?;
        in_range("discount", discount, 0.0, 1.0)?;
        let q = self.backup_pairs(values, discount);
        finite("action values", &q)?;
        Ok(q)
    }

    pub(crate) fn backup_pairs(&self, values: &[f64], discount: f64) -> Vec<f64> {
        let pairs = |expected: &dyn Fn(usize) -> f64| {
            self.reward.iter().enumerate().map(|(row, r)| r + discount * expected(row)).collect()
        };
        match &self.transition {
            Transition::Small(p) => p.backup(&self.reward, values, discount),
            Transition::Dense(p) => pairs(&|row| {
                let first = row * self.states;
                p.expect(first..first + self.states, |i| values[i - first])
            }),
            Transition::Sparse { offsets, next, probability } => pairs(&|row| {
                let entries = offsets[row] as usize..offsets[row + 1] as usize;
                probability.expect(entries, |i| values[next[i] as usize])
            }),
        }
    }

    /// The Bellman operator on state values, `v → T v`.
    ///
    /// # Errors
    /// If the policy is not a distribution for every state, or γ is outside [0, 1].
    pub fn state_operator<'a>(
        &'a self,
        backup: Backup<'a>,
        discount: f64,
    ) -> Result<impl BellmanOperator + 'a> {
        check_backup(self, backup, discount)?;
        Ok(move |v: &[f64]| reduce(&self.backup_pairs(v, discount), self.actions, backup))
    }

    /// The Bellman operator on action values, `q → T q`.
    ///
    /// # Errors
    /// As [`state_operator`](Self::state_operator).
    pub fn action_operator<'a>(
        &'a self,
        backup: Backup<'a>,
        discount: f64,
    ) -> Result<impl BellmanOperator + 'a> {
        check_backup(self, backup, discount)?;
        Ok(move |q: &[f64]| self.backup_pairs(&reduce(q, self.actions, backup), discount))
    }

    /// Draws a next state of a pair.
    fn sample(&self, row: usize, rng: &mut Rng) -> usize {
        let mut left = rng.uniform();
        let mut pick = |entries: &mut dyn Iterator<Item = (usize, f64)>| {
            let mut last = 0;
            for (s, p) in entries.filter(|(_, p)| *p > 0.0) {
                last = s;
                left -= p;
                if left < 0.0 {
                    break;
                }
            }
            last
        };
        match &self.transition {
            Transition::Small(p) => pick(&mut (0..self.states).map(|s| (s, p.probability(row, s)))),
            Transition::Dense(p) => pick(&mut (0..self.states).map(|s| (s, p.get(row * self.states + s)))),
            Transition::Sparse { offsets, next, probability } => pick(
                &mut (offsets[row] as usize..offsets[row + 1] as usize)
                    .map(|i| (next[i] as usize, probability.get(i))),
            ),
        }
    }

    /// The table as a stochastic [`Model`] that draws next states, with a constant discount.
    pub fn sampler(&self, discount: f64) -> impl Model<Vec<usize>, Vec<usize>> {
        move |states: &Vec<usize>,
              actions: &Vec<usize>,
              rng: &mut Rng|
              -> std::result::Result<_, ModelError> {
            same_length("actions", states.len(), actions.len())?;
            let mut step = Imagined { next: vec![], reward: vec![], discount: vec![discount; states.len()] };
            for (&s, &a) in states.iter().zip(actions) {
                in_range("state", s as f64, 0.0, (self.states - 1) as f64)?;
                in_range("action", a as f64, 0.0, (self.actions - 1) as f64)?;
                let row = s * self.actions + a;
                step.reward.push(self.reward[row]);
                step.next.push(self.sample(row, rng));
            }
            Ok(step)
        }
    }
}

/// From action values to state values: `Σ_a π(a | s) q(s, a)` or `max_a q(s, a)`, `[state]`.
///
/// # Errors
/// If there is no action, the table is not made of whole rows, or the policy has another length.
pub fn reduce_actions(q: &[f64], num_actions: usize, backup: Backup<'_>) -> Result<Vec<f64>> {
    if num_actions == 0 {
        return Err(Error::Empty { what: "actions" });
    }
    same_length("action values [state, action]", q.len().next_multiple_of(num_actions), q.len())?;
    if let Backup::Evaluation(policy) = backup {
        same_length("policy [state, action]", q.len(), policy.len())?;
    }
    Ok(reduce(q, num_actions, backup))
}

/// [`reduce_actions`] of tables that fit.
fn reduce(q: &[f64], num_actions: usize, backup: Backup<'_>) -> Vec<f64> {
    let rows = q.chunks(num_actions);
    match backup {
        Backup::Evaluation(policy) => rows
            .zip(policy.chunks(num_actions))
            .map(|(q, pi)| q.iter().zip(pi).map(|(q, p)| p * q).sum())
            .collect(),
        Backup::Optimality => rows.map(|q| q.iter().copied().fold(f64::NEG_INFINITY, f64::max)).collect(),
    }
}

fn check_backup(model: &TabularModel, backup: Backup<'_>, discount: f64) -> Result<()> {
    in_range("discount", discount, 0.0, 1.0)?;
    let Backup::Evaluation(policy) = backup else { return Ok(()) };
    same_length("policy [state, action]", model.states * model.actions, policy.len())?;
    check_rows("policy", policy, policy.chunks(model.actions))
}

/// `Ok` when every row is a distribution. Numbers that are not finite need no pass of their own: they spoil their sum.
fn check_rows<'a, P: Probability + 'a>(
    what: &'static str,
    all: &[P],
    rows: impl Iterator<Item = &'a [P]>,
) -> Result<()> {
    let bad = rows.enumerate().find_map(|(row, p)| Some((row, unless_distribution(p)?)));
    let Some((row, sum)) = bad else { return Ok(()) };
    match all.iter().map(|p| p.widen()).enumerate().find(|(_, p)| !p.is_finite()) {
        Some((index, value)) => Err(Error::NotFinite { what, index, value }),
        None => Err(Error::NotADistribution { what: "probabilities", row, sum }),
    }
}

/// What a row sums to, unless it is a distribution.
fn unless_distribution<P: Probability>(p: &[P]) -> Option<f64> {
    // In four lanes: a model is checked whenever one is made.
    let (chunks, rest) = p.as_chunks::<4>();
    let (mut sums, mut least) = ([0.0; 4], [0.0_f64; 4]);
    for chunk in chunks {
        for i in 0..4 {
            sums[i] += chunk[i].widen();
            least[i] = least[i].min(chunk[i].widen());
        }
    }
    let rest = rest.iter().map(|p| p.widen());
    let sum = sums.into_iter().chain(rest.clone()).sum::<f64>();
    let is_one = (sum - 1.0).abs() <= P::ROW_TOLERANCE;
    (!is_one || least.into_iter().chain(rest).any(|x| x < 0.0)).then_some(sum)
}
