//! What every operation begins and ends with: a new matrix or loss, where its numbers lie, and its note on the tape.

use super::{List, LossNode, Node, Op, Place, Spread, Tape};
use crate::nn::graph::{Graph, Loss, Over, Var};

impl<'a> Tape<'a> {
    /// A new matrix, to be written.
    pub(super) fn make(&mut self, rows: usize, columns: usize, needs: bool) -> Var {
        let data = self.m.data.take(rows * columns).start;
        let slope = if needs { self.m.slopes.take(rows * columns).start } else { 0 };
        self.note(Node { rows, columns, data, slope, needs, written: false })
    }

    /// The same numbers as `x` from entry `first` on, in another shape, with a gradient of their own.
    pub(super) fn view(&mut self, x: Var, first: usize, rows: usize, columns: usize, needs: bool) -> Var {
        let data = self.m.node(x).data + first;
        let slope = if needs { self.m.slopes.take(rows * columns).start } else { 0 };
        self.note(Node { rows, columns, data, slope, needs, written: false })
    }

    fn note(&mut self, node: Node) -> Var {
        self.m.nodes.push(node);
        Var(self.m.nodes.len() as u32 - 1)
    }

    pub(super) fn needs(&self, x: Var) -> bool {
        self.m.node(x).needs
    }

    /// Notes an operation, if something will flow back through it.
    pub(super) fn push(&mut self, needs: bool, op: Op) {
        if needs {
            self.m.ops.push(op);
        }
    }

    pub(super) fn parameters(&self, place: Place) -> &'a [f32] {
        &self.parameters[place.block].values[place.start..][..place.len]
    }

    pub(super) fn is_trained(&self, block: usize) -> bool {
        self.parameters[block].trained
    }

    pub(super) fn list(&mut self, entries: impl IntoIterator<Item = u32>) -> List {
        let start = self.m.lists.len();
        self.m.lists.extend(entries);
        List { start, len: self.m.lists.len() - start }
    }

    /// The numbers of older matrices, and those of a new one to be written.
    pub(super) fn split(&mut self, y: Var) -> (&[f32], &mut [f32]) {
        let node = self.m.node(y);
        let (past, rest) = self.m.data.all_mut().split_at_mut(node.data);
        (past, &mut rest[..node.len()])
    }

    pub(super) fn constant(&mut self, x: &[f32]) -> usize {
        let place = self.m.data.take(x.len());
        self.m.data.all_mut()[place.clone()].copy_from_slice(x);
        place.start
    }

    pub(super) fn leaf(&mut self, x: &[f32], columns: usize, needs: bool) -> Var {
        assert!(
            columns > 0 && x.len().is_multiple_of(columns),
            "rows of {columns} numbers, {} in all",
            x.len()
        );
        let y = self.make(x.len() / columns, columns, needs);
        self.split(y).1.copy_from_slice(x);
        y
    }

    /// A loss from those of rows, which `run` writes.
    pub(super) fn losses(
        &mut self,
        rows: usize,
        needs: bool,
        over: Over<'_>,
        run: impl FnOnce(&[f32], &mut [f32]),
    ) -> (Spread, Loss) {
        let spread = match over {
            Over::Mean => Spread::Mean,
            Over::Sum => Spread::Sum,
            Over::Weights(weights) => {
                assert_eq!(weights.len(), rows, "a weight for each row");
                Spread::Weights(self.constant(weights))
            }
        };
        let each = self.m.data.take(rows);
        let (past, rest) = self.m.data.all_mut().split_at_mut(each.start);
        let each = &mut rest[..rows];
        run(past, each);
        let sum = each.iter().map(|&l| f64::from(l)).sum::<f64>();
        let value = match over {
            Over::Mean => sum / rows as f64,
            Over::Sum => sum,
            Over::Weights(weights) => each.iter().zip(weights).map(|(l, w)| f64::from(w * l)).sum(),
        };
        (spread, self.note_loss(value, needs))
    }

    pub(super) fn note_loss(&mut self, value: f64, needs: bool) -> Loss {
        self.m.losses.push(LossNode { value, slope: 0.0, needs });
        Loss(self.m.losses.len() as u32 - 1)
    }

    pub(super) fn same_shape(&self, x: Var, y: Var) -> Node {
        assert_eq!(self.shape(x), self.shape(y), "shapes of two matrices");
        self.m.node(x)
    }
}
