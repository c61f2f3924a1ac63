//! Optimisers on flat vectors: Adam and centred RMSProp, in one pass each.

use multiversion::multiversion;

use super::aligned::Aligned;
use crate::archive::{Archive, ArchiveError};

/// The Euclidean length of a vector.
pub fn norm(x: &[f32]) -> f64 {
    f64::from(sum_of_squares(x)).sqrt()
}

#[multiversion(targets = "simd")]
fn sum_of_squares(x: &[f32]) -> f32 {
    const LANES: usize = 32;
    let mut sums = [0.0f32; LANES];
    let (chunks, rest) = x.as_chunks::<LANES>();
    for chunk in chunks {
        for (s, x) in sums.iter_mut().zip(chunk) {
            *s += x * x;
        }
    }
    for (s, x) in sums.iter_mut().zip(rest) {
        *s += x * x;
    }
    sums.iter().sum()
}

/// Adam (Kingma and Ba, 2015): `m ← β₁m + (1−β₁)g`, `u ← β₂u + (1−β₂)g²`, `x ← x − α m̂ / (√û + ε)` with the means
/// corrected for their start at zero; β₁ = 0.9, β₂ = 0.999. With decay λ (Loshchilov and Hutter, 2019) and largest entry c of a
/// step (Muesli), `x ← x − α (clip(m̂ / (√û + ε), −c, c) + λ x)`.
#[derive(Clone, Debug)]
pub struct Adam {
    /// Steps taken.
    time: u64,
    mean: Aligned,
    square: Aligned,
    epsilon: f64,
    /// λ and c, unless there is neither.
    decay: Option<(f64, f64)>,
}

impl Adam {
    const BETA_1: f64 = 0.9;
    const BETA_2: f64 = 0.999;

    /// For `len` parameters.
    pub fn new(len: usize, epsilon: f64) -> Self {
        Self { time: 0, mean: Aligned::zeros(len), square: Aligned::zeros(len), epsilon, decay: None }
    }

    /// The same with weight decay λ and steps of at most c before the learning rate.
    #[must_use]
    pub fn with_decay(self, decay: f64, largest: f64) -> Self {
        Self { decay: Some((decay, largest)), ..self }
    }

    /// One step along `scale` times the gradient.
    pub fn step(&mut self, x: &mut [f32], gradient: &[f32], scale: f64, learning_rate: f64) {
        self.time += 1;
        let correction = |beta: f64| 1.0 - beta.powf(self.time as f64);
        let root = correction(Self::BETA_2).sqrt();
        // x − α/c₁ m / (√u/√c₂ + ε) = x − (α√c₂/c₁) m / (√u + ε√c₂)
        let step = (learning_rate * root / correction(Self::BETA_1)) as f32;
        let epsilon = (self.epsilon * root) as f32;
        let (mean, square, scale) = (&mut *self.mean, &mut *self.square, scale as f32);
        match self.decay {
            None => adam(x, gradient, mean, square, scale, step, epsilon),
            Some((decay, largest)) => {
                let largest = (learning_rate * largest) as f32;
                let kept = (1.0 - learning_rate * decay) as f32;
                adam_with_decay(x, gradient, mean, square, [scale, step, epsilon, largest, kept]);
            }
        }
    }

    /// Saves or restores; `prefix` is put in front of all names.
    pub fn archive(&mut self, prefix: &str, archive: &mut Archive) -> Result<(), ArchiveError> {
        archive.u64(&format!("{prefix}optimiser.time"), &mut self.time)?;
        archive.f32(&format!("{prefix}optimiser.mean"), &mut self.mean)?;
        archive.f32(&format!("{prefix}optimiser.square"), &mut self.square)
    }
}

#[multiversion(targets = "simd")]
fn adam(x: &mut [f32], g: &[f32], m: &mut [f32], u: &mut [f32], scale: f32, step: f32, epsilon: f32) {
    for (((x, g), m), u) in x.iter_mut().zip(g).zip(m).zip(u) {
        let g = scale * g;
        *m += 0.1 * (g - *m);
        *u += 0.001 * (g * g - *u);
        *x -= step * *m / (u.sqrt() + epsilon);
    }
}

#[multiversion(targets = "simd")]
fn adam_with_decay(x: &mut [f32], g: &[f32], m: &mut [f32], u: &mut [f32], settings: [f32; 5]) {
    let [scale, step, epsilon, largest, kept] = settings;
    for (((x, g), m), u) in x.iter_mut().zip(g).zip(m).zip(u) {
        let g = scale * g;
        *m += 0.1 * (g - *m);
        *u += 0.001 * (g * g - *u);
        *x = kept * *x - (step * *m / (u.sqrt() + epsilon)).clamp(-largest, largest);
    }
}

/// A learning rate that falls from `first` to `last` in a straight line, after this share of all steps.
pub fn linear_decay(first: f64, last: f64, done: f64) -> f64 {
    first + (last - first) * done.clamp(0.0, 1.0)
}

/// Centred RMSProp without momentum (Graves, 2013), as in the MinAtar example: `ḡ ← ρḡ + (1−ρ)g`,
/// `n ← ρn + (1−ρ)g²`, `x ← x − α g / (√(n − ḡ²) + ε)`.
#[derive(Clone, Debug)]
pub struct CentredRmsProp {
    mean: Aligned,
    square: Aligned,
    smoothing: f64,
    epsilon: f64,
}

impl CentredRmsProp {
    /// For `len` parameters.
    pub fn new(len: usize, smoothing: f64, epsilon: f64) -> Self {
        Self { mean: Aligned::zeros(len), square: Aligned::zeros(len), smoothing, epsilon }
    }

    /// One step against `scale` times the gradient.
    pub fn step(&mut self, x: &mut [f32], gradient: &[f32], scale: f64, learning_rate: f64) {
        let settings = [scale, learning_rate, self.smoothing, self.epsilon].map(|x| x as f32);
        centred_rms_prop(x, gradient, &mut self.mean, &mut self.square, settings);
    }

    /// Saves or restores; `prefix` is put in front of all names.
    pub fn archive(&mut self, prefix: &str, archive: &mut Archive) -> Result<(), ArchiveError> {
        archive.f32(&format!("{prefix}optimiser.mean"), &mut self.mean)?;
        archive.f32(&format!("{prefix}optimiser.square"), &mut self.square)
    }
}

#[multiversion(targets = "simd")]
fn centred_rms_prop(x: &mut [f32], g: &[f32], mean: &mut [f32], square: &mut [f32], settings: [f32; 4]) {
    let [scale, rate, rho, epsilon] = settings;
    for (((x, g), m), n) in x.iter_mut().zip(g).zip(mean).zip(square) {
        let g = scale * g;
        *m = rho * *m + (1.0 - rho) * g;
        *n = rho * *n + (1.0 - rho) * (g * g);
        // Rounding can make the variance slightly negative.
        *x -= rate * g / ((*n - *m * *m).max(0.0).sqrt() + epsilon);
    }
}
