//! The verbs of `ive`, one file each; `bench` has a folder of its own.

pub mod env;
pub mod eval;
pub mod play;
pub mod reproduce;
pub mod runs;
pub mod setup;
pub mod train;
