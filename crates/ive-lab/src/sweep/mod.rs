//! Sweeps: many runs on many machines, each result published exactly once.
//!
//! No scheduler of our own: Slurm, Ray, GNU parallel or a few local processes decide what runs where. All that they ever
//! run is `ive sweep task DIR INDEX`, and the guarantees are in the directory, on which any engine may be started, twice
//! at the same time if it must be:
//!
//! - `sweep.json` and `tasks.jsonl`: what is to be done, frozen, with hashes ([`manifest`], [`task`]);
//! - `runs/…`: ordinary run directories (`crate::run`); those of an experiment lie where `ive reproduce` looks for them;
//! - `tasks/000017/`: who worked on task 17 ([`attempt`]), and the record of its result ([`publish`]);
//! - `jobs/`, `logs/`: job scripts, submissions, what tasks said.
//!
//! `docs/sweeps.md` is the page for users.

pub mod attempt;
pub mod cancel;
pub mod engine;
pub mod estimate;
mod exclusive;
pub mod experiment;
mod fence;
pub mod gather;
pub mod grid;
pub mod manifest;
mod name;
pub mod probe;
pub mod publish;
pub mod retry;
pub mod supervise;
pub mod survey;
pub mod task;
pub mod tether;
pub mod trainer;
