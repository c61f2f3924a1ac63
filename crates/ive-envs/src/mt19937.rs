//! The generator of NumPy's `RandomState`: the Mersenne Twister MT19937, and the two draws that environments make of it.
//!
//! It exists for parity with recorded runs of the originals; everything else uses [`ive::Rng`].
//!
//! Matsumoto and Nishimura (1998), *Mersenne Twister: a 623-dimensionally equidistributed uniform pseudo-random number
//! generator*.

use crate::state::{Archive, StateError};

const N: usize = 624;
const M: usize = 397;

/// The twister, one block of 624 outputs at a time.
#[derive(Clone, Debug)]
pub(crate) struct Mt19937 {
    words: [u32; N],
    /// The next word to hand out; `N` when a new block is due.
    next: usize,
}

/// One step of the recurrence: the upper bit of `a`, the lower bits of `b`, and the word M places on.
#[inline]
fn twist(a: u32, b: u32, far: u32) -> u32 {
    let joined = (a & 0x8000_0000) | (b & 0x7fff_ffff);
    far ^ (joined >> 1) ^ ((joined & 1).wrapping_neg() & 0x9908_b0df)
}

impl Mt19937 {
    /// The generator that `RandomState(seed)` starts from.
    pub(crate) fn from_seed(seed: u32) -> Self {
        let mut words = [seed; N];
        for i in 1..N {
            let previous = words[i - 1] ^ (words[i - 1] >> 30);
            words[i] = previous.wrapping_mul(1_812_433_253).wrapping_add(i as u32);
        }
        Self { words, next: N }
    }

    #[cold]
    fn refill(&mut self) {
        let w = &mut self.words;
        for i in 0..N - M {
            w[i] = twist(w[i], w[i + 1], w[i + M]);
        }
        for i in N - M..N - 1 {
            w[i] = twist(w[i], w[i + 1], w[i + M - N]);
        }
        w[N - 1] = twist(w[N - 1], w[0], w[M - 1]);
        self.next = 0;
    }

    /// The next 32 random bits.
    #[inline]
    pub(crate) fn next_u32(&mut self) -> u32 {
        if self.next >= N {
            self.refill();
        }
        let mut y = self.words[self.next];
        self.next += 1;
        y ^= y >> 11;
        y ^= (y << 7) & 0x9d2c_5680;
        y ^= (y << 15) & 0xefc6_0000;
        y ^ (y >> 18)
    }

    /// `RandomState.rand()`: 53 bits out of two outputs.
    #[inline]
    pub(crate) fn rand(&mut self) -> f64 {
        let (high, low) = (u64::from(self.next_u32() >> 5), u64::from(self.next_u32() >> 6));
        ((high << 26) | low) as f64 / (1u64 << 53) as f64
    }

    /// `RandomState.randint(n)`: masked rejection, one output per try, none at all when there is no choice.
    pub(crate) fn randint(&mut self, n: u32) -> u32 {
        let largest = n - 1;
        if largest == 0 {
            return 0;
        }
        let mask = u32::MAX >> largest.leading_zeros();
        loop {
            let value = self.next_u32() & mask;
            if value <= largest {
                return value;
            }
        }
    }

    pub(crate) fn archive(&mut self, archive: &mut Archive) -> Result<(), StateError> {
        for pair in self.words.chunks_exact_mut(2) {
            let mut both = u64::from(pair[0]) | (u64::from(pair[1]) << 32);
            archive.word(&mut both)?;
            (pair[0], pair[1]) = (both as u32, (both >> 32) as u32);
        }
        let mut next = self.next as i32;
        archive.int(&mut next, 0..=N as i32)?;
        self.next = next as usize;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Printed by NumPy 2.4.6: three `rand()`, `randint(2)` five times, `randint(1, 6, 8)`, `randint(0, 1)`,
    /// `randint(1, 9)` four times, `rand(2)`; then, after 3 × `randint(7)` and 100,000 `rand()`, one more `rand()` and
    /// `randint(0, 8)`. The `rand()` values are given by their bits.
    struct Literals {
        seed: u32,
        first: [u64; 3],
        coins: [u32; 5],
        speeds: [u32; 8],
        rows: [u32; 4],
        pair: [u64; 2],
        sevens: [u32; 3],
        late: (u64, u32),
    }

    const NUMPY: [Literals; 3] = [
        Literals {
            seed: 0,
            first: [0x3fe18fe1565f12a8, 0x3fe6e2d4cf608733, 0x3fe349d66b6e894b],
            coins: [1, 1, 1, 1, 1],
            speeds: [3, 5, 1, 1, 5, 3, 2, 1],
            rows: [2, 6, 2, 6],
            pair: [0x3fd597e610b270d8, 0x3fe4bdd2f014b421],
            sevens: [0, 3, 5],
            late: (0x3fa648cfdc008df0, 6),
        },
        Literals {
            seed: 12345,
            first: [0x3fedbf6a3f8f84b7, 0x3fd43f7f410bb044, 0x3fc78aa6d0a2dad8],
            coins: [0, 0, 1, 0, 1],
            speeds: [2, 2, 4, 2, 4, 1, 3, 2],
            rows: [4, 6, 3, 2],
            pair: [0x3fd98505b263bec4, 0x3fe9d54f22a02a40],
            sevens: [5, 0, 5],
            late: (0x3fdbd4222112e1be, 6),
        },
        Literals {
            seed: 4294967295,
            first: [0x3fb8fe69a3924820, 0x3fed323d824032b1, 0x3fe93fc6f61af3f9],
            coins: [0, 0, 1, 0, 1],
            speeds: [4, 3, 4, 4, 3, 4, 2, 2],
            rows: [2, 5, 5, 1],
            pair: [0x3fea5d39bdf5a4fa, 0x3fec6d5b5b9f72c8],
            sevens: [4, 4, 2],
            late: (0x3fe0199c94c55c54, 1),
        },
    ];

    #[test]
    fn draws_equal_those_of_numpy() {
        for want in &NUMPY {
            let mut mt = Mt19937::from_seed(want.seed);
            assert_eq!([0; 3].map(|_| mt.rand().to_bits()), want.first);
            assert_eq!([0; 5].map(|_| mt.randint(2)), want.coins);
            assert_eq!([0; 8].map(|_| 1 + mt.randint(5)), want.speeds);
            assert_eq!(mt.randint(1), 0);
            assert_eq!([0; 4].map(|_| 1 + mt.randint(8)), want.rows);
            assert_eq!([0; 2].map(|_| mt.rand().to_bits()), want.pair);
            assert_eq!([0; 3].map(|_| mt.randint(7)), want.sevens);
            (0..100_000).for_each(|_| {
                mt.rand();
            });
            assert_eq!((mt.rand().to_bits(), mt.randint(8)), want.late);
        }
    }
}
