//! The operations.

use std::ops::Range;

use burn::tensor::activation::{log_softmax, relu, sigmoid};
use burn::tensor::{Int, Tensor};

use super::Engine;
use super::functions::{activated, huber};
use crate::nn::cpu::board::{Board, FEATURES, FILTERS, SIZE};
use crate::nn::device::to_host;
use crate::nn::graph::{Activation, Block, Graph, Loss, Over, Squash, Var};
use crate::nn::layers::{Conv, Dense, Pool, Readout};
use crate::nn::layout::Slot;
use crate::nn::pictures;

impl Graph for Engine {
    fn input(&mut self, x: &[f32], columns: usize) -> Var {
        let x = self.matrix(x, columns);
        self.keep(x)
    }

    fn variable(&mut self, x: &[f32], columns: usize) -> Var {
        let x = self.matrix(x, columns).require_grad();
        self.keep(x)
    }

    fn parameter(&mut self, p: Block, slot: &Slot) -> Var {
        let tensor = self.tensor(p, slot, slot.shape.last().copied().unwrap_or(1));
        self.keep(tensor)
    }

    fn boards(&mut self, p: Block, board: &Board, weight: &Slot, bias: &Slot, bits: &[u64]) -> Var {
        let cells: Vec<f64> = board.unpack_all(bits).into_iter().map(f64::from).collect();
        let length = SIZE * SIZE * board.channels();
        let pool = Pool {
            picture: [SIZE, SIZE, board.channels()],
            window: [3, 3],
            stride: [1, 1],
            padding: [[0, 0]; 2],
        };
        let x = self.device.matrix(&cells, [cells.len() / length, length]);
        let (w, b) = (self.tensor(p, weight, FILTERS), self.tensor(p, bias, FILTERS));
        let y = relu(pictures::conv(x, w, b, &pool));
        debug_assert_eq!(y.dims()[1], FEATURES);
        self.keep(y)
    }

    fn dense(&mut self, p: Block, layer: &Dense, x: Var) -> Var {
        let y = self.product(p, layer, x);
        self.keep(activated(y, layer.activation))
    }

    fn dense_with_action(&mut self, p: Block, layer: &Dense, table: &Slot, x: Var, actions: &[u8]) -> Var {
        let (count, columns) = (table.shape[0], layer.outputs());
        let rows = self.one_hot(actions, count).matmul(self.tensor(p, table, columns));
        let y = self.product(p, layer, x) + rows;
        self.keep(activated(y, layer.activation))
    }

    fn readout(&mut self, p: Block, layer: &Readout, x: Var) -> Var {
        let outputs = layer.outputs();
        let w = self.tensor(p, &layer.weight, layer.weight.range.len() / outputs);
        let y = self.var(x).matmul(w.transpose()) + self.tensor(p, &layer.bias, outputs);
        self.keep(y)
    }

    fn conv(&mut self, p: Block, layer: &Conv, x: Var) -> Var {
        let filters = layer.filters();
        let (w, b) = (self.tensor(p, &layer.weight, filters), self.tensor(p, &layer.bias, filters));
        let y = pictures::conv(self.var(x), w, b, &layer.pool);
        self.keep(activated(y, layer.activation))
    }

    fn conv_transposed(&mut self, p: Block, layer: &Conv, x: Var) -> Var {
        let w = self.tensor(p, &layer.weight, layer.filters());
        let b = self.tensor(p, &layer.bias, layer.pool.picture[2]);
        let y = pictures::conv_transposed(self.var(x), w, b, &layer.pool);
        self.keep(activated(y, layer.activation))
    }

    fn max_pool(&mut self, pool: &Pool, x: Var) -> Var {
        let y = pictures::largest(self.var(x), pool);
        self.keep(y)
    }

    fn layer_norm(&mut self, x: Var) -> Var {
        let x = self.var(x);
        let apart = x.clone() - x.mean_dim(1);
        let variance = apart.clone().square().mean_dim(1);
        self.keep(apart / variance.add_scalar(1e-5).sqrt())
    }

    fn lstm(&mut self, gates: Var, cell: Option<Var>, squash: Squash) -> (Var, Var) {
        let gates = self.var(gates);
        let units = gates.dims()[1] / 4;
        let gate = |index: usize| gates.clone().narrow(1, index * units, units);
        let written = sigmoid(gate(0)) * gate(1).tanh();
        let new = match cell {
            Some(cell) => sigmoid(gate(2).add_scalar(1.0)) * self.var(cell) + written,
            None => written,
        };
        let squashed = match squash {
            Squash::Tanh => new.clone().tanh(),
            Squash::Relu => relu(new.clone()),
        };
        let hidden = sigmoid(gate(3)) * squashed;
        (self.keep(hidden), self.keep(new))
    }

    fn gru(&mut self, input: Var, recurrent: Var, hidden: Var) -> Var {
        let (x, h, old) = (self.var(input), self.var(recurrent), self.var(hidden));
        let units = old.dims()[1];
        let part = |of: &Tensor<2>, index: usize| of.clone().narrow(1, index * units, units);
        let update = sigmoid(part(&x, 0) + part(&h, 0));
        let reset = sigmoid(part(&x, 1) + part(&h, 1));
        let candidate = (part(&x, 2) + reset * part(&h, 2)).tanh();
        let y = update.clone() * old + update.neg().add_scalar(1.0) * candidate;
        self.keep(y)
    }

    fn activate(&mut self, x: Var, activation: Activation) -> Var {
        let y = activated(self.var(x), activation);
        self.keep(y)
    }

    fn columns(&mut self, parts: &[Var]) -> Var {
        let y = Tensor::cat(parts.iter().map(|&x| self.var(x)).collect(), 1);
        self.keep(y)
    }

    fn stack(&mut self, parts: &[Var]) -> Var {
        let y = Tensor::cat(parts.iter().map(|&x| self.var(x)).collect(), 0);
        self.keep(y)
    }

    fn rows(&mut self, x: Var, rows: Range<usize>) -> Var {
        let y = self.var(x).narrow(0, rows.start, rows.len());
        self.keep(y)
    }

    fn gather(&mut self, x: Var, rows: &[u32]) -> Var {
        let index: Vec<i32> = rows.iter().map(|&row| row as i32).collect();
        let x = self.var(x);
        let index = Tensor::<1, Int>::from_data(&*index, &x.device());
        self.keep(x.select(0, index))
    }

    fn slice(&mut self, x: Var, columns: Range<usize>) -> Var {
        let y = self.var(x).narrow(1, columns.start, columns.len());
        self.keep(y)
    }

    fn pick(&mut self, x: Var, index: &[u8]) -> Var {
        let x = self.var(x);
        let ones = self.one_hot(index, x.dims()[1]);
        self.keep((x * ones).sum_dim(1))
    }

    fn reshape(&mut self, x: Var, columns: usize) -> Var {
        let x = self.var(x);
        let [rows, old] = x.dims();
        self.keep(x.reshape([rows * old / columns, columns]))
    }

    fn linear(&mut self, terms: &[(f32, Var)], constant: f32) -> Var {
        let scaled = terms.iter().map(|&(factor, x)| self.var(x).mul_scalar(f64::from(factor)));
        let sum = scaled.reduce(|a, b| a + b).expect("a sum has terms");
        self.keep(sum.add_scalar(f64::from(constant)))
    }

    fn mul(&mut self, x: Var, y: Var) -> Var {
        let product = self.var(x) * self.var(y);
        self.keep(product)
    }

    fn normal(&mut self, mean: Var, std: Var, noise: &[f32]) -> Var {
        let [_, columns] = self.shape(mean);
        let y = self.var(mean) + self.var(std) * self.matrix(noise, columns);
        self.keep(y)
    }

    fn stop(&mut self, x: Var) -> Var {
        let y = self.var(x).detach();
        self.keep(y)
    }

    fn log_softmax(&mut self, x: Var) -> Var {
        let y = log_softmax(self.var(x), 1);
        self.keep(y)
    }

    fn row_mean(&mut self, x: Var) -> Var {
        let y = self.var(x).mean_dim(1);
        self.keep(y)
    }

    fn row_std(&mut self, x: Var) -> Var {
        let x = self.var(x);
        let variance = (x.clone() - x.mean_dim(1)).square().mean_dim(1);
        // A root has no slope at zero; a number too small to matter has none to give.
        self.keep(variance.clamp_min(1e-30).sqrt())
    }

    fn sum(&mut self, x: Var, over: Over<'_>) -> Loss {
        self.over(self.var(x), over)
    }

    fn huber(&mut self, x: Var, y: Var, over: Over<'_>) -> Loss {
        self.over(huber(self.var(x) - self.var(y).detach()), over)
    }

    fn gaussian(&mut self, x: Var, y: Var, over: Over<'_>) -> Loss {
        self.over((self.var(x) - self.var(y).detach()).square().mul_scalar(0.5), over)
    }

    fn kl(&mut self, from: (Var, Var), to: (Var, Var), over: Over<'_>) -> Loss {
        let [m, s, to_m, to_s] = [from.0, from.1, to.0, to.1].map(|x| self.var(x));
        let spread = s.clone().square() + (m - to_m).square();
        let each = (to_s.clone() / s).log() + spread / to_s.square().mul_scalar(2.0);
        self.over(each.sub_scalar(0.5), over)
    }

    fn cross_entropy(&mut self, x: Var, y: Var, over: Over<'_>) -> Loss {
        self.over((log_softmax(self.var(x), 1) * self.var(y).detach()).neg(), over)
    }

    fn at_least(&mut self, loss: Loss, bound: f64) -> Loss {
        let loss = self.losses[loss.0 as usize].clone().clamp_min(bound);
        self.keep_loss(loss)
    }

    fn total(&mut self, terms: &[(f32, Loss)]) -> Loss {
        let scaled = terms.iter().map(|&(w, l)| self.losses[l.0 as usize].clone().mul_scalar(f64::from(w)));
        let sum = scaled.reduce(|a, b| a + b).expect("a total has terms");
        self.keep_loss(sum)
    }

    fn shape(&self, x: Var) -> [usize; 2] {
        self.vars[x.0 as usize].dims()
    }

    fn read(&self, x: Var, out: &mut Vec<f32>) {
        out.clear();
        out.extend(self.numbers(x).into_iter().map(|x| x as f32));
    }

    fn loss(&self, loss: Loss) -> f64 {
        to_host(self.losses[loss.0 as usize].clone())[0]
    }

    fn backward(&mut self, loss: Loss, gradients: &mut [&mut [f32]]) {
        let wide = self.backward_wide(loss);
        assert_eq!(wide.len(), gradients.len(), "a gradient for each trained block");
        for (to, from) in gradients.iter_mut().zip(wide) {
            assert_eq!(to.len(), from.len(), "a gradient for each parameter");
            to.iter_mut().zip(from).for_each(|(to, from)| *to = from as f32);
        }
    }

    fn gradient(&self, x: Var, out: &mut Vec<f32>) {
        let gradients = self.gradients.as_ref().expect("the way back was walked");
        let gradient = self.vars[x.0 as usize].grad(gradients);
        let [rows, columns] = self.shape(x);
        out.clear();
        match gradient {
            Some(gradient) => out.extend(to_host(gradient).into_iter().map(|x| x as f32)),
            None => out.resize(rows * columns, 0.0),
        }
    }
}
