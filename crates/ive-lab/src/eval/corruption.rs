//! States that are not of this world, made from states that are.
//!
//! An observation is `[row, column, channel]`, each entry 0 or 1. Every corruption keeps that form, so what is strange
//! about the result is only its content.

use ive::Rng;

/// Cells per side of a board.
const SIDE: usize = 10;
/// How dense dense noise is.
const DENSE: f64 = 0.3;

/// A way to make a state strange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Corruption {
    /// The cells change places at random; what is in a cell stays together.
    CellsShuffled,
    /// All entries change places at random: as many ones as before, without any order.
    Noise,
    /// Each entry is one with probability 0.3.
    DenseNoise,
    /// Channel c becomes channel c + 1, the last becomes the first: every object is taken for another.
    ChannelsRolled,
    /// The top row becomes the bottom row.
    Flipped,
    /// What is in this state or in another ordinary state, chosen at random.
    Merged,
    /// Nothing at all.
    Empty,
}

impl Corruption {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::CellsShuffled,
        Self::Noise,
        Self::DenseNoise,
        Self::ChannelsRolled,
        Self::Flipped,
        Self::Merged,
        Self::Empty,
    ];

    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            Self::CellsShuffled => "cells shuffled",
            Self::Noise => "noise (same density)",
            Self::DenseNoise => "dense noise (30 %)",
            Self::ChannelsRolled => "channels rolled",
            Self::Flipped => "upside down",
            Self::Merged => "two states merged",
            Self::Empty => "empty board",
        }
    }

    /// Corrupted copies of some states, in their order. `rng` is consumed.
    pub fn apply(self, states: &[Vec<u8>], rng: &mut Rng) -> Vec<Vec<u8>> {
        (0..states.len()).map(|i| self.one(states, i, rng)).collect()
    }

    fn one(self, states: &[Vec<u8>], i: usize, rng: &mut Rng) -> Vec<u8> {
        let state = &states[i];
        let mut new = state.clone();
        let channels = state.len() / (SIDE * SIDE);
        match self {
            Self::CellsShuffled => {
                let mut cells: Vec<&[u8]> = state.chunks_exact(channels).collect();
                rng.shuffle(&mut cells);
                new = cells.concat();
            }
            Self::Noise => rng.shuffle(&mut new),
            Self::DenseNoise => new.iter_mut().for_each(|entry| *entry = u8::from(rng.uniform() < DENSE)),
            Self::ChannelsRolled => new.chunks_exact_mut(channels).for_each(|cell| cell.rotate_right(1)),
            Self::Flipped => new = state.chunks_exact(SIDE * channels).rev().collect::<Vec<_>>().concat(),
            Self::Merged if states.len() > 1 => {
                let other = &states[(i + 1 + rng.below(states.len() - 1)) % states.len()];
                new.iter_mut().zip(other).for_each(|(a, b)| *a |= b);
            }
            Self::Merged => {}
            Self::Empty => new.fill(0),
        }
        new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHANNELS: usize = 4;

    /// Sparse random boards, no two alike.
    fn states() -> Vec<Vec<u8>> {
        let rng = &mut Rng::from_seed(5);
        (0..50).map(|_| (0..400).map(|_| u8::from(rng.uniform() < 0.1)).collect()).collect()
    }

    fn ones(state: &[u8]) -> usize {
        state.iter().map(|&entry| usize::from(entry)).sum()
    }

    fn each(corruption: Corruption, check: impl Fn(&[u8], &[u8])) {
        let (states, rng) = (states(), &mut Rng::from_seed(1));
        let strange = corruption.apply(&states, rng);
        assert_eq!(strange.len(), states.len());
        for (old, new) in states.iter().zip(&strange) {
            assert!(new.len() == old.len() && new.iter().all(|&entry| entry <= 1));
            assert_ne!(old, new, "{}", corruption.name());
            check(old, new);
        }
        assert_eq!(corruption.apply(&states, &mut Rng::from_seed(1)), strange, "the seed decides");
    }

    #[test]
    fn shuffled_cells_are_the_same_cells() {
        each(Corruption::CellsShuffled, |old, new| {
            let sorted = |state: &[u8]| {
                let mut cells: Vec<Vec<u8>> = state.chunks(CHANNELS).map(<[u8]>::to_vec).collect();
                cells.sort();
                cells
            };
            assert_eq!(sorted(old), sorted(new));
        });
    }

    #[test]
    fn noise_has_the_density_it_should_have() {
        each(Corruption::Noise, |old, new| assert_eq!(ones(old), ones(new)));
        // 400 draws with p = 0.3: mean 120, standard deviation 9.2; five of them are allowed.
        each(Corruption::DenseNoise, |_, new| assert!((74..=166).contains(&ones(new)), "{}", ones(new)));
        each(Corruption::Empty, |_, new| assert_eq!(ones(new), 0));
    }

    #[test]
    fn rolled_channels_and_flipped_rows_are_where_they_should_be() {
        each(Corruption::ChannelsRolled, |old, new| {
            (0..400).for_each(|i| assert_eq!(new[i / 4 * 4 + (i + 1) % 4], old[i]));
        });
        let width = SIDE * CHANNELS;
        each(Corruption::Flipped, |old, new| {
            (0..400).for_each(|i| assert_eq!(new[(9 - i / width) * width + i % width], old[i]));
        });
    }

    #[test]
    fn a_merged_state_is_this_one_or_exactly_one_other() {
        let states = states();
        each(Corruption::Merged, |old, new| {
            let merged =
                |other: &Vec<u8>| old.iter().zip(other).map(|(a, b)| a | b).collect::<Vec<u8>>() == new;
            assert_eq!(states.iter().filter(|other| merged(other)).count(), 1);
        });
    }
}
