//! Learners: agents that learn a model and a value, and are [`ive::Model`] and [`ive::ValueFunction`] afterwards.
//!
//! - [`nn`]: the only place that knows the tensor engine (layers, initialisation, optimisers, flat parameters).
//! - [`tabular`]: tables for the gridworld of Figures 3 and 5.
//! - [`toy`]: the one-dimensional Markov reward process of Figure 1.

pub mod nn;
pub mod tabular;
pub mod toy;
