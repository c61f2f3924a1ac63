//! The signal from logs: arrays in, scores, judgements and alarms out.
//!
//! - [`npy`], [`npz`], [`table`], [`parquet`]: files of numbers; [`spool`]: room for more numbers than memory has;
//! - [`source`]: predictions in such files, a part at a time; [`example`]: predictions to try it with;
//! - [`model`]: predictions of a model in ONNX files;
//! - [`scoring`]: from predictions to scores; [`results`]: these and their files; [`summary`]: in words and numbers;
//!   [`draw`]: as pictures;
//! - [`judge`]: how well scores tell states out of distribution from ordinary ones;
//! - [`alarm`]: guards as files.

pub mod alarm;
pub mod draw;
pub mod example;
pub mod judge;
pub mod model;
pub mod npy;
pub mod npz;
pub mod parquet;
pub mod results;
pub mod scoring;
pub mod source;
pub mod spool;
pub mod summary;
pub mod table;
