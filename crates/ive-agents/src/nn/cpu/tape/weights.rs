//! Gradients of parameters, once those of all matrices are there.

use super::{Op, Place, Tape};
use crate::nn::cpu::matmul::{Segment, matmul_tn_of};
use crate::nn::cpu::rows;
use crate::nn::graph::Var;

/// An operation that used a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Use {
    block: usize,
    start: usize,
    /// Its place on the tape: uses of a tensor are added up in this order.
    op: usize,
    len: usize,
    part: Part,
}

/// As what it was used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Weight,
    Bias,
    Table,
}

impl Tape<'_> {
    /// Writes the gradient of each trained block.
    pub(super) fn gather_weights(&mut self, gradients: &mut [&mut [f32]]) {
        let mut uses = std::mem::take(&mut self.m.uses);
        uses.clear();
        for op in 0..self.m.ops.len() {
            self.list_uses(op, &mut uses);
        }
        uses.sort_unstable();
        let parameters = self.parameters;
        let trained = (0..parameters.len()).filter(|&block| parameters[block].trained);
        let (mut rest, mut count) = (&*uses, 0);
        for (block, gradient) in trained.zip(gradients.iter_mut()) {
            assert_eq!(gradient.len(), self.parameters[block].values.len(), "a gradient for each parameter");
            let here = rest.iter().take_while(|u| u.block == block).count();
            self.gather_block(&rest[..here], gradient);
            rest = &rest[here..];
            count += 1;
        }
        assert!(rest.is_empty() && count == gradients.len(), "a gradient for each trained block");
        self.m.uses = uses;
    }

    fn list_uses(&self, op: usize, uses: &mut Vec<Use>) {
        let mut note = |y: Var, place: Place, part: Part| {
            if self.m.node(y).written && self.is_trained(place.block) {
                let Place { block, start, len } = place;
                uses.push(Use { block, start, op, len, part });
            }
        };
        match self.m.ops[op] {
            Op::Parameter { place, y } => note(y, place, Part::Weight),
            Op::Boards { weight, bias, y, .. } | Op::Readout { weight, bias, y, .. } => {
                note(y, weight, Part::Weight);
                note(y, bias, Part::Bias);
            }
            Op::Conv { y, layer, .. } => {
                note(y, layer.weight, Part::Weight);
                note(y, layer.bias, Part::Bias);
            }
            Op::Dense { y, weight, bias, table, .. } => {
                note(y, weight, Part::Weight);
                bias.into_iter().for_each(|bias| note(y, bias, Part::Bias));
                table.into_iter().for_each(|table| note(y, table.place, Part::Table));
            }
            _ => {}
        }
    }

    /// Tensors that nobody used have no gradient.
    fn gather_block(&mut self, uses: &[Use], gradient: &mut [f32]) {
        let mut done = 0;
        for uses in uses.chunk_by(|a, b| a.start == b.start) {
            let Use { start, len, .. } = uses[0];
            gradient[done..start].fill(0.0);
            self.gather_tensor(uses, &mut gradient[start..start + len]);
            done = start + len;
        }
        gradient[done..].fill(0.0);
    }

    fn gather_tensor(&mut self, uses: &[Use], gradient: &mut [f32]) {
        let dense = |u: &Use| u.part == Part::Weight && matches!(self.m.ops[u.op], Op::Dense { .. });
        if uses.iter().all(dense) {
            return self.gather_products(uses, gradient);
        }
        gradient.fill(0.0);
        for u in uses {
            match (&self.m.ops[u.op], u.part) {
                (&Op::Conv { x, y, layer, transposed, .. }, Part::Weight) => {
                    self.convolve_weights(x, y, &layer, transposed, gradient);
                }
                _ => self.gather_use(*u, gradient),
            }
        }
    }

    /// All products with one matrix of weights, as if their rows stood below one another.
    fn gather_products(&mut self, uses: &[Use], gradient: &mut [f32]) {
        let mut shape = [0, 0];
        self.m.segments.clear();
        for u in uses {
            if let Op::Dense { x, y, .. } = self.m.ops[u.op] {
                let (x, y) = (self.m.node(x), self.m.node(y));
                shape = [x.columns, y.columns];
                self.m.segments.push(Segment { rows: y.rows, x: x.data, dy: y.slope });
            }
        }
        matmul_tn_of(gradient, self.m.data.all(), self.m.slopes.all(), &self.m.segments, shape);
    }

    fn gather_use(&self, Use { op, part, .. }: Use, gradient: &mut [f32]) {
        let op = &self.m.ops[op];
        let d = &self.m.slopes.all()[self.m.node(op.result()).slope()];
        match (op, part) {
            (Op::Parameter { .. }, _) => gradient.iter_mut().zip(d).for_each(|(g, d)| *g += d),
            (Op::Boards { .. }, Part::Bias) => rows::sum_rows(d, gradient),
            (Op::Boards { board, bits, y, .. }, _) => {
                let count = self.m.node(*y).rows * board.words();
                board.backward(&self.m.boards[*bits..][..count], d, gradient);
            }
            (Op::Readout { .. } | Op::Dense { .. } | Op::Conv { .. }, Part::Bias) => {
                rows::sum_rows(d, gradient);
            }
            (Op::Readout { x, .. }, _) => {
                rows::readout_weights(d, self.m.values(*x), self.m.node(*x).columns, gradient);
            }
            (Op::Dense { table: Some(table), y, .. }, Part::Table) => {
                rows::sum_by_action(d, self.m.node(*y).columns, self.m.list(table.actions), gradient);
            }
            (Op::Dense { x, y, .. }, _) => {
                let (columns, outputs) = (self.m.node(*x).columns, self.m.node(*y).columns);
                let each = self.m.values(*x).chunks_exact(columns).zip(d.chunks_exact(outputs));
                each.for_each(|(x, d)| rows::add_outer(x, d, gradient));
            }
            _ => unreachable!("only these have parameters"),
        }
    }
}
