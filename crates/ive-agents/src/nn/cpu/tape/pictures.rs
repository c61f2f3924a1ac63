//! Operations on pictures, both ways.

use super::{Op, Place, Tape};
use crate::nn::cpu::matmul::{Segment, matmul_tn_add};
use crate::nn::cpu::{Matrix, matmul, matmul_nt, pictures, rows};
use crate::nn::graph::{Block, Var};
use crate::nn::layers::{Conv, Pool};

/// A convolution on the tape.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layer {
    pool: Pool,
    filters: usize,
    pub(super) weight: Place,
    pub(super) bias: Place,
}

impl Layer {
    /// Calls `each` with the pictures and the rows of windows that are worked on together.
    fn for_each_group(&self, count: usize, mut each: impl FnMut(std::ops::Range<usize>, usize)) {
        let (places, _) = pictures::sizes(&self.pool);
        for first in (0..count).step_by(pictures::at_a_time(&self.pool)) {
            let last = (first + pictures::at_a_time(&self.pool)).min(count);
            each(first..last, (last - first) * places);
        }
    }

    /// Numbers of a picture, of its windows, and of what filters say of them.
    fn sizes(&self) -> [usize; 3] {
        let (places, shown) = pictures::sizes(&self.pool);
        [self.pool.picture.iter().product(), places * shown, places * self.filters]
    }
}

impl Tape<'_> {
    /// A convolution, or a transposed one.
    pub(super) fn convolve(&mut self, p: Block, layer: &Conv, x: Var, transposed: bool) -> Var {
        let (node, activation) = (self.m.node(x), layer.activation);
        let (weight, bias) = (Place::new(p, &layer.weight), Place::new(p, &layer.bias));
        let here = Layer { pool: layer.pool, filters: layer.filters(), weight, bias };
        let [picture, _, said] = here.sizes();
        let (inputs, outputs) = if transposed { (said, picture) } else { (picture, said) };
        assert_eq!(node.columns, inputs, "numbers of a picture of {}", layer.weight.name);
        let needs = node.needs || self.is_trained(p.0);
        let y = self.make(node.rows, outputs, needs);
        let (w, b) = (self.parameters(weight), self.parameters(bias));
        let mut windows = std::mem::take(&mut self.m.windows);
        let (past, out) = self.split(y);
        let from = &past[node.data()];
        if transposed {
            here.pictures_of(from, w, out, &mut windows);
        } else {
            here.filters_of(from, w, out, &mut windows);
        }
        rows::add_row(out, b);
        rows::activate(out, activation);
        self.m.windows = windows;
        self.push(needs, Op::Conv { x, y, layer: here, activation, transposed });
        y
    }

    /// What flows back into the input of a convolution.
    pub(super) fn convolve_back(&mut self, x: Var, y: Var, layer: &Layer, transposed: bool) {
        let w = self.parameters(layer.weight);
        let mut windows = std::mem::take(&mut self.m.windows);
        self.back(y, [x], |_, dy, [dx, ..]| {
            if transposed {
                layer.filters_of(dy, w, dx, &mut windows);
            } else {
                layer.pictures_of(dy, w, dx, &mut windows);
            }
        });
        self.m.windows = windows;
    }

    /// Adds the gradient of the weights.
    pub(super) fn convolve_weights(
        &mut self,
        x: Var,
        y: Var,
        layer: &Layer,
        transposed: bool,
        dw: &mut [f32],
    ) {
        let mut windows = std::mem::take(&mut self.m.windows);
        let (seen, d) = (self.m.values(x), &self.m.slopes.all()[self.m.node(y).slope()]);
        let (picture, filters) = if transposed { (d, seen) } else { (seen, d) };
        let ([size, shown, said], count) = (layer.sizes(), self.m.node(x).rows);
        let shape = [dw.len() / layer.filters, layer.filters];
        layer.for_each_group(count, |group, rows| {
            windows.resize(windows.len().max(group.len() * shown), 0.0);
            let cut = &mut windows[..group.len() * shown];
            pictures::unfold(&picture[group.start * size..group.end * size], &layer.pool, cut);
            let all = [Segment { rows, x: 0, dy: group.start * said }];
            matmul_tn_add(dw, cut, filters, &all, shape);
        });
        self.m.windows = windows;
    }

    pub(super) fn largest_of(&mut self, pool: &Pool, x: Var) -> Var {
        let (node, channels) = (self.m.node(x), pool.picture[2]);
        assert_eq!(node.columns, pool.picture.iter().product::<usize>(), "numbers of a picture");
        let outputs = pictures::sizes(pool).0 * channels;
        let places = self.list(std::iter::repeat_n(0, node.rows * outputs));
        let y = self.make(node.rows, outputs, node.needs);
        let mut lists = std::mem::take(&mut self.m.lists);
        let (past, out) = self.split(y);
        pictures::largest(&past[node.data()], pool, out, &mut lists[places.start..]);
        self.m.lists = lists;
        self.push(node.needs, Op::Pool { x, y, pool: *pool, places });
        y
    }
}

impl Layer {
    /// `windows(x) W`: pictures to filters.
    fn filters_of(&self, x: &[f32], w: &[f32], out: &mut [f32], windows: &mut Vec<f32>) {
        let [size, shown, said] = self.sizes();
        let inputs = w.len() / self.filters;
        self.for_each_group(x.len() / size, |group, rows| {
            windows.resize(windows.len().max(group.len() * shown), 0.0);
            let cut = &mut windows[..group.len() * shown];
            pictures::unfold(&x[group.start * size..group.end * size], &self.pool, cut);
            let out = &mut out[group.start * said..group.end * said];
            matmul(out, Matrix::new(cut, rows, inputs), Matrix::new(w, inputs, self.filters));
        });
    }

    /// The windows `x Wᵀ`, added up to pictures: filters to pictures.
    fn pictures_of(&self, x: &[f32], w: &[f32], out: &mut [f32], windows: &mut Vec<f32>) {
        let [size, shown, said] = self.sizes();
        let inputs = w.len() / self.filters;
        out.fill(0.0);
        self.for_each_group(x.len() / said, |group, rows| {
            windows.resize(windows.len().max(group.len() * shown), 0.0);
            let cut = &mut windows[..group.len() * shown];
            let x = Matrix::new(&x[group.start * said..], rows, self.filters);
            matmul_nt(cut, x, Matrix::new(w, inputs, self.filters), false);
            pictures::fold(cut, &self.pool, &mut out[group.start * size..group.end * size]);
        });
    }
}
