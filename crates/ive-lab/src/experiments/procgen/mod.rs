//! Muesli on Procgen: is σ-IVE(5) higher on levels that the agent has not seen, and does that change with the number of levels that it has?
//! Paper: Fig. 4, H1 to H3; Figs. 11 to 14.
//!
//! One run is one agent on one game with some training levels and a seed. `sweep.rs` says which runs there are, `run.rs` makes those that
//! are missing, `evaluate.rs` takes each finished one to its training levels and to levels that it has not seen (`levels.rs`), `reading.rs` is
//! what is read off one run, `claims.rs` judges them all over seeds and levels (`drawn.rs`), and `analysis.rs` makes the report. `acting/` asks what agents gain that act on their signal (Figs. 13 and 14).

pub mod acting;
pub mod analysis;
pub mod claims;
pub mod drawn;
pub mod evaluate;
mod figures;
pub mod levels;
#[cfg(test)]
mod made_up;
pub mod reading;
pub mod run;
pub mod sweep;
mod tables;
