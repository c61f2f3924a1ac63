//! Small operations on the rows of a matrix.

use multiversion::multiversion;

use super::functions::tanh;

/// `max(y + b, 0)`.
#[multiversion(targets = "simd")]
pub fn add_relu(y: &mut [f32], bias: &[f32]) {
    for row in y.chunks_exact_mut(bias.len()) {
        row.iter_mut().zip(bias).for_each(|(y, b)| *y = (*y + b).max(0.0));
    }
}

/// `tanh(y + b)`.
#[multiversion(targets = "simd")]
pub fn add_tanh(y: &mut [f32], bias: &[f32]) {
    for row in y.chunks_exact_mut(bias.len()) {
        row.iter_mut().zip(bias).for_each(|(y, b)| *y = tanh(*y + b));
    }
}

/// Adds the bias and the row of each action; an empty table adds the bias only.
#[multiversion(targets = "simd")]
pub fn add_action_rows(y: &mut [f32], table: &[f32], bias: &[f32], actions: &[u8]) {
    let n = bias.len();
    for (row, &action) in y.chunks_exact_mut(n).zip(actions) {
        row.iter_mut().zip(bias).for_each(|(y, b)| *y += b);
        if !table.is_empty() {
            let entries = &table[usize::from(action) * n..][..n];
            row.iter_mut().zip(entries).for_each(|(y, t)| *y += t);
        }
    }
}

/// The sum of the rows of each action.
#[multiversion(targets = "simd")]
pub fn sum_by_action(rows: &[f32], actions: &[u8], table: &mut [f32]) {
    let n = rows.len() / actions.len().max(1);
    table.fill(0.0);
    for (row, &action) in rows.chunks_exact(n.max(1)).zip(actions) {
        let sums = &mut table[usize::from(action) * n..][..n];
        sums.iter_mut().zip(row).for_each(|(s, r)| *s += r);
    }
}

/// The sum of rows.
#[multiversion(targets = "simd")]
pub fn sum_rows(rows: &[f32], sums: &mut [f32]) {
    sums.fill(0.0);
    for row in rows.chunks_exact(sums.len()) {
        sums.iter_mut().zip(row).for_each(|(s, r)| *s += r);
    }
}

/// Lets a gradient pass where a ReLU was open.
#[multiversion(targets = "simd")]
pub fn through_relu(d: &mut [f32], y: &[f32]) {
    d.iter_mut().zip(y).for_each(|(d, y)| *d = if *y > 0.0 { *d } else { 0.0 });
}

/// The derivative of tanh, given its value.
#[multiversion(targets = "simd")]
pub fn through_tanh(d: &mut [f32], y: &[f32]) {
    d.iter_mut().zip(y).for_each(|(d, y)| *d *= 1.0 - y * y);
}
