//! Wrong input is refused with an error that carries the operands; nothing panics.

#![allow(clippy::unwrap_used, reason = "a test that cannot unwrap has failed")]

use ive::*;

fn message<T: std::fmt::Debug>(result: Result<T>) -> String {
    result.unwrap_err().to_string()
}

#[test]
fn shapes_and_numbers_are_checked() {
    let mut path = Rollout::start(vec![1.0, 2.0]).unwrap();
    assert_eq!(
        message(path.push(&[0.0], &[0.9; 2], &[0.0; 2])),
        "rewards of a step: expected length 2, got 1"
    );
    assert_eq!(
        message(path.push(&[0.0; 2], &[-0.1; 2], &[0.0; 2])),
        "discount: -0.1 is outside the range 0 to 1"
    );
    let nan = path.push(&[0.0; 2], &[0.9; 2], &[0.0, f64::NAN]);
    assert_eq!(message(nan), "values after a step: entry 1 is NaN, not a finite number");
    assert_eq!(path.horizon(), 0, "a refused step leaves the path unchanged");
    assert!(matches!(Rollout::start(vec![f64::INFINITY]), Err(Error::NotFinite { index: 0, .. })));
    assert_eq!(
        message(ValueEnsemble::from_members([vec![1.0], vec![]])),
        "states of an ensemble member: expected length 1, got 0"
    );
    assert_eq!(message(ValueEnsemble::from_members(Vec::<Vec<f64>>::new())), "ensemble: must not be empty");
    assert!(matches!(ValueEnsemble::average(&[]), Err(Error::Empty { .. })));
    let two = ValueEnsemble::implicit(&path);
    assert_eq!(message(two.select(&Members::new([3]).unwrap())), "member k: 3 is outside the range 0 to 0");
}

#[test]
fn tables_are_checked() {
    let row = |p: [f64; 2]| TabularModel::dense(2, 1, vec![0.0; 2], [p, [0.5, 0.5]].concat());
    assert_eq!(message(row([0.5, 0.6])), "probabilities: row 0 sums to 1.1, a distribution sums to 1");
    assert!(row([1.5, -0.5]).is_err());
    assert_eq!(
        message(TabularModel::dense(2, 1, vec![0.0; 3], vec![0.5; 4])),
        "reward [state, action]: expected length 2, got 3"
    );
    assert!(TabularModel::dense(0, 1, vec![], Vec::<f64>::new()).is_err());
    let sparse = |offsets: Vec<usize>, next: Vec<u32>| {
        TabularModel::sparse(2, 1, vec![0.0; 2], offsets, next, vec![1.0; 2])
    };
    assert!(sparse(vec![0, 1, 2], vec![0, 1]).is_ok());
    assert_eq!(message(sparse(vec![0, 1, 2], vec![0, 7])), "next state: 7 is outside the range 0 to 1");
    assert!(sparse(vec![0, 2, 1], vec![0, 1]).is_err());
    assert!(sparse(vec![0, 9, 2], vec![0, 1]).is_err());
    let late = TabularModel::sparse(1, 1, vec![0.0], vec![1, 2], vec![0, 0], vec![1.0; 2]);
    assert_eq!(message(late), "entries before the first offset: expected length 0, got 1");
    let model = row([0.5, 0.5]).unwrap();
    assert!(model.action_values(&[1.0], 0.9).is_err());
    assert!(model.action_values(&[1.0, 2.0], -0.5).is_err());
    assert!(model.state_operator(Backup::Evaluation(&[1.0]), 0.9).is_err());
    assert!(model.state_operator(Backup::Evaluation(&[1.0, 0.4]), 0.9).is_err());
    let ive = ExactIve::new(&[1.0; 2], 0.9, Members::up_to(3)).threads(0);
    assert_eq!(message(model.inconsistency(&[0.0; 2], &ive)), "threads: 0 is outside the range 1 to 1024");
    let ive = ExactIve::new(&[1.0; 2], 0.9, Members::up_to(1)).ddof(2);
    assert_eq!(message(model.inconsistency(&[0.0; 2], &ive)), "ddof: 2 is outside the range 0 to 1");
    let ive = ExactIve::new(&[1.0; 2], 0.9, Members::up_to(0)).ddof(1);
    let alone = model.inconsistency(&[0.0; 2], &ive);
    assert_eq!(message(alone), "members of a standard deviation: at least 2 are needed, got 1");
}

#[test]
fn action_values_are_reduced_only_by_a_policy_that_fits() {
    let half = Backup::Evaluation(&[0.5; 4]);
    assert_eq!(reduce_actions(&[1.0, 3.0, 5.0, 7.0], 2, half).unwrap(), [2.0, 6.0]);
    assert_eq!(message(reduce_actions(&[1.0], 0, Backup::Optimality)), "actions: must not be empty");
    let short = reduce_actions(&[1.0; 4], 2, Backup::Evaluation(&[0.5; 2]));
    assert_eq!(message(short), "policy [state, action]: expected length 4, got 2");
    assert!(reduce_actions(&[1.0; 3], 2, Backup::Optimality).is_err());
}

#[test]
fn a_failing_model_is_named_and_its_error_kept() {
    let model = |_: &Vec<f64>, (): &(), _: &mut Rng| -> std::result::Result<Imagined<Vec<f64>>, ModelError> {
        Err("device lost".into())
    };
    let value = |s: &Vec<f64>| -> std::result::Result<_, ModelError> { Ok(s.clone()) };
    let policy = |_: &Vec<f64>, _: &mut Rng| -> std::result::Result<_, ModelError> { Ok(()) };
    let rng = &mut Rng::from_seed(0);
    assert_eq!(message(unroll(&model, &value, &policy, vec![0.0], 3, rng)), "the model failed: device lost");
    let far = unroll(&model, &value, &policy, vec![0.0], MAX_HORIZON + 1, rng);
    assert_eq!(message(far), "horizon k: 65536 is outside the range 0 to 65535");
    assert!(unroll(&model, &value, &policy, vec![f64::NAN], 0, rng).is_err());
}

/// A model that returns too few rewards is caught at the step where it happens.
#[test]
fn a_model_with_a_wrong_batch_is_refused() {
    let model = |s: &Vec<f64>, (): &(), _: &mut Rng| -> std::result::Result<_, ModelError> {
        Ok(Imagined { next: s.clone(), reward: vec![0.0], discount: vec![0.9; 2] })
    };
    let value = |s: &Vec<f64>| -> std::result::Result<_, ModelError> { Ok(s.clone()) };
    let policy = |_: &Vec<f64>, _: &mut Rng| -> std::result::Result<_, ModelError> { Ok(()) };
    let result = unroll(&model, &value, &policy, vec![0.0; 2], 3, &mut Rng::from_seed(0));
    assert_eq!(message(result), "rewards of a step: expected length 2, got 1");
}

/// Branching forces the first action and shares the random numbers of the rest.
#[test]
fn branches_differ_only_in_their_first_action() {
    let model = |s: &Vec<f64>, a: &f64, rng: &mut Rng| -> std::result::Result<_, ModelError> {
        let noise = rng.uniform();
        Ok(Imagined {
            next: s.iter().map(|x| x + a).collect(),
            reward: vec![noise; s.len()],
            discount: vec![1.0; s.len()],
        })
    };
    let value = |s: &Vec<f64>| -> std::result::Result<_, ModelError> { Ok(s.clone()) };
    let policy = |_: &Vec<f64>, _: &mut Rng| -> std::result::Result<_, ModelError> { Ok(0.0) };
    let paths = branch(&model, &value, &policy, &vec![0.0], &[1.0, 2.0], 3, &mut Rng::from_seed(0)).unwrap();
    assert_eq!(paths[0].values(0), paths[1].values(0));
    assert_eq!((paths[0].values(3), paths[1].values(3)), (&[1.0][..], &[2.0][..]));
    (1..=3).for_each(|k| assert_eq!(paths[0].rewards(k), paths[1].rewards(k)));
}
