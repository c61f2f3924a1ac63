//! Corruptions of boards: `[row, column, channel]`, each entry 0 or 1.

use super::{Corruption, another, upside_down};

/// How dense dense noise is.
const DENSE: f64 = 0.3;

/// All of them. Their order is that of the streams from which they draw.
pub(super) const ALL: [Corruption<u8>; 7] = [
    // The cells change places at random; what is in a cell stays together.
    Corruption {
        name: "cells shuffled",
        one: |states, i, shape, rng| {
            let mut cells: Vec<&[u8]> = states[i].chunks_exact(shape[2]).collect();
            rng.shuffle(&mut cells);
            cells.concat()
        },
    },
    // All entries change places at random: as many ones as before, without any order.
    Corruption {
        name: "noise (same density)",
        one: |states, i, _, rng| {
            let mut new = states[i].clone();
            rng.shuffle(&mut new);
            new
        },
    },
    Corruption {
        name: "dense noise (30 %)",
        one: |states, i, _, rng| states[i].iter().map(|_| u8::from(rng.uniform() < DENSE)).collect(),
    },
    // Channel c becomes channel c + 1, the last becomes the first: every object is taken for another.
    Corruption {
        name: "channels rolled",
        one: |states, i, shape, _| {
            let mut new = states[i].clone();
            new.chunks_exact_mut(shape[2]).for_each(|cell| cell.rotate_right(1));
            new
        },
    },
    // The top row becomes the bottom row.
    Corruption { name: "upside down", one: |states, i, shape, _| upside_down(&states[i], shape) },
    // What is in this state or in another ordinary state, chosen at random.
    Corruption {
        name: "two states merged",
        one: |states, i, _, rng| {
            let other = another(states, i, rng);
            states[i].iter().zip(other).map(|(a, b)| a | b).collect()
        },
    },
    Corruption { name: "empty board", one: |states, i, _, _| vec![0; states[i].len()] },
];

#[cfg(test)]
mod tests {
    use super::*;
    use ive::Rng;

    const SHAPE: [usize; 3] = [10, 10, 4];

    /// Sparse random boards, no two alike.
    fn states() -> Vec<Vec<u8>> {
        let rng = &mut Rng::from_seed(5);
        (0..50).map(|_| (0..400).map(|_| u8::from(rng.uniform() < 0.1)).collect()).collect()
    }

    fn ones(state: &[u8]) -> usize {
        state.iter().map(|&entry| usize::from(entry)).sum()
    }

    fn each(name: &str, check: impl Fn(&[u8], &[u8])) {
        let (states, rng) = (states(), &mut Rng::from_seed(1));
        let corruption = ALL.iter().find(|known| known.name == name).unwrap();
        let strange = corruption.apply(&states, &SHAPE, rng);
        assert_eq!(strange.len(), states.len());
        for (old, new) in states.iter().zip(&strange) {
            assert!(new.len() == old.len() && new.iter().all(|&entry| entry <= 1));
            assert_ne!(old, new, "{name}");
            check(old, new);
        }
        assert_eq!(corruption.apply(&states, &SHAPE, &mut Rng::from_seed(1)), strange, "the seed decides");
    }

    #[test]
    fn shuffled_cells_are_the_same_cells() {
        each("cells shuffled", |old, new| {
            let sorted = |state: &[u8]| {
                let mut cells: Vec<Vec<u8>> = state.chunks(4).map(<[u8]>::to_vec).collect();
                cells.sort();
                cells
            };
            assert_eq!(sorted(old), sorted(new));
        });
    }

    #[test]
    fn noise_has_the_density_it_should_have() {
        each("noise (same density)", |old, new| assert_eq!(ones(old), ones(new)));
        // 400 draws with p = 0.3: mean 120, standard deviation 9.2; five of them are allowed.
        each("dense noise (30 %)", |_, new| assert!((74..=166).contains(&ones(new)), "{}", ones(new)));
        each("empty board", |_, new| assert_eq!(ones(new), 0));
    }

    #[test]
    fn rolled_channels_and_flipped_rows_are_where_they_should_be() {
        each("channels rolled", |old, new| {
            (0..400).for_each(|i| assert_eq!(new[i / 4 * 4 + (i + 1) % 4], old[i]));
        });
        each("upside down", |old, new| {
            (0..400).for_each(|i| assert_eq!(new[(9 - i / 40) * 40 + i % 40], old[i]));
        });
    }

    #[test]
    fn a_merged_state_is_this_one_or_exactly_one_other() {
        let states = states();
        each("two states merged", |old, new| {
            let merged =
                |other: &Vec<u8>| old.iter().zip(other).map(|(a, b)| a | b).collect::<Vec<u8>>() == new;
            assert_eq!(states.iter().filter(|other| merged(other)).count(), 1);
        });
    }
}
