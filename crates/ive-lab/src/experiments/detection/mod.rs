//! How good is σ-IVE as a detector, and what does an alarm with a fallback gain? A study that the paper did not make.
//!
//! Trained agents × shifts × detectors. `sweep.rs` says which runs there are, `run.rs` makes those that are missing and has each
//! agent asked ([`survey`], [`guarded`]), `gridworld.rs` is the same guard in tables; `analysis.rs` judges.

pub mod analysis;
pub mod detectors;
mod figures;
pub mod gridworld;
pub mod guarded;
#[cfg(test)]
mod made_up;
pub mod run;
pub mod survey;
pub mod sweep;
mod tables;
