//! The one contract with the unknown: what a model, a value function and a policy must answer; and for a search tree, a
//! prior and a way to go on from some rows of a batch.
//!
//! States are an opaque batch `S` (a vector of state numbers, a tensor on some device, a recurrent state): batching is
//! the model's business, and this library only ever sees one reward, one discount and one value per batch entry.
//! Each trait has one method and is implemented for the closure of that shape, so a model is often three lines:
//!
//! ```
//! use ive::{Imagined, ModelError, Rng, ValueEnsemble, unroll};
//! // A walk to the right on a line: every step pays 1, the value says what is left until 10.
//! let model = |s: &Vec<f64>, _: &(), _: &mut Rng| -> Result<_, ModelError> {
//!     Ok(Imagined { next: s.iter().map(|x| x + 1.0).collect(), reward: vec![1.0; s.len()], discount: vec![1.0; s.len()] })
//! };
//! let value = |s: &Vec<f64>| -> Result<_, ModelError> { Ok(s.iter().map(|x| 10.0 - x).collect()) };
//! let policy = |_: &Vec<f64>, _: &mut Rng| -> Result<_, ModelError> { Ok(()) };
//! let path = unroll(&model, &value, &policy, vec![0.0, 4.0], 5, &mut Rng::from_seed(0))?;
//! assert_eq!(ValueEnsemble::implicit(&path).std(), [0.0, 0.0]); // model and value agree: nothing is unknown
//! # Ok::<(), ive::Error>(())
//! ```

use crate::{Error, ModelError, Rng};

/// What a model predicts for one step from a batch of states.
#[derive(Clone, Debug, PartialEq)]
pub struct Imagined<S> {
    /// The states that follow.
    pub next: S,
    /// r̂: the reward of the step, `[b]`.
    pub reward: Vec<f64>,
    /// γ times the predicted probability of going on, `[b]`. The end of an episode is a zero.
    pub discount: Vec<f64>,
}

/// A model m̂ = (r̂, p̂): from states and actions to rewards, discounts and next states.
///
/// A stochastic model draws from `rng`; a deterministic one ignores it.
pub trait Model<S, A: ?Sized> {
    /// One imagined step.
    fn imagine(&self, states: &S, actions: &A, rng: &mut Rng) -> Result<Imagined<S>, ModelError>;
}

/// A value function v̂: from a batch of states to one number each.
pub trait ValueFunction<S> {
    /// v̂(s), `[b]`.
    fn values(&self, states: &S) -> Result<Vec<f64>, ModelError>;
}

/// A policy π: from a batch of states to a batch of actions.
pub trait Policy<S, A> {
    /// One action for every state.
    fn act(&self, states: &S, rng: &mut Rng) -> Result<A, ModelError>;
}

/// A prior over actions: from a batch of states to one logit for every action. A tree asks it where to look first.
pub trait Prior<S> {
    /// z(s, a), `[b, action]`, where [`softmax`](crate::softmax) of a row is a policy.
    fn logits(&self, states: &S) -> Result<Vec<f64>, ModelError>;
}

/// A way to pick rows of a batch: a tree goes on from some of its states and from each of them with several actions, but
/// does not know what a batch is made of. For vectors there is [`select_rows`].
pub trait Select<S> {
    /// The rows with these numbers, in this order. A row may be picked many times or not at all.
    fn select(&self, states: &S, rows: &[usize]) -> Result<S, ModelError>;
}

/// [`Select`] for batches that are vectors.
///
/// ```
/// assert_eq!(ive::select_rows(&vec!['a', 'b', 'c'], &[2, 0, 0])?, ['c', 'a', 'a']);
/// # Ok::<(), ive::ModelError>(())
/// ```
///
/// # Errors
/// If there is no such row.
#[expect(clippy::ptr_arg, reason = "a batch S is the vector, not a slice")]
pub fn select_rows<T: Clone>(states: &Vec<T>, rows: &[usize]) -> Result<Vec<T>, ModelError> {
    let max = states.len() as f64 - 1.0;
    let missing = |&row| Error::OutOfRange { what: "row of a batch", value: row as f64, min: 0.0, max };
    Ok(rows
        .iter()
        .map(|row| states.get(*row).cloned().ok_or_else(|| missing(row)))
        .collect::<crate::Result<_>>()?)
}

/// A Bellman operator on a table of values: `T_m^π` (evaluation) or `T_m^*` (optimality), for states or state-action
/// pairs alike. Applying it k times to v̂ gives the k-step model-predicted value. Paper: Sec. 2, Eq. (1), (2).
pub trait BellmanOperator {
    /// `T v`, of the same length as `v`.
    fn backup(&self, values: &[f64]) -> Vec<f64>;
}

impl<S, A: ?Sized, F> Model<S, A> for F
where
    F: Fn(&S, &A, &mut Rng) -> Result<Imagined<S>, ModelError>,
{
    fn imagine(&self, states: &S, actions: &A, rng: &mut Rng) -> Result<Imagined<S>, ModelError> {
        self(states, actions, rng)
    }
}

impl<S, F> ValueFunction<S> for F
where
    F: Fn(&S) -> Result<Vec<f64>, ModelError>,
{
    fn values(&self, states: &S) -> Result<Vec<f64>, ModelError> {
        self(states)
    }
}

impl<S, A, F> Policy<S, A> for F
where
    F: Fn(&S, &mut Rng) -> Result<A, ModelError>,
{
    fn act(&self, states: &S, rng: &mut Rng) -> Result<A, ModelError> {
        self(states, rng)
    }
}

impl<S, F> Prior<S> for F
where
    F: Fn(&S) -> Result<Vec<f64>, ModelError>,
{
    fn logits(&self, states: &S) -> Result<Vec<f64>, ModelError> {
        self(states)
    }
}

impl<S, F> Select<S> for F
where
    F: Fn(&S, &[usize]) -> Result<S, ModelError>,
{
    fn select(&self, states: &S, rows: &[usize]) -> Result<S, ModelError> {
        self(states, rows)
    }
}

impl<F> BellmanOperator for F
where
    F: Fn(&[f64]) -> Vec<f64>,
{
    fn backup(&self, values: &[f64]) -> Vec<f64> {
        self(values)
    }
}
