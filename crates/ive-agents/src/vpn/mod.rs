//! Value prediction networks (Oh et al., 2017), whose plan is an implicit value ensemble. Paper: Sec. 4.3, Table 2.
//!
//! - [`Config`]: all settings; [`Vpn`]: the agent in training;
//! - [`network`]: modules and parameters; [`batch`]: what an update learns from; [`loss`]: how;
//! - [`planner`]: v̂¹, v̂⁵ and μ-IVE as one recursion with a weight per depth; [`probe`]: members beyond the plan.

mod agent;
pub mod batch;
mod config;
pub mod loss;
pub mod network;
pub mod planner;
pub mod probe;

pub use agent::Vpn;
pub use config::{Config, Ends, Reduction};
