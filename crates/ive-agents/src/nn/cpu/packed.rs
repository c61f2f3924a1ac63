//! Weights in the order in which a product reads them, for weights that are used many times before they change.

use std::ops::Range;

use super::matmul::{PANEL, Unit, Weights};

/// A weight matrix cut into panels of sixteen columns, each stored row by row: the inner loop of a product then reads
/// memory from front to back.
#[derive(Clone, Debug, Default)]
pub struct Packed {
    panels: Vec<f32>,
    inputs: usize,
    outputs: usize,
}

impl Packed {
    /// Room for a matrix of this shape, columns a multiple of sixteen.
    ///
    /// # Panics
    /// If they are not.
    pub fn new(inputs: usize, outputs: usize) -> Self {
        assert!(inputs > 0, "a packed matrix has rows");
        assert_eq!(outputs % PANEL, 0, "a packed matrix has whole panels of {PANEL} columns");
        Self { panels: vec![0.0; inputs * outputs], inputs, outputs }
    }
    /// Stores the columns `weight` (row by row, `width` of them) from column `at` on, each entry times `scale`.
    pub fn store(&mut self, weight: &[f32], width: usize, at: usize, scale: f32) {
        for (row, entries) in weight.chunks_exact(width).enumerate() {
            self.store_row(row, entries, at, scale);
        }
    }

    /// Stores some columns of `weight` in the same columns here, each entry times `scale`.
    pub fn store_columns(&mut self, weight: &[f32], width: usize, columns: Range<usize>, scale: f32) {
        for (row, entries) in weight.chunks_exact(width).enumerate() {
            self.store_row(row, &entries[columns.clone()], columns.start, scale);
        }
    }

    fn store_row(&mut self, row: usize, mut entries: &[f32], mut column: usize, scale: f32) {
        while !entries.is_empty() {
            let (panel, lane) = (column / PANEL, column % PANEL);
            let (here, rest) = entries.split_at(entries.len().min(PANEL - lane));
            let place = &mut self.panels[(panel * self.inputs + row) * PANEL + lane..][..here.len()];
            place.iter_mut().zip(here).for_each(|(p, w)| *p = scale * w);
            (entries, column) = (rest, column + here.len());
        }
    }

    /// `Y = X W + b` for the rows of X.
    ///
    /// # Panics
    /// If the shapes do not fit.
    pub fn product(&self, x: &[f32], bias: &[f32], y: &mut [f32]) {
        let rows = x.len() / self.inputs;
        assert_eq!((x.len(), y.len()), (rows * self.inputs, rows * self.outputs), "shapes of a product");
        assert_eq!(bias.len(), self.outputs, "bias of a product");
        let (rows, columns) = (self.inputs, self.outputs);
        Unit::forwards(y, x, Weights { data: &self.panels, rows, columns, packed: true }, Some(bias));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::cpu::tests::{close, plain, random};
    use ive::Rng;

    #[test]
    fn packed_products_equal_the_definition_for_every_remainder_of_rows() {
        let mut rng = Rng::from_seed(2);
        let (k, n) = (24, 48);
        let (left, right, bias) = (random(k * 40, &mut rng), random(k * 8, &mut rng), random(n, &mut rng));
        let mut packed = Packed::new(k, n);
        packed.store(&left, 40, 0, 1.0);
        packed.store(&right, 8, 40, -2.0);
        let weight: Vec<f32> = (0..k)
            .flat_map(|i| {
                let scaled = right[i * 8..][..8].iter().map(|w| -2.0 * w);
                left[i * 40..][..40].iter().copied().chain(scaled).collect::<Vec<_>>()
            })
            .collect();
        for rows in 1..=13 {
            let x = random(rows * k, &mut rng);
            let mut y = vec![0.0; rows * n];
            packed.product(&x, &bias, &mut y);
            let mut expected = plain(&x, &weight, rows, k, n);
            expected.iter_mut().enumerate().for_each(|(i, e)| e.0 += f64::from(bias[i % n]));
            close(&y, &expected);
        }
    }
}
