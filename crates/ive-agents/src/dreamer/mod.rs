//! Dreamer (Hafner et al., 2020), scaled down to the numbers of the walker, with planners that look for what it does not know.
//!
//! Table 1 of the paper: when reward is hard to find, planning with μ + βσ-IVE is to find it. Model, value and actor learn as in the
//! original; only the behaviour that collects data plans.
//!
//! - [`config`]: settings; [`network`]: the networks; [`loss`]: what they learn from; [`Mind`]: networks in training;
//! - [`plan`]: utilities of action sequences; [`planner`]: two ways to find good ones;
//! - [`Dreamer`]: the agent; [`observed`]: what it looks at.

mod agent;
pub mod config;
pub mod loss;
mod memory;
mod meter;
mod mind;
pub mod network;
pub mod observed;
pub mod plan;
pub mod planner;
mod player;
mod senses;
mod surprise;
mod update;

pub use agent::Dreamer;
pub use config::{Ascent, Behaviour, Config, PlanNoise, Sizes, Utility};
pub use memory::Carried;
pub use mind::Mind;
pub use player::Inputs;
pub use update::{Scratch, Updated};
