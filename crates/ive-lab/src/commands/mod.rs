//! The verbs of `ive`, one file each; `bench` has a folder of its own.

pub mod calibrate;
pub mod env;
pub mod eval;
pub mod export;
pub mod guard;
pub mod ood;
pub mod play;
pub mod reproduce;
pub mod runs;
pub mod score;
pub mod setup;
pub mod sweep;
pub mod train;
