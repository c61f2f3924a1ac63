//! Losses of rows and their gradients.

use multiversion::multiversion;

use super::functions::{exp, ln};

/// Huber's loss with threshold one.
#[inline]
pub fn huber_of(x: f32) -> f32 {
    let a = x.abs();
    if a <= 1.0 { 0.5 * x * x } else { a - 0.5 }
}

/// `Σⱼ Huber(x − y)` of each row.
pub fn huber(x: &[f32], y: &[f32], columns: usize, out: &mut [f32]) {
    for ((x, y), l) in x.chunks_exact(columns).zip(y.chunks_exact(columns)).zip(out) {
        *l = x.iter().zip(y).map(|(x, y)| huber_of(x - y)).sum();
    }
}

/// Its gradient: x − y, within ±1.
pub fn huber_back(x: &[f32], y: &[f32], d: &mut [f32]) {
    d.iter_mut().zip(x.iter().zip(y)).for_each(|(d, (x, y))| *d = (x - y).clamp(-1.0, 1.0));
}

/// `½ Σⱼ (x − y)²` of each row.
pub fn gaussian(x: &[f32], y: &[f32], columns: usize, out: &mut [f32]) {
    for ((x, y), l) in x.chunks_exact(columns).zip(y.chunks_exact(columns)).zip(out) {
        *l = 0.5 * x.iter().zip(y).map(|(x, y)| (x - y) * (x - y)).sum::<f32>();
    }
}

/// Its gradient: x − y.
pub fn gaussian_back(x: &[f32], y: &[f32], d: &mut [f32]) {
    d.iter_mut().zip(x.iter().zip(y)).for_each(|(d, (x, y))| *d = x - y);
}

/// `Σⱼ ln(s'/s) + (s² + (m − m')²) / (2 s'²) − ½` of each row, from m, s, m', s'.
#[multiversion(targets = "simd")]
pub fn kl([m, s, to_m, to_s]: [&[f32]; 4], columns: usize, out: &mut [f32]) {
    for (r, l) in out.iter_mut().enumerate() {
        let row = r * columns..(r + 1) * columns;
        let (m, s, to_m, to_s) = (&m[row.clone()], &s[row.clone()], &to_m[row.clone()], &to_s[row]);
        *l = (0..columns)
            .map(|j| {
                let apart = m[j] - to_m[j];
                ln(to_s[j] / s[j]) + (s[j] * s[j] + apart * apart) / (2.0 * to_s[j] * to_s[j]) - 0.5
            })
            .sum();
    }
}

/// Its gradients.
#[multiversion(targets = "simd")]
pub fn kl_back([m, s, to_m, to_s]: [&[f32]; 4], [dm, ds, d_to_m, d_to_s]: [&mut [f32]; 4]) {
    for j in 0..m.len() {
        let (apart, precision) = (m[j] - to_m[j], 1.0 / (to_s[j] * to_s[j]));
        dm[j] = apart * precision;
        ds[j] = s[j] * precision - 1.0 / s[j];
        d_to_m[j] = -dm[j];
        d_to_s[j] = (1.0 - (s[j] * s[j] + apart * apart) * precision) / to_s[j];
    }
}

/// `x − ln Σⱼ eˣ` of each row.
#[multiversion(targets = "simd")]
pub fn log_softmax(x: &[f32], columns: usize, y: &mut [f32]) {
    for (x, y) in x.chunks_exact(columns).zip(y.chunks_exact_mut(columns)) {
        let largest = x.iter().copied().fold(f32::NEG_INFINITY, |a, b| if b > a { b } else { a });
        let mut sums = [0.0f32; 8];
        for part in x.chunks(8) {
            sums.iter_mut().zip(part).for_each(|(s, x)| *s += exp(x - largest));
        }
        let shift = largest + ln(sums.iter().sum());
        y.iter_mut().zip(x).for_each(|(y, x)| *y = x - shift);
    }
}

/// `dx = dy − softmax(x) Σ dy`, given `y = log softmax(x)`.
#[multiversion(targets = "simd")]
pub fn log_softmax_back(y: &[f32], columns: usize, dy: &[f32], dx: &mut [f32]) {
    let rows = y.chunks_exact(columns).zip(dy.chunks_exact(columns));
    for ((y, dy), dx) in rows.zip(dx.chunks_exact_mut(columns)) {
        let total: f32 = dy.iter().sum();
        dx.iter_mut().zip(y.iter().zip(dy)).for_each(|(dx, (y, dy))| *dx = dy - exp(*y) * total);
    }
}

/// `−Σⱼ y log p` of each row, from log p.
pub fn cross_entropy(log_p: &[f32], y: &[f32], columns: usize, out: &mut [f32]) {
    for ((p, y), l) in log_p.chunks_exact(columns).zip(y.chunks_exact(columns)).zip(out) {
        *l = -p.iter().zip(y).map(|(p, y)| p * y).sum::<f32>();
    }
}

/// Its gradient with respect to the logits: `p Σⱼ y − y`.
#[multiversion(targets = "simd")]
pub fn cross_entropy_back(log_p: &[f32], y: &[f32], columns: usize, d: &mut [f32]) {
    for ((p, y), d) in
        log_p.chunks_exact(columns).zip(y.chunks_exact(columns)).zip(d.chunks_exact_mut(columns))
    {
        let total: f32 = y.iter().sum();
        d.iter_mut().zip(p.iter().zip(y)).for_each(|(d, (p, y))| *d = exp(*p) * total - y);
    }
}
