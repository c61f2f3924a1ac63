//! The operations, forwards.

use std::ops::Range;

use super::{LossNode, Op, Place, Spread, Table, Tape};
use crate::nn::cpu::board::{Board, FEATURES};
use crate::nn::cpu::{Matrix, losses, matmul, rows};
use crate::nn::graph::{Activation, Block, Graph, Loss, Over, Squash, Var};
use crate::nn::layers::{Conv, Dense, Pool, Readout};
use crate::nn::layout::Slot;

impl Tape<'_> {
    fn layer(&mut self, p: Block, layer: &Dense, table: Option<(&Slot, &[u8])>, x: Var) -> Var {
        let (node, outputs) = (self.m.node(x), layer.outputs());
        assert_eq!(node.columns, layer.inputs(), "inputs of {}", layer.weight.name);
        let needs = node.needs || self.is_trained(p.0);
        let (weight, bias) = (Place::new(p, &layer.weight), layer.bias.as_ref().map(|b| Place::new(p, b)));
        let rows_of = table.map(|(slot, actions)| {
            assert_eq!(actions.len(), node.rows, "an action for each row of {}", slot.name);
            Table { place: Place::new(p, slot), actions: self.list(actions.iter().map(|&a| u32::from(a))) }
        });
        let y = self.make(node.rows, outputs, needs);
        let w = Matrix::new(self.parameters(weight), node.columns, outputs);
        let (b, t) = (bias.map(|b| self.parameters(b)), rows_of.map(|t| self.parameters(t.place)));
        let (past, out) = self.split(y);
        matmul(out, Matrix::new(&past[node.data()], node.rows, node.columns), w);
        if let Some(b) = b {
            rows::add_row(out, b);
        }
        if let (Some(t), Some((_, actions))) = (t, table) {
            rows::add_action_rows(out, outputs, t, actions);
        }
        rows::activate(out, layer.activation);
        let activation = layer.activation;
        self.push(needs, Op::Dense { x, y, weight, bias, table: rows_of, activation });
        y
    }

    /// An operation of one matrix, `[rows, columns]` to `[rows, outputs]`.
    fn map(
        &mut self,
        x: Var,
        outputs: usize,
        run: impl FnOnce(&[f32], &mut [f32]),
        op: fn(Var, Var) -> Op,
    ) -> Var {
        let node = self.m.node(x);
        let y = self.make(node.rows, outputs, node.needs);
        let (past, out) = self.split(y);
        run(&past[node.data()], out);
        self.push(node.needs, op(x, y));
        y
    }

    /// A loss of each row by how far it is from its target, which `kernel` writes for rows of so many columns.
    fn apart(
        &mut self,
        x: Var,
        y: Var,
        over: Over<'_>,
        kernel: fn(&[f32], &[f32], usize, &mut [f32]),
        op: fn(Var, Var, Spread, Loss) -> Op,
    ) -> Loss {
        let (node, target) = (self.same_shape(x, y), self.m.node(y));
        let run = |past: &[f32], out: &mut [f32]| {
            kernel(&past[node.data()], &past[target.data()], node.columns, out);
        };
        let (over, loss) = self.losses(node.rows, node.needs, over, run);
        self.push(node.needs, op(x, y, over, loss));
        loss
    }
}

impl Graph for Tape<'_> {
    fn input(&mut self, x: &[f32], columns: usize) -> Var {
        self.leaf(x, columns, false)
    }

    fn variable(&mut self, x: &[f32], columns: usize) -> Var {
        self.leaf(x, columns, true)
    }

    fn parameter(&mut self, p: Block, slot: &Slot) -> Var {
        let place = Place::new(p, slot);
        let columns = slot.shape.last().copied().unwrap_or(1);
        let (values, needs) = (self.parameters(place), self.is_trained(p.0));
        let y = self.leaf(values, columns, needs);
        self.push(needs, Op::Parameter { place, y });
        y
    }

    fn boards(&mut self, p: Block, board: &Board, weight: &Slot, bias: &Slot, bits: &[u64]) -> Var {
        let count = bits.len() / board.words();
        let (weight, bias, needs) = (Place::new(p, weight), Place::new(p, bias), self.is_trained(p.0));
        let y = self.make(count, FEATURES, needs);
        let (w, b) = (self.parameters(weight), self.parameters(bias));
        board.forward(w, b, bits, self.split(y).1);
        let start = self.m.boards.len();
        if needs {
            self.m.boards.extend_from_slice(bits);
        }
        self.push(needs, Op::Boards { board: board.clone(), weight, bias, bits: start, y });
        y
    }

    fn dense(&mut self, p: Block, layer: &Dense, x: Var) -> Var {
        self.layer(p, layer, None, x)
    }

    fn dense_with_action(&mut self, p: Block, layer: &Dense, table: &Slot, x: Var, actions: &[u8]) -> Var {
        assert_eq!(table.shape.last(), Some(&layer.outputs()), "columns of {}", table.name);
        self.layer(p, layer, Some((table, actions)), x)
    }

    fn readout(&mut self, p: Block, layer: &Readout, x: Var) -> Var {
        let (node, outputs) = (self.m.node(x), layer.outputs());
        assert_eq!(node.columns * outputs, layer.weight.range.len(), "inputs of {}", layer.weight.name);
        let needs = node.needs || self.is_trained(p.0);
        let (weight, bias) = (Place::new(p, &layer.weight), Place::new(p, &layer.bias));
        let y = self.make(node.rows, outputs, needs);
        let (w, b) = (self.parameters(weight), self.parameters(bias));
        let (past, out) = self.split(y);
        rows::readout(&past[node.data()], w, b, out);
        self.push(needs, Op::Readout { x, y, weight, bias });
        y
    }

    fn conv(&mut self, p: Block, layer: &Conv, x: Var) -> Var {
        self.convolve(p, layer, x, false)
    }

    fn conv_transposed(&mut self, p: Block, layer: &Conv, x: Var) -> Var {
        self.convolve(p, layer, x, true)
    }

    fn max_pool(&mut self, pool: &Pool, x: Var) -> Var {
        self.largest_of(pool, x)
    }

    fn layer_norm(&mut self, x: Var) -> Var {
        let node = self.m.node(x);
        let y = self.make(node.rows, node.columns, node.needs);
        let kept = self.m.data.take(node.rows);
        let (past, rest) = self.m.data.all_mut().split_at_mut(self.m.nodes[y.0 as usize].data);
        let (out, scales) = rest.split_at_mut(kept.start - past.len());
        rows::layer_norm(&past[node.data()], node.columns, &mut out[..node.len()], &mut scales[..node.rows]);
        self.push(node.needs, Op::LayerNorm { x, y, kept: kept.start });
        y
    }

    fn lstm(&mut self, gates: Var, cell: Option<Var>, squash: Squash) -> (Var, Var) {
        self.lstm_step(gates, cell, squash)
    }

    fn gru(&mut self, input: Var, recurrent: Var, hidden: Var) -> Var {
        self.gru_step(input, recurrent, hidden)
    }

    fn activate(&mut self, x: Var, activation: Activation) -> Var {
        let node = self.m.node(x);
        let y = self.make(node.rows, node.columns, node.needs);
        let (past, out) = self.split(y);
        out.copy_from_slice(&past[node.data()]);
        rows::activate(out, activation);
        self.push(node.needs, Op::Activate { x, y, activation });
        y
    }

    fn columns(&mut self, parts: &[Var]) -> Var {
        let rows = parts.first().map_or(0, |&x| self.m.node(x).rows);
        let columns = parts.iter().map(|&x| self.m.node(x).columns).sum();
        let needs = parts.iter().any(|&x| self.needs(x));
        let list = self.list(parts.iter().map(|x| x.0));
        let y = self.make(rows, columns, needs);
        let mut first = 0;
        for &x in parts {
            let node = self.m.node(x);
            assert_eq!(node.rows, rows, "rows side by side");
            let (past, out) = self.split(y);
            rows::copy_columns(&past[node.data()], 0, node.columns, out, first, columns, node.columns);
            first += node.columns;
        }
        self.push(needs, Op::Columns { parts: list, y });
        y
    }

    fn stack(&mut self, parts: &[Var]) -> Var {
        let columns = parts.first().map_or(1, |&x| self.m.node(x).columns);
        let rows = parts.iter().map(|&x| self.m.node(x).rows).sum();
        let needs = parts.iter().any(|&x| self.needs(x));
        let list = self.list(parts.iter().map(|x| x.0));
        let y = self.make(rows, columns, needs);
        let mut first = 0;
        for &x in parts {
            let node = self.m.node(x);
            assert_eq!(node.columns, columns, "columns one below the other");
            let (past, out) = self.split(y);
            out[first..][..node.len()].copy_from_slice(&past[node.data()]);
            first += node.len();
        }
        self.push(needs, Op::Stack { parts: list, y });
        y
    }

    fn rows(&mut self, x: Var, rows: Range<usize>) -> Var {
        let node = self.m.node(x);
        assert!(rows.start <= rows.end && rows.end <= node.rows, "rows {rows:?} of {}", node.rows);
        let first = rows.start * node.columns;
        let y = self.view(x, first, rows.len(), node.columns, node.needs);
        self.push(node.needs, Op::Rows { x, y, first });
        y
    }

    fn gather(&mut self, x: Var, rows: &[u32]) -> Var {
        let node = self.m.node(x);
        let list = self.list(rows.iter().copied());
        let y = self.make(rows.len(), node.columns, node.needs);
        let (past, out) = self.split(y);
        let from = &past[node.data()];
        for (to, &row) in out.chunks_exact_mut(node.columns).zip(rows) {
            to.copy_from_slice(&from[row as usize * node.columns..][..node.columns]);
        }
        self.push(node.needs, Op::Gather { x, y, rows: list });
        y
    }

    fn slice(&mut self, x: Var, columns: Range<usize>) -> Var {
        let node = self.m.node(x);
        assert!(
            columns.start < columns.end && columns.end <= node.columns,
            "columns {columns:?} of {}",
            node.columns
        );
        let (first, width) = (columns.start, columns.len());
        let y = self.make(node.rows, width, node.needs);
        let (past, out) = self.split(y);
        rows::copy_columns(&past[node.data()], first, node.columns, out, 0, width, width);
        self.push(node.needs, Op::Slice { x, y, first });
        y
    }

    fn pick(&mut self, x: Var, index: &[u8]) -> Var {
        let node = self.m.node(x);
        assert_eq!(index.len(), node.rows, "an index for each row");
        let list = self.list(index.iter().map(|&i| u32::from(i)));
        let y = self.make(node.rows, 1, node.needs);
        let (past, out) = self.split(y);
        for ((y, row), &i) in out.iter_mut().zip(past[node.data()].chunks_exact(node.columns)).zip(index) {
            *y = row[usize::from(i)];
        }
        self.push(node.needs, Op::Pick { x, y, index: list });
        y
    }

    fn reshape(&mut self, x: Var, columns: usize) -> Var {
        let node = self.m.node(x);
        assert!(
            columns > 0 && node.len().is_multiple_of(columns),
            "{} numbers in rows of {columns}",
            node.len()
        );
        let y = self.view(x, 0, node.len() / columns, columns, node.needs);
        self.push(node.needs, Op::Reshape { x, y });
        y
    }

    fn linear(&mut self, terms: &[(f32, Var)], constant: f32) -> Var {
        let &(_, first) = terms.first().expect("a sum has terms");
        let needs = terms.iter().any(|&(_, x)| self.needs(x));
        let [rows, columns] = self.shape(first);
        let parts = self.list(terms.iter().map(|(_, x)| x.0));
        let factors = self.m.factors.len();
        self.m.factors.extend(terms.iter().map(|term| term.0));
        let y = self.make(rows, columns, needs);
        for (k, &(factor, x)) in terms.iter().enumerate() {
            let node = self.same_shape(first, x).len();
            let from = self.m.node(x).data;
            let (past, out) = self.split(y);
            let from = &past[from..][..node];
            if k == 0 {
                out.iter_mut().zip(from).for_each(|(y, x)| *y = factor * x + constant);
            } else {
                out.iter_mut().zip(from).for_each(|(y, x)| *y += factor * x);
            }
        }
        self.push(needs, Op::Linear { parts, factors, y });
        y
    }

    fn mul(&mut self, a: Var, b: Var) -> Var {
        let (node, other) = (self.same_shape(a, b), self.m.node(b));
        let needs = node.needs || other.needs;
        let y = self.make(node.rows, node.columns, needs);
        let (past, out) = self.split(y);
        let pairs = past[node.data()].iter().zip(&past[other.data()]);
        out.iter_mut().zip(pairs).for_each(|(y, (a, b))| *y = a * b);
        self.push(needs, Op::Mul { a, b, y });
        y
    }

    fn normal(&mut self, mean: Var, std: Var, noise: &[f32]) -> Var {
        let (node, other) = (self.same_shape(mean, std), self.m.node(std));
        assert_eq!(noise.len(), node.len(), "a deviate for each entry");
        let needs = node.needs || other.needs;
        let kept = self.constant(noise);
        let y = self.make(node.rows, node.columns, needs);
        let (past, out) = self.split(y);
        let (m, s) = (&past[node.data()], &past[other.data()]);
        for (((y, m), s), e) in out.iter_mut().zip(m).zip(s).zip(noise) {
            *y = m + s * e;
        }
        self.push(needs, Op::Normal { mean, std, y, noise: kept });
        y
    }

    fn stop(&mut self, x: Var) -> Var {
        let node = self.m.node(x);
        self.view(x, 0, node.rows, node.columns, false)
    }

    fn log_softmax(&mut self, x: Var) -> Var {
        let n = self.m.node(x).columns;
        self.map(x, n, |x, y| losses::log_softmax(x, n, y), |x, y| Op::LogSoftmax { x, y })
    }

    fn row_mean(&mut self, x: Var) -> Var {
        let n = self.m.node(x).columns;
        self.map(x, 1, |x, y| rows::mean(x, n, y), |x, y| Op::RowMean { x, y })
    }

    fn row_std(&mut self, x: Var) -> Var {
        let n = self.m.node(x).columns;
        self.map(x, 1, |x, y| rows::std(x, n, y), |x, y| Op::RowStd { x, y })
    }

    fn sum(&mut self, x: Var, over: Over<'_>) -> Loss {
        let node = self.m.node(x);
        let run = |past: &[f32], out: &mut [f32]| {
            let each = past[node.data()].chunks_exact(node.columns);
            out.iter_mut().zip(each).for_each(|(l, row)| *l = row.iter().sum());
        };
        let (over, loss) = self.losses(node.rows, node.needs, over, run);
        self.push(node.needs, Op::Sum { x, over, loss });
        loss
    }

    fn huber(&mut self, x: Var, y: Var, over: Over<'_>) -> Loss {
        self.apart(x, y, over, losses::huber, |x, y, over, loss| Op::Huber { x, y, over, loss })
    }

    fn gaussian(&mut self, x: Var, y: Var, over: Over<'_>) -> Loss {
        self.apart(x, y, over, losses::gaussian, |x, y, over, loss| Op::Gaussian { x, y, over, loss })
    }

    fn kl(&mut self, from: (Var, Var), to: (Var, Var), over: Over<'_>) -> Loss {
        let all = [from.0, from.1, to.0, to.1];
        let [rows, columns] = self.shape(from.0);
        let nodes = all.map(|x| {
            self.same_shape(from.0, x);
            self.m.node(x)
        });
        let needs = nodes.iter().any(|node| node.needs);
        let run = |past: &[f32], out: &mut [f32]| {
            losses::kl(nodes.map(|node| &past[node.data()]), columns, out);
        };
        let (over, loss) = self.losses(rows, needs, over, run);
        self.push(needs, Op::Kl { from, to, over, loss });
        loss
    }

    fn cross_entropy(&mut self, x: Var, y: Var, over: Over<'_>) -> Loss {
        let (node, target) = (self.same_shape(x, y), self.m.node(y));
        let kept = self.m.data.take(node.len()).start;
        let (past, rest) = self.m.data.all_mut().split_at_mut(kept);
        losses::log_softmax(&past[node.data()], node.columns, &mut rest[..node.len()]);
        let run = |past: &[f32], out: &mut [f32]| {
            losses::cross_entropy(&past[kept..][..node.len()], &past[target.data()], node.columns, out);
        };
        let (over, loss) = self.losses(node.rows, node.needs, over, run);
        self.push(node.needs, Op::CrossEntropy { x, y, over, loss, kept });
        loss
    }

    fn at_least(&mut self, of: Loss, bound: f64) -> Loss {
        let LossNode { value, needs, .. } = self.m.losses[of.0 as usize];
        // A loss that is not a number stays visible.
        let open = value.is_nan() || value > bound;
        let loss = self.note_loss(if open { value } else { bound }, needs);
        self.push(needs, Op::AtLeast { of, loss, open });
        loss
    }

    fn total(&mut self, terms: &[(f32, Loss)]) -> Loss {
        let value = terms.iter().map(|&(w, l)| f64::from(w) * self.loss(l)).sum();
        let needs = terms.iter().any(|(_, l)| self.m.losses[l.0 as usize].needs);
        let parts = self.list(terms.iter().map(|(_, l)| l.0));
        let factors = self.m.factors.len();
        self.m.factors.extend(terms.iter().map(|term| term.0));
        let loss = self.note_loss(value, needs);
        self.push(needs, Op::Total { parts, factors, loss });
        loss
    }

    fn shape(&self, x: Var) -> [usize; 2] {
        let node = self.m.node(x);
        [node.rows, node.columns]
    }

    fn read(&self, x: Var, out: &mut Vec<f32>) {
        out.clear();
        out.extend_from_slice(self.m.values(x));
    }

    fn loss(&self, loss: Loss) -> f64 {
        self.m.losses[loss.0 as usize].value
    }

    fn backward(&mut self, loss: Loss, gradients: &mut [&mut [f32]]) {
        self.walk_back(loss);
        self.gather_weights(gradients);
    }

    fn gradient(&self, x: Var, out: &mut Vec<f32>) {
        let node = self.m.node(x);
        out.clear();
        if node.written {
            out.extend_from_slice(&self.m.slopes.all()[node.slope()]);
        } else {
            out.resize(node.len(), 0.0);
        }
    }
}
