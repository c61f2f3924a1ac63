//! Muesli (Hessel et al., 2021), scaled down: a policy, a value and a model along which both stay true. Paper: Sec. 4.1, Figure 4.
//!
//! - [`Config`]: all settings; [`Muesli`]: the agent in training, and when it explores no more;
//! - [`torso`], [`network`]: what it sees with, and what it makes of it; [`batch`], [`targets`], [`loss`]: what it learns from;
//! - [`signals`]: members, σ of each action and divergences of batches of states.

mod acting;
mod agent;
pub mod batch;
mod config;
pub mod further;
pub mod loss;
mod meter;
pub mod network;
mod player;
pub mod predict;
pub mod signals;
pub mod targets;
pub mod torso;

pub use agent::Muesli;
pub use config::{Acting, Config, Modelling, Optimism, Seeing};
pub use player::Draws;
