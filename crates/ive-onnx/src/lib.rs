//! World models from ONNX files as models, value functions and policies of [`ive`].
//!
//! A folder holds `dynamics.onnx` and `value.onnx`, optionally `representation.onnx`, `reward.onnx` and `policy.onnx`, and
//! `model.toml`, which says what the inputs and outputs mean. `docs/onnx.md` shows how to export one from PyTorch.
//!
//! ```
//! use ive::{Rng, ValueEnsemble, unroll};
//! use ive_onnx::{Actions, Array, OnnxModel, States};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let model = OnnxModel::open(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/models/mlp"))?;
//! let states = model.start(&Array::new(vec![2, 6], vec![0.1; 12])?)?;
//! let path = unroll::<States, Actions>(&model, &model, &model, states, 5, &mut Rng::from_seed(0))?;
//! let sigma = ValueEnsemble::implicit(&path).std();
//! assert_eq!(sigma.len(), 2);
//! # Ok(())
//! # }
//! ```
//!
//! # Files from strangers
//!
//! Nothing in a file is executed, and no other file is read. Sizes are checked before anything is read, decoded or
//! allocated ([`Limits`]); loops, functions and operators that are not ONNX's own are refused; the shape of every
//! tensor is worked out before the engine sees the graph. A panic in the engine becomes an [`OnnxError`]. Memory and the number of
//! multiplications of a run are bounded, time is not measured: no thread is started, so whoever needs a deadline runs the program under one.
//! Decision 20 says more.

mod act;
pub mod decode;
mod dense;
mod error;
pub mod export;
mod file;
mod gemm;
mod graph;
mod imagine;
mod limits;
mod model;
mod score;
pub mod settings;
mod shapes;
mod states;
mod wire;
mod write;

pub use error::{OnnxError, Result};
pub use limits::Limits;
pub use model::OnnxModel;
pub use score::{Scored, score, score_actions};
pub use states::{Actions, Array, States};
