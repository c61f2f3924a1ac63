//! The elementwise half of a long short-term memory cell.
//!
//! Gates lie side by side in the order i, g, f, o: `c' = σ(f + 1) c + σ(i) tanh(g)`, `h' = σ(o) tanh(c')`. The matrix
//! products before it are the caller's.

use multiversion::multiversion;

use super::functions::{sigmoid, tanh};

/// Units of a cell.
pub const UNITS: usize = 128;
/// Its four gates.
pub const GATES: usize = 4 * UNITS;

/// What a step leaves behind.
#[derive(Debug)]
pub struct Outputs<'a> {
    /// c'.
    pub cell: &'a mut [f32],
    /// tanh c'.
    pub cell_tanh: &'a mut [f32],
    /// h'.
    pub hidden: &'a mut [f32],
}

/// A step for many rows; no past is a cell of zeros. The gates are replaced by their activations.
pub fn forward(gates: &mut [f32], past: Option<&[f32]>, out: Outputs<'_>) {
    let rows = out.cell.len() / UNITS;
    for r in 0..rows {
        let unit = r * UNITS..(r + 1) * UNITS;
        let past = past.map_or(&[0.0; UNITS][..], |p| &p[unit.clone()]);
        row_forward(
            &mut gates[r * GATES..][..GATES],
            past,
            &mut out.cell[unit.clone()],
            &mut out.cell_tanh[unit.clone()],
            &mut out.hidden[unit],
        );
    }
}

/// `c' = σ(f + 1) c + σ(i) tanh(g)`, `h' = σ(o) tanh(c')`; the gates are replaced by their activations.
#[multiversion(targets = "simd")]
fn row_forward(gates: &mut [f32], past: &[f32], cell: &mut [f32], cell_tanh: &mut [f32], hidden: &mut [f32]) {
    let (i, rest) = gates.split_at_mut(UNITS);
    let (g, rest) = rest.split_at_mut(UNITS);
    let (f, o) = rest.split_at_mut(UNITS);
    let (past, cell, cell_tanh, hidden) =
        (&past[..UNITS], &mut cell[..UNITS], &mut cell_tanh[..UNITS], &mut hidden[..UNITS]);
    for j in 0..UNITS {
        i[j] = sigmoid(i[j]);
        g[j] = tanh(g[j]);
        f[j] = sigmoid(f[j] + 1.0);
        o[j] = sigmoid(o[j]);
        cell[j] = f[j] * past[j] + i[j] * g[j];
        cell_tanh[j] = tanh(cell[j]);
        hidden[j] = o[j] * cell_tanh[j];
    }
}

/// What the way back needs of a step.
#[derive(Clone, Copy, Debug)]
pub struct Kept<'a> {
    /// Activations of the gates.
    pub gates: &'a [f32],
    /// c; no past is zero.
    pub past: Option<&'a [f32]>,
    /// tanh c'.
    pub cell_tanh: &'a [f32],
}

/// Gradients of a step; `d_cell` turns from that of c' into that of c.
pub fn backward(kept: Kept<'_>, d_hidden: &[f32], d_cell: &mut [f32], d_gates: &mut [f32]) {
    for r in 0..d_hidden.len() / UNITS {
        let unit = r * UNITS..(r + 1) * UNITS;
        let past = kept.past.map_or(&[0.0; UNITS][..], |p| &p[unit.clone()]);
        row_backward(
            &kept.gates[r * GATES..][..GATES],
            past,
            &kept.cell_tanh[unit.clone()],
            &d_hidden[unit.clone()],
            &mut d_cell[unit],
            &mut d_gates[r * GATES..][..GATES],
        );
    }
}

/// The derivative of [`row_forward`]; `d_cell` turns from that of c' into that of c.
#[multiversion(targets = "simd")]
fn row_backward(
    gates: &[f32],
    past: &[f32],
    cell_tanh: &[f32],
    d_hidden: &[f32],
    d_cell: &mut [f32],
    d_gates: &mut [f32],
) {
    let (i, rest) = gates.split_at(UNITS);
    let (g, rest) = rest.split_at(UNITS);
    let (f, o) = rest.split_at(UNITS);
    let (di, rest) = d_gates.split_at_mut(UNITS);
    let (dg, rest) = rest.split_at_mut(UNITS);
    let (df, do_) = rest.split_at_mut(UNITS);
    let (past, cell_tanh, d_hidden, d_cell) =
        (&past[..UNITS], &cell_tanh[..UNITS], &d_hidden[..UNITS], &mut d_cell[..UNITS]);
    for j in 0..UNITS {
        let (dh, tc) = (d_hidden[j], cell_tanh[j]);
        let dc = d_cell[j] + dh * o[j] * (1.0 - tc * tc);
        di[j] = dc * g[j] * i[j] * (1.0 - i[j]);
        dg[j] = dc * i[j] * (1.0 - g[j] * g[j]);
        df[j] = dc * past[j] * f[j] * (1.0 - f[j]);
        do_[j] = dh * tc * o[j] * (1.0 - o[j]);
        d_cell[j] = dc * f[j];
    }
}
