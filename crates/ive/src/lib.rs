#![doc = include_str!("../README.md")]
//!
//! # What is where
//!
//! | stage | where |
//! |---|---|
//! | what a model must answer | [`Model`], [`ValueFunction`], [`Policy`], [`BellmanOperator`]; for a tree [`Prior`], [`Select`] |
//! | imagined paths | [`unroll`], [`branch`], [`Rollout`] |
//! | logged predictions | [`Predictions`] |
//! | estimates of the value | [`ValueEnsemble`], [`Members`], [`SampledEnsemble`] |
//! | tables, exactly | [`TabularModel`], [`ExactIve`], [`Probability`] |
//! | disagreement | [`Signal`], [`standard_deviation`], [`jensen_shannon`] |
//! | what to do about it | [`Attitude`], [`greedy`], [`greedy_policy`], [`mix_logits`], [`mix_probabilities`] |
//! | an alarm with a stated false-alarm rate | [`Guard`] |
//! | is it any good? | [`auroc`], [`aupr`], [`fpr95`], [`spearman`], [`RiskCoverage`] |
//! | how sure is that? | [`Ranking`], [`ClusterBootstrap`], [`bootstrap_interval`], [`binomial_interval`] |
//! | is one agent better? | [`StratifiedMean`], [`stratified_bootstrap`], [`interquartile_mean`], [`probability_of_improvement`] |

mod beta;
mod clusters;
mod decide;
mod detection;
mod ensemble;
mod error;
mod guard;
mod members;
mod metrics;
mod model;
mod predictions;
mod prefetch;
mod risk;
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

pub use beta::binomial_interval;
pub use clusters::{ClusterBootstrap, Estimate, crossed_bootstrap};
pub use decide::{
    Attitude, TIE_TOLERANCE, Ties, greedy, greedy_policy, mix_logits, mix_probabilities, softmax,
};
pub use detection::{Detection, Ranking};
pub use ensemble::ValueEnsemble;
pub use error::{Error, ModelError, Result, in_range};
pub use guard::{Guard, GuardUnit};
pub use members::{MAX_HORIZON, Members};
pub use metrics::{
    aupr, auroc, bootstrap_interval, fpr95, interquartile_mean, mean_and_error, quantile, spearman,
};
pub use model::{BellmanOperator, Imagined, Model, Policy, Prior, Select, ValueFunction, select_rows};
pub use predictions::{Discounts, Predictions, Statistics};
pub use risk::{RiskCoverage, RiskEstimate};
pub use rng::Rng;
pub use rollout::{Rollout, branch, unroll};
pub use sampled::SampledEnsemble;
pub use signal::{Signal, Weighting, entropy, jensen_shannon, mean, standard_deviation};
pub use strata::{StratifiedMean, probability_of_improvement, stratified_bootstrap};
pub use student::student_quantile;
pub use tabular::{Backup, ExactIve, Inconsistency, Probability, TabularModel, reduce_actions};
