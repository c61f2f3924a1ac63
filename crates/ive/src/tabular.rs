//! Tables: models with finitely many states, for which every k-step value is computed exactly.
//!
//! State-action pairs are numbered `s·A + a`; tables over pairs are `[state, action]` in row-major order.

use crate::error::{finite, in_range, same_length};
use crate::{BellmanOperator, Error, Imagined, Model, ModelError, Result, Rng};

mod dense;
mod exact;
mod small;
mod team;
pub use exact::{ExactIve, Inconsistency};
use small::{SMALL, Small};

/// How far a row of probabilities may be from summing to one.
const ROW_TOLERANCE: f64 = 1e-6;

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
    Dense(Vec<f64>),
    /// The entries of row i are `offsets[i]..offsets[i + 1]`.
    Sparse { offsets: Vec<u32>, next: Vec<u32>, probability: Vec<f64> },
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
    /// `[state, action, next]`.
    ///
    /// # Errors
    /// If a length does not fit, a number is not finite, or a row is not a distribution.
    pub fn dense(states: usize, actions: usize, reward: Vec<f64>, transition: Vec<f64>) -> Result<Self> {
        Self::check_size(states, actions, &reward)?;
        same_length("transition [state, action, next]", states * actions * states, transition.len())?;
        finite("transition", &transition)?;
        for (row, p) in transition.chunks(states).enumerate() {
            check_row(row, p)?;
        }
        let transition = match states {
            ..=SMALL => Transition::Small(Small::new(states, actions, &transition)),
            _ => Transition::Dense(transition),
        };
        Ok(Self { states, actions, reward, transition })
    }

    /// A model with a list of possible next states for each pair, in compressed sparse rows: the next states of pair i
    /// and their probabilities are entries `offsets[i]..offsets[i + 1]`.
    ///
    /// # Errors
    /// As [`dense`](Self::dense), and if the offsets do not increase from 0 to the number of entries, or a next state
    /// does not exist.
    pub fn sparse(
        states: usize,
        actions: usize,
        reward: Vec<f64>,
        offsets: Vec<usize>,
        next: Vec<u32>,
        probability: Vec<f64>,
    ) -> Result<Self> {
        Self::check_size(states, actions, &reward)?;
        same_length("offsets of the rows", states * actions + 1, offsets.len())?;
        same_length("probabilities of the next states", next.len(), probability.len())?;
        same_length("entries before the first offset", 0, offsets[0])?;
        same_length("entries up to the last offset", next.len(), offsets[states * actions])?;
        finite("probability", &probability)?;
        for row in 0..states * actions {
            let (from, to) = (offsets[row], offsets[row + 1]);
            if from > to || to > next.len() {
                return Err(Error::Shape { what: "offset after a row", expected: from, got: to });
            }
            check_row(row, &probability[from..to])?;
        }
        if let Some(bad) = next.iter().find(|&&s| s as usize >= states) {
            in_range("next state", f64::from(*bad), 0.0, (states - 1) as f64)?;
        }
        in_range("entries of a sparse table", next.len() as f64, 1.0, f64::from(u32::MAX))?;
        let offsets = offsets.into_iter().map(|o| o as u32).collect();
        Ok(Self { states, actions, reward, transition: Transition::Sparse { offsets, next, probability } })
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
                p[row * self.states..(row + 1) * self.states].iter().zip(values).map(|(p, v)| p * v).sum()
            }),
            Transition::Sparse { offsets, next, probability } => pairs(&|row| {
                let entries = offsets[row] as usize..offsets[row + 1] as usize;
                entries.map(|i| probability[i] * values[next[i] as usize]).sum()
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
            Transition::Dense(p) => {
                let row = &p[row * self.states..(row + 1) * self.states];
                pick(&mut row.iter().copied().enumerate())
            }
            Transition::Sparse { offsets, next, probability } => pick(
                &mut (offsets[row] as usize..offsets[row + 1] as usize)
                    .map(|i| (next[i] as usize, probability[i])),
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
    finite("policy", policy)?;
    policy.chunks(model.actions).enumerate().try_for_each(|(s, pi)| check_row(s, pi))
}

fn check_row(row: usize, p: &[f64]) -> Result<()> {
    // In four lanes: a model is checked whenever one is made.
    let (chunks, rest) = p.as_chunks::<4>();
    let (mut sums, mut least) = ([0.0; 4], [0.0_f64; 4]);
    for chunk in chunks {
        for i in 0..4 {
            sums[i] += chunk[i];
            least[i] = least[i].min(chunk[i]);
        }
    }
    let sum = sums.iter().chain(rest).sum::<f64>();
    if (sum - 1.0).abs() > ROW_TOLERANCE || least.iter().chain(rest).any(|&x| x < 0.0) {
        return Err(Error::NotADistribution { what: "probabilities", row, sum });
    }
    Ok(())
}
