//! The graph on the processor: every operation is carried out at once with the kernels of this folder and noted on a tape.
//!
//! The way back walks over the tape twice. First from the end to the beginning, for the gradients of matrices
//! (`backward.rs`); then, tensor by tensor, for those of parameters (`weights.rs`), where the uses of a tensor are added
//! up in the order in which they were made, as if their rows stood below one another. So a sum over depths of a recurrent
//! network has the bits of one large product, however the depths are cut.
//!
//! A [`Memory`] is made once and used again by every graph: in the steady state nothing is allocated.

mod arena;
mod backward;
mod forward;
mod nodes;
mod pictures;
mod recurrent;
mod weights;

use std::ops::Range;

use arena::Arena;

use super::board::Board;
use crate::nn::graph::{Activation, Block, Loss, Parameters, Squash, Var};
use crate::nn::layers::Pool;
use crate::nn::layout::Slot;

/// Matrices, their gradients and the tape.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    data: Arena,
    /// Gradients of matrices.
    slopes: Arena,
    nodes: Vec<Node>,
    losses: Vec<LossNode>,
    ops: Vec<Op>,
    /// Actions, numbers of rows, terms of sums.
    lists: Vec<u32>,
    factors: Vec<f32>,
    boards: Vec<u64>,
    uses: Vec<weights::Use>,
    segments: Vec<super::matmul::Segment>,
    /// Windows of pictures.
    windows: Vec<f32>,
}

/// A graph on the processor.
#[derive(Debug)]
pub struct Tape<'a> {
    m: &'a mut Memory,
    parameters: &'a [Parameters<'a>],
}

/// A matrix: its shape, where it begins in `data`, and where its gradient begins in `slopes`. Gradients of inputs of an
/// operation lie before those of its outputs.
#[derive(Clone, Copy, Debug)]
struct Node {
    rows: usize,
    columns: usize,
    data: usize,
    slope: usize,
    /// Whether a gradient is wanted.
    needs: bool,
    /// Whether there is one yet.
    written: bool,
}

impl Node {
    fn len(self) -> usize {
        self.rows * self.columns
    }

    fn data(self) -> Range<usize> {
        self.data..self.data + self.len()
    }

    fn slope(self) -> Range<usize> {
        self.slope..self.slope + self.len()
    }
}

/// A number and, on the way back, the gradient with respect to it.
#[derive(Clone, Copy, Debug)]
struct LossNode {
    value: f64,
    slope: f32,
    needs: bool,
}

/// A tensor of parameters.
#[derive(Clone, Copy, Debug)]
struct Place {
    block: usize,
    start: usize,
    len: usize,
}

impl Place {
    fn new(p: Block, slot: &Slot) -> Self {
        Self { block: p.0, start: slot.range.start, len: slot.range.len() }
    }
}

/// [`Over`](crate::nn::Over) on the tape; weights lie in `data`.
#[derive(Clone, Copy, Debug)]
enum Spread {
    Mean,
    Sum,
    Weights(usize),
}

/// What was done. `kept` is the place in `data` of what the way back needs.
#[derive(Clone, Debug)]
enum Op {
    Parameter { place: Place, y: Var },
    Boards { board: Board, weight: Place, bias: Place, bits: usize, y: Var },
    Dense { x: Var, y: Var, weight: Place, bias: Option<Place>, table: Option<Table>, activation: Activation },
    Readout { x: Var, y: Var, weight: Place, bias: Place },
    Conv { x: Var, y: Var, layer: pictures::Layer, activation: Activation, transposed: bool },
    Pool { x: Var, y: Var, pool: Pool, places: List },
    LayerNorm { x: Var, y: Var, kept: usize },
    Lstm { gates: Var, past: Var, hidden: Var, cell: Var, kept: usize, squash: Squash },
    Gru { input: Var, recurrent: Var, hidden: Var, y: Var, kept: usize },
    Activate { x: Var, y: Var, activation: Activation },
    Columns { parts: List, y: Var },
    Stack { parts: List, y: Var },
    Rows { x: Var, y: Var, first: usize },
    Gather { x: Var, y: Var, rows: List },
    Slice { x: Var, y: Var, first: usize },
    Pick { x: Var, y: Var, index: List },
    Reshape { x: Var, y: Var },
    Linear { parts: List, factors: usize, y: Var },
    Mul { a: Var, b: Var, y: Var },
    Normal { mean: Var, std: Var, y: Var, noise: usize },
    LogSoftmax { x: Var, y: Var },
    RowMean { x: Var, y: Var },
    RowStd { x: Var, y: Var },
    Sum { x: Var, over: Spread, loss: Loss },
    Huber { x: Var, y: Var, over: Spread, loss: Loss },
    Gaussian { x: Var, y: Var, over: Spread, loss: Loss },
    Kl { from: (Var, Var), to: (Var, Var), over: Spread, loss: Loss },
    CrossEntropy { x: Var, y: Var, over: Spread, loss: Loss, kept: usize },
    AtLeast { of: Loss, loss: Loss, open: bool },
    Total { parts: List, factors: usize, loss: Loss },
}

/// A part of `lists`.
#[derive(Clone, Copy, Debug)]
struct List {
    start: usize,
    len: usize,
}

/// Rows of a table that are added by action.
#[derive(Clone, Copy, Debug)]
struct Table {
    place: Place,
    actions: List,
}

impl Memory {
    /// A graph over these parameters. The one before is forgotten.
    pub fn tape<'a>(&'a mut self, parameters: &'a [Parameters<'a>]) -> Tape<'a> {
        self.data.clear();
        self.slopes.clear();
        self.nodes.clear();
        self.losses.clear();
        self.ops.clear();
        self.lists.clear();
        self.factors.clear();
        self.boards.clear();
        Tape { m: self, parameters }
    }

    /// Writes over everything that a graph left behind, for tests.
    pub fn spoil(&mut self) {
        self.data.spoil();
        self.slopes.spoil();
    }

    fn node(&self, x: Var) -> Node {
        self.nodes[x.0 as usize]
    }

    /// The numbers of a matrix.
    fn values(&self, x: Var) -> &[f32] {
        &self.data.all()[self.node(x).data()]
    }

    fn list(&self, list: List) -> &[u32] {
        &self.lists[list.start..][..list.len]
    }
}
