//! Laws that every implicit value ensemble obeys, whatever the model.

#![allow(clippy::unwrap_used, reason = "a test that cannot unwrap has failed")]

use ive::{
    Backup, BellmanOperator, ExactIve, Imagined, Members, ModelError, Rng, Signal, TabularModel, Ties,
    ValueEnsemble, branch, greedy, greedy_policy, mean_and_error, reduce_actions, unroll,
};
use proptest::prelude::*;

/// A random table with its value, policy and discount.
#[derive(Clone, Debug)]
struct World {
    states: usize,
    actions: usize,
    reward: Vec<f64>,
    transition: Vec<f64>,
    q: Vec<f64>,
    policy: Vec<f64>,
    discount: f64,
}

impl World {
    fn model(&self) -> TabularModel {
        TabularModel::dense(self.states, self.actions, self.reward.clone(), self.transition.clone()).unwrap()
    }

    /// The same table with only the non-zero entries stored.
    fn sparse(&self) -> TabularModel {
        let (mut offsets, mut next, mut probability) = (vec![0], vec![], vec![]);
        for row in self.transition.chunks(self.states) {
            row.iter().enumerate().filter(|(_, p)| **p > 0.0).for_each(|(s, &p)| {
                next.push(s as u32);
                probability.push(p);
            });
            offsets.push(next.len());
        }
        TabularModel::sparse(self.states, self.actions, self.reward.clone(), offsets, next, probability)
            .unwrap()
    }

    fn ensemble(&self, n: usize) -> ValueEnsemble {
        let model = self.model();
        let op = model.action_operator(Backup::Evaluation(&self.policy), self.discount).unwrap();
        ValueEnsemble::implicit_exact(&op, &self.q, &Members::new(0..=n).unwrap()).unwrap()
    }

    /// The true action values of the policy, by repeating the operator until nothing moves.
    fn true_q(&self) -> Vec<f64> {
        let model = self.model();
        let op = model.action_operator(Backup::Evaluation(&self.policy), self.discount).unwrap();
        let mut q = self.q.clone();
        for _ in 0..2000 {
            q = op.backup(&q);
        }
        q
    }
}

fn rows(n: usize, width: usize) -> impl Strategy<Value = Vec<f64>> {
    // Sparse on purpose: about half of the entries of a row are zero, the first never.
    prop::collection::vec((0.0f64..1.0, any::<bool>()), n * width).prop_map(move |x| {
        let keep = |(i, &(p, on)): (usize, &(f64, bool))| if on || i % width == 0 { p + 0.01 } else { 0.0 };
        let mut x: Vec<f64> = x.iter().enumerate().map(keep).collect();
        for row in x.chunks_mut(width) {
            let sum: f64 = row.iter().sum();
            row.iter_mut().for_each(|p| *p /= sum);
        }
        x
    })
}

fn worlds(states: std::ops::RangeInclusive<usize>) -> impl Strategy<Value = World> {
    (states, 1usize..=5).prop_flat_map(|(states, actions)| {
        let table = || prop::collection::vec(-2.0f64..2.0, states * actions);
        (table(), rows(states * actions, states), table(), rows(states, actions), 0.0f64..0.97).prop_map(
            move |(reward, transition, q, policy, discount)| World {
                states,
                actions,
                reward,
                transition,
                q,
                policy,
                discount,
            },
        )
    })
}

fn close(a: &[f64], b: &[f64], tolerance: f64) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(x, y)| (x - y).abs() <= tolerance)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn std_is_zero_when_model_and_value_agree(mut world in worlds(1..=12)) {
        world.q = world.true_q();
        prop_assert!(world.ensemble(8).std().iter().all(|s| *s < 1e-10));
    }

    #[test]
    fn std_is_zero_for_constant_reward_and_its_value(mut world in worlds(1..=12), c in -3.0f64..3.0) {
        world.reward.fill(c);
        world.q.fill(c / (1.0 - world.discount));
        prop_assert!(world.ensemble(8).std().iter().all(|s| *s < 1e-12));
    }

    /// r + (1−γ)c and q + c shift every member by c; scaling both by c scales σ by |c|.
    #[test]
    fn shift_and_scale(world in worlds(1..=12), c in -3.0f64..3.0) {
        let before = world.ensemble(6);
        let mut shifted = world.clone();
        shifted.reward.iter_mut().for_each(|r| *r += (1.0 - world.discount) * c);
        shifted.q.iter_mut().for_each(|q| *q += c);
        let after = shifted.ensemble(6);
        prop_assert!(close(&after.std(), &before.std(), 1e-11));
        let moved: Vec<f64> = before.mean().iter().map(|m| m + c).collect();
        prop_assert!(close(&after.mean(), &moved, 1e-11));

        let mut scaled = world.clone();
        scaled.reward.iter_mut().chain(&mut scaled.q).for_each(|x| *x *= c);
        let want: Vec<f64> = before.std().iter().map(|s| s * c.abs()).collect();
        prop_assert!(close(&scaled.ensemble(6).std(), &want, 1e-11));
    }

    #[test]
    fn horizon_zero_is_the_value_itself(world in worlds(1..=12)) {
        let ensemble = world.ensemble(0);
        prop_assert_eq!(ensemble.size(), 1);
        prop_assert_eq!(ensemble.mean(), world.q.clone());
        prop_assert!(ensemble.std().iter().all(|s| *s == 0.0));
    }

    #[test]
    fn optimality_is_at_least_evaluation(world in worlds(1..=12)) {
        let model = world.model();
        let evaluation = model.action_operator(Backup::Evaluation(&world.policy), world.discount).unwrap();
        let optimality = model.action_operator(Backup::Optimality, world.discount).unwrap();
        let (mut e, mut o) = (world.q.clone(), world.q.clone());
        for _ in 0..5 {
            (e, o) = (evaluation.backup(&e), optimality.backup(&o));
            prop_assert!(e.iter().zip(&o).all(|(e, o)| *o >= e - 1e-12));
        }
    }

    #[test]
    fn members_may_be_permuted(world in worlds(1..=6), seed in any::<u64>()) {
        let ensemble = world.ensemble(6);
        let mut members: Vec<Vec<f64>> = ensemble.members().map(<[f64]>::to_vec).collect();
        Rng::from_seed(seed).shuffle(&mut members);
        let shuffled = ValueEnsemble::from_members(&members).unwrap();
        prop_assert!(close(&shuffled.std(), &ensemble.std(), 1e-13));
        prop_assert!(close(&shuffled.mean(), &ensemble.mean(), 1e-13));
        prop_assert_eq!(shuffled.score(Signal::Range).unwrap(), ensemble.score(Signal::Range).unwrap());
    }

    /// Dense, small, sparse, one thread or several: one answer.
    #[test]
    fn every_kernel_gives_the_plain_answer(world in prop_oneof![worlds(1..=70), worlds(65..=90)], first in 0usize..3, n in 0usize..23) {
        let members = Members::new(first..=first + n).unwrap();
        let plain = world.ensemble(first + n).select(&members).unwrap().std();
        let ive = ExactIve::new(&world.policy, world.discount, members);
        let [dense, sparse] = [world.model(), world.sparse()].map(|m| {
            let one = m.inconsistency(&world.q, &ive).unwrap();
            let three = m.inconsistency(&world.q, &ive.clone().threads(3)).unwrap();
            assert_eq!(one, three, "bits depend on the number of threads");
            one
        });
        prop_assert!(close(&dense.pairs, &plain, 1e-9) && close(&sparse.pairs, &plain, 1e-9));
        prop_assert!(close(&dense.states, &sparse.states, 1e-9));
    }

    /// A unit of reward is a matter of taste: σ scales with rewards and values, in every kernel, far beyond the range in
    /// which squares are numbers.
    #[test]
    fn sigma_scales_with_rewards_and_values(world in prop_oneof![worlds(1..=8), worlds(65..=70)], exponent in -900i32..900) {
        let unit = 2.0_f64.powi(exponent);
        let mut scaled = world.clone();
        scaled.reward.iter_mut().chain(&mut scaled.q).for_each(|x| *x *= unit);
        let ive = ExactIve::new(&world.policy, world.discount, Members::up_to(5));
        for (model, large) in [(world.model(), scaled.model()), (world.sparse(), scaled.sparse())] {
            let (sigma, large) = (model.inconsistency(&world.q, &ive).unwrap(), large.inconsistency(&scaled.q, &ive).unwrap());
            for (x, y) in sigma.states.iter().chain(&sigma.pairs).zip(large.states.iter().chain(&large.pairs)) {
                // Relative to 1, the order of rewards and values: what is less is rounding of either.
                prop_assert!((x - y / unit).abs() <= 1e-12, "{x} {y}");
            }
        }
    }

    /// Scores in another unit: the same decisions, ties included. Scores are equal, equal up to rounding, or clearly apart.
    #[test]
    fn scaling_all_scores_changes_no_decision(
        values in prop::collection::vec((-1.0f64..1.0, 0usize..4, prop_oneof![Just(0.0), Just(1e-15), Just(1e-9)]), 12),
        exponent in -280.0f64..280.0,
        seed in any::<u64>(),
    ) {
        // Some repeat the first of their row, changed by a share of it.
        let mut scores: Vec<f64> = values.iter().map(|v| v.0).collect();
        for (i, (_, kind, share)) in values.iter().enumerate() {
            if *kind == 0 {
                scores[i] = scores[i / 4 * 4] * (1.0 + share);
            }
        }
        let factor = 10.0_f64.powf(exponent);
        let scaled: Vec<f64> = scores.iter().map(|x| x * factor).collect();
        for ties in [Ties::First, Ties::Random, Ties::Uniform] {
            let policy = |scores: &[f64]| greedy_policy(scores, 4, ties, &mut Rng::from_seed(seed)).unwrap();
            prop_assert_eq!(policy(&scores), policy(&scaled));
            let action = |scores: &[f64]| greedy(scores, ties, &mut Rng::from_seed(seed)).unwrap();
            prop_assert_eq!(action(&scores), action(&scaled));
        }
    }

    /// A batch of two states gives what each gives alone.
    #[test]
    fn a_batch_is_its_singles(x in -3.0f64..3.0, y in -3.0f64..3.0, gain in 0.5f64..1.2) {
        let model = |s: &Vec<f64>, (): &(), _: &mut Rng| -> std::result::Result<_, ModelError> {
            let next: Vec<f64> = s.iter().map(|x| gain * x).collect();
            Ok(Imagined { reward: next.iter().map(|x| x.sin()).collect(), discount: vec![0.9; s.len()], next })
        };
        let value = |s: &Vec<f64>| -> std::result::Result<Vec<f64>, ModelError> { Ok(s.iter().map(|x| x.cos()).collect()) };
        let policy = |_: &Vec<f64>, _: &mut Rng| -> std::result::Result<(), ModelError> { Ok(()) };
        let sigma = |s: Vec<f64>| {
            ValueEnsemble::implicit(&unroll(&model, &value, &policy, s, 5, &mut Rng::from_seed(0)).unwrap()).std()
        };
        prop_assert_eq!(sigma(vec![x, y]), [sigma(vec![x]), sigma(vec![y])].concat());
    }
}

/// Averaged over 40,000 sampled paths from each state, the members reach the exact ones within five standard errors.
#[test]
fn sampled_members_converge_to_the_exact_ones() {
    let world = World {
        states: 3,
        actions: 2,
        reward: vec![1.0, -1.0, 0.5, 0.0, 0.3, 2.0],
        transition: [
            0.2, 0.5, 0.3, 0.0, 0.1, 0.9, 1.0, 0.0, 0.0, 0.4, 0.4, 0.2, 0.0, 0.0, 1.0, 0.6, 0.2, 0.2,
        ]
        .to_vec(),
        q: vec![0.3, 0.1, -0.4, 0.8, 1.1, -0.7],
        policy: vec![0.5, 0.5, 0.2, 0.8, 0.9, 0.1],
        discount: 0.9,
    };
    let v = reduce_actions(&world.q, 2, Backup::Evaluation(&world.policy)).unwrap();
    for model in [world.model(), world.sparse()] {
        let op = model.state_operator(Backup::Evaluation(&world.policy), world.discount).unwrap();
        let exact = ValueEnsemble::implicit_exact(&op, &v, &Members::up_to(4)).unwrap();

        let n = 40_000;
        let start: Vec<usize> = (0..3 * n).map(|i| i / n).collect();
        let value =
            |s: &Vec<usize>| -> std::result::Result<_, ModelError> { Ok(s.iter().map(|&s| v[s]).collect()) };
        let policy = |s: &Vec<usize>, rng: &mut Rng| -> std::result::Result<Vec<usize>, ModelError> {
            Ok(s.iter().map(|&s| usize::from(rng.uniform() >= world.policy[2 * s])).collect())
        };
        let rng = &mut Rng::from_seed(11);
        let path = unroll(&model.sampler(world.discount), &value, &policy, start, 4, rng).unwrap();
        let sampled = ValueEnsemble::implicit(&path);
        for (k, (member, want)) in sampled.members().zip(exact.members()).enumerate() {
            for (s, column) in member.chunks(n).enumerate() {
                let (mean, error) = mean_and_error(column);
                assert!(
                    (mean - want[s]).abs() <= 5.0 * error + 1e-12,
                    "k={k} s={s}: {mean} ± {error} against {}",
                    want[s]
                );
            }
        }
    }
}

/// μ + β·σ is what it says, and the optimality operator agrees with value iteration by hand: two states, state 0 may
/// stay (reward 0) or move to state 1 (reward −1); state 1 pays 1 for ever. γ = ½, v̂ = 0.
#[test]
fn optimality_and_utility_by_hand() {
    let model =
        TabularModel::dense(2, 2, vec![0.0, -1.0, 1.0, 1.0], vec![1.0, 0.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0])
            .unwrap();
    let op = model.state_operator(Backup::Optimality, 0.5).unwrap();
    let ensemble = ValueEnsemble::implicit_exact(&op, &[0.0, 0.0], &Members::up_to(3)).unwrap();
    let members: Vec<Vec<f64>> = ensemble.members().map(<[f64]>::to_vec).collect();
    // v¹ = (max(0, −1), 1), v² = (max(0, −1 + ½), 1 + ½), v³ = (max(0, −1 + ¾), 1 + ¾).
    assert_eq!(members, [[0.0, 0.0], [0.0, 1.0], [0.0, 1.5], [0.0, 1.75]]);
    let (mean, std) = (ensemble.mean(), ensemble.std());
    let utility = ensemble.score(Signal::MeanPlusStd { beta: -2.0 }).unwrap();
    assert_eq!(utility, [mean[0] - 2.0 * std[0], mean[1] - 2.0 * std[1]]);
    // NumPy: np.std([0, 1, 1.5, 1.75])
    assert!((std[1] - 0.6702378309227255).abs() < 1e-15);
}

/// By hand: from the first state the world goes on with probability ¾ and the model with ½; what follows is the same. With v = (0, 8) the
/// models differ by γ · ¼ · 8 after one step; after two, by that and by what was different one step before, weighed by the probability of staying.
#[test]
fn value_equivalence_by_hand() {
    let table = |stay: f64, paid: f64| {
        TabularModel::dense(2, 1, vec![paid, 1.0], vec![stay, 1.0 - stay, 0.0, 1.0]).unwrap()
    };
    let (world, model, policy) = (table(0.25, 0.0), table(0.5, 0.0), [1.0, 1.0]);
    let gap = |m: &TabularModel, k| m.value_equivalence(&world, &[&policy], &[&[0.0, 8.0]], k, 0.5).unwrap();
    assert_eq!(gap(&model, 0), [0.0, 0.0]);
    assert_eq!(gap(&model, 1), [1.0, 0.0]);
    // World: v¹ = (3, 5), v² = ⅜ + 15/8. Model: v¹ = (2, 5), v² = ½ + 5/4.
    assert_eq!(gap(&model, 2), [0.5, 0.0]);
    assert_eq!(gap(&world, 7), [0.0, 0.0], "a world is equivalent to itself");
    // Two policies that cannot differ, two values: (1 + 0) · 2. A reward that is off by 1 makes up for it: also a value-equivalent model, one step ahead.
    let twice = model.value_equivalence(&world, &[&policy, &policy], &[&[0.0, 8.0], &[3.0, 3.0]], 1, 0.5);
    assert_eq!(twice.unwrap(), [2.0, 0.0]);
    assert_eq!(gap(&table(0.5, 1.0), 1), [0.0, 0.0]);
    let refused = |other: &TabularModel, policy: &[f64], v: &[f64], discount| {
        model.value_equivalence(other, &[policy], &[v], 1, discount).is_err()
    };
    let larger = TabularModel::dense(3, 1, vec![0.0; 3], [1.0, 0.0, 0.0].repeat(3)).unwrap();
    assert!(refused(&larger, &policy, &[0.0, 8.0], 0.5));
    assert!(refused(&world, &[1.0, 0.5], &[0.0, 8.0], 0.5));
    assert!(refused(&world, &policy, &[0.0, f64::NAN], 0.5));
    assert!(refused(&world, &policy, &[0.0], 0.5));
    assert!(refused(&world, &policy, &[0.0, 8.0], 1.5));
}

/// Three states in a ring, two actions (stay, go on), a policy that always goes on. Nothing is random, so one path for
/// each first action gives the exact action values.
#[test]
fn branches_give_the_ensemble_of_state_action_pairs() {
    let next = |s: usize, a: usize| (s + a) % 3;
    let p = (0..6)
        .flat_map(|row| (0..3).map(move |s| f64::from(u8::from(s == next(row / 2, row % 2)))))
        .collect();
    let model = TabularModel::dense(3, 2, vec![0.0, 1.0, -1.0, 0.5, 2.0, 0.0], p).unwrap();
    let (q, policy) = ([0.3, 0.1, -0.4, 0.8, 1.1, -0.7], [0.0, 1.0].repeat(3));
    let operator = model.action_operator(Backup::Evaluation(&policy), 0.9).unwrap();
    let exact = ValueEnsemble::implicit_exact(&operator, &q, &Members::up_to(4)).unwrap();

    let value = |s: &Vec<usize>| -> std::result::Result<Vec<f64>, ModelError> {
        Ok(s.iter().map(|&s| q[2 * s + 1]).collect())
    };
    let go_on = |s: &Vec<usize>, _: &mut Rng| -> std::result::Result<_, ModelError> { Ok(vec![1; s.len()]) };
    let actions = [vec![0; 3], vec![1; 3]];
    let start = vec![0, 1, 2];
    let rng = &mut Rng::from_seed(0);
    let paths = branch(&model.sampler(0.9), &value, &go_on, &start, &actions, 4, rng).unwrap();
    let sampled = ValueEnsemble::from_branches(&paths, Some(&q)).unwrap();
    assert_eq!((sampled.unroll_lengths(), sampled.states()), (exact.unroll_lengths(), 6));
    assert!(close(&sampled.std(), &exact.std(), 1e-14));
    let without = ValueEnsemble::from_branches(&paths, None).unwrap();
    assert_eq!(without, sampled.select(&Members::new(1..=4).unwrap()).unwrap());
    assert_eq!(greedy_policy(&sampled.std(), 2, Ties::First, rng).unwrap().len(), 6);
    assert!(ValueEnsemble::from_branches(&[], None).is_err());
    assert!(ValueEnsemble::from_branches(&paths, Some(&q[..5])).is_err());
    let shorter = unroll(&model.sampler(0.9), &value, &go_on, start, 3, rng).unwrap();
    assert!(ValueEnsemble::from_branches(&[paths[0].clone(), shorter], None).is_err());
}
