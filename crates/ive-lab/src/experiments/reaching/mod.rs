//! Reaching (optimism) or avoiding (pessimism) the unseen cell by following disagreement. Paper: Sec. 4.2, Fig. 5.

pub mod analysis;
pub mod run;
mod sensitivity;
pub mod sweep;
