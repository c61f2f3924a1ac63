//! What experiments with many runs of agents share, whatever the environments.
//!
//! - [`fleet`]: makes the runs, several at a time; [`record`]: what is kept of each, and curves over seeds;
//! - [`answers`]: what trained agents were asked afterwards, kept so that nothing is asked twice;
//! - [`compare`]: averages over environments, and differences of runs with the same seed.

pub mod answers;
pub mod compare;
pub mod fleet;
pub mod record;
