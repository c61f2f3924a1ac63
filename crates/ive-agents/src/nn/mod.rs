//! The thin layer between the agents and the tensor engine.
//!
//! Only this module and the network, loss and engine files of the agents name the engine, and only this module knows where it
//! departs from what the papers assume:
//!
//! | the engine | here |
//! |---|---|
//! | its ELU has a NaN gradient above 88.7 | [`elu`] |
//! | it draws initial weights from one generator for the whole process | [`truncated_normal`] from our own [`ive::Rng`] |
//! | its Adam keeps settings in single precision, with ε = 1e-5 | [`Adam`] with [`AdamConfig`], every number explicit |
//! | it clips each parameter by its own norm | [`Gradients::clip_global_norm`] |
//! | a forward pass that is never followed by a backward pass keeps its graph | act with `module.valid()` |
//!
//! Modules are the engine's own (`#[derive(Module)]` structs). A module's parameters have one documented order, the
//! order of its fields, in which [`flat_parameters`] reads and [`set_flat_parameters`] writes them; golden tests,
//! finite differences and target copies rest on that.

mod activation;
mod backend;
pub mod cpu;
mod device;
mod gradients;
mod huber;
mod init;
mod layers;
mod lstm;
mod optimiser;
mod parameters;
pub mod torso;

pub use activation::elu;
pub use backend::Backend;
pub(crate) use device::to_host;
pub use device::{Device, Precision};
pub use gradients::Gradients;
pub use huber::huber;
pub use init::truncated_normal;
pub use layers::{Linear, Mlp};
pub use lstm::{LstmCell, LstmState, ZeroStateLstm};
pub use optimiser::{Adam, AdamConfig};
pub use parameters::{count_parameters, flat_parameters, set_flat_parameters};
