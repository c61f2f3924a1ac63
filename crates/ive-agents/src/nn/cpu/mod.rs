//! Networks on the processor, for nets so small that the bookkeeping of a tensor engine costs more than the arithmetic.
//!
//! Everything works on slices of `f32`, in memory that is made once. Each piece is tested against the tensor engine, which
//! stays the reference.
//!
//! - [`tape`]: the operations of a [graph](crate::nn::graph), forwards and backwards;
//! - [`matmul`](mod@matmul): matrix products, and [`packed`] weights for many products;
//! - [`functions`]: exp, ln, tanh, sigmoid and ELU that the compiler can vectorise;
//! - [`board`]: the convolution over a board of zeros and ones, which costs as much as there are ones; [`torso`]: what follows it;
//! - [`rows`], `recurrent`, `losses`, `pictures`: everything that is not a product;
//! - [`descent`]: Adam and centred RMSProp; [`aligned`]: vectors that begin with a cache line.

pub mod aligned;
#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "x86_64")]
mod avx512_row;
pub mod board;
pub mod descent;
pub mod functions;
mod losses;
pub mod matmul;
pub mod packed;
mod pictures;
mod recurrent;
pub mod rows;
pub mod tape;
pub mod torso;

pub use super::layout::{Layout, Slot};
pub use matmul::{Matrix, matmul, matmul_nt, matmul_tn};
pub use packed::Packed;

#[cfg(test)]
mod tests {
    use ive::Rng;

    pub fn random(n: usize, rng: &mut Rng) -> Vec<f32> {
        (0..n).map(|_| rng.normal() as f32).collect()
    }

    /// The product by its definition, in double precision, and the sum of the sizes of its terms.
    pub fn plain(a: &[f32], b: &[f32], m: usize, k: usize, n: usize) -> Vec<(f64, f64)> {
        let mut c = vec![(0.0, 0.0); m * n];
        for (i, c) in c.iter_mut().enumerate() {
            let terms = (0..k).map(|l| f64::from(a[i / n * k + l]) * f64::from(b[l * n + i % n]));
            *c = terms.fold((0.0, 0.0), |(sum, size), t| (sum + t, size + t.abs()));
        }
        c
    }

    pub fn close(ours: &[f32], theirs: &[(f64, f64)]) {
        assert_eq!(ours.len(), theirs.len());
        for (o, (t, size)) in ours.iter().zip(theirs) {
            // Rounding errors of a sum grow with its terms, not with its result: a few units in the last place.
            assert!((f64::from(*o) - t).abs() <= 5e-7 * size, "{o} and {t}");
        }
    }
}
