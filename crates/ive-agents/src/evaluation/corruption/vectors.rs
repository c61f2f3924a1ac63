//! Corruptions of vectors of real numbers, each entry with a meaning and a scale of its own.

use super::{Corruption, another};

/// All of them. Their order is that of the streams from which they draw.
pub(super) const ALL: [Corruption<f64>; 5] = [
    // Each entry is that of a state of its own: every number is ordinary, their combination is not.
    Corruption {
        name: "entries of different states",
        one: |states, i, _, rng| (0..states[i].len()).map(|at| states[rng.below(states.len())][at]).collect(),
    },
    // The entries change places at random.
    Corruption {
        name: "entries shuffled",
        one: |states, i, _, rng| {
            let mut new = states[i].clone();
            rng.shuffle(&mut new);
            new
        },
    },
    Corruption { name: "signs turned", one: |states, i, _, _| states[i].iter().map(|x| -x).collect() },
    // Three times as far from another ordinary state as this one is.
    Corruption {
        name: "three times as far",
        one: |states, i, _, rng| {
            let other = another(states, i, rng);
            states[i].iter().zip(other).map(|(a, b)| b + 3.0 * (a - b)).collect()
        },
    },
    Corruption { name: "zero", one: |states, i, _, _| vec![0.0; states[i].len()] },
];

#[cfg(test)]
mod tests {
    use super::*;
    use ive::Rng;

    #[test]
    fn corruptions_do_what_they_are_called() {
        let states = [vec![1.0, -2.0, 3.0], vec![0.5, 0.0, 7.0]];
        let of = |name: &str| {
            let corruption = ALL.iter().find(|known| known.name == name).unwrap();
            corruption.apply(&states, &[3], &mut Rng::from_seed(2)).remove(0)
        };
        assert_eq!(of("signs turned"), [-1.0, 2.0, -3.0]);
        // By hand: 0.5 + 3 · 0.5, 0 + 3 · −2, 7 + 3 · −4.
        assert_eq!(of("three times as far"), [2.0, -6.0, -5.0]);
        assert_eq!(of("zero"), [0.0; 3]);
        let mixed = of("entries of different states");
        assert!(mixed.iter().enumerate().all(|(at, x)| states.iter().any(|state| state[at] == *x)));
        let mut shuffled = of("entries shuffled");
        shuffled.sort_by(f64::total_cmp);
        assert_eq!(shuffled, [-2.0, 1.0, 3.0]);
    }
}
