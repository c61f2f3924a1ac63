//! Implicit value ensembles.
mod decide;
mod ensemble;
mod error;
mod members;
mod model;
mod rng;
mod rollout;
mod signal;

pub use decide::{
    Attitude, TIE_TOLERANCE, Ties, greedy, greedy_policy, mix_logits, mix_probabilities, softmax,
};
pub use ensemble::ValueEnsemble;
pub use error::{Error, ModelError, Result};
pub use members::{MAX_HORIZON, Members};
pub use model::{BellmanOperator, Imagined, Model, Policy, ValueFunction};
pub use rng::Rng;
pub use rollout::{Rollout, branch, unroll};
pub use signal::{Signal, Weighting, entropy, jensen_shannon, mean, std};
