//! Exported PyTorch models give what ONNX Runtime and NumPy make of them. `tests/models/make.py` wrote graphs and numbers.

#![allow(clippy::unwrap_used, reason = "a test that cannot unwrap has failed")]

use std::collections::BTreeMap;
use std::path::PathBuf;

use ive::{Members, Rng, ValueEnsemble, unroll};
use ive_onnx::{Actions, Array, OnnxModel, States, score, score_actions};
use serde::Deserialize;

const TOLERANCE: f64 = 1e-5;

#[derive(Deserialize)]
struct Expected {
    horizon: usize,
    start: BTreeMap<String, Given>,
    rewards: Vec<Vec<f64>>,
    discounts: Vec<Vec<f64>>,
    actions: Vec<Vec<f64>>,
    values: Vec<Vec<f64>>,
    members: Vec<Vec<f64>>,
    std: Vec<f64>,
}

#[derive(Deserialize)]
struct Given {
    shape: Vec<usize>,
    data: Vec<f32>,
}

fn folder(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "tests", "models", name].iter().collect()
}

fn open(name: &str) -> (OnnxModel, Expected, States) {
    let model = OnnxModel::open(folder(name)).unwrap();
    let text = std::fs::read_to_string(folder(name).join("expected.json")).unwrap();
    let expected: Expected = serde_json::from_str(&text).unwrap();
    let start = states(&model, &expected.start, 1);
    (model, expected, start)
}

/// The start states, `times` over.
fn states(model: &OnnxModel, given: &BTreeMap<String, Given>, times: usize) -> States {
    let arrays: Vec<Array> = given
        .values()
        .map(|given| {
            // A batch at axis 1 has a single row before it in these models.
            let axis = usize::from(given.shape[0] == 1);
            let mut shape = given.shape.clone();
            shape[axis] *= times;
            Array::new(shape, given.data.repeat(times)).unwrap()
        })
        .collect();
    if arrays.len() == 1 { model.start(&arrays[0]).unwrap() } else { model.states(&arrays).unwrap() }
}

fn close(what: &str, got: &[f64], expected: &[f64]) {
    assert_eq!(got.len(), expected.len(), "{what}");
    for (i, (got, expected)) in got.iter().zip(expected).enumerate() {
        let scale = expected.abs().max(1.0);
        assert!(
            (got - expected).abs() <= TOLERANCE * scale,
            "{what}, entry {i}: {got} instead of {expected}"
        );
    }
}

fn replay(name: &str) {
    let (model, expected, start) = open(name);
    let rng = &mut Rng::from_seed(0);
    let path =
        unroll::<States, Actions>(&model, &model, &model, start.clone(), expected.horizon, rng).unwrap();
    close("values of the start", path.values(0), &expected.values[0]);
    for k in 1..=expected.horizon {
        close(&format!("rewards of step {k}"), path.rewards(k), &expected.rewards[k - 1]);
        close(&format!("discounts of step {k}"), path.discounts(k), &expected.discounts[k - 1]);
        close(&format!("values after step {k}"), path.values(k), &expected.values[k]);
        close(&format!("member {k}"), path.k_step_values(k), &expected.members[k]);
    }
    close("σ", &ValueEnsemble::implicit(&path).std(), &expected.std);
    let action = ive::Policy::<States, Actions>::act(&model, &start, rng).unwrap();
    let action: Vec<f64> = match action {
        Actions::Discrete(all) => all.into_iter().map(|a| a as f64).collect(),
        Actions::Continuous(all) => all.into_iter().map(f64::from).collect(),
        Actions::None => panic!("all of these have actions"),
    };
    close("first actions", &action, &expected.actions[0]);
}

#[test]
fn a_multilayer_perceptron_is_as_in_onnx_runtime() {
    replay("mlp");
}

#[test]
fn a_gru_with_categorical_heads_and_a_greedy_policy_is_as_in_onnx_runtime() {
    replay("gru");
}

#[test]
fn an_lstm_for_a_fixed_batch_is_as_in_onnx_runtime() {
    replay("lstm");
}

#[test]
fn a_convolutional_encoder_with_rewards_of_states_is_as_in_onnx_runtime() {
    replay("conv");
}

/// 5 states 60 times over are 300, more than one run takes: pieces of 256 and 44, the second filled up.
#[test]
fn large_batches_are_cut_and_filled_up_without_a_trace() {
    for (name, times) in [("mlp", 60), ("conv", 100), ("lstm", 3), ("gru", 90)] {
        let (model, expected, _) = open(name);
        let many = states(&model, &expected.start, times);
        let scored = score(&model, &many, expected.horizon, 1, &mut Rng::from_seed(0)).unwrap();
        close(name, &scored.ensemble.std(), &expected.std.repeat(times));
    }
}

/// The same numbers, whatever other states are in the batch: nothing leaks between rows.
#[test]
fn a_state_alone_scores_as_in_a_batch() {
    let (model, expected, _) = open("mlp");
    for row in 0..5 {
        let one =
            Array::new(vec![1, 6], expected.start["state"].data[row * 6..(row + 1) * 6].to_vec()).unwrap();
        let scored = score(&model, &model.start(&one).unwrap(), 5, 1, &mut Rng::from_seed(0)).unwrap();
        close("alone", &scored.ensemble.std(), &expected.std[row..=row]);
    }
}

/// The branch of the action that the policy takes is the path of the policy.
#[test]
fn pairs_of_states_and_actions_hold_the_path_of_the_policy() {
    let (model, expected, start) = open("mlp");
    let scored = score_actions(&model, &start, 5, 1, &mut Rng::from_seed(0)).unwrap();
    assert_eq!(scored.ensemble.unroll_lengths(), Some(&Members::new(1..=5).unwrap()));
    assert_eq!(scored.ensemble.states(), 5 * 3);
    for k in 1..=5 {
        for (state, action) in expected.actions[0].iter().enumerate() {
            let got = scored.ensemble.member(k - 1)[state * 3 + *action as usize];
            close("pair", &[got], &[expected.members[k][state]]);
        }
    }
    let vectors = open("conv");
    assert!(
        score_actions(&vectors.0, &vectors.2, 5, 1, &mut Rng::from_seed(0)).is_err(),
        "actions have no numbers"
    );
}

#[test]
fn models_are_shared_between_threads() {
    fn shared<T: Send + Sync>(_: &T) {}
    let (model, expected, _) = open("gru");
    shared(&model);
    std::thread::scope(|scope| {
        for times in 1..4 {
            let (model, expected) = (&model, &expected);
            scope.spawn(move || {
                let many = states(model, &expected.start, times);
                let scored = score(model, &many, 5, 1, &mut Rng::from_seed(0)).unwrap();
                close("thread", &scored.ensemble.std(), &expected.std.repeat(times));
            });
        }
    });
}
