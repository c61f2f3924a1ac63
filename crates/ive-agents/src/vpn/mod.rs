//! Value prediction networks (Oh et al., 2017), whose plan is an implicit value ensemble. Paper: Sec. 4.3, Table 2.
//!
//! - [`Config`]: all settings; [`Vpn`]: the agent in training;
//! - [`network`]: modules and parameters; [`batch`]: what an update learns from; [`loss`]: how;
//! - [`planner`]: v̂¹, v̂⁵ and μ-IVE as one recursion with a weight per depth; [`probe`]: members beyond the plan;
//! - [`model`]: the trained network as an [`ive::Model`] and [`ive::ValueFunction`].

mod agent;
pub mod batch;
mod children;
mod config;
mod heads;
pub mod loss;
mod meter;
pub mod model;
pub mod network;
pub mod planner;
pub mod probe;

pub use agent::Vpn;
pub use config::{Bootstrap, Compared, Config, Ends, Form, Reduction, RewardLoss};
pub use loss::Goal;
pub use network::Design;
