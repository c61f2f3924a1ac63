//! A model that diverges never reads as certain: σ is right or an error, however large the numbers are (decision 0012).

#![allow(clippy::unwrap_used, reason = "a test that cannot unwrap has failed")]

use ive::*;

/// States that stay where they are, with one action and the same reward for each, in every layout that has a kernel.
fn standing(reward: f64) -> Vec<TabularModel> {
    let dense = |n: usize| {
        let p = (0..n * n).map(|i| f64::from(u8::from(i / n == i % n))).collect();
        TabularModel::dense(n, 1, vec![reward; n], p).unwrap()
    };
    let sparse =
        TabularModel::sparse(2, 1, vec![reward; 2], vec![0, 1, 2], vec![0, 1], vec![1.0; 2]).unwrap();
    vec![dense(2), dense(70), sparse]
}

/// By hand: v̂⁰ = 0 and v̂¹ = r, so σ = r / 2.
#[test]
fn the_largest_disagreement_is_not_zero() {
    for reward in [1.0, 1e200, -1e200, f64::MAX, 1e-200] {
        for model in standing(reward) {
            let n = model.states();
            let policy = vec![1.0; n];
            let sigma =
                model.inconsistency(&vec![0.0; n], &ExactIve::new(&policy, 0.5, Members::up_to(1))).unwrap();
            assert_eq!(sigma.states, vec![reward.abs() / 2.0; n], "{n} states");
            assert_eq!(sigma.pairs, vec![reward.abs() / 2.0; n], "{n} states");
            let operator = model.state_operator(Backup::Evaluation(&policy), 0.5).unwrap();
            let plain = ValueEnsemble::implicit_exact(&operator, &vec![0.0; n], &Members::up_to(1)).unwrap();
            assert_eq!(plain.std(), sigma.states);
        }
    }
}

/// k rewards of 1.5e308 without a discount: v̂²⁰ is 3e309, beyond every number, and so is σ.
#[test]
fn a_sigma_beyond_all_numbers_is_an_error() {
    for model in standing(1.5e308) {
        let n = model.states();
        let policy = vec![1.0; n];
        let error =
            model.inconsistency(&vec![0.0; n], &ExactIve::new(&policy, 1.0, Members::up_to(20))).unwrap_err();
        assert_eq!(error.to_string(), "σ of the states: entry 0 is inf, not a finite number");
        let operator = model.state_operator(Backup::Evaluation(&policy), 1.0).unwrap();
        assert!(ValueEnsemble::implicit_exact(&operator, &vec![0.0; n], &Members::up_to(20)).is_err());
        assert!(model.action_values(&vec![1.5e308; n], 1.0).is_err());
    }
}

#[test]
fn a_path_whose_value_overflows_is_refused_at_that_step() {
    let mut path = Rollout::start(vec![0.0, 0.0]).unwrap();
    path.push(&[1.0, 1e308], &[1.0, 1.0], &[0.0, 0.0]).unwrap();
    let before = path.clone();
    let error = path.push(&[1.0, 1e308], &[1.0, 1.0], &[0.0, 0.0]).unwrap_err();
    assert_eq!(error.to_string(), "k-step values of the start states: entry 1 is inf, not a finite number");
    assert_eq!(path, before, "a refused step leaves the path unchanged");
    // v̂⁰ = 0 and v̂¹ = 1e308.
    assert_eq!(ValueEnsemble::implicit(&path).std(), [0.5, 5e307]);
}

#[test]
fn a_statistic_of_an_ensemble_is_finite_or_an_error() {
    let far = ValueEnsemble::from_members([[f64::MAX, 1.0], [-f64::MAX, 3.0]]).unwrap();
    assert_eq!((far.mean(), far.std()), (vec![0.0, 2.0], vec![f64::MAX, 1.0]));
    assert!(far.score(Signal::Std { ddof: 1 }).is_err() && far.score(Signal::Range).is_err());
    let high = ValueEnsemble::from_members([[f64::MAX], [f64::MAX]]).unwrap();
    assert_eq!((high.mean(), high.std()), (vec![f64::MAX], vec![0.0]));
    let error = ValueEnsemble::average(&[high.clone(), high]).unwrap_err();
    assert_eq!(error.to_string(), "sum of the samples: entry 0 is inf, not a finite number");
    assert!(far.score(Signal::Std { ddof: 2 }).is_err());
    let alone = ValueEnsemble::from_members([[1.0]]).unwrap();
    assert!(matches!(alone.score(Signal::Std { ddof: 1 }), Err(Error::TooFew { needed: 2, got: 1, .. })));
}
