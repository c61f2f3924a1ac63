//! A value ensemble on a line, before and after training. Paper: Fig. 1, App. A.2.1.

pub mod analysis;
pub mod run;
pub mod sweep;
