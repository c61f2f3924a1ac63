//! The deep Q-network of MinAtar's own example (Young and Tian, 2019): the baseline of Table 2.
//!
//! - [`Config`]: all settings; [`Dqn`]: the agent in training;
//! - [`network`]: modules and parameters; [`loss`]: `Huber(Q(s, a) − r − γ max_a' Q⁻(s', a'))`.

mod agent;
mod config;
pub mod loss;
pub mod network;

pub use agent::Dqn;
pub use config::Config;
