//! Which settings of the value prediction network matter on MinAtar: one change at a time, same games and seeds.
//!
//! The paper leaves most of them open. This is how our default preset was found; nothing here is a claim of the paper.

pub mod analysis;
pub mod run;
pub mod sweep;
