//! What goes into a model: arrays, batches of states, actions.

use std::sync::Arc;

use tract_onnx::prelude::Tensor;

use crate::error::{OnnxError, Result};

/// Numbers in row-major order, with a shape: observations or a tensor of states, as a caller has them.
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    shape: Vec<usize>,
    data: Vec<f32>,
}

impl Array {
    /// # Errors
    /// If the numbers are not as many as the shape says.
    pub fn new(shape: Vec<usize>, data: Vec<f32>) -> Result<Self> {
        let count = shape.iter().try_fold(1usize, |all, &n| all.checked_mul(n));
        if count == Some(data.len()) {
            return Ok(Self { shape, data });
        }
        let reason = format!("{} numbers for the shape {shape:?}", data.len());
        Err(OnnxError::Shape { graph: "input".to_owned(), what: "array".to_owned(), reason })
    }

    /// Lengths of the axes.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The numbers.
    pub fn data(&self) -> &[f32] {
        &self.data
    }
}

/// A batch of states: one tensor for each entry of `[states]` in `model.toml`, in the order of their names.
///
/// Cloning shares the tensors.
#[derive(Clone, Debug)]
pub struct States {
    pub(crate) rows: usize,
    pub(crate) tensors: Vec<Arc<Tensor>>,
}

impl States {
    /// How many states there are.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }
}

/// One action for each state of a batch.
#[derive(Clone, Debug, PartialEq)]
pub enum Actions {
    /// The model takes none.
    None,
    /// Numbers of actions, counted from 0.
    Discrete(Vec<usize>),
    /// Vectors one after the other, `[b, size]`.
    Continuous(Vec<f32>),
}
