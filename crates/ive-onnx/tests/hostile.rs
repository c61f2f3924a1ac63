//! Files that want too much, or something that is never given: each is an error, and nothing is read, run or filled.

#![allow(clippy::unwrap_used, reason = "a test that cannot unwrap has failed")]

mod common;

use common::{Files, files, floats, folder, input, integers, model, node, uncontrolled, with_int};
use ive::Rng;
use ive_onnx::{Array, Limits, OnnxError, OnnxModel, score};
use prost::Message as _;
use tract_onnx::pb::{
    AttributeProto, FunctionProto, ModelProto, NodeProto, StringStringEntryProto, TensorProto,
};

fn open(files: &Files) -> Result<OnnxModel, OnnxError> {
    OnnxModel::from_files(files, &Limits::default())
}

/// The message with which the dynamics are refused.
fn refusal(constants: Vec<TensorProto>, nodes: Vec<NodeProto>) -> String {
    open(&uncontrolled(constants, nodes)).unwrap_err().to_string()
}

fn refused(files: &Files, part: &str) {
    let message = open(files).unwrap_err().to_string();
    assert!(message.contains(part), "«{message}» does not say «{part}»");
}

fn dynamics(files: &Files) -> ModelProto {
    ModelProto::decode(&*files["dynamics.onnx"]).unwrap()
}

fn set(files: &mut Files, model: &ModelProto) {
    files.insert("dynamics.onnx".to_owned(), model.encode_to_vec());
}

#[test]
fn a_plain_graph_runs() {
    let model = open(&uncontrolled(vec![], vec![node("Neg", &["x"], "next")])).unwrap();
    let start = model.start(&Array::new(vec![2, 4], vec![1.0; 8]).unwrap()).unwrap();
    let scored = score(&model, &start, 2, 1, &mut Rng::from_seed(0)).unwrap();
    // v = r = 4, then −4: 4; 4 − 0.9·4; 4 − 0.9·4 + 0.81·4.
    let members: Vec<f64> = scored.ensemble.members().map(|m| m[0]).collect();
    assert!(members.iter().zip([4.0, 0.4, 3.64]).all(|(a, b)| (a - b).abs() < 1e-6), "{members:?}");
}

#[test]
fn tensors_that_would_fill_the_memory_are_refused_before_they_are_made() {
    let huge = || vec![integers("shape", &[1 << 20, 1 << 20])];
    assert!(refusal(huge(), vec![node("ConstantOfShape", &["shape"], "next")]).contains("too large"));
    assert!(refusal(huge(), vec![node("Expand", &["axes1", "shape"], "next")]).contains("not defined"));
    let one = || vec![integers("shape", &[1 << 20, 1 << 20]), floats("one", &[1, 1], &[1.0])];
    assert!(refusal(one(), vec![node("Expand", &["one", "shape"], "next")]).contains("too large"));
    assert!(refusal(one(), vec![node("Tile", &["one", "shape"], "next")]).contains("too large"));
    let overflow = vec![integers("shape", &[i64::MAX, i64::MAX, 4])];
    assert!(refusal(overflow, vec![node("ConstantOfShape", &["shape"], "next")]).contains("too large"));
    let range = ["a", "b", "c"].iter().zip([0, i64::MAX, 1]).map(|(name, x)| integers(name, &[x])).collect();
    assert!(refusal(range, vec![node("Range", &["a", "b", "c"], "next")]).contains("too large"));
}

#[test]
fn doubling_again_and_again_is_refused() {
    let names: Vec<String> = (0..60).map(|i| format!("x{i}")).collect();
    let mut nodes = vec![node("Identity", &["x"], "x0")];
    nodes.extend(
        (1..60).map(|i| with_int(node("Concat", &[&names[i - 1], &names[i - 1]], &names[i]), "axis", 1)),
    );
    nodes.push(node("Identity", &["x59"], "next"));
    assert!(refusal(vec![], nodes).contains("too large"));
    // A column times a row, then its square: 4000³ multiplications for each.
    let column = floats("column", &[4000, 1], &[1.0; 4000]);
    let row = floats("row", &[1, 4000], &[1.0; 4000]);
    let names = ["s0", "s1", "s2"];
    let mut square = vec![node("MatMul", &["column", "row"], "s0")];
    square.extend((1..3).map(|i| node("MatMul", &[names[i - 1], names[i - 1]], names[i])));
    let message = refusal(vec![column, row], square);
    assert!(message.contains("multiplications"), "{message}");
}

#[test]
fn long_chains_do_not_overflow_the_stack() {
    let names: Vec<String> = (0..1500).map(|i| format!("x{i}")).collect();
    let mut nodes = vec![node("Neg", &["x"], "x0")];
    nodes.extend((1..1500).map(|i| node("Tanh", &[&names[i - 1]], &names[i])));
    nodes.push(node("Identity", &["x1499"], "next"));
    let model = open(&uncontrolled(vec![], nodes.clone())).unwrap();
    let start = model.start(&Array::new(vec![1, 4], vec![1.0; 4]).unwrap()).unwrap();
    assert!(score(&model, &start, 1, 1, &mut Rng::from_seed(0)).is_ok());
    nodes.extend((0..500).map(|i| node("Neg", &["x"], &format!("y{i}"))));
    assert!(refusal(vec![], nodes).contains("number of nodes"));
}

#[test]
fn data_in_other_files_are_never_read() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("secret"), [0; 64]).unwrap();
    for location in ["secret", "../secret", "/etc/passwd"] {
        let mut weights = floats("w", &[1, 4], &[]);
        let entry =
            |key: &str, value: &str| StringStringEntryProto { key: key.to_owned(), value: value.to_owned() };
        weights.external_data = vec![entry("location", location)];
        weights.data_location = Some(1);
        let files = uncontrolled(vec![weights], vec![node("Add", &["x", "w"], "next")]);
        for (name, bytes) in &files {
            std::fs::write(dir.path().join(name), bytes).unwrap();
        }
        let message = OnnxModel::open(dir.path()).unwrap_err().to_string();
        assert!(message.contains("external data"), "{message}");
    }
    // The mark alone, without a place.
    let mut marked = floats("w", &[1, 4], &[1.0; 4]);
    marked.data_location = Some(1);
    refused(&uncontrolled(vec![marked], vec![node("Add", &["x", "w"], "next")]), "another file");
}

#[test]
fn operators_of_others_functions_loops_and_chance_are_refused() {
    let mut custom = node("Neg", &["x"], "next");
    custom.domain = "com.example".to_owned();
    refused(&uncontrolled(vec![], vec![custom]), "com.example");
    refused(&uncontrolled(vec![], vec![node("Frobnicate", &["x"], "next")]), "Frobnicate is not supported");
    refused(&uncontrolled(vec![], vec![node("RandomNormalLike", &["x"], "next")]), "make the noise an input");
    let mut looped = node("Loop", &["x"], "next");
    let body = model(vec![], vec![], vec![], &[]).graph;
    looped.attribute.push(AttributeProto {
        name: "body".to_owned(),
        g: body,
        r#type: 5,
        ..Default::default()
    });
    refused(&uncontrolled(vec![], vec![looped]), "graph inside of a node");
    let mut files = uncontrolled(vec![], vec![node("Neg", &["x"], "next")]);
    let mut with_function = dynamics(&files);
    with_function.functions = vec![FunctionProto { name: Some("f".to_owned()), ..Default::default() }];
    set(&mut files, &with_function);
    refused(&files, "functions");
}

#[test]
fn graphs_that_are_none_are_refused() {
    refused(
        &uncontrolled(vec![], vec![node("Neg", &["later"], "next"), node("Neg", &["x"], "later")]),
        "not defined before",
    );
    refused(&uncontrolled(vec![], vec![node("Neg", &["next"], "next")]), "not defined before");
    refused(
        &uncontrolled(vec![], vec![node("Neg", &["x"], "next"), node("Abs", &["x"], "next")]),
        "defined twice",
    );
    let short = TensorProto { raw_data: vec![0; 15], ..floats("w", &[4], &[]) };
    refused(&uncontrolled(vec![short], vec![node("Add", &["x", "w"], "next")]), "15 bytes");
    let negative = floats("w", &[-4], &[1.0; 4]);
    refused(&uncontrolled(vec![negative], vec![node("Add", &["x", "w"], "next")]), "[-4]");
    let deep = floats("w", &[1; 9], &[1.0]);
    refused(&uncontrolled(vec![deep], vec![node("Add", &["x", "w"], "next")]), "rank");
    let mut files = uncontrolled(vec![], vec![node("Neg", &["x"], "next")]);
    let mut old = dynamics(&files);
    old.opset_import[0].version = 3;
    set(&mut files, &old);
    refused(&files, "operator set");
    let mut none = dynamics(&files);
    none.graph = None;
    set(&mut files, &none);
    refused(&files, "no graph");
    files.insert("dynamics.onnx".to_owned(), b"PK\x03\x04 not a model".to_vec());
    refused(&files, "not an ONNX model");
    files.insert("dynamics.onnx".to_owned(), vec![]);
    refused(&files, "no graph");
}

#[test]
fn a_graph_that_divides_by_zero_or_strides_by_nothing_is_an_error() {
    let constants = vec![floats("w", &[1, 1, 3], &[1.0; 3]), integers("three", &[0, 1, 4])];
    let mut conv = node("Conv", &["image", "w"], "y");
    conv.attribute.push(AttributeProto {
        name: "strides".to_owned(),
        ints: vec![0],
        r#type: 7,
        ..Default::default()
    });
    let nodes = vec![node("Reshape", &["x", "three"], "image"), conv, node("Identity", &["y"], "next")];
    assert!(refusal(constants, nodes).contains("strides"));
}

#[test]
fn files_beyond_the_limit_pipes_and_folders_are_not_read() {
    let small = Limits { file_bytes: 1000, ..Limits::default() };
    let message = OnnxModel::from_files(&files("mlp"), &small).unwrap_err().to_string();
    assert_eq!(message, "dynamics.onnx is too large: file in bytes is 3124, the limit is 1000");
    let dir = tempfile::tempdir().unwrap();
    for (name, bytes) in files("mlp") {
        std::fs::write(dir.path().join(name), bytes).unwrap();
    }
    assert_eq!(OnnxModel::open_with(dir.path(), &small).unwrap_err().to_string(), message);
    std::fs::remove_file(dir.path().join("dynamics.onnx")).unwrap();
    assert!(matches!(OnnxModel::open(dir.path()), Err(OnnxError::Read { .. })));
    std::fs::create_dir(dir.path().join("dynamics.onnx")).unwrap();
    let message = OnnxModel::open(dir.path()).unwrap_err().to_string();
    assert!(message.contains("not a regular file"), "{message}");
}

#[test]
fn a_free_dimension_that_is_not_the_batch_is_refused() {
    let nodes = vec![node("Neg", &["x"], "next"), node("Neg", &["x"], "reward")];
    let free = model(vec![input("x", &[-1, -1])], vec![], nodes, &["next", "reward"]);
    let value = ModelProto::decode(&*uncontrolled(vec![], vec![])["value.onnx"]).unwrap();
    refused(
        &folder(common::UNCONTROLLED, &[("dynamics", &free), ("value", &value)]),
        "only the batch may be free",
    );
}

/// What the shapes promise is what the engine computes: a batch that a graph mixes up is an error.
#[test]
fn a_graph_that_mixes_its_states_up_is_refused() {
    let transpose = vec![node("Transpose", &["x"], "next")];
    let message = refusal(vec![], transpose);
    assert!(message.contains("shape [4, 2] for 2 states"), "{message}");
}
