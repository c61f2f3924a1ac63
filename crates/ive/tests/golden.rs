//! Replays `golden/tabular.json`: numbers of an independent float64 NumPy program, made from tables that are formulas
//! (`golden/README.md`), so no random number is involved.

#![allow(clippy::unwrap_used, reason = "a test that cannot unwrap has failed")]

use ive::{Backup, ExactIve, Members, TabularModel, ValueEnsemble, softmax};
use serde_json::Value;

const S: usize = 25;
const A: usize = 4;

fn golden() -> Value {
    serde_json::from_str(include_str!("golden/tabular.json")).unwrap()
}

fn numbers(value: &Value) -> Vec<f64> {
    match value {
        Value::Array(rows) => rows.iter().flat_map(numbers).collect(),
        Value::Object(map) => map.values().flat_map(numbers).collect(),
        other => vec![other.as_f64().unwrap()],
    }
}

fn assert_close(got: &[f64], want: &[f64], what: &str) {
    assert_eq!(got.len(), want.len(), "{what}");
    for (i, (g, w)) in got.iter().zip(want).enumerate() {
        // Both sides are float64 and differ in the order of summation only.
        assert!((g - w).abs() <= 1e-13 * w.abs().max(1.0), "{what}[{i}]: {g} against {w}");
    }
}

/// The synthetic tables: q = sin(1 + i), r = cos(2 + i), logits = 2 sin(0.5 + i).
fn synthetic() -> (TabularModel, Vec<f64>) {
    let table = |n: usize, f: fn(f64) -> f64| (0..n).map(|i| f(i as f64)).collect::<Vec<f64>>();
    let (q, r) = (table(S * A, |i| (1.0 + i).sin()), table(S * A, |i| (2.0 + i).cos()));
    let p = table(S * A * S, |i| 2.0 * (0.5 + i).sin()).chunks(S).flat_map(softmax).collect();
    (TabularModel::dense(S, A, r, p).unwrap(), q)
}

#[test]
fn exact_ensembles_match_numpy() {
    let (model, q) = synthetic();
    let uniform = vec![0.25; S * A];
    let op = model.action_operator(Backup::Evaluation(&uniform), 0.9).unwrap();
    let pairs = ValueEnsemble::implicit_exact(&op, &q, &Members::up_to(20)).unwrap();
    let v = ive::reduce_actions(&q, A, Backup::Evaluation(&uniform)).unwrap();
    let op = model.state_operator(Backup::Evaluation(&uniform), 0.9).unwrap();
    let states = ValueEnsemble::implicit_exact(&op, &v, &Members::up_to(20)).unwrap();
    let golden = golden();
    let select = |e: &ValueEnsemble, ks: std::ops::RangeInclusive<usize>| {
        e.select(&Members::new(ks).unwrap()).unwrap()
    };
    for n in [1, 2, 5, 20] {
        let want = numbers(&golden[format!("synthetic/sigma_ive_v({n})/k=0..n/ddof=0")]);
        assert_close(&select(&states, 0..=n).std(), &want, "sigma of states");
    }
    let five = select(&states, 0..=5);
    let sample = ive::Signal::Std { ddof: 1 };
    assert_close(
        &five.score(sample).unwrap(),
        &numbers(&golden["synthetic/sigma_ive_v(5)/k=0..n/ddof=1"]),
        "ddof 1",
    );
    assert_close(&five.mean(), &numbers(&golden["synthetic/mu_ive_v(5)"]), "mean");
    assert_close(
        &select(&states, 1..=5).std(),
        &numbers(&golden["synthetic/sigma_ive_v(5)/k=1..n/ddof=0"]),
        "k = 1..5",
    );
    assert_close(
        &select(&pairs, 0..=5).std(),
        &numbers(&golden["synthetic/sigma_ive_q(5)/k=0..n/ddof=0"]),
        "pairs",
    );
    assert_close(&states.member(20)[..4], &numbers(&golden["synthetic/v20[0..3]"]), "last member");
}

#[test]
fn fast_kernels_match_numpy_and_the_plain_operators() {
    let (model, q) = synthetic();
    let uniform = vec![0.25; S * A];
    let golden = golden();
    for (n, ddof, key) in [(5, 0, "k=0..n/ddof=0"), (5, 1, "k=0..n/ddof=1"), (20, 0, "k=0..n/ddof=0")] {
        let ive = ExactIve::new(&uniform, 0.9, Members::up_to(n)).ddof(ddof);
        let sigma = model.inconsistency(&q, &ive).unwrap();
        assert_close(&sigma.states, &numbers(&golden[format!("synthetic/sigma_ive_v({n})/{key}")]), "states");
    }
    let ive = ExactIve::new(&uniform, 0.9, Members::new(1..=5).unwrap());
    let sigma = model.inconsistency(&q, &ive).unwrap();
    assert_close(&sigma.states, &numbers(&golden["synthetic/sigma_ive_v(5)/k=1..n/ddof=0"]), "k = 1..5");
    let ive = ExactIve::new(&uniform, 0.9, Members::up_to(5));
    assert_close(
        &model.inconsistency(&q, &ive).unwrap().pairs,
        &numbers(&golden["synthetic/sigma_ive_q(5)/k=0..n/ddof=0"]),
        "pairs",
    );
}
