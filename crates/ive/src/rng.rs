//! A seeded, splittable generator with the same stream on every platform.
//!
//! The stream is xoshiro256++ started from SplitMix64, so `Rng::from_seed(s)` gives the numbers that every other
//! implementation of that pair gives for `s`. Logarithms come from a portable library and not from the operating
//! system, so normal deviates have the same bits everywhere too.
//!
//! Parts of an experiment get streams of their own by *name*, not by order: [`Rng::fold_in`] depends only on the seed
//! and the label, never on how many numbers were drawn before. Adding a draw in one place cannot shift another.
//!
//! ```
//! use ive::Rng;
//! let seed = Rng::from_seed(7);
//! let mut data = seed.fold_in(0);
//! let mut init = seed.fold_in(1);
//! assert_ne!(data.next_u64(), init.next_u64());
//! assert_eq!(seed.fold_in(1).next_u64(), Rng::from_seed(7).fold_in(1).next_u64());
//! ```

/// A pseudo-random generator: xoshiro256++ with named sub-streams.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rng {
    key: u64,
    state: [u64; 4],
}

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// The output function of SplitMix64: a bijection of the 64-bit words that looks random.
fn mix(z: u64) -> u64 {
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Rng {
    /// The generator of a seed.
    pub fn from_seed(seed: u64) -> Self {
        let state = [1, 2, 3, 4].map(|i| mix(seed.wrapping_add(GOLDEN.wrapping_mul(i))));
        Self { key: seed, state }
    }

    /// The sub-stream with this label. It depends on the seed and the label only, not on the draws made so far.
    #[must_use]
    pub fn fold_in(&self, label: u64) -> Self {
        Self::from_seed(mix(self.key ^ mix(label.wrapping_add(GOLDEN))))
    }

    /// A new independent generator; advances this one.
    #[must_use]
    pub fn split(&mut self) -> Self {
        Self::from_seed(self.next_u64())
    }

    /// The next 64 random bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        let s = &mut self.state;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// Uniform in [0, 1), a multiple of 2⁻⁵³.
    #[inline]
    pub fn uniform(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Uniform in 0..n, without bias (Lemire's multiplication with rejection).
    ///
    /// # Panics
    /// If `n` is zero.
    #[inline]
    pub fn below(&mut self, n: usize) -> usize {
        assert!(n > 0, "cannot draw from an empty range");
        let n = n as u64;
        let threshold = n.wrapping_neg() % n;
        loop {
            let wide = u128::from(self.next_u64()) * u128::from(n);
            if wide as u64 >= threshold {
                return (wide >> 64) as usize;
            }
        }
    }

    /// A pair of independent standard normal deviates (Marsaglia's polar method).
    fn normal_pair(&mut self) -> (f64, f64) {
        loop {
            let (x, y) = (2.0 * self.uniform() - 1.0, 2.0 * self.uniform() - 1.0);
            let s = x * x + y * y;
            if s > 0.0 && s < 1.0 {
                let scale = (-2.0 * libm::log(s) / s).sqrt();
                return (x * scale, y * scale);
            }
        }
    }

    /// A standard normal deviate.
    pub fn normal(&mut self) -> f64 {
        self.normal_pair().0
    }

    /// Fills a slice with independent standard normal deviates, at half the price of [`Rng::normal`] each.
    pub fn fill_normal(&mut self, out: &mut [f64]) {
        for pair in out.chunks_mut(2) {
            let (x, y) = self.normal_pair();
            pair[0] = x;
            if let Some(second) = pair.get_mut(1) {
                *second = y;
            }
        }
    }

    /// Puts a slice into uniformly random order (Fisher–Yates, from the front).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        let n = items.len();
        self.shuffle_front(items, n);
    }

    /// Makes the first `count` items a uniformly random draw without replacement, in random order. The rest keeps
    /// what is left over, in no particular order.
    ///
    /// Short slices need few bits per draw, so several positions are drawn from one word, exactly: with bounds
    /// b₁, …, bⱼ the word is read as a fraction in mixed radix, and rejected if it falls into the incomplete last
    /// part (Brackett-Rozinsky and Lemire, *Batched ranged random integer generation*, 2024).
    #[inline]
    pub fn shuffle_front<T>(&mut self, items: &mut [T], count: usize) {
        const BATCH: usize = 5;
        let (n, count) = (items.len(), count.min(items.len()));
        let mut i = 0;
        if n <= 1 << 12 {
            while i + BATCH <= count && i + BATCH < n {
                let picks = self.below_each(std::array::from_fn::<u64, BATCH, _>(|k| (n - i - k) as u64));
                for (k, pick) in picks.into_iter().enumerate() {
                    items.swap(i + k, i + k + pick);
                }
                i += BATCH;
            }
        }
        while i < count {
            let pick = self.below(n - i);
            items.swap(i, i + pick);
            i += 1;
        }
    }

    /// One draw from each of 0..b₁, …, 0..bⱼ, whose product fits a word.
    #[inline]
    fn below_each<const N: usize>(&mut self, bounds: [u64; N]) -> [usize; N] {
        let product: u64 = bounds.iter().product();
        loop {
            let mut fraction = self.next_u64();
            let picks = bounds.map(|bound| {
                let wide = u128::from(fraction) * u128::from(bound);
                fraction = wide as u64;
                (wide >> 64) as usize
            });
            // The first comparison is nearly always true and spares the division.
            if fraction >= product || fraction >= product.wrapping_neg() % product {
                return picks;
            }
        }
    }

    /// The complete state, to be saved in a checkpoint.
    pub fn to_words(&self) -> [u64; 5] {
        let [a, b, c, d] = self.state;
        [self.key, a, b, c, d]
    }

    /// The generator of a saved state.
    pub fn from_words([key, a, b, c, d]: [u64; 5]) -> Self {
        Self { key, state: [a, b, c, d] }
    }
}

#[cfg(feature = "rand_core")]
impl rand_core::TryRng for Rng {
    type Error = std::convert::Infallible;

    /// The upper half of the next 64 bits.
    fn try_next_u32(&mut self) -> Result<u32, Self::Error> {
        Ok((self.next_u64() >> 32) as u32)
    }

    fn try_next_u64(&mut self) -> Result<u64, Self::Error> {
        Ok(self.next_u64())
    }

    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Self::Error> {
        rand_core::utils::fill_bytes_via_next_word(out, || self.try_next_u64())
    }
}

#[cfg(feature = "rand_core")]
impl rand_core::SeedableRng for Rng {
    type Seed = [u8; 8];

    fn from_seed(seed: [u8; 8]) -> Self {
        Self::from_seed(u64::from_le_bytes(seed))
    }

    fn seed_from_u64(seed: u64) -> Self {
        Self::from_seed(seed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::{Rng as _, SeedableRng};

    #[test]
    fn stream_equals_the_public_xoshiro256plusplus() {
        for seed in [0, 1, 42, u64::MAX] {
            let mut theirs = rand_xoshiro::Xoshiro256PlusPlus::seed_from_u64(seed);
            let mut ours = Rng::from_seed(seed);
            for _ in 0..1000 {
                assert_eq!(ours.next_u64(), theirs.next_u64());
            }
        }
    }

    /// Published results depend on these streams: changing them is a breaking change. The literals come from the same
    /// recurrences written in Python.
    #[test]
    fn value_stability() {
        let mut rng = Rng::from_seed(2022).fold_in(3);
        let bits: Vec<u64> = (0..2).map(|_| rng.next_u64()).collect();
        assert_eq!(bits, [VALUE_STABILITY[0], VALUE_STABILITY[1]]);
        assert_eq!(rng.normal().to_bits(), VALUE_STABILITY[2]);
        assert_eq!(rng.below(1000) as u64, VALUE_STABILITY[3]);
    }
    const VALUE_STABILITY: [u64; 4] = [16958086755081007089, 5197494346688304763, 4610206833568626487, 455];

    /// All 720 orders of six items are equally likely: six is short enough to enumerate, long enough for a batch.
    #[test]
    fn every_order_is_equally_likely() {
        let (mut rng, n) = (Rng::from_seed(8), 720_000);
        let mut hits = std::collections::HashMap::new();
        for _ in 0..n {
            let mut items = [0, 1, 2, 3, 4, 5];
            rng.shuffle(&mut items);
            *hits.entry(items).or_insert(0u32) += 1;
        }
        let chi2: f64 = hits.values().map(|&h| (f64::from(h) - 1000.0).powi(2) / 1000.0).sum();
        // 719 degrees of freedom: mean 719, standard deviation 37.9; five of them allowed.
        assert!(
            hits.len() == 720 && (chi2 - 719.0).abs() < 190.0,
            "{} orders, chi-squared {chi2}",
            hits.len()
        );
    }

    #[test]
    fn a_drawn_front_leaves_a_permutation() {
        let mut items: Vec<u32> = (0..100).collect();
        Rng::from_seed(2).shuffle_front(&mut items, 37);
        let mut sorted = items.clone();
        sorted.sort_unstable();
        assert!(sorted.iter().copied().eq(0..100) && items[..37].iter().any(|&x| x > 60));
    }

    #[test]
    fn fold_in_ignores_draws_and_split_does_not_repeat() {
        let mut rng = Rng::from_seed(5);
        let before = rng.fold_in(9);
        rng.next_u64();
        assert_eq!(before, rng.fold_in(9));
        assert_ne!(rng.split(), rng.split());
        assert_ne!(rng.fold_in(0), rng.fold_in(1));
    }

    #[test]
    fn words_round_trip() {
        let mut rng = Rng::from_seed(5).fold_in(1);
        rng.uniform();
        assert_eq!(Rng::from_words(rng.to_words()), rng);
    }

    /// Tolerances are five standard errors of each estimate.
    #[test]
    fn moments_are_those_of_the_distributions() {
        let (mut rng, n) = (Rng::from_seed(1), 200_000);
        let mut x = vec![0.0; n];
        rng.fill_normal(&mut x);
        let mean = x.iter().sum::<f64>() / n as f64;
        let var = x.iter().map(|v| v * v).sum::<f64>() / n as f64;
        assert!(mean.abs() < 5.0 / (n as f64).sqrt(), "mean {mean}");
        assert!((var - 1.0).abs() < 5.0 * (2.0 / n as f64).sqrt(), "variance {var}");
        let mut hits = [0usize; 7];
        (0..n).for_each(|_| hits[rng.below(7)] += 1);
        let chi2: f64 = hits.iter().map(|&h| (h as f64 - n as f64 / 7.0).powi(2) / (n as f64 / 7.0)).sum();
        assert!(chi2 < 27.9, "chi-squared {chi2} beyond the 0.9999 quantile for 6 degrees of freedom");
    }
}
