//! Deep agents on MinAtar: does acting on the mean of the members beat acting on one of them? Paper: Table 2, H6.
//!
//! One run is one agent on one game with one seed. `sweep.rs` says which runs there are, `run.rs` makes those that are
//! missing, `analysis.rs` judges what is finished, `depths.rs` asks trained agents where their members go wrong.

pub mod analysis;
pub mod depths;
mod figures;
#[cfg(test)]
mod made_up;
pub mod published;
pub mod random;
pub mod run;
pub mod score;
pub mod sweep;
pub mod tables;
