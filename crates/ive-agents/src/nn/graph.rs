//! What a network is written with: some thirty operations on matrices, each at the level of a layer.
//!
//! A network is a function over `&mut dyn Graph`, written once. Two executors carry it out: the [tape](super::cpu::tape) on
//! the processor, and the tensor [engine](super::engine), which is the reference in tests and the way to other devices.
//!
//! - A [`Var`] is a matrix `[rows, columns]`, row by row; a [`Loss`] is a number that somebody wants small.
//! - Parameters come as [`Parameters`], flat vectors in the order of a [`Layout`](super::Layout); an operation names the [`Block`] and
//!   the [`Slot`] of its weights. A frozen block costs no gradients: an actor learns through a model that stays as it is.
//! - Operations are carried out at once. [`backward`](Graph::backward) then walks back, once per graph.
//!
//! ```
//! use ive_agents::nn::cpu::tape::Memory;
//! use ive_agents::nn::{Activation, Block, Dense, Graph, Layout, Over, Parameters};
//!
//! let mut layout = Layout::default();
//! let layer = Dense::new(&mut layout, ["w", "b"], [2, 1], Activation::Linear);
//! let x = [3.0, -1.0, 0.5];                                     // w = (3, −1), b = 0.5
//! let (mut memory, mut gradient) = (Memory::default(), [0.0; 3]);
//! let parameters = [Parameters::trained(&x)];
//! let mut g = memory.tape(&parameters);
//! let seen = g.input(&[1.0, 2.0], 2);
//! let wanted = g.input(&[0.5], 1);
//! let y = g.dense(Block(0), &layer, seen);                      // 3 − 2 + 0.5
//! let loss = g.gaussian(y, wanted, Over::Mean);                 // ½ (1.5 − 0.5)²
//! assert_eq!(g.loss(loss), 0.5);
//! g.backward(loss, &mut [&mut gradient]);
//! assert_eq!(gradient, [1.0, 2.0, 1.0]);
//! ```

use std::ops::Range;

use super::cpu::board::Board;
use super::layers::{Conv, Dense, Pool, Readout};
use super::layout::Slot;

/// A matrix of a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Var(pub(super) u32);

/// A number of a graph, in double precision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loss(pub(super) u32);

/// Which of the parameters that a graph was given, by its place among them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block(pub usize);

/// Parameters of a graph.
#[derive(Clone, Copy, Debug)]
pub struct Parameters<'a> {
    pub(super) values: &'a [f32],
    pub(super) trained: bool,
}

impl<'a> Parameters<'a> {
    /// Parameters whose gradient is wanted.
    pub fn trained(values: &'a [f32]) -> Self {
        Self { values, trained: true }
    }

    /// Parameters that are only used.
    pub fn frozen(values: &'a [f32]) -> Self {
        Self { values, trained: false }
    }
}

/// What becomes of each number that a layer has summed up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activation {
    /// x.
    Linear,
    /// max(x, 0).
    Relu,
    /// x above zero, `eˣ − 1` below.
    Elu,
    /// tanh x.
    Tanh,
    /// `σ(x) = 1 / (1 + e⁻ˣ)`.
    Sigmoid,
    /// `ln(1 + eˣ)`.
    Softplus,
}

/// What an LSTM makes of its cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Squash {
    /// tanh c'.
    Tanh,
    /// max(c', 0).
    Relu,
}

/// How the losses `l` of rows become one number.
#[derive(Clone, Copy, Debug)]
pub enum Over<'a> {
    /// `Σ l / rows`.
    Mean,
    /// `Σ l`.
    Sum,
    /// `Σ w l`, a weight for each row.
    Weights(&'a [f32]),
}

/// The operations. Rows are called i, columns j. Shapes that do not fit are mistakes of the network: they panic.
pub trait Graph {
    // --- what goes in

    /// A constant, row by row.
    fn input(&mut self, x: &[f32], columns: usize) -> Var;
    /// A matrix whose gradient is wanted: actions of a plan, say.
    fn variable(&mut self, x: &[f32], columns: usize) -> Var;
    /// A tensor of parameters as a matrix; its last axis makes the columns.
    fn parameter(&mut self, p: Block, slot: &Slot) -> Var;
    /// `relu(W * x + b)` for boards of bits: the first layer for MinAtar, `[boards, FEATURES]`.
    fn boards(&mut self, p: Block, board: &Board, weight: &Slot, bias: &Slot, bits: &[u64]) -> Var;

    // --- layers

    /// `act(x W + b)`.
    fn dense(&mut self, p: Block, layer: &Dense, x: Var) -> Var;
    /// `act(x W + b + T[aᵢ])`: the same as one more input, the action in ones and zeros.
    fn dense_with_action(&mut self, p: Block, layer: &Dense, table: &Slot, x: Var, actions: &[u8]) -> Var;
    /// `x · W[j] + b[j]`, for few outputs.
    fn readout(&mut self, p: Block, layer: &Readout, x: Var) -> Var;
    /// `act(W * x + b)`, pictures `[height, width, channel]` in rows.
    fn conv(&mut self, p: Block, layer: &Conv, x: Var) -> Var;
    /// `act(Wᵀ * x + b)`: the way back of the picture of a convolution, made a layer.
    fn conv_transposed(&mut self, p: Block, layer: &Conv, x: Var) -> Var;
    /// The largest of each window of a picture.
    fn max_pool(&mut self, pool: &Pool, x: Var) -> Var;
    /// `(x − mean) / √(variance + 1e-5)` of each row (Ba et al., 2016), without scale and shift.
    fn layer_norm(&mut self, x: Var) -> Var;
    /// An LSTM from its gates i, g, f, o side by side: `c' = σ(f + 1) c + σ(i) tanh(g)`, `h' = σ(o) squash(c')`; gives h' and c'.
    /// No cell is a cell of zeros.
    fn lstm(&mut self, gates: Var, cell: Option<Var>, squash: Squash) -> (Var, Var);
    /// A GRU from its two products, each with parts u, r, c side by side (Keras, reset after the product):
    /// `u = σ(xᵤ + hᵤ)`, `r = σ(xᵣ + hᵣ)`, `h' = u h + (1 − u) tanh(x_c + r h_c)`.
    fn gru(&mut self, input: Var, recurrent: Var, hidden: Var) -> Var;
    /// `act(x)`.
    fn activate(&mut self, x: Var, activation: Activation) -> Var;

    // --- shapes

    /// Matrices side by side.
    fn columns(&mut self, parts: &[Var]) -> Var;
    /// Matrices one below the other.
    fn stack(&mut self, parts: &[Var]) -> Var;
    /// Some rows.
    fn rows(&mut self, x: Var, rows: Range<usize>) -> Var;
    /// Rows by number, any number of times.
    fn gather(&mut self, x: Var, rows: &[u32]) -> Var;
    /// Some columns.
    fn slice(&mut self, x: Var, columns: Range<usize>) -> Var;
    /// One entry of each row: `x[i, indexᵢ]`.
    fn pick(&mut self, x: Var, index: &[u8]) -> Var;
    /// The same numbers in rows of another length.
    fn reshape(&mut self, x: Var, columns: usize) -> Var;

    // --- entry by entry

    /// `Σ sₖ xₖ + constant`: sums, differences, scales.
    fn linear(&mut self, terms: &[(f32, Var)], constant: f32) -> Var;
    /// `x y`.
    fn mul(&mut self, x: Var, y: Var) -> Var;
    /// `m + s ε`, a normal deviate from given noise.
    fn normal(&mut self, mean: Var, std: Var, noise: &[f32]) -> Var;
    /// The same numbers, through which nothing flows back.
    fn stop(&mut self, x: Var) -> Var;

    // --- row by row

    /// `log softmax(x)`.
    fn log_softmax(&mut self, x: Var) -> Var;
    /// The mean of each row.
    fn row_mean(&mut self, x: Var) -> Var;
    /// The standard deviation of each row, `√(Σ (x − mean)² / columns)`; where it is zero nothing flows back.
    fn row_std(&mut self, x: Var) -> Var;

    // --- losses: gradients flow into the first argument (both distributions of `kl`), never into a target

    /// `Σⱼ x`.
    fn sum(&mut self, x: Var, over: Over<'_>) -> Loss;
    /// `Σⱼ Huber(x − y)`, threshold one.
    fn huber(&mut self, x: Var, y: Var, over: Over<'_>) -> Loss;
    /// `½ Σⱼ (x − y)²`: minus the log-probability of a normal of unit variance, up to a constant.
    fn gaussian(&mut self, x: Var, y: Var, over: Over<'_>) -> Loss;
    /// `KL(N(m, s²) ‖ N(m', s'²)) = Σⱼ ln(s'/s) + (s² + (m − m')²) / (2 s'²) − ½`, each given as (mean, std).
    fn kl(&mut self, from: (Var, Var), to: (Var, Var), over: Over<'_>) -> Loss;
    /// `−Σⱼ y log softmax(x)ⱼ`; targets y need not add up to one.
    fn cross_entropy(&mut self, x: Var, y: Var, over: Over<'_>) -> Loss;
    /// `max(loss, bound)`: free nats. Below the bound nothing flows back.
    fn at_least(&mut self, loss: Loss, bound: f64) -> Loss;
    /// `Σ wₖ lossₖ`.
    fn total(&mut self, terms: &[(f32, Loss)]) -> Loss;

    // --- what comes out

    /// Rows and columns.
    fn shape(&self, x: Var) -> [usize; 2];
    /// Writes the numbers of a matrix into `out`.
    fn read(&self, x: Var, out: &mut Vec<f32>);
    /// A loss.
    fn loss(&self, loss: Loss) -> f64;
    /// Writes the gradient of a loss with respect to each trained block, in their order. Once per graph.
    fn backward(&mut self, loss: Loss, gradients: &mut [&mut [f32]]);
    /// After [`backward`](Self::backward): the gradient with respect to a [`variable`](Self::variable).
    fn gradient(&self, x: Var, out: &mut Vec<f32>);
}
