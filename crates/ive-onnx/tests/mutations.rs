//! Damaged and hostile variants of the models of the tests: every one is an error or a model that runs. The process neither panics
//! nor fills the memory.
//!
//! `cargo test --release -p ive-onnx --test mutations -- --ignored --nocapture` goes on for longer; `IVE_FUZZ_INPUTS` says for
//! how many inputs, `IVE_FUZZ_SEED` from where.

#![allow(clippy::unwrap_used, reason = "a test that cannot unwrap has failed")]

mod common;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use common::{Files, files};
use ive::Rng;
use ive_onnx::{Array, Limits, OnnxError, OnnxModel, score};
use prost::Message as _;
use tract_onnx::pb::{ModelProto, tensor_shape_proto::dimension, type_proto};

const MODELS: [&str; 4] = ["mlp", "gru", "lstm", "conv"];
/// Small enough for a test, large enough for the models.
const LIMITS: Limits =
    Limits { file_bytes: 1 << 20, nodes: 200, run_bytes: 64 << 20, run_products: 100_000_000 };

/// What became of the inputs.
#[derive(Default, Debug)]
struct Tally {
    inputs: usize,
    opened: usize,
    scored: usize,
    panics: BTreeMap<String, usize>,
    slowest: Duration,
}

impl Tally {
    fn take(&mut self, files: &Files) {
        self.inputs += 1;
        let begin = Instant::now();
        match OnnxModel::from_files(files, &LIMITS) {
            Ok(model) => {
                self.opened += 1;
                self.scored += usize::from(use_it(&model).is_ok());
            }
            Err(OnnxError::Panicked { graph, reason }) => {
                let kind = format!("{graph}: {}", reason.chars().take(80).collect::<String>());
                *self.panics.entry(kind).or_default() += 1;
            }
            Err(_) => {}
        }
        self.slowest = self.slowest.max(begin.elapsed());
    }
}

/// Scores whatever the model takes, in the shapes that the undamaged models take.
fn use_it(model: &OnnxModel) -> Result<(), Box<dyn std::error::Error>> {
    let array = |shape: &[usize]| Array::new(shape.to_vec(), vec![0.25; shape.iter().product()]);
    let start = match model.settings().states.len() {
        2 => model.states(&[array(&[1, 3, 8])?, array(&[1, 3, 8])?])?,
        _ => [&[2, 6][..], &[2, 5], &[2, 2, 10, 10]]
            .iter()
            .find_map(|shape| model.start(&array(shape).ok()?).ok())
            .ok_or("no shape fits")?,
    };
    score(model, &start, 3, 1, &mut Rng::from_seed(0))?;
    Ok(())
}

/// A number that breaks things.
fn extreme(rng: &mut Rng) -> i64 {
    let all = [0, 1, -1, 2, 3, 7, 255, 256, 65_536, 1 << 31, 1 << 40, i64::MAX, i64::MIN, -2];
    all[rng.below(all.len())]
}

fn damage_bytes(bytes: &mut Vec<u8>, rng: &mut Rng) {
    match rng.below(6) {
        0 => bytes.truncate(rng.below(bytes.len() + 1)),
        1 => {
            let at = rng.below(bytes.len());
            bytes[at] = [0, 1, 0x7f, 0x80, 0xff][rng.below(5)];
        }
        2 => {
            // A piece again, somewhere else.
            let (from, to) = (rng.below(bytes.len()), rng.below(bytes.len()));
            let piece = bytes[from..(from + 1 + rng.below(40)).min(bytes.len())].to_vec();
            bytes.splice(to..to, piece);
        }
        3 => {
            let from = rng.below(bytes.len());
            bytes.drain(from..(from + 1 + rng.below(20)).min(bytes.len()));
        }
        _ => {
            for _ in 0..=rng.below(4) {
                let at = rng.below(bytes.len());
                bytes[at] ^= 1 << rng.below(8);
            }
        }
    }
}

/// Changes of a decoded model: shapes, attributes, operators, wires, constants.
fn damage_graph(bytes: &mut Vec<u8>, operators: &[String], rng: &mut Rng) {
    let mut model = ModelProto::decode(&**bytes).unwrap();
    let graph = model.graph.as_mut().unwrap();
    for _ in 0..=rng.below(3) {
        let at = rng.below(graph.node.len());
        match rng.below(9) {
            0 => graph.node[at].op_type.clone_from(&operators[rng.below(operators.len())]),
            1 if !graph.node[at].attribute.is_empty() => {
                let i = rng.below(graph.node[at].attribute.len());
                let attribute = &mut graph.node[at].attribute[i];
                attribute.i = extreme(rng);
                let count = attribute.ints.len();
                if count > 0 {
                    attribute.ints[rng.below(count)] = extreme(rng);
                }
                if rng.below(4) == 0 {
                    attribute.ints.push(extreme(rng));
                }
            }
            2 if !graph.initializer.is_empty() => {
                let i = rng.below(graph.initializer.len());
                let constant = &mut graph.initializer[i];
                match rng.below(3) {
                    0 if !constant.dims.is_empty() => {
                        let i = rng.below(constant.dims.len());
                        constant.dims[i] = extreme(rng);
                    }
                    0 => constant.dims.push(extreme(rng)),
                    1 => constant.data_type = rng.below(24) as i32,
                    _ if constant.data_type == 7 && constant.raw_data.len() >= 8 => {
                        let at = 8 * rng.below(constant.raw_data.len() / 8);
                        constant.raw_data[at..at + 8].copy_from_slice(&extreme(rng).to_le_bytes());
                    }
                    _ => constant.dims.reverse(),
                }
            }
            3 | 4 => {
                // A wire from somewhere else.
                let from = rng.below(graph.node.len());
                let name = match rng.below(3) {
                    0 => graph.node[from].output[0].clone(),
                    1 => graph.input[rng.below(graph.input.len())].name.clone(),
                    _ if graph.initializer.is_empty() => String::new(),
                    _ => graph.initializer[rng.below(graph.initializer.len())].name.clone(),
                };
                match graph.node[at].input.len() {
                    0 => graph.node[at].input.push(name),
                    n => graph.node[at].input[rng.below(n)] = name,
                }
            }
            5 => {
                let i = rng.below(graph.input.len());
                let value = graph.input[i].r#type.as_mut().and_then(|t| t.value.as_mut());
                if let Some(type_proto::Value::TensorType(tensor)) = value {
                    if rng.below(3) == 0 {
                        tensor.elem_type = rng.below(24) as i32;
                    } else if let Some(dim) = tensor.shape.as_mut().and_then(|s| s.dim.last_mut()) {
                        dim.value = Some(dimension::Value::DimValue(extreme(rng)));
                    }
                }
            }
            6 => {
                graph.node.remove(at);
                if graph.node.is_empty() {
                    break;
                }
            }
            7 => model.opset_import[0].version = 7 + rng.below(22) as i64,
            _ => {
                let again = graph.node[at].clone();
                graph.node.push(again);
            }
        }
    }
    *bytes = model.encode_to_vec();
}

fn run(inputs: usize, seed: u64) -> Tally {
    // Panics of the engine are counted, not printed.
    std::panic::set_hook(Box::new(|_| {}));
    let rng = &mut Rng::from_seed(seed);
    let originals: Vec<Files> = MODELS.iter().map(|name| files(name)).collect();
    let mut operators: Vec<String> = OPERATORS.split_whitespace().map(str::to_owned).collect();
    operators.sort();
    let mut tally = Tally::default();
    for original in &originals {
        tally.take(original);
    }
    assert_eq!(tally.scored, MODELS.len(), "undamaged models score");
    while tally.inputs < inputs {
        let mut files = originals[rng.below(MODELS.len())].clone();
        let names: Vec<String> = files.keys().cloned().collect();
        let name = &names[rng.below(names.len())];
        let bytes = files.get_mut(name).unwrap();
        if name == "model.toml" || rng.below(3) == 0 {
            damage_bytes(bytes, rng);
        } else {
            damage_graph(bytes, &operators, rng);
        }
        tally.take(&files);
    }
    let _ = std::panic::take_hook();
    tally
}

const OPERATORS: &str = "Abs Add And ArgMax AveragePool BatchNormalization Cast Clip Concat Constant ConstantOfShape Conv CumSum \
    Div Dropout Elu Equal Erf Exp Expand Flatten GRU Gather GatherElements Gelu Gemm GlobalAveragePool Greater HardSigmoid Identity \
    InstanceNormalization LSTM LayerNormalization LogSoftmax LpNormalization MatMul Max MaxPool Mean Min Mod Mul Neg Not OneHot PRelu Pad \
    Pow RNN Range ReduceMax ReduceMean ReduceSum Relu Reshape Round Shape Sigmoid Size Slice Softmax Split Sqrt Squeeze Sub Tanh Tile \
    Transpose Unsqueeze Where Xor Loop If Scan Einsum Resize NonZero TopK";

/// Peak memory of this process in bytes, where the system says.
fn peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
}

#[test]
fn damaged_files_are_errors_or_models_in_bounded_memory() {
    let tally = run(1_000, 1);
    assert_eq!(tally.inputs, 1_000);
    assert!(
        tally.opened > 20 && tally.opened < 900,
        "mutations that never or always fail test nothing: {tally:?}"
    );
    if let Some(peak) = peak() {
        assert!(peak < 400 << 20, "{peak} bytes at the peak");
    }
}

#[test]
fn a_file_that_is_cut_off_is_never_a_panic() {
    let files = files("mlp");
    let whole = &files["dynamics.onnx"];
    for length in (0..whole.len()).step_by(3) {
        let mut cut = files.clone();
        cut.insert("dynamics.onnx".to_owned(), whole[..length].to_vec());
        // What ends at the end of a field is protobuf, but nothing computes the outputs then.
        let error = OnnxModel::from_files(&cut, &LIMITS).unwrap_err();
        assert!(!matches!(error, OnnxError::Panicked { .. }), "cut at {length}: {error}");
    }
}

#[test]
#[ignore = "slow: as long as IVE_FUZZ_INPUTS says"]
fn many_damaged_files() {
    let number =
        |name: &str, default| std::env::var(name).ok().and_then(|n| n.parse().ok()).unwrap_or(default);
    let tally = run(number("IVE_FUZZ_INPUTS", 100_000), number("IVE_FUZZ_SEED", 2) as u64);
    report(&tally);
}

#[expect(clippy::print_stderr, reason = "the report of a test that is run by hand")]
fn report(tally: &Tally) {
    eprintln!("{tally:#?}\npeak memory {:?} bytes", peak());
    assert!(peak().is_none_or(|peak| peak < 1 << 30));
}
