//! Dreamer on the walker: does planning with μ + βσ find reward where Dreamer does not? Paper: Table 1, Table 3, H4.
//!
//! One run is one method at one threshold η with one seed. `sweep.rs` says which runs there are, `run.rs` makes those that are
//! missing, `score.rs` is what a run is judged by, `analysis.rs` judges what is finished.

pub mod analysis;
mod figures;
#[cfg(test)]
mod made_up;
pub mod published;
pub mod run;
pub mod score;
pub mod sweep;
pub mod tables;
