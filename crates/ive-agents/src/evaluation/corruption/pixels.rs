//! Corruptions of pictures: `[row, column, colour]`, bytes 0 to 255.

use super::{Corruption, another, upside_down};

/// All of them. Their order is that of the streams from which they draw.
pub(super) const ALL: [Corruption<u8>; 6] = [
    // The pixels change places at random; the colour of a pixel stays together.
    Corruption {
        name: "pixels shuffled",
        one: |states, i, shape, rng| {
            let mut pixels: Vec<&[u8]> = states[i].chunks_exact(shape[2]).collect();
            rng.shuffle(&mut pixels);
            pixels.concat()
        },
    },
    Corruption {
        name: "noise",
        one: |states, i, _, rng| states[i].iter().map(|_| rng.below(256) as u8).collect(),
    },
    Corruption {
        name: "colours inverted",
        one: |states, i, _, _| states[i].iter().map(|&byte| 255 - byte).collect(),
    },
    Corruption { name: "upside down", one: |states, i, shape, _| upside_down(&states[i], shape) },
    // Halfway between this state and another ordinary state, chosen at random.
    Corruption {
        name: "two states merged",
        one: |states, i, _, rng| {
            let other = another(states, i, rng);
            states[i].iter().zip(other).map(|(&a, &b)| u8::midpoint(a, b)).collect()
        },
    },
    Corruption { name: "black", one: |states, i, _, _| vec![0; states[i].len()] },
];

#[cfg(test)]
mod tests {
    use super::*;
    use ive::Rng;

    /// By hand, on two pictures of 2 × 1 pixels.
    #[test]
    fn corruptions_do_what_they_are_called() {
        let states = [vec![0, 10, 20, 100, 110, 255], vec![200; 6]];
        let of = |name: &str| {
            let corruption = ALL.iter().find(|known| known.name == name).unwrap();
            corruption.apply(&states, &[2, 1, 3], &mut Rng::from_seed(2)).remove(0)
        };
        assert_eq!(of("colours inverted"), [255, 245, 235, 155, 145, 0]);
        assert_eq!(of("upside down"), [100, 110, 255, 0, 10, 20]);
        assert_eq!(of("two states merged"), [100, 105, 110, 150, 155, 227]);
        assert_eq!(of("black"), [0; 6]);
        let shuffled = of("pixels shuffled");
        assert!(shuffled == states[0] || shuffled == of("upside down"), "{shuffled:?}");
        assert_ne!(of("noise"), states[0]);
    }
}
