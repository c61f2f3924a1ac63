//! The elementwise half of recurrent cells; the matrix products before it are dense layers.

use multiversion::multiversion;

use super::functions::{sigmoid, tanh};
use crate::nn::graph::Squash;

/// What a step of an LSTM leaves behind.
#[derive(Debug)]
pub struct Outputs<'a> {
    /// Activations of the gates, `[rows, 4 units]`.
    pub active: &'a mut [f32],
    /// c'.
    pub cell: &'a mut [f32],
    /// squash(c').
    pub squashed: &'a mut [f32],
    /// h'.
    pub hidden: &'a mut [f32],
}

/// `c' = σ(f + 1) c + σ(i) tanh(g)`, `h' = σ(o) squash(c')` for gates i, g, f, o side by side.
#[multiversion(targets = "simd")]
pub fn lstm(gates: &[f32], past: &[f32], units: usize, squash: Squash, out: Outputs<'_>) {
    match squash {
        Squash::Tanh => forwards(gates, past, units, tanh, out),
        Squash::Relu => forwards(gates, past, units, relu, out),
    }
}

/// max(x, 0); what is not a number stays so.
#[inline(always)]
fn relu(x: f32) -> f32 {
    if x < 0.0 { 0.0 } else { x }
}

#[inline(always)]
fn forwards(gates: &[f32], past: &[f32], units: usize, squash: impl Fn(f32) -> f32, mut out: Outputs<'_>) {
    for r in 0..past.len() / units {
        let mut j = 0;
        while j + BLOCK <= units {
            lstm_block::<BLOCK>(gates, past, [r, j, units], &squash, &mut out);
            j += BLOCK;
        }
        while j < units {
            lstm_block::<1>(gates, past, [r, j, units], &squash, &mut out);
            j += 1;
        }
    }
}

#[inline(always)]
fn lstm_block<const N: usize>(
    gates: &[f32],
    past: &[f32],
    [r, j, units]: [usize; 3],
    squash: impl Fn(f32) -> f32,
    out: &mut Outputs<'_>,
) {
    let (here, at) = (r * units + j, 4 * r * units + j);
    let [i, g, f, o] = [at, at + units, at + 2 * units, at + 3 * units];
    let (mut ai, mut ag, mut af, mut ao) =
        (take::<N>(gates, i), take::<N>(gates, g), take::<N>(gates, f), take::<N>(gates, o));
    let (mut cell, mut squashed, mut hidden) = (take::<N>(past, here), [0.0; N], [0.0; N]);
    for l in 0..N {
        ai[l] = sigmoid(ai[l]);
        ag[l] = tanh(ag[l]);
        af[l] = sigmoid(af[l] + 1.0);
        ao[l] = sigmoid(ao[l]);
        cell[l] = af[l] * cell[l] + ai[l] * ag[l];
        squashed[l] = squash(cell[l]);
        hidden[l] = ao[l] * squashed[l];
    }
    put(out.active, i, ai);
    put(out.active, g, ag);
    put(out.active, f, af);
    put(out.active, o, ao);
    put(out.cell, here, cell);
    put(out.squashed, here, squashed);
    put(out.hidden, here, hidden);
}

/// Numbers of a row that are worked on together: read, then computed, then written, so that no loop has to ask which slices overlap.
const BLOCK: usize = 16;

#[inline(always)]
fn take<const N: usize>(x: &[f32], at: usize) -> [f32; N] {
    let mut some = [0.0; N];
    some.copy_from_slice(&x[at..at + N]);
    some
}

#[inline(always)]
fn put<const N: usize>(x: &mut [f32], at: usize, some: [f32; N]) {
    x[at..at + N].copy_from_slice(&some);
}

#[inline(always)]
fn quarters(gates: &[f32], units: usize) -> [&[f32]; 4] {
    [0, 1, 2, 3].map(|gate| &gates[gate * units..][..units])
}

/// What the way back of an LSTM needs of a step.
#[derive(Clone, Copy, Debug)]
pub struct Kept<'a> {
    /// Activations of the gates.
    pub active: &'a [f32],
    /// squash(c').
    pub squashed: &'a [f32],
    /// c.
    pub past: &'a [f32],
}

/// Gradients of the gates and of c, from those of h' and c'.
#[multiversion(targets = "simd")]
pub fn lstm_back(kept: Kept<'_>, units: usize, squash: Squash, slopes: [&[f32]; 2], out: [&mut [f32]; 2]) {
    match squash {
        Squash::Tanh => backwards(kept, units, |y| 1.0 - y * y, slopes, out),
        Squash::Relu => backwards(kept, units, |y| if y > 0.0 { 1.0 } else { 0.0 }, slopes, out),
    }
}

/// `slope` is the derivative of the squashing as a function of its value.
#[inline(always)]
fn backwards(
    kept: Kept<'_>,
    units: usize,
    slope: impl Fn(f32) -> f32,
    [d_hidden, d_cell]: [&[f32]; 2],
    [d_gates, d_past]: [&mut [f32]; 2],
) {
    let Kept { active, squashed, past } = kept;
    for r in 0..d_hidden.len() / units {
        let here = r * units..(r + 1) * units;
        let [i, g, f, o] = quarters(&active[4 * here.start..4 * here.end], units);
        let (di, rest) = d_gates[4 * here.start..4 * here.end].split_at_mut(units);
        let (dg, rest) = rest.split_at_mut(units);
        let (df, do_) = rest.split_at_mut(units);
        let (squashed, past) = (&squashed[here.clone()], &past[here.clone()]);
        let (d_hidden, d_cell, d_past) = (&d_hidden[here.clone()], &d_cell[here.clone()], &mut d_past[here]);
        for j in 0..units {
            let (dh, s) = (d_hidden[j], squashed[j]);
            let dc = d_cell[j] + dh * o[j] * slope(s);
            di[j] = dc * g[j] * i[j] * (1.0 - i[j]);
            dg[j] = dc * i[j] * (1.0 - g[j] * g[j]);
            df[j] = dc * past[j] * f[j] * (1.0 - f[j]);
            do_[j] = dh * s * o[j] * (1.0 - o[j]);
            d_past[j] = dc * f[j];
        }
    }
}

/// `u = σ(xᵤ + hᵤ)`, `r = σ(xᵣ + hᵣ)`, `n = tanh(x_c + r h_c)`, `h' = u h + (1 − u) n` for input, recurrent product and
/// state; keeps u, r, n side by side.
#[multiversion(targets = "simd")]
pub fn gru([input, recurrent, hidden]: [&[f32]; 3], units: usize, active: &mut [f32], out: &mut [f32]) {
    for r in 0..out.len() / units {
        let mut j = 0;
        while j + BLOCK <= units {
            gru_block::<BLOCK>([input, recurrent, hidden], [r, j, units], active, out);
            j += BLOCK;
        }
        while j < units {
            gru_block::<1>([input, recurrent, hidden], [r, j, units], active, out);
            j += 1;
        }
    }
}

#[inline(always)]
fn gru_block<const N: usize>(
    [input, recurrent, hidden]: [&[f32]; 3],
    [r, j, units]: [usize; 3],
    active: &mut [f32],
    out: &mut [f32],
) {
    let (here, at) = (r * units + j, 3 * r * units + j);
    let [update, reset, new] = [at, at + units, at + 2 * units];
    let (mut u, mut rs, mut n) = (take::<N>(input, update), take::<N>(input, reset), take::<N>(input, new));
    let (hu, hr, hc) = (take::<N>(recurrent, update), take::<N>(recurrent, reset), take::<N>(recurrent, new));
    let mut h = take::<N>(hidden, here);
    for l in 0..N {
        u[l] = sigmoid(u[l] + hu[l]);
        rs[l] = sigmoid(rs[l] + hr[l]);
        n[l] = tanh(n[l] + rs[l] * hc[l]);
        h[l] = u[l] * h[l] + (1.0 - u[l]) * n[l];
    }
    put(active, update, u);
    put(active, reset, rs);
    put(active, new, n);
    put(out, here, h);
}

#[inline(always)]
fn thirds(gates: &[f32], units: usize) -> [&[f32]; 3] {
    [0, 1, 2].map(|gate| &gates[gate * units..][..units])
}

/// Gradients of input, recurrent product and state, given what was kept, the recurrent product and the state.
#[multiversion(targets = "simd")]
pub fn gru_back(
    [active, recurrent, hidden]: [&[f32]; 3],
    units: usize,
    dy: &[f32],
    [d_input, d_recurrent, d_hidden]: [&mut [f32]; 3],
) {
    for row in 0..dy.len() / units {
        let (here, gates) = (row * units..(row + 1) * units, 3 * row * units..3 * (row + 1) * units);
        let [u, r, n] = thirds(&active[gates.clone()], units);
        let hc = &recurrent[gates.clone()][2 * units..];
        let (xu, rest) = d_input[gates.clone()].split_at_mut(units);
        let (xr, xc) = rest.split_at_mut(units);
        let (hu, rest) = d_recurrent[gates].split_at_mut(units);
        let (hr, d_hc) = rest.split_at_mut(units);
        let (hidden, dy, d_hidden) = (&hidden[here.clone()], &dy[here.clone()], &mut d_hidden[here]);
        for j in 0..units {
            let d = dy[j];
            let du = d * (hidden[j] - n[j]) * u[j] * (1.0 - u[j]);
            let dn = d * (1.0 - u[j]) * (1.0 - n[j] * n[j]);
            let dr = dn * hc[j] * r[j] * (1.0 - r[j]);
            (xu[j], hu[j]) = (du, du);
            (xr[j], hr[j]) = (dr, dr);
            (xc[j], d_hc[j]) = (dn, dn * r[j]);
            d_hidden[j] = d * u[j];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::cpu::tests::random;
    use ive::Rng;

    /// Two rows of two blocks and a rest of three.
    const ROWS: usize = 2;
    const UNITS: usize = 2 * BLOCK + 3;

    /// The formulas, number by number.
    #[test]
    fn blocks_and_rests_of_cells_give_the_bits_of_the_formulas() {
        let mut rng = Rng::from_seed(1);
        let mut draw = |gates: usize| random(ROWS * UNITS * gates, &mut rng);
        let (input, recurrent, past, gates) = (draw(3), draw(3), draw(1), draw(4));
        let at = |gate: usize, count: usize, i: usize| (i / UNITS * count + gate) * UNITS + i % UNITS;
        let (mut active, mut out) = (vec![9.0; 3 * past.len()], vec![9.0; past.len()]);
        gru([&input, &recurrent, &past], UNITS, &mut active, &mut out);
        for i in 0..past.len() {
            let [u, r, n] = [0, 1, 2].map(|gate| at(gate, 3, i));
            let update = sigmoid(input[u] + recurrent[u]);
            let reset = sigmoid(input[r] + recurrent[r]);
            let new = tanh(input[n] + reset * recurrent[n]);
            let hidden = update * past[i] + (1.0 - update) * new;
            assert_eq!([active[u], active[r], active[n], out[i]], [update, reset, new, hidden], "{i}");
        }
        for (squash, function) in [(Squash::Tanh, tanh as fn(f32) -> f32), (Squash::Relu, relu)] {
            let mut active = vec![9.0; gates.len()];
            let [mut cell, mut squashed, mut hidden] = [0; 3].map(|_| vec![9.0; past.len()]);
            let new = Outputs {
                active: &mut active,
                cell: &mut cell,
                squashed: &mut squashed,
                hidden: &mut hidden,
            };
            lstm(&gates, &past, UNITS, squash, new);
            for j in 0..past.len() {
                let [i, g, f, o] = [0, 1, 2, 3].map(|gate| at(gate, 4, j));
                let open = [sigmoid(gates[i]), tanh(gates[g]), sigmoid(gates[f] + 1.0), sigmoid(gates[o])];
                let c = open[2] * past[j] + open[0] * open[1];
                assert_eq!([i, g, f, o].map(|k| active[k]), open, "{j}");
                assert_eq!([cell[j], squashed[j], hidden[j]], [c, function(c), open[3] * function(c)], "{j}");
            }
        }
    }
}
