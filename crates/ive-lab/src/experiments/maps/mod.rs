//! Maps of disagreement over the gridworld. Paper: Sec. 4.1, Fig. 3, and the grid in App. D.6.

pub mod analysis;
pub mod run;
pub mod sweep;
