#![doc = include_str!("../README.md")]
//!
//! # What is where
//!
//! | stage | where |
//! |---|---|
//! | what a model must answer | [`Model`], [`ValueFunction`], [`Policy`], [`BellmanOperator`] |
//! | imagined paths | [`unroll`], [`branch`], [`Rollout`] |
//! | estimates of the value | [`ValueEnsemble`], [`Members`], [`SampledEnsemble`] |
//! | tables, exactly | [`TabularModel`], [`ExactIve`] |
//! | disagreement | [`Signal`], [`standard_deviation`], [`jensen_shannon`] |
//! | what to do about it | [`Attitude`], [`greedy`], [`greedy_policy`], [`mix_logits`], [`mix_probabilities`] |
//! | is it any good? | [`auroc`], [`aupr`], [`fpr95`], [`spearman`], [`bootstrap_interval`] |
//! | is one agent better? | [`StratifiedMean`], [`stratified_bootstrap`], [`interquartile_mean`], [`probability_of_improvement`] |

mod decide;
mod ensemble;
mod error;
mod members;
mod metrics;
mod model;
mod rng;
mod rollout;
mod sampled;
#[cfg(feature = "serde")]
mod saved;
mod sigma;
mod signal;
mod strata;
mod student;
mod tabular;

pub use decide::{
    Attitude, TIE_TOLERANCE, Ties, greedy, greedy_policy, mix_logits, mix_probabilities, softmax,
};
pub use ensemble::ValueEnsemble;
pub use error::{Error, ModelError, Result};
pub use members::{MAX_HORIZON, Members};
pub use metrics::{
    aupr, auroc, bootstrap_interval, fpr95, interquartile_mean, mean_and_error, quantile, spearman,
};
pub use model::{BellmanOperator, Imagined, Model, Policy, ValueFunction};
pub use rng::Rng;
pub use rollout::{Rollout, branch, unroll};
pub use sampled::SampledEnsemble;
pub use signal::{Signal, Weighting, entropy, jensen_shannon, mean, standard_deviation};
pub use strata::{StratifiedMean, probability_of_improvement, stratified_bootstrap};
pub use student::student_quantile;
pub use tabular::{Backup, ExactIve, Inconsistency, TabularModel, reduce_actions};
