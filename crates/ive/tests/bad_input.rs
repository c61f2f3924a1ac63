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
    assert!(TabularModel::dense(0, 1, vec![], vec![]).is_err());
    let sparse = |offsets: Vec<usize>, next: Vec<u32>| {
        TabularModel::sparse(2, 1, vec![0.0; 2], offsets, next, vec![1.0; 2])
    };
    assert!(sparse(vec![0, 1, 2], vec![0, 1]).is_ok());
    assert_eq!(message(sparse(vec![0, 1, 2], vec![0, 7])), "next state: 7 is outside the range 0 to 1");
    assert!(sparse(vec![0, 2, 1], vec![0, 1]).is_err());
    assert!(sparse(vec![0, 9, 2], vec![0, 1]).is_err());
    let model = row([0.5, 0.5]).unwrap();
    assert!(model.action_values(&[1.0], 0.9).is_err());
    assert!(model.action_values(&[1.0, 2.0], -0.5).is_err());
    assert!(model.state_operator(Backup::Evaluation(&[1.0]), 0.9).is_err());
    assert!(model.state_operator(Backup::Evaluation(&[1.0, 0.4]), 0.9).is_err());
    let ive = ExactIve {
        policy: &[1.0; 2],
        discount: 0.9,
        members: Members::up_to(3).unwrap(),
        ddof: 0,
        threads: 0,
    };
    assert_eq!(message(model.inconsistency(&[0.0; 2], &ive)), "threads: 0 is outside the range 1 to 1024");
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
    assert_eq!(message(far), "horizon k: 10001 is outside the range 0 to 10000");
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
