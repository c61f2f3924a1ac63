//! The graph on the tensor engine: the reference of the [tape](super::cpu::tape) in tests, in double precision if the
//! device has it, and the way to every device that the engine knows.
//!
//! Only this file and its folder, the device and the toy name the engine. It departs from what the papers assume in some places:
//!
//! | the engine | here |
//! |---|---|
//! | its ELU has a NaN gradient above 88.7 | `engine/functions.rs` |
//! | it draws initial weights from one generator for the whole process | parameters come from outside |
//! | a forward pass that is never followed by a backward pass keeps its graph | so does this, as long as something is trained |

mod functions;
mod operations;

use std::ops::Range;

use burn::tensor::{Gradients, Tensor};

use super::Device;
use super::device::to_host;
use super::graph::{Block, Loss, Over, Parameters, Var};
use super::layers::Dense;
use super::layout::Slot;
pub(super) use functions::elu;

/// A graph on a device of the tensor engine.
pub struct Engine {
    device: Device,
    blocks: Vec<(Vec<f64>, bool)>,
    /// Tensors of parameters that were used so far.
    leaves: Vec<Leaf>,
    vars: Vec<Tensor<2>>,
    losses: Vec<Tensor<1>>,
    gradients: Option<Gradients>,
}

#[derive(Debug)]
struct Leaf {
    block: usize,
    range: Range<usize>,
    tensor: Tensor<1>,
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").field("device", &self.device).finish_non_exhaustive()
    }
}

impl Engine {
    /// A graph over these parameters.
    pub fn new(device: &Device, parameters: &[Parameters<'_>]) -> Self {
        let wide = |p: &Parameters<'_>| (p.values.iter().copied().map(f64::from).collect(), p.trained);
        Self::wide(device, parameters.iter().map(wide).collect())
    }

    /// The same with parameters in double precision, each block with whether it is trained.
    pub fn wide(device: &Device, blocks: Vec<(Vec<f64>, bool)>) -> Self {
        Self {
            device: device.recording(),
            blocks,
            leaves: Vec::new(),
            vars: Vec::new(),
            losses: Vec::new(),
            gradients: None,
        }
    }

    /// The numbers of a matrix, as precise as they are.
    pub fn numbers(&self, x: Var) -> Vec<f64> {
        to_host(self.var(x))
    }

    /// Walks back from a loss: the gradient of each trained block, as precise as it is.
    pub fn backward_wide(&mut self, loss: Loss) -> Vec<Vec<f64>> {
        let gradients = self.losses[loss.0 as usize].clone().backward();
        let trained = self.blocks.iter().enumerate().filter(|(_, block)| block.1);
        let each = trained.map(|(index, (values, _))| {
            let mut flat = vec![0.0; values.len()];
            for leaf in self.leaves.iter().filter(|leaf| leaf.block == index) {
                if let Some(gradient) = leaf.tensor.grad(&gradients) {
                    let part = flat[leaf.range.clone()].iter_mut().zip(to_host(gradient));
                    part.for_each(|(to, from)| *to += from);
                }
            }
            flat
        });
        let flat = each.collect();
        self.gradients = Some(gradients);
        flat
    }

    fn var(&self, x: Var) -> Tensor<2> {
        self.vars[x.0 as usize].clone()
    }

    fn keep(&mut self, tensor: Tensor<2>) -> Var {
        self.vars.push(tensor);
        Var(self.vars.len() as u32 - 1)
    }

    fn keep_loss(&mut self, tensor: Tensor<1>) -> Loss {
        self.losses.push(tensor);
        Loss(self.losses.len() as u32 - 1)
    }

    fn matrix(&self, x: &[f32], columns: usize) -> Tensor<2> {
        let wide: Vec<f64> = x.iter().copied().map(f64::from).collect();
        self.device.matrix(&wide, [x.len() / columns, columns])
    }

    /// A tensor of parameters in rows of this length; its gradient is collected if its block is trained.
    fn tensor(&mut self, p: Block, slot: &Slot, columns: usize) -> Tensor<2> {
        let rows = slot.range.len() / columns;
        let known = self.leaves.iter().find(|leaf| leaf.block == p.0 && leaf.range == slot.range);
        if let Some(leaf) = known {
            return leaf.tensor.clone().reshape([rows, columns]);
        }
        let (values, trained) = &self.blocks[p.0];
        let tensor = self.device.vector(&values[slot.range.clone()]);
        let tensor = if *trained { tensor.require_grad() } else { tensor };
        self.leaves.push(Leaf { block: p.0, range: slot.range.clone(), tensor: tensor.clone() });
        tensor.reshape([rows, columns])
    }

    /// Rows of zeros with a one at each index.
    fn one_hot(&self, index: &[u8], columns: usize) -> Tensor<2> {
        let mut rows = vec![0.0; index.len() * columns];
        for (row, &i) in rows.chunks_exact_mut(columns).zip(index) {
            row[usize::from(i)] = 1.0;
        }
        self.device.matrix(&rows, [index.len(), columns])
    }

    fn product(&mut self, p: Block, layer: &Dense, x: Var) -> Tensor<2> {
        let y = self.var(x).matmul(self.tensor(p, &layer.weight, layer.outputs()));
        match &layer.bias {
            Some(bias) => y + self.tensor(p, bias, layer.outputs()),
            None => y,
        }
    }

    /// A loss from those of rows, `[rows, columns]` before they are added up.
    fn over(&mut self, each: Tensor<2>, over: Over<'_>) -> Loss {
        let each = each.sum_dim(1);
        let loss = match over {
            Over::Mean => each.mean(),
            Over::Sum => each.sum(),
            Over::Weights(weights) => (each * self.matrix(weights, 1)).sum(),
        };
        self.keep_loss(loss)
    }
}
