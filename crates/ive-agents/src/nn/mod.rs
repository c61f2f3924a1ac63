//! Networks: how they are written, and who carries them out.
//!
//! - [`graph`]: the operations, over which every network is written once; [`layers`], [`layout`]: its parameters;
//! - [`cpu`]: the executor for the processor; [`engine`]: the executor on the tensor engine, for tests and other devices;
//!   [`Executor`]: either, by the name of a [`Backend`].
//!
//! Nothing in here knows an agent. Only [`engine`], the device and the modules of the toy know the tensor engine.

mod backend;
pub mod cpu;
mod device;
pub mod engine;
mod executor;
mod gradients;
pub mod graph;
mod init;
pub mod layers;
pub mod layout;
mod lstm;
pub mod members;
mod modules;
mod optimiser;
mod parameters;
mod pictures;

pub use backend::Backend;
pub(crate) use device::to_host;
pub use device::{Device, Precision};
pub use engine::Engine;
use engine::elu;
pub use executor::Executor;
pub use gradients::Gradients;
pub use graph::{Activation, Block, Graph, Loss, Over, Parameters, Squash, Var};
pub use init::truncated_normal;
pub use layers::{Conv, Dense, Pool, Readout};
pub use layout::{Layout, Slot};
pub use lstm::ZeroStateLstm;
pub use modules::{Linear, Mlp};
pub use optimiser::{Adam, AdamConfig};
pub use parameters::{count_parameters, flat_parameters, set_flat_parameters};
