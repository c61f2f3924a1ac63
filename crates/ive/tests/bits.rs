//! The exact kernels give the same bits on every processor, for any number of threads, and as before (decision 0003).

#![allow(clippy::unwrap_used, reason = "a test that cannot unwrap has failed")]

use ive::{ExactIve, Members, Rng, TabularModel};
use proptest::prelude::*;

/// A random table with as many successors of each pair as there are states, or fewer.
struct World {
    states: usize,
    actions: usize,
    reward: Vec<f64>,
    next: Vec<u32>,
    probability: Vec<f64>,
    q: Vec<f64>,
    policy: Vec<f64>,
}

fn rows(n: usize, width: usize, rng: &mut Rng) -> Vec<f64> {
    let mut p: Vec<f64> = (0..n * width).map(|_| rng.uniform() + 0.01).collect();
    for row in p.chunks_mut(width) {
        let sum: f64 = row.iter().sum();
        row.iter_mut().for_each(|x| *x /= sum);
    }
    p
}

impl World {
    fn new(states: usize, actions: usize, successors: usize, rng: &mut Rng) -> Self {
        let pairs = states * actions;
        let (mut reward, mut q) = (vec![0.0; pairs], vec![0.0; pairs]);
        rng.fill_normal(&mut reward);
        rng.fill_normal(&mut q);
        let next = (0..pairs * successors).map(|_| rng.below(states) as u32).collect();
        let probability = rows(pairs, successors, rng);
        Self { states, actions, reward, next, probability, q, policy: rows(states, actions, rng) }
    }

    /// Probabilities that `f32` holds exactly.
    fn rounded(mut self) -> Self {
        self.probability.iter_mut().for_each(|p| *p = f64::from(*p as f32));
        self
    }

    fn single(&self) -> Vec<f32> {
        self.probability.iter().map(|&p| p as f32).collect()
    }

    fn table<P: ive::Probability>(&self, probability: Vec<P>) -> TabularModel {
        let (states, pairs) = (self.states, self.reward.len());
        let successors = probability.len() / pairs;
        if successors == states {
            return TabularModel::dense(states, self.actions, self.reward.clone(), probability).unwrap();
        }
        let offsets = (0..=pairs).map(|i| i * successors).collect();
        let (reward, next) = (self.reward.clone(), self.next.clone());
        TabularModel::sparse(states, self.actions, reward, offsets, next, probability).unwrap()
    }

    fn sigma(&self, model: &TabularModel, n: u16, threads: usize) -> Vec<f64> {
        let ive = ExactIve::new(&self.policy, 0.97, Members::up_to(n)).threads(threads);
        let sigma = model.inconsistency(&self.q, &ive).unwrap();
        [sigma.states, sigma.pairs].concat()
    }
}

/// FNV-1a over 64-bit words.
fn hash(numbers: &[f64]) -> u64 {
    numbers.iter().fold(0xcbf2_9ce4_8422_2325, |h, x| (h ^ x.to_bits()).wrapping_mul(0x0000_0100_0000_01b3))
}

fn hash_of(shapes: &[(usize, usize, usize)], n: u16, table: impl Fn(&World) -> TabularModel) -> u64 {
    let rng = &mut Rng::from_seed(2022);
    let sigma = |&(states, actions, successors): &(usize, usize, usize)| {
        let world = World::new(states, actions, successors, rng);
        world.sigma(&table(&world), n, 1)
    };
    hash(&shapes.iter().flat_map(sigma).collect::<Vec<f64>>())
}

/// The numbers come from the kernels of version 0.1, before they had vectors of 512 bits (those in single precision from
/// the first that had it). They have been found again with AVX-512, with AVX2, with SSE4.2 and with neither.
#[test]
fn bits_are_those_of_version_0_1_on_every_processor() {
    let double = |world: &World| world.table(world.probability.clone());
    let small: Vec<_> = (1..=64).flat_map(|s| (1..=5).map(move |a| (s, a, s))).collect();
    assert_eq!(hash_of(&small, 7, double), BITS[0], "small");
    let dense: Vec<_> = [65, 77, 96, 129].into_iter().flat_map(|s| [1, 3, 4].map(|a| (s, a, s))).collect();
    assert_eq!(hash_of(&dense, 23, double), BITS[1], "dense, many vectors");
    assert_eq!(hash_of(&dense, 5, double), BITS[2], "dense, few vectors");
    let sparse: Vec<_> = [1, 3, 8, 17].into_iter().flat_map(|k| [1, 4].map(|a| (301, a, k))).collect();
    assert_eq!(hash_of(&sparse, 9, double), BITS[3], "sparse");
    let single = |world: &World| world.table(world.single());
    assert_eq!(hash_of(&dense, 23, single), SINGLE, "dense in single precision");
}
const BITS: [u64; 4] =
    [0x0789_51e6_9e06_203f, 0x413f_291f_e86c_399a, 0x4da5_6df6_f9e8_2fd6, 0x5d5b_0ae7_49af_010e];
const SINGLE: u64 = 0xb191_2955_3dc3_f78c;

/// Entries are widened exactly, so only the memory is halved.
#[test]
fn small_and_sparse_tables_in_single_precision_have_the_bits_of_double() {
    let rng = &mut Rng::from_seed(1);
    for (states, actions, successors) in [(1, 1, 1), (25, 4, 25), (64, 3, 64), (301, 4, 8), (90, 2, 1)] {
        let world = World::new(states, actions, successors, rng).rounded();
        let [double, single] = [world.table(world.probability.clone()), world.table(world.single())];
        assert_eq!(world.sigma(&single, 9, 1), world.sigma(&double, 9, 1), "{states} states");
        assert_eq!(world.sigma(&single, 9, 3), world.sigma(&double, 9, 1), "{states} states");
        let values = &world.q[..states];
        assert_eq!(single.action_values(values, 0.9).unwrap(), double.action_values(values, 0.9).unwrap());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// A large dense table rounds P_π to 24 bits, a relative error of 6e-8 in each of its entries, and neglects 7e-9 of a
    /// vector's length. The values are at most n + 1 times the largest number of the table, the errors of n steps add up,
    /// and σ is off by no more than the values are.
    #[test]
    fn large_dense_tables_in_single_precision_are_right_to_its_rounding(
        states in 65usize..=200, actions in 1usize..=4, n in 0u16..23, seed in any::<u64>(),
    ) {
        let world = World::new(states, actions, states, &mut Rng::from_seed(seed)).rounded();
        let [double, single] = [world.table(world.probability.clone()), world.table(world.single())];
        let (exact, sigma) = (world.sigma(&double, n, 1), world.sigma(&single, n, 1));
        prop_assert_eq!(&sigma, &world.sigma(&single, n, 3), "bits depend on the number of threads");
        let largest = world.q.iter().chain(&world.reward).fold(0.0_f64, |most, x| most.max(x.abs()));
        let allowed = 7e-8 * f64::from(n) * f64::from(n + 1) * largest;
        for (x, y) in sigma.iter().zip(&exact) {
            prop_assert!((x - y).abs() <= allowed, "{x} {y}");
        }
    }
}

#[test]
fn rows_in_single_precision_are_checked() {
    let message = |row: [f32; 2]| {
        let table = TabularModel::dense(2, 1, vec![0.0; 2], [[0.5, 0.5], row].concat());
        table.map_or_else(|e| e.to_string(), |_| String::new())
    };
    assert_eq!(message([0.3, 0.7]), "");
    assert_eq!(message([0.25, 0.5]), "probabilities: row 1 sums to 0.75, a distribution sums to 1");
    assert_eq!(message([f32::NAN, 1.0]), "transition: entry 2 is NaN, not a finite number");
    assert_eq!(message([0.0, f32::INFINITY]), "transition: entry 3 is inf, not a finite number");
    assert_eq!(message([1.5, -0.5]), "probabilities: row 1 sums to 1, a distribution sums to 1");
}
