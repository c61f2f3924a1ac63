//! LEARNERS: agents with a model and a value, in tables and in networks.
pub mod tabular;
