//! Numbers as distributions over atoms: the value and reward heads of MuZero and Muesli.
//!
//! A head gives logits over evenly spaced atoms on a compressed scale. The number is `h⁻¹(Σ p z)`, expectation first; a target
//! is put on the two neighbouring atoms so that its mean is right.

use multiversion::multiversion;

use crate::nn::cpu::functions::exp;

/// The slope that keeps the compression invertible: ε of Pohlen et al. (2018).
const SLOPE: f64 = 0.001;

/// `h(x) = sign(x) (√(|x| + 1) − 1) + ε x`, ε = 0.001 (Pohlen et al., 2018, Prop. A.2).
pub fn compress(x: f64) -> f64 {
    x.signum() * ((x.abs() + 1.0).sqrt() - 1.0) + SLOPE * x
}

/// `h⁻¹(y) = sign(y) (((√(1 + 4ε (|y| + 1 + ε)) − 1) / 2ε)² − 1)`.
pub fn expand(y: f64) -> f64 {
    let root = ((1.0 + 4.0 * SLOPE * (y.abs() + 1.0 + SLOPE)).sqrt() - 1.0) / (2.0 * SLOPE);
    y.signum() * (root * root - 1.0)
}

/// Evenly spaced atoms from `−largest` to `largest` on the compressed scale.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Support {
    largest: f64,
    atoms: usize,
}

impl Support {
    /// `None` unless there are two atoms or more and the largest is a positive number.
    pub fn new(largest: f64, atoms: usize) -> Option<Self> {
        (atoms >= 2 && largest.is_finite() && largest > 0.0).then_some(Self { largest, atoms })
    }

    /// How many atoms there are.
    pub fn atoms(&self) -> usize {
        self.atoms
    }

    /// Atom j on the compressed scale.
    pub fn atom(&self, j: usize) -> f64 {
        self.largest * (2.0 * j as f64 / (self.atoms - 1) as f64 - 1.0)
    }

    /// The lower of the two neighbouring atoms around `y`, on the compressed scale, and the share of the upper one, so that their mean is
    /// `y`, or the last atom if `y` lies beyond it.
    pub fn neighbours(&self, y: f64) -> (usize, f32) {
        let place = (y.clamp(-self.largest, self.largest) + self.largest) / (2.0 * self.largest)
            * (self.atoms - 1) as f64;
        let low = (place.floor() as usize).min(self.atoms - 2);
        (low, (place - low as f64) as f32)
    }

    /// Writes the distribution over two neighbouring atoms whose mean is `y`, on the compressed scale, or the last atom if
    /// `y` lies beyond it. What is not a number becomes none.
    ///
    /// # Panics
    /// If `out` has not one entry for each atom.
    pub fn two_hot(&self, y: f64, out: &mut [f32]) {
        assert_eq!(out.len(), self.atoms, "an entry for each atom");
        let (low, share) = self.neighbours(y);
        out.fill(0.0);
        (out[low], out[low + 1]) = (1.0 - share, share);
    }

    /// `h⁻¹(Σ p z)` of each distribution, given by a row of logits.
    ///
    /// # Panics
    /// If rows do not have a logit for each atom.
    pub fn numbers(&self, logits: &[f32], out: &mut Vec<f32>) {
        assert!(logits.len().is_multiple_of(self.atoms), "a logit for each atom");
        let atoms: Vec<f32> = (0..self.atoms).map(|j| self.atom(j) as f32).collect();
        out.clear();
        out.resize(logits.len() / self.atoms, 0.0);
        means(logits, &atoms, out);
        out.iter_mut().for_each(|mean| *mean = expand(f64::from(*mean)) as f32);
    }
}

/// `Σ p z` of each row of logits.
#[multiversion(targets = "simd")]
fn means(logits: &[f32], atoms: &[f32], out: &mut [f32]) {
    for (row, mean) in logits.chunks_exact(atoms.len()).zip(out) {
        let largest = row.iter().copied().fold(f32::NEG_INFINITY, |a, b| if b > a { b } else { a });
        let (mut mass, mut sum) = ([0.0f32; 8], [0.0f32; 8]);
        for (row, atoms) in row.chunks(8).zip(atoms.chunks(8)) {
            for (l, (x, z)) in row.iter().zip(atoms).enumerate() {
                let p = exp(x - largest);
                mass[l] += p;
                sum[l] += p * z;
            }
        }
        *mean = sum.iter().sum::<f32>() / mass.iter().sum::<f32>();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// NumPy: `np.sign(x) * (np.sqrt(np.abs(x) + 1) - 1) + 0.001 * x`.
    #[test]
    fn compression_has_the_values_of_its_formula_and_an_inverse() {
        for (x, expected) in
            [(0.0, 0.0), (3.0, 1.003), (-3.0, -1.003), (10.0, 2.326_624_790_355_4), (99.0, 9.099)]
        {
            assert!((compress(x) - expected).abs() < 1e-12, "h({x}) = {}", compress(x));
        }
        for i in -3000..=3000 {
            let x = f64::from(i) * 0.37;
            assert!((expand(compress(x)) - x).abs() < 1e-9 * (1.0 + x.abs()), "{x}");
        }
    }

    #[test]
    fn two_atoms_carry_the_mean_and_nothing_lies_beyond_the_last() {
        let support = Support::new(4.0, 41).unwrap();
        let mut out = vec![9.0; 41];
        for i in -500..=500 {
            let y = f64::from(i) * 0.01;
            support.two_hot(y, &mut out);
            let mean: f64 = (0..41).map(|j| f64::from(out[j]) * support.atom(j)).sum();
            assert!((mean - y.clamp(-4.0, 4.0)).abs() < 1e-6, "{y}: {mean}");
            assert!((out.iter().sum::<f32>() - 1.0).abs() < 1e-6 && out.iter().all(|p| *p >= 0.0));
            assert!(out.iter().filter(|p| **p > 0.0).count() <= 2);
        }
        support.two_hot(f64::NAN, &mut out);
        assert!(out.iter().any(|p| p.is_nan()), "what is not a number must stay visible");
    }

    /// Logits that are the logarithms of a two-hot distribution give the number back.
    #[test]
    fn numbers_come_back_from_their_distributions() {
        let support = Support::new(6.0, 61).unwrap();
        let (mut out, mut numbers) = (vec![0.0; 61], Vec::new());
        for x in [-40.0, -1.5, 0.0, 0.3, 7.0, 40.0] {
            support.two_hot(compress(x), &mut out);
            let logits: Vec<f32> = out.iter().map(|p| p.max(1e-30).ln()).collect();
            support.numbers(&logits, &mut numbers);
            assert!((f64::from(numbers[0]) - x).abs() < 1e-4 * (1.0 + x.abs()), "{x}");
        }
        support.numbers(&[0.0; 122], &mut numbers);
        assert!(numbers.len() == 2 && numbers.iter().all(|x| x.abs() < 1e-5));
        support.numbers(&[f32::NAN; 61], &mut numbers);
        assert!(numbers[0].is_nan(), "what is not a number must stay visible");
        assert!(
            Support::new(1.0, 1).is_none()
                && Support::new(f64::NAN, 9).is_none()
                && Support::new(0.0, 9).is_none()
        );
    }
}
