//! Figure 1: value prediction in a Markov reward process with a one-dimensional state.
//!
//! Ten pairs of a state and its value are given. A representation, a value function and a model are trained so that
//! every k-step model-predicted value, k = 0..10, fits the ten values. Where there were data the members of the implicit
//! ensemble agree; elsewhere nothing makes them agree, and their standard deviation tells so. Paper: Fig. 1, App. A.2.1.
//!
//! ```
//! use ive_agents::nn::Device;
//! use ive_agents::toy::{ToyConfig, run};
//! let config = ToyConfig { steps: 20, ..ToyConfig::default() };
//! let outcome = run(&config, 0, &[-3.0, 0.0, 3.0], &Device::cpu(), &mut |_step| true)?;
//! assert_eq!(outcome.after.std().len(), 3);
//! assert!(outcome.losses[19] < outcome.losses[0]);
//! # Ok::<(), ive_agents::toy::ToyError>(())
//! ```

mod config;
mod error;
mod loss;
mod network;
mod outcome;
mod train;

pub use config::{DataLayout, ToyConfig};
pub use error::ToyError;
pub use loss::{Problem, loss, model_predicted_values};
pub use network::{Latents, ToyModel, ToyNetwork};
pub use outcome::{FAR_FROM_DATA, ToyOutcome, sigma_ratio};
pub use train::{Training, run, train};
