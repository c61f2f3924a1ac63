//! The one contract with the unknown: what a model, a value function and a policy must answer.
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

use crate::{ModelError, Rng};

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

impl<F> BellmanOperator for F
where
    F: Fn(&[f64]) -> Vec<f64>,
{
    fn backup(&self, values: &[f64]) -> Vec<f64> {
        self(values)
    }
}
