//! The kernel over arrays of predictions gives the bits of the readable form, and refuses what that refuses.

#![allow(clippy::unwrap_used, reason = "a test that cannot unwrap has failed")]

use ive::{Discounts, Members, Predictions, Rng, Rollout, Signal, ValueEnsemble};
use proptest::prelude::*;

/// Arrays of n steps from b states.
#[derive(Clone, Debug)]
struct Arrays {
    batch: usize,
    rewards: Vec<f64>,
    values: Vec<f64>,
    discounts: Vec<f64>,
}

impl Arrays {
    /// Random numbers; of the discounts some are zero and some one.
    fn random(batch: usize, horizon: usize, seed: u64) -> Self {
        let rng = &mut Rng::from_seed(seed);
        let mut normals = |n: usize| (0..n).map(|_| rng.normal()).collect::<Vec<f64>>();
        let (rewards, values) = (normals(horizon * batch), normals((horizon + 1) * batch));
        let discounts = (0..horizon * batch).map(|_| (1.3 * rng.uniform() - 0.1).clamp(0.0, 1.0)).collect();
        Self { batch, rewards, values, discounts }
    }

    /// The readable form.
    fn twin(&self, members: &Members, discount: Option<f64>) -> ive::Result<ValueEnsemble> {
        let row = |x: &[f64], k: usize| x[k * self.batch..(k + 1) * self.batch].to_vec();
        let mut path = Rollout::start(row(&self.values, 0))?;
        for k in 0..members.horizon() {
            let discounts = discount.map_or_else(|| row(&self.discounts, k), |gamma| vec![gamma; self.batch]);
            path.push(&row(&self.rewards, k), &discounts, &row(&self.values, k + 1))?;
        }
        ValueEnsemble::implicit(&path).select(members)
    }

    fn predictions(&self, discount: Option<f64>) -> Predictions<'_, f64> {
        let discounts = discount.map_or(Discounts::Each(&self.discounts), Discounts::Constant);
        Predictions::new(&self.rewards, &self.values, discounts, self.batch).unwrap()
    }
}

fn bits(x: &[f64]) -> Vec<u64> {
    x.iter().map(|x| x.to_bits()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// Whatever the members, the discounts and the size: eight states are done at a time.
    #[test]
    fn the_kernel_has_the_bits_of_the_readable_form(
        batch in prop::sample::select(vec![1usize, 2, 7, 8, 9, 64, 67, 300]),
        horizon in 1usize..=7, seed in any::<u64>(), mask in 1u32..255, constant in prop::option::of(0.0f64..=1.0), ddof in 0usize..=1,
    ) {
        let members = Members::new((0..=horizon).filter(|k| mask >> k & 1 == 1).chain([horizon])).unwrap();
        prop_assume!(members.len() > ddof);
        let arrays = Arrays::random(batch, horizon, seed);
        let expected = arrays.twin(&members, constant).unwrap();
        let (ensemble, found) = arrays.predictions(constant).score(&members, ddof).unwrap();
        prop_assert_eq!(&ensemble, &expected);
        prop_assert_eq!(bits(&found.mean), bits(&expected.mean()));
        prop_assert_eq!(bits(&found.std), bits(&expected.score(Signal::Std { ddof }).unwrap()));
        prop_assert_eq!(arrays.predictions(constant).statistics(&members, ddof).unwrap(), found);
    }
}

/// Memory of other sizes and members is used again; what was in it does not matter. The largest batch is beyond the caches.
#[test]
fn results_in_used_memory_have_the_same_bits() {
    let members = [Members::up_to(5), Members::new(1..=3).unwrap()];
    let (mut ensemble, mut found) = Arrays::random(70, 5, 1).predictions(None).score(&members[1], 1).unwrap();
    for (batch, seed) in [(300, 2), (33, 3), (200_000, 4), (1, 5)] {
        let arrays = Arrays::random(batch, 5, seed);
        for members in &members {
            let predictions = arrays.predictions(Some(0.97));
            predictions.score_into(members, 0, &mut ensemble, &mut found).unwrap();
            assert_eq!(predictions.score(members, 0).unwrap(), (ensemble.clone(), found.clone()));
            assert_eq!(ensemble, arrays.twin(members, Some(0.97)).unwrap());
        }
    }
    let mut bad = Arrays::random(50, 5, 6);
    bad.rewards[120] = f64::NAN;
    bad.predictions(None).score_into(&members[0], 0, &mut ensemble, &mut found).unwrap_err();
    assert_eq!((ensemble.states(), ensemble.mean()), (0, vec![]));
}

/// f32 is read as it is and computed with in f64.
#[test]
fn single_precision_is_widened_first() {
    let arrays = Arrays::random(300, 5, 1);
    let narrow = |x: &[f64]| x.iter().map(|&x| x as f32).collect::<Vec<f32>>();
    let wide = |x: &[f32]| x.iter().map(|&x| f64::from(x)).collect::<Vec<f64>>();
    let (rewards, values, discounts) =
        (narrow(&arrays.rewards), narrow(&arrays.values), narrow(&arrays.discounts));
    let widened =
        Arrays { rewards: wide(&rewards), values: wide(&values), discounts: wide(&discounts), ..arrays };
    let members = Members::up_to(5);
    let single = Predictions::new(&rewards, &values, Discounts::Each(&discounts), 300).unwrap();
    assert_eq!(single.score(&members, 0).unwrap(), widened.predictions(None).score(&members, 0).unwrap());
}

/// Equal members have exactly no disagreement, huge ones a finite one: those of the readable form.
#[test]
fn equal_and_huge_members_are_as_in_the_readable_form() {
    let mut arrays = Arrays::random(600, 3, 2);
    for i in (0..600).step_by(7) {
        (0..3).for_each(|k| arrays.rewards[k * 600 + i] = 0.0);
        (0..4).for_each(|k| arrays.values[k * 600 + i] = 0.5);
        (0..3).for_each(|k| arrays.discounts[k * 600 + i] = 1.0);
    }
    (0..4).for_each(|k| arrays.values[k * 600 + 3] = f64::MAX * [1.0, -0.5, 0.9, 1.0][k]);
    (0..3).for_each(|k| arrays.discounts[k * 600 + 3] = 1.0);
    let members = Members::up_to(3);
    let expected = arrays.twin(&members, None).unwrap();
    let found = arrays.predictions(None).statistics(&members, 0).unwrap();
    assert_eq!((bits(&found.mean), bits(&found.std)), (bits(&expected.mean()), bits(&expected.std())));
    assert!(found.std[7] == 0.0 && found.std[3].is_finite() && found.std[3] > 1e307);
    let refused = arrays.predictions(None).statistics(&members, 1);
    assert_eq!(refused.is_err(), expected.score(Signal::Std { ddof: 1 }).is_err());
}

#[test]
fn what_is_wrong_is_named_with_its_place() {
    let good = Arrays::random(500, 5, 3);
    let refused = |change: &dyn Fn(&mut Arrays), discount: Option<f64>| {
        let mut bad = good.clone();
        change(&mut bad);
        bad.predictions(discount).statistics(&Members::up_to(5), 0).unwrap_err().to_string()
    };
    assert_eq!(
        refused(&|a| a.rewards[1321] = f64::NAN, None),
        "rewards [k, batch]: entry 1321 is NaN, not a finite number"
    );
    assert_eq!(
        refused(&|a| a.values[2999] = f64::INFINITY, Some(0.9)),
        "values [k + 1, batch]: entry 2999 is inf, not a finite number"
    );
    assert_eq!(refused(&|a| a.discounts[400] = 1.5, None), "discount: 1.5 is outside the range 0 to 1");
    assert_eq!(
        refused(&|a| a.discounts[400] = f64::NAN, None),
        "discounts [k, batch]: entry 400 is NaN, not a finite number"
    );
    assert_eq!(
        refused(&|a| (a.rewards[300], a.rewards[800]) = (f64::MAX, f64::MAX), Some(1.0)),
        "k-step values of the start states: entry 300 is inf, not a finite number"
    );
    // A terminal does not excuse a value that is not finite.
    assert!(
        refused(&|a| (a.values[0], a.values[500]) = (0.0, f64::NAN), None)
            .starts_with("values [k + 1, batch]: entry 500")
    );
}

#[test]
fn arrays_that_do_not_fit_are_refused() {
    let new = |rewards: usize, values: usize, batch: usize| {
        let (r, v) = (vec![0.0; rewards], vec![0.0; values]);
        Predictions::new(&r, &v, Discounts::Constant(0.9), batch)
            .map(|p| (p.horizon(), p.batch()))
            .map_err(|e| e.to_string())
    };
    assert_eq!(new(10, 12, 2).unwrap(), (5, 2));
    assert_eq!(new(11, 12, 2).unwrap_err(), "rewards [k, batch]: expected length 10, got 11");
    assert_eq!(new(10, 10, 2).unwrap_err(), "values [k + 1, batch]: expected length 12, got 10");
    assert_eq!(new(0, 0, 0).unwrap(), (0, 0));
    let none = Predictions::<f64>::new(&[], &[], Discounts::Constant(0.9), 0).unwrap();
    assert!(none.statistics(&Members::up_to(0), 0).unwrap().mean.is_empty());
    assert!(Predictions::new(&[0.0], &[0.0; 2], Discounts::Constant(1.1), 1).is_err());
    assert!(Predictions::new(&[0.0], &[0.0; 2], Discounts::Each(&[]), 1).is_err());
    let short = Predictions::new(&[0.0], &[0.0; 2], Discounts::Constant(1.0), 1).unwrap();
    assert_eq!(
        short.statistics(&Members::up_to(2), 0).unwrap_err().to_string(),
        "member k: 2 is outside the range 0 to 1"
    );
}
