//! `model.toml` that is wrong says what is wrong.

#![allow(clippy::unwrap_used, reason = "a test that cannot unwrap has failed")]

mod common;

use common::{Files, files, folder, input, integers, model, node, with_int};
use ive::{Model as _, Policy as _, Rng, ValueFunction as _};
use ive_onnx::settings::Settings;
use ive_onnx::{Actions, Array, Limits, OnnxModel, score};

/// The folder with a part of its settings replaced.
fn changed(name: &str, from: &str, to: &str) -> Files {
    let mut files = files(name);
    let text = String::from_utf8(files["model.toml"].clone()).unwrap();
    assert!(text.contains(from), "{from}");
    files.insert("model.toml".to_owned(), text.replacen(from, to, 1).into_bytes());
    files
}

fn open(files: &Files) -> Result<OnnxModel, ive_onnx::OnnxError> {
    OnnxModel::from_files(files, &Limits::default())
}

#[test]
fn contradictions_and_wrong_names_are_errors_that_say_so() {
    for (name, from, to, message) in [
        ("mlp", "format = 1", "format = 2", "format: 1 is known, not 2"),
        ("mlp", "gamma = 0.97", "gamma = 1.5", "gamma: 1.5 is outside the range 0 to 1"),
        ("mlp", "gamma = 0.97", "", "gamma: it is missing"),
        ("mlp", "gamma = 0.97", "gama = 0.97", "unknown field `gama`"),
        ("mlp", "\"transition\"", "\"arrival\"", "line 4: unknown variant `arrival`"),
        ("mlp", "\"transition\"", "\"state\"", "need a section [reward]"),
        (
            "mlp",
            "kind = \"logits\"\nstates = { z = \"state\" }\nlogits = \"logits\"\nchoose = \"argmax\"",
            "kind = \"fixed\"\naction = 3",
            "3 of 3 actions",
        ),
        (
            "mlp",
            "[policy]\nkind = \"logits\"\nstates = { z = \"state\" }\nlogits = \"logits\"\nchoose = \"argmax\"",
            "",
            "choose one: logits, action, greedy, uniform or fixed",
        ),
        ("mlp", "choose = \"argmax\"", "", "missing field `choose`"),
        (
            "mlp",
            "logits = \"logits\"",
            "logits = \"logit\"",
            "policy.onnx has no output `logit`, only logits",
        ),
        (
            "mlp",
            "action = \"action\"",
            "action = \"a\"",
            "dynamics.onnx has no input `a`, only state, action",
        ),
        ("mlp", "count = 3", "count = 4", "does not fit"),
        ("mlp", "next = { z = \"next_state\" }", "next = {}", "the state `z` has no output"),
        (
            "mlp",
            "next = { z = \"next_state\" }",
            "next = { y = \"next_state\" }",
            "`y` is not among the states",
        ),
        ("mlp", "next = { z = \"next_state\" }", "next = { z = \"reward\" }", "dynamics.onnx"),
        (
            "mlp",
            "value = \"value\"",
            "value = \"value\"\nvalue_decode = { kind = \"categorical\", min = 0.0, max = 1.0, output = \"logits\", transform = \"identity\", transform_of = \"mean\" }",
            "see `value_decode`",
        ),
        ("gru", "min = -4.0", "min = 4.0", "min is 4, max is 4"),
        ("gru", "batch_axis = 1", "batch_axis = 3", "no axis 3"),
        ("gru", "h = { batch_axis = 1 }", "h = { batch_axis = 1, start = \"zeros\" }", "`h` starts at zero"),
        (
            "gru",
            "continuation = \"going_on\"",
            "discount = \"going_on\"",
            "an output is the discount already",
        ),
        ("lstm", "cell = \"cell\"", "", "not mapped"),
        ("lstm", "encoding = \"index\"", "encoding = \"one-hot\"", "does not fit"),
        ("conv", "kind = \"action\"", "kind = \"greedy\"", "unknown field"),
        (
            "conv",
            "kind = \"action\"\nstates = { z = \"z\" }\naction = \"action\"",
            "kind = \"greedy\"",
            "actions are vectors",
        ),
    ] {
        let error = open(&changed(name, from, to)).unwrap_err().to_string();
        assert!(error.contains(message), "{from} → {to}: «{error}» does not say «{message}»");
    }
}

#[test]
fn arrays_that_do_not_fit_are_errors() {
    assert!(Array::new(vec![2, 6], vec![0.0; 11]).is_err());
    assert!(Array::new(vec![usize::MAX, 2], vec![]).is_err());
    let array = |shape: &[usize]| Array::new(shape.to_vec(), vec![0.0; shape.iter().product()]).unwrap();
    let mlp = open(&files("mlp")).unwrap();
    assert!(mlp.start(&array(&[2, 6])).is_ok());
    for shape in [&[2, 5][..], &[6], &[0, 6], &[2, 6, 1]] {
        assert!(mlp.start(&array(shape)).is_err(), "{shape:?}");
    }
    assert!(mlp.encode(&array(&[2, 6])).is_err(), "there is no representation");
    let conv = open(&files("conv")).unwrap();
    assert!(conv.start(&array(&[1, 2, 10, 10])).is_ok());
    for shape in [&[1, 2, 10, 9][..], &[1, 200], &[0, 2, 10, 10], &[]] {
        assert!(conv.start(&array(shape)).is_err(), "{shape:?}");
    }
    let lstm = open(&files("lstm")).unwrap();
    assert!(lstm.start(&array(&[1, 3, 8])).is_err(), "a state has two tensors");
    assert!(lstm.states(&[array(&[1, 3, 8]), array(&[1, 3, 8])]).is_ok());
    assert!(lstm.states(&[array(&[1, 3, 8]), array(&[1, 2, 8])]).is_err());
}

#[test]
fn actions_that_do_not_fit_and_numbers_that_are_not_finite_are_errors() {
    let mlp = open(&files("mlp")).unwrap();
    let start = mlp.start(&Array::new(vec![2, 6], vec![0.5; 12]).unwrap()).unwrap();
    let rng = &mut Rng::from_seed(0);
    for actions in [
        Actions::None,
        Actions::Discrete(vec![0]),
        Actions::Discrete(vec![0, 3]),
        Actions::Continuous(vec![0.0; 6]),
    ] {
        assert!(mlp.imagine(&start, &actions, rng).is_err(), "{actions:?}");
    }
    // Gates and ReLU turn NaN into ordinary numbers, so states and observations are looked at themselves.
    for (name, shape) in [("mlp", &[2, 6][..]), ("conv", &[2, 2, 10, 10]), ("gru", &[2, 5])] {
        for bad in [f32::NAN, f32::INFINITY] {
            let mut numbers = vec![0.5; shape.iter().product()];
            numbers[1] = bad;
            let refused = open(&files(name)).unwrap().start(&Array::new(shape.to_vec(), numbers).unwrap());
            assert!(refused.unwrap_err().to_string().contains("number 1 is"), "{name}");
        }
    }
    assert!(score(&mlp, &start, 5, 0, rng).is_err(), "no samples");
}

/// Zero where the representation says nothing, as c of a fresh LSTM. By hand: x' = x + c, c' = 1, v = r = Σ x.
#[test]
fn states_that_start_at_zero_are_zero() {
    let sum = |output: &str| with_int(node("ReduceSum", &["x", "axes"], output), "keepdims", 0);
    let axes = || integers("axes", &[1]);
    let x = || input("x", &[-1, 4]);
    let steps = vec![
        node("Sub", &["x", "x"], "zero"),
        node("Add", &["x", "c"], "x_next"),
        node("Cos", &["zero"], "c_next"),
        sum("reward"),
    ];
    let dynamics =
        model(vec![x(), input("c", &[-1, 4])], vec![axes()], steps, &["x_next", "c_next", "reward"]);
    let value = model(vec![x()], vec![axes()], vec![sum("value")], &["value"]);
    let encoder = model(vec![input("o", &[-1, 4])], vec![], vec![node("Neg", &["o"], "x")], &["x"]);
    let settings = common::UNCONTROLLED
        .replace("x = {}", "x = {}\nc = { start = \"zeros\" }\n[representation]\nobservation = \"o\"\nstates = { x = \"x\" }")
        .replace("states = { x = \"x\" }\nnext = { x = \"next\" }", "states = { x = \"x\", c = \"c\" }\nnext = { x = \"x_next\", c = \"c_next\" }");
    let files =
        folder(&settings, &[("dynamics", &dynamics), ("value", &value), ("representation", &encoder)]);
    let opened = open(&files).unwrap();
    let start = opened.start(&Array::new(vec![3, 4], vec![-1.0; 12]).unwrap()).unwrap();
    let scored = score(&opened, &start, 2, 1, &mut Rng::from_seed(0)).unwrap();
    let members: Vec<f64> = scored.ensemble.members().map(|m| m[2]).collect();
    // c = 0 in the first step: x stays 1, then becomes 2. 4; 4 + 0.9·4; 4 + 0.9·4 + 0.81·8.
    assert!(members.iter().zip([4.0, 7.6, 14.08]).all(|(a, b)| (a - b).abs() < 1e-5), "{members:?}");
}

/// Logits of a policy are drawn from by their softmax: with three standard errors over 20 000 draws.
#[test]
fn sampled_actions_follow_the_softmax() {
    let model = open(&changed("mlp", "\"argmax\"", "\"sample\"")).unwrap();
    assert!(model.is_stochastic());
    let n = 20_000;
    let start =
        model.start(&Array::new(vec![n, 6], [0.3, -0.2, 0.9, 0.1, -1.0, 0.4].repeat(n)).unwrap()).unwrap();
    let Actions::Discrete(actions) = model.act(&start, &mut Rng::from_seed(1)).unwrap() else { panic!() };
    let share = |action| actions.iter().filter(|a| **a == action).count() as f64 / n as f64;
    // ONNX Runtime: softmax of the logits of this state.
    for (action, p) in SOFTMAX.iter().enumerate() {
        let error = (p * (1.0 - p) / n as f64).sqrt();
        assert!((share(action) - p).abs() < 3.0 * error, "{action}: {} instead of {p}", share(action));
    }
}
const SOFTMAX: [f64; 3] = [0.375_914_698_56, 0.368_708_054_99, 0.255_377_246_45];

#[test]
fn other_policies_do_what_they_say() {
    let logits = "kind = \"logits\"\nstates = { z = \"state\" }\nlogits = \"logits\"\nchoose = \"argmax\"";
    let uniform = open(&changed("mlp", logits, "kind = \"uniform\"")).unwrap();
    let start = uniform.start(&Array::new(vec![3000, 6], vec![0.1; 18_000]).unwrap()).unwrap();
    let Actions::Discrete(actions) = uniform.act(&start, &mut Rng::from_seed(0)).unwrap() else { panic!() };
    for action in 0..3 {
        let share = actions.iter().filter(|a| **a == action).count() as f64 / 3000.0;
        assert!(
            (share - 1.0 / 3.0).abs() < 3.0 * (2.0 / 9.0 / 3000.0_f64).sqrt(),
            "three standard errors: {share}"
        );
    }
    // Greedy is what one step with each action says.
    let greedy = open(&changed("mlp", logits, "kind = \"greedy\"")).unwrap();
    let start = greedy.start(&Array::new(vec![1, 6], vec![0.7; 6]).unwrap()).unwrap();
    let rng = &mut Rng::from_seed(0);
    let worth = |action: usize, rng: &mut Rng| {
        let step = greedy.imagine(&start, &Actions::Discrete(vec![action]), rng).unwrap();
        step.reward[0] + step.discount[0] * greedy.values(&step.next).unwrap()[0]
    };
    let best = (0..3).max_by(|&a, &b| worth(a, rng).total_cmp(&worth(b, &mut Rng::from_seed(0)))).unwrap();
    assert_eq!(greedy.act(&start, rng).unwrap(), Actions::Discrete(vec![best]));
    let fixed = open(&changed(
        "conv",
        "kind = \"action\"\nstates = { z = \"z\" }\naction = \"action\"",
        "kind = \"fixed-vector\"\naction = [0.5, -0.5]",
    ))
    .unwrap();
    let start = fixed.start(&Array::new(vec![2, 2, 10, 10], vec![0.0; 400]).unwrap()).unwrap();
    assert_eq!(fixed.act(&start, rng).unwrap(), Actions::Continuous(vec![0.5, -0.5, 0.5, -0.5]));
}

/// A sampled policy: σ comes with a standard error, and the same seed gives the same numbers.
#[test]
fn samples_are_averaged_and_come_with_an_error() {
    let model = open(&changed("mlp", "\"argmax\"", "\"sample\"")).unwrap();
    let start = model.start(&Array::new(vec![1, 6], vec![0.3; 6]).unwrap()).unwrap();
    let of = |seed, samples| score(&model, &start, 5, samples, &mut Rng::from_seed(seed)).unwrap();
    let (one, same, other) = (of(0, 40), of(0, 40), of(1, 4000));
    assert_eq!(one.ensemble, same.ensemble);
    let (a, b) = (one.ensemble.std()[0], other.ensemble.std()[0]);
    let error = one.std_error.unwrap()[0];
    assert!((a - b).abs() < 4.0 * error && other.std_error.unwrap()[0] < error / 3.0, "{a} ± {error}, {b}");
}

#[test]
fn settings_are_written_as_they_are_read() {
    for name in ["mlp", "gru", "lstm", "conv"] {
        let text = String::from_utf8(files(name)["model.toml"].clone()).unwrap();
        let settings = Settings::parse(&text).unwrap();
        assert_eq!(Settings::parse(&toml::to_string(&settings).unwrap()).unwrap(), settings);
    }
}
