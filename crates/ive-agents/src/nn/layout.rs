//! Where each parameter of a network lies in the flat vector of all of them.

use std::ops::Range;

use ive::Rng;

use super::truncated_normal;

/// One tensor of parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slot {
    /// Its name, as in "lstm.recurrent".
    pub name: &'static str,
    /// Its shape; stored row by row.
    pub shape: Vec<usize>,
    /// Its place.
    pub range: Range<usize>,
}

impl Slot {
    /// Its part of a vector of parameters or gradients.
    #[inline]
    pub fn of<'a>(&self, all: &'a [f32]) -> &'a [f32] {
        &all[self.range.clone()]
    }

    /// Its part of a vector of parameters or gradients, to be written.
    #[inline]
    pub fn of_mut<'a>(&self, all: &'a mut [f32]) -> &'a mut [f32] {
        &mut all[self.range.clone()]
    }
}

/// All tensors of a network, one after the other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    slots: Vec<Slot>,
}

impl Layout {
    /// Adds a tensor at the end.
    pub fn add(&mut self, name: &'static str, shape: &[usize]) -> Slot {
        let start = self.len();
        let range = start..start + shape.iter().product::<usize>();
        let slot = Slot { name, shape: shape.to_vec(), range };
        self.slots.push(slot.clone());
        slot
    }

    /// The number of parameters.
    pub fn len(&self) -> usize {
        self.slots.last().map_or(0, |slot| slot.range.end)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// The tensors in their order.
    pub fn slots(&self) -> &[Slot] {
        &self.slots
    }

    /// The name of the first tensor that holds a NaN or an infinity.
    pub fn not_finite(&self, all: &[f32]) -> Option<&'static str> {
        self.slots.iter().find(|slot| slot.of(all).iter().any(|x| !x.is_finite())).map(|slot| slot.name)
    }
}

/// He initialisation: a normal deviate cut at two standard deviations, of variance about `2 / fan_in`.
pub fn he(weights: &mut [f32], fan_in: usize, rng: &mut Rng) {
    let values = truncated_normal(weights.len(), fan_in, rng);
    let root = std::f64::consts::SQRT_2;
    weights.iter_mut().zip(values).for_each(|(w, x)| *w = (root * x) as f32);
}

/// Normal deviates of this standard deviation.
pub fn normal(weights: &mut [f32], std: f64, rng: &mut Rng) {
    weights.iter_mut().for_each(|w| *w = (std * rng.normal()) as f32);
}

/// A single output whose weights have length `norm`: nearly zero predictions at the start.
pub fn column_of_norm(weights: &mut [f32], norm: f64, rng: &mut Rng) {
    let mut values = vec![0.0; weights.len()];
    rng.fill_normal(&mut values);
    let length = values.iter().map(|x| x * x).sum::<f64>().sqrt();
    weights.iter_mut().zip(values).for_each(|(w, x)| *w = (x * norm / length) as f32);
}

/// Uniform in ±1/√fan_in, for weights and biases alike.
pub fn uniform_fan_in(weights: &mut [f32], fan_in: usize, rng: &mut Rng) {
    let bound = 1.0 / (fan_in as f64).sqrt();
    weights.iter_mut().for_each(|w| *w = ((2.0 * rng.uniform() - 1.0) * bound) as f32);
}

/// Glorot initialisation: uniform in `±√(6 / (fan_in + fan_out))`.
pub fn glorot(weights: &mut [f32], fan_in: usize, fan_out: usize, rng: &mut Rng) {
    let bound = (6.0 / (fan_in + fan_out) as f64).sqrt();
    weights.iter_mut().for_each(|w| *w = ((2.0 * rng.uniform() - 1.0) * bound) as f32);
}

/// Square matrices of `size` rows side by side, each orthogonal: normal deviates, made orthonormal row by row (Gram and Schmidt, twice,
/// against rounding).
pub fn orthogonal(weights: &mut [f32], size: usize, rng: &mut Rng) {
    let columns = weights.len() / size;
    for block in (0..columns).step_by(size) {
        let mut rows: Vec<Vec<f64>> = Vec::with_capacity(size);
        for i in 0..size {
            let mut row = vec![0.0; size];
            rng.fill_normal(&mut row);
            for earlier in rows.iter().chain(&rows) {
                let shared: f64 = row.iter().zip(earlier).map(|(a, b)| a * b).sum();
                row.iter_mut().zip(earlier).for_each(|(a, b)| *a -= shared * b);
            }
            let length = row.iter().map(|x| x * x).sum::<f64>().sqrt();
            row.iter_mut().for_each(|x| *x /= length);
            let to = &mut weights[i * columns + block..][..size];
            to.iter_mut().zip(&row).for_each(|(w, x)| *w = *x as f32);
            rows.push(row);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By definition: rows of unit length at right angles, in each of three blocks; single precision leaves 1e-6.
    #[test]
    fn orthogonal_blocks_are_orthogonal() {
        let (size, blocks) = (24, 3);
        let mut w = vec![0.0f32; size * size * blocks];
        orthogonal(&mut w, size, &mut Rng::from_seed(1));
        let row = |i: usize, block: usize| &w[i * size * blocks + block * size..][..size];
        for block in 0..blocks {
            for (i, j) in (0..size).flat_map(|i| (0..size).map(move |j| (i, j))) {
                let product: f32 = row(i, block).iter().zip(row(j, block)).map(|(a, b)| a * b).sum();
                assert!((product - f32::from(u8::from(i == j))).abs() < 1e-6, "rows {i} and {j}: {product}");
            }
        }
        assert_ne!(row(0, 0), row(0, 1));
    }

    #[test]
    fn tensors_follow_one_another_and_a_bad_one_is_named() {
        let mut layout = Layout::default();
        let (a, b) = (layout.add("a", &[2, 3]), layout.add("b", &[4]));
        assert_eq!((a.range, b.range.clone(), layout.len()), (0..6, 6..10, 10));
        let mut all = vec![0.0; 10];
        assert_eq!(layout.not_finite(&all), None);
        b.of_mut(&mut all)[1] = f32::NAN;
        assert_eq!(layout.not_finite(&all), Some("b"));
    }

    #[test]
    fn initial_values_have_their_scale() {
        let (mut w, mut rng) = (vec![0.0; 40_000], Rng::from_seed(5));
        let second = |w: &[f32]| w.iter().map(|x| f64::from(x * x)).sum::<f64>() / w.len() as f64;
        he(&mut w, 8, &mut rng);
        // Variance of the cut normal deviate 0.7737, times 2/8; four standard errors of about 0.5 %.
        assert!((second(&w) / (0.7737 * 0.25) - 1.0).abs() < 0.02, "{}", second(&w));
        uniform_fan_in(&mut w, 4, &mut rng);
        assert!((second(&w) / (0.25 / 3.0) - 1.0).abs() < 0.02 && w.iter().all(|x| x.abs() <= 0.5));
        normal(&mut w, 0.3, &mut rng);
        assert!((second(&w) / 0.09 - 1.0).abs() < 0.03);
        column_of_norm(&mut w, 0.01, &mut rng);
        assert!((second(&w) * 40_000.0 / 1e-4 - 1.0).abs() < 1e-5);
    }
}
