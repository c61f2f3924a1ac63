//! From the loss back to every matrix whose gradient is wanted.

use std::ops::Range;

use super::{List, Op, Place, Spread, Tape};
use crate::nn::cpu::{Matrix, losses, matmul_nt, pictures, recurrent, rows};
use crate::nn::graph::{Activation, Loss, Squash, Var};

/// Most matrices into which one operation sends gradients.
const INPUTS: usize = 4;

/// Where an operation writes the gradient of an input.
#[derive(Clone, Debug)]
struct Target {
    place: Range<usize>,
    /// Whether that is beside the gradient, which has other parts already, so that it is still to be added.
    beside: bool,
}

impl Tape<'_> {
    /// Gradients of all matrices; those of outputs of layers end up as gradients before their activation.
    pub(super) fn walk_back(&mut self, loss: Loss) {
        self.m.losses[loss.0 as usize].slope = 1.0;
        self.m.slopes.grow_to(self.m.slopes.used());
        let ops = std::mem::take(&mut self.m.ops);
        for op in ops.iter().rev() {
            self.step_back(op);
        }
        self.m.ops = ops;
    }

    fn step_back(&mut self, op: &Op) {
        match *op {
            Op::Sum { x, over, loss } => self.loss_back(loss, x, over, |_, d| d.fill(1.0)),
            Op::Huber { x, y, over, loss } => {
                let (a, b) = (self.m.node(x).data(), self.m.node(y).data());
                self.loss_back(loss, x, over, |data, d| losses::huber_back(&data[a], &data[b], d));
            }
            Op::Gaussian { x, y, over, loss } => {
                let (a, b) = (self.m.node(x).data(), self.m.node(y).data());
                self.loss_back(loss, x, over, |data, d| losses::gaussian_back(&data[a], &data[b], d));
            }
            Op::CrossEntropy { x, y, over, loss, kept } => {
                let (node, b) = (self.m.node(x), self.m.node(y).data());
                self.loss_back(loss, x, over, |data, d| {
                    losses::cross_entropy_back(&data[kept..][..node.len()], &data[b], node.columns, d);
                });
            }
            Op::Kl { from, to, over, loss } => self.kl_back([from.0, from.1, to.0, to.1], over, loss),
            Op::AtLeast { of, loss, open } => {
                if open {
                    self.m.losses[of.0 as usize].slope += self.m.losses[loss.0 as usize].slope;
                }
            }
            Op::Total { parts, factors, loss } => {
                for k in 0..parts.len {
                    let part = self.m.list(parts)[k] as usize;
                    let slope = self.m.losses[loss.0 as usize].slope;
                    self.m.losses[part].slope += self.m.factors[factors + k] * slope;
                }
            }
            Op::Lstm { gates, past, hidden, cell, kept, squash } => {
                self.lstm_back([gates, past], [hidden, cell], kept, squash);
            }
            ref other => self.matrix_back(other),
        }
    }

    /// Operations with one matrix as their result.
    fn matrix_back(&mut self, op: &Op) {
        let y = op.result();
        let node = self.m.node(y);
        if !node.written {
            return;
        }
        match *op {
            Op::Parameter { .. } => {}
            Op::Boards { .. } => self.through(y, Activation::Relu),
            Op::Dense { x, weight, activation, .. } => {
                self.through(y, activation);
                self.product_back(x, y, weight);
            }
            Op::Readout { x, weight, .. } => {
                let (w, inputs) = (self.parameters(weight), self.m.node(x).columns);
                self.back(y, [x], |_, dy, [dx, ..]| rows::readout_back(dy, w, inputs, dx));
            }
            Op::Conv { x, layer, activation, transposed, .. } => {
                self.through(y, activation);
                self.convolve_back(x, y, &layer, transposed);
            }
            Op::Pool { x, pool, places, .. } => {
                let lists = std::mem::take(&mut self.m.lists);
                let at = &lists[places.start..][..places.len];
                self.back(y, [x], |_, dy, [dx, ..]| pictures::largest_back(dy, at, &pool, dx));
                self.m.lists = lists;
            }
            Op::LayerNorm { x, kept, .. } => self.back(y, [x], |data, dy, [dx, ..]| {
                rows::layer_norm_back(&data[node.data()], &data[kept..], node.columns, dy, dx);
            }),
            Op::Gru { input, recurrent, hidden, kept, .. } => {
                self.gru_back([input, recurrent, hidden], y, kept);
            }
            Op::Activate { x, activation, .. } => {
                self.through(y, activation);
                self.back(y, [x], |_, dy, [dx, ..]| dx.copy_from_slice(dy));
            }
            Op::Columns { parts, .. } => self.columns_back(parts, y),
            Op::Stack { parts, .. } => self.stack_back(parts, y),
            Op::Rows { x, first, .. } => self.rows_back(x, first, y),
            Op::Reshape { x, .. } => self.back(y, [x], |_, dy, [dx, ..]| dx.copy_from_slice(dy)),
            Op::Gather { x, rows, .. } => self.scatter_back(x, y, rows, |list, dy, dx| {
                for (d, &row) in dy.chunks_exact(node.columns).zip(list) {
                    let to = &mut dx[row as usize * node.columns..][..node.columns];
                    to.iter_mut().zip(d).for_each(|(to, d)| *to += d);
                }
            }),
            Op::Pick { x, index, .. } => {
                let columns = self.m.node(x).columns;
                self.scatter_back(x, y, index, |list, dy, dx| {
                    let each = dx.chunks_exact_mut(columns).zip(list).zip(dy);
                    each.for_each(|((dx, &i), d)| dx[i as usize] += d);
                });
            }
            Op::Slice { x, first, .. } => {
                let (columns, nothing) = (self.m.node(x).columns, List { start: 0, len: 0 });
                self.scatter_back(x, y, nothing, |_, dy, dx| {
                    for (dx, dy) in dx.chunks_exact_mut(columns).zip(dy.chunks_exact(node.columns)) {
                        dx[first..].iter_mut().zip(dy).for_each(|(dx, dy)| *dx += dy);
                    }
                });
            }
            Op::Linear { parts, factors, .. } => {
                for k in 0..parts.len {
                    let (x, factor) = (Var(self.m.list(parts)[k]), self.m.factors[factors + k]);
                    self.back(y, [x], |_, dy, [dx, ..]| {
                        dx.iter_mut().zip(dy).for_each(|(dx, dy)| *dx = factor * dy);
                    });
                }
            }
            Op::Mul { a, b, .. } => {
                for (x, other) in [(a, b), (b, a)] {
                    let other = self.m.node(other).data();
                    self.back(y, [x], |data, dy, [dx, ..]| {
                        dx.iter_mut().zip(dy).zip(&data[other]).for_each(|((dx, dy), o)| *dx = dy * o);
                    });
                }
            }
            Op::Normal { mean, std, noise, .. } => {
                self.back(y, [mean], |_, dy, [dx, ..]| dx.copy_from_slice(dy));
                self.back(y, [std], |data, dy, [dx, ..]| {
                    dx.iter_mut().zip(dy).zip(&data[noise..]).for_each(|((dx, dy), e)| *dx = dy * e);
                });
            }
            Op::LogSoftmax { x, .. } => self.back(y, [x], |data, dy, [dx, ..]| {
                losses::log_softmax_back(&data[node.data()], node.columns, dy, dx);
            }),
            Op::RowMean { x, .. } => {
                let columns = self.m.node(x).columns;
                self.back(y, [x], |_, dy, [dx, ..]| {
                    dx.chunks_exact_mut(columns).zip(dy).for_each(|(row, d)| row.fill(d / columns as f32));
                });
            }
            Op::RowStd { x, .. } => {
                let from = self.m.node(x);
                self.back(y, [x], |data, dy, [dx, ..]| {
                    rows::std_back(&data[from.data()], &data[node.data()], from.columns, dy, dx);
                });
            }
            Op::Lstm { .. }
            | Op::Sum { .. }
            | Op::Huber { .. }
            | Op::Gaussian { .. }
            | Op::Kl { .. }
            | Op::CrossEntropy { .. }
            | Op::AtLeast { .. }
            | Op::Total { .. } => unreachable!("losses and LSTMs have gone another way"),
        }
    }

    /// Runs `run(data, dy, dx)`, which writes what flows from `y` into each of `xs`, and adds it to what is there.
    pub(super) fn back<const N: usize>(
        &mut self,
        y: Var,
        xs: [Var; N],
        run: impl FnOnce(&[f32], &[f32], [&mut [f32]; INPUTS]),
    ) {
        let nothing = self.m.node(y).slope;
        self.back_from([self.m.node(y).slope(), nothing..nothing], xs, |data, [dy, _], dx| run(data, dy, dx));
    }

    /// The same from the gradients of two results.
    fn back_from<const N: usize>(
        &mut self,
        [first, second]: [Range<usize>; 2],
        xs: [Var; N],
        run: impl FnOnce(&[f32], [&[f32]; 2], [&mut [f32]; INPUTS]),
    ) {
        if !xs.iter().any(|&x| self.m.node(x).needs) {
            return;
        }
        let mut free = self.m.slopes.used();
        let targets = xs.map(|x| self.target(x, &mut free));
        self.m.slopes.grow_to(free);
        let place = |i: usize| targets.get(i).map_or(free..free, |target| target.place.clone());
        let places = [first, second, place(0), place(1), place(2), place(3)];
        let parts = self.m.slopes.all_mut().get_disjoint_mut(places).expect("gradients do not overlap");
        let [d0, d1, a, b, c, d] = parts;
        run(self.m.data.all(), [d0, d1], [a, b, c, d]);
        for (x, target) in xs.into_iter().zip(targets) {
            self.settle(x, &target);
        }
    }

    /// Where the gradient of `x` is to be written: in its place if it is the first part of it.
    fn target(&mut self, x: Var, free: &mut usize) -> Target {
        let node = &mut self.m.nodes[x.0 as usize];
        if node.needs && !node.written {
            node.written = true;
            return Target { place: node.slope(), beside: false };
        }
        let place = *free..*free + node.len();
        *free = place.end;
        Target { place, beside: node.needs }
    }

    fn settle(&mut self, x: Var, target: &Target) {
        if target.beside {
            let place = self.m.node(x).slope();
            let (old, new) = self.m.slopes.all_mut().split_at_mut(target.place.start);
            old[place].iter_mut().zip(new).for_each(|(old, new)| *old += *new);
        }
    }

    /// The gradient of `x`, zero if there is none yet, to be added to.
    fn ensure(&mut self, x: Var) -> Range<usize> {
        let node = &mut self.m.nodes[x.0 as usize];
        let (place, written) = (node.slope(), node.written);
        node.written = true;
        if !written {
            self.m.slopes.all_mut()[place.clone()].fill(0.0);
        }
        place
    }

    /// The gradient of `x` to be added to, and that of `y`, which lies behind it.
    fn both(&mut self, x: Range<usize>, y: Range<usize>) -> (&mut [f32], &[f32]) {
        let (older, newer) = self.m.slopes.all_mut().split_at_mut(y.start);
        (&mut older[x], &newer[..y.len()])
    }

    /// Turns the gradient after an activation into that before it.
    fn through(&mut self, y: Var, activation: Activation) {
        let node = self.m.node(y);
        rows::through(
            &mut self.m.slopes.all_mut()[node.slope()],
            &self.m.data.all()[node.data()],
            activation,
        );
    }

    /// `dX += dY Wᵀ`.
    fn product_back(&mut self, x: Var, y: Var, weight: Place) {
        let (from, to, w) = (self.m.node(y), self.m.node(x), self.parameters(weight));
        if !to.needs {
            return;
        }
        self.m.nodes[x.0 as usize].written = true;
        let (dx, dy) = self.both(to.slope(), from.slope());
        let (dy, w) = (Matrix::new(dy, from.rows, from.columns), Matrix::new(w, to.columns, from.columns));
        matmul_nt(dx, dy, w, to.written);
    }

    fn lstm_back(&mut self, [gates, past]: [Var; 2], [hidden, cell]: [Var; 2], kept: usize, squash: Squash) {
        let node = self.m.node(hidden);
        if !node.written && !self.m.node(cell).written {
            return;
        }
        let slopes = [self.ensure(hidden), self.ensure(cell)];
        let (size, before) = (node.len(), self.m.node(past).data());
        self.back_from(slopes, [gates, past], |data, [dh, dc], [d_gates, d_past, ..]| {
            let (active, squashed) = data[kept..][..5 * size].split_at(4 * size);
            let kept = recurrent::Kept { active, squashed, past: &data[before] };
            recurrent::lstm_back(kept, node.columns, squash, [dh, dc], [d_gates, d_past]);
        });
    }

    fn gru_back(&mut self, xs: [Var; 3], y: Var, kept: usize) {
        let node = self.m.node(y);
        let [_, hs, h] = xs.map(|x| self.m.node(x).data());
        self.back(y, xs, |data, dy, [d_input, d_recurrent, d_hidden, _]| {
            let past = [&data[kept..][..3 * node.len()], &data[hs], &data[h]];
            recurrent::gru_back(past, node.columns, dy, [d_input, d_recurrent, d_hidden]);
        });
    }

    fn columns_back(&mut self, parts: List, y: Var) {
        let (columns, mut first) = (self.m.node(y).columns, 0);
        for k in 0..parts.len {
            let x = Var(self.m.list(parts)[k]);
            let width = self.m.node(x).columns;
            self.back(y, [x], |_, dy, [dx, ..]| rows::copy_columns(dy, first, columns, dx, 0, width, width));
            first += width;
        }
    }

    fn stack_back(&mut self, parts: List, y: Var) {
        let mut first = self.m.node(y).slope;
        for k in 0..parts.len {
            let x = Var(self.m.list(parts)[k]);
            let end = first + self.m.node(x).len();
            self.back_from([first..end, end..end], [x], |_, [dy, _], [dx, ..]| dx.copy_from_slice(dy));
            first = end;
        }
    }

    fn rows_back(&mut self, x: Var, first: usize, y: Var) {
        let (to, from) = (self.m.node(x), self.m.node(y));
        if !to.needs {
            return;
        }
        self.m.nodes[x.0 as usize].written = true;
        let (dx, dy) = self.both(to.slope(), from.slope());
        let (before, rest) = dx.split_at_mut(first);
        let (here, behind) = rest.split_at_mut(dy.len());
        if to.written {
            here.iter_mut().zip(dy).for_each(|(dx, dy)| *dx += dy);
        } else {
            before.fill(0.0);
            here.copy_from_slice(dy);
            behind.fill(0.0);
        }
    }

    /// For operations that send gradients to some entries only: `run(list, dy, dx)` adds.
    fn scatter_back(&mut self, x: Var, y: Var, list: List, run: impl FnOnce(&[u32], &[f32], &mut [f32])) {
        if !self.m.node(x).needs {
            return;
        }
        let (to, from) = (self.ensure(x), self.m.node(y).slope());
        let (older, newer) = self.m.slopes.all_mut().split_at_mut(from.start);
        run(&self.m.lists[list.start..][..list.len], &newer[..from.len()], &mut older[to]);
    }

    /// `run(data, d)` writes the gradient of the loss of each row; this makes it that of the whole.
    fn loss_back(&mut self, loss: Loss, x: Var, over: Spread, run: impl FnOnce(&[f32], &mut [f32])) {
        self.losses_back([x], over, loss, |data, [d, ..]| run(data, d));
    }

    fn kl_back(&mut self, xs: [Var; 4], over: Spread, loss: Loss) {
        let places = xs.map(|x| self.m.node(x).data());
        self.losses_back(xs, over, loss, |data, d| losses::kl_back(places.map(|place| &data[place]), d));
    }

    fn losses_back<const N: usize>(
        &mut self,
        xs: [Var; N],
        over: Spread,
        loss: Loss,
        run: impl FnOnce(&[f32], [&mut [f32]; INPUTS]),
    ) {
        let slope = self.m.losses[loss.0 as usize].slope;
        if slope == 0.0 {
            return;
        }
        let (rows, nothing) = (self.m.node(xs[0]).rows, self.m.slopes.used());
        self.back_from([nothing..nothing, nothing..nothing], xs, |data, _, mut d| {
            run(data, d.each_mut().map(|d| &mut **d));
            for d in d.into_iter().filter(|d| !d.is_empty()) {
                match over {
                    Spread::Mean => d.iter_mut().for_each(|d| *d = slope * *d / rows as f32),
                    Spread::Sum => d.iter_mut().for_each(|d| *d *= slope),
                    Spread::Weights(place) => rows::scale_rows(d, &data[place..][..rows], slope),
                }
            }
        });
    }
}

impl Op {
    /// The matrix that it made.
    pub(super) fn result(&self) -> Var {
        match *self {
            Op::Parameter { y, .. }
            | Op::Boards { y, .. }
            | Op::Dense { y, .. }
            | Op::Readout { y, .. }
            | Op::Conv { y, .. }
            | Op::Pool { y, .. }
            | Op::LayerNorm { y, .. }
            | Op::Gru { y, .. }
            | Op::Activate { y, .. }
            | Op::Columns { y, .. }
            | Op::Stack { y, .. }
            | Op::Rows { y, .. }
            | Op::Gather { y, .. }
            | Op::Slice { y, .. }
            | Op::Pick { y, .. }
            | Op::Reshape { y, .. }
            | Op::Linear { y, .. }
            | Op::Mul { y, .. }
            | Op::Normal { y, .. }
            | Op::LogSoftmax { y, .. }
            | Op::RowMean { y, .. }
            | Op::RowStd { y, .. } => y,
            Op::Lstm { hidden, .. } => hidden,
            Op::Sum { .. }
            | Op::Huber { .. }
            | Op::Gaussian { .. }
            | Op::Kl { .. }
            | Op::CrossEntropy { .. }
            | Op::AtLeast { .. }
            | Op::Total { .. } => unreachable!("a loss is not a matrix"),
        }
    }
}
