//! Steps of recurrent layers, which keep the activations of their gates for the way back.

use super::{Op, Tape};
use crate::nn::cpu::recurrent;
use crate::nn::graph::{Graph, Squash, Var};

impl Tape<'_> {
    /// A step of an LSTM.
    pub(super) fn lstm_step(&mut self, gates: Var, cell: Option<Var>, squash: Squash) -> (Var, Var) {
        let node = self.m.node(gates);
        let (rows, units) = (node.rows, node.columns / 4);
        assert_eq!(node.columns, 4 * units, "four gates of an LSTM");
        let past = cell.unwrap_or_else(|| {
            let zeros = self.make(rows, units, false);
            self.split(zeros).1.fill(0.0);
            zeros
        });
        assert_eq!(self.shape(past), [rows, units], "the cell of an LSTM");
        let (needs, before) = (node.needs || self.needs(past), self.m.node(past).data());
        let (hidden, new_cell) = (self.make(rows, units, needs), self.make(rows, units, needs));
        // Activations of the gates, then squash(c').
        let kept = self.m.data.take(rows * units * 5).start;
        let (at_h, at_c) = (self.m.node(hidden), self.m.node(new_cell));
        let (older, new) = self.m.data.all_mut().split_at_mut(at_h.data);
        let (h, new) = new.split_at_mut(at_c.data - at_h.data);
        let (c, new) = new.split_at_mut(kept - at_c.data);
        let (active, squashed) = new[..5 * rows * units].split_at_mut(4 * rows * units);
        let (cell, out_hidden) = (&mut c[..rows * units], &mut h[..rows * units]);
        let out = recurrent::Outputs { active, cell, squashed, hidden: out_hidden };
        recurrent::lstm(&older[node.data()], &older[before], units, squash, out);
        self.push(needs, Op::Lstm { gates, past, hidden, cell: new_cell, kept, squash });
        (hidden, new_cell)
    }

    /// A step of a GRU.
    pub(super) fn gru_step(&mut self, input: Var, recurrent: Var, hidden: Var) -> Var {
        let (node, units) = (self.m.node(hidden), self.m.node(hidden).columns);
        for gates in [input, recurrent] {
            assert_eq!(self.shape(gates), [node.rows, 3 * units], "three gates of a GRU");
        }
        let needs = [input, recurrent, hidden].iter().any(|&x| self.needs(x));
        let (xs, hs) = (self.m.node(input).data(), self.m.node(recurrent).data());
        let y = self.make(node.rows, units, needs);
        let (kept, at) = (self.m.data.take(3 * node.len()).start, self.m.node(y).data);
        let (older, new) = self.m.data.all_mut().split_at_mut(at);
        let (out, active) = new.split_at_mut(kept - at);
        recurrent::gru(
            [&older[xs], &older[hs], &older[node.data()]],
            units,
            &mut active[..3 * node.len()],
            &mut out[..node.len()],
        );
        self.push(needs, Op::Gru { input, recurrent, hidden, y, kept });
        y
    }
}
