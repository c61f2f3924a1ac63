//! The first layer of a MinAtar network: a 3 × 3 convolution over a board of zeros and ones, then ReLU.
//!
//! A board has a few dozen ones among up to a thousand entries, so both directions walk over the ones only: a one at
//! (row, column, channel) adds its nine rows of weights to the nine outputs that see it. Boards are kept as bits.

use std::sync::Arc;

use multiversion::multiversion;

/// Rows and columns of a board.
pub const SIZE: usize = 10;
/// Rows and columns of the output: no padding.
pub const OUT: usize = SIZE - 2;
/// Output channels.
pub const FILTERS: usize = 16;
/// Numbers in the output of one board.
pub const FEATURES: usize = OUT * OUT * FILTERS;
/// Bits of a word.
const WORD: usize = 64;

/// How many words the bits of a board with this many channels take.
pub fn words(channels: usize) -> usize {
    (SIZE * SIZE * channels).div_ceil(WORD)
}

/// Packs an observation `[row, column, channel]` of zeros and ones into bits.
#[inline]
pub fn pack(observation: &[u8], bits: &mut [u64]) {
    for (word, bytes) in bits.iter_mut().zip(observation.chunks(WORD)) {
        *word = bytes.iter().enumerate().fold(0, |w, (i, &b)| w | u64::from(b != 0) << i);
    }
}

/// The shape of the layer.
#[derive(Clone, Debug)]
pub struct Board {
    channels: usize,
    /// Row, column and channel of each bit.
    places: Arc<[[u8; 3]]>,
}

impl Board {
    /// For boards with this many channels.
    pub fn new(channels: usize) -> Self {
        let place = |bit: usize| {
            let (cell, channel) = (bit / channels, bit % channels);
            [(cell / SIZE) as u8, (cell % SIZE) as u8, channel as u8]
        };
        Self { channels, places: (0..SIZE * SIZE * channels).map(place).collect() }
    }

    /// Channels of a board.
    pub fn channels(&self) -> usize {
        self.channels
    }

    /// Words of a board.
    pub fn words(&self) -> usize {
        words(self.channels)
    }

    /// Whether all ones of a packed board lie on it: none behind its last cell.
    pub fn holds(&self, bits: &[u64]) -> bool {
        let used = self.places.len() % WORD;
        bits.len() == self.words() && (used == 0 || bits[bits.len() - 1] >> used == 0)
    }

    /// Packs observations one after the other.
    pub fn pack_all(&self, observations: &[u8], boards: &mut Vec<u64>) {
        let (length, words) = (SIZE * SIZE * self.channels, self.words());
        boards.resize(observations.len() / length * words, 0);
        for (observation, bits) in observations.chunks_exact(length).zip(boards.chunks_exact_mut(words)) {
            pack(observation, bits);
        }
    }

    /// Observations from bits, one after the other: the way back from [`pack_all`](Self::pack_all).
    pub fn unpack_all(&self, boards: &[u64]) -> Vec<u8> {
        let cells = |bits: &[u64]| -> Vec<u8> {
            (0..self.places.len()).map(|i| (bits[i / WORD] >> (i % WORD) & 1) as u8).collect()
        };
        boards.chunks_exact(self.words()).flat_map(cells).collect()
    }

    /// `relu(W * x + b)` for boards one after the other; W is `[3, 3, channel, filter]`, the output
    /// `[board, row, column, filter]`.
    pub fn forward(&self, weight: &[f32], bias: &[f32], bits: &[u64], out: &mut [f32]) {
        let (weight, _) = weight.as_chunks::<FILTERS>();
        for (bits, out) in bits.chunks_exact(self.words()).zip(out.chunks_exact_mut(FEATURES)) {
            let (out, _) = out.as_chunks_mut::<FILTERS>();
            spread(&self.places, self.channels, weight, bias, bits, out);
        }
    }

    /// Adds the gradient of W, given that before the ReLU.
    pub fn backward(&self, bits: &[u64], d_out: &[f32], d_weight: &mut [f32]) {
        let (d_weight, _) = d_weight.as_chunks_mut::<FILTERS>();
        for (bits, d_out) in bits.chunks_exact(self.words()).zip(d_out.chunks_exact(FEATURES)) {
            gather(&self.places, self.channels, bits, d_out.as_chunks().0, d_weight);
        }
    }
}

/// Calls `each` with the places of the ones.
#[inline(always)]
fn for_each_one(places: &[[u8; 3]], bits: &[u64], mut each: impl FnMut([usize; 3])) {
    for (w, &word) in bits.iter().enumerate() {
        let mut word = word;
        while word != 0 {
            each(places[w * WORD + word.trailing_zeros() as usize].map(usize::from));
            word &= word - 1;
        }
    }
}

/// The outputs in one direction that see an input: output o sees inputs o, o + 1, o + 2.
#[inline(always)]
fn seen_by(at: usize) -> std::ops::RangeInclusive<usize> {
    at.saturating_sub(2)..=at.min(OUT - 1)
}

#[multiversion(targets = "simd")]
fn spread(
    places: &[[u8; 3]],
    channels: usize,
    weight: &[[f32; FILTERS]],
    bias: &[f32],
    bits: &[u64],
    out: &mut [[f32; FILTERS]],
) {
    for cell in out.iter_mut() {
        cell.copy_from_slice(bias);
    }
    for_each_one(places, bits, |[row, column, channel]| {
        for y in seen_by(row) {
            for x in seen_by(column) {
                let w = &weight[((row - y) * 3 + column - x) * channels + channel];
                for (o, w) in out[y * OUT + x].iter_mut().zip(w) {
                    *o += w;
                }
            }
        }
    });
    out.as_flattened_mut().iter_mut().for_each(|o| *o = o.max(0.0));
}

#[multiversion(targets = "simd")]
fn gather(
    places: &[[u8; 3]],
    channels: usize,
    bits: &[u64],
    d_out: &[[f32; FILTERS]],
    d_weight: &mut [[f32; FILTERS]],
) {
    for_each_one(places, bits, |[row, column, channel]| {
        for y in seen_by(row) {
            for x in seen_by(column) {
                let w = &mut d_weight[((row - y) * 3 + column - x) * channels + channel];
                for (w, d) in w.iter_mut().zip(&d_out[y * OUT + x]) {
                    *w += d;
                }
            }
        }
    });
}
