//! Folders of the tests in memory, and graphs written by hand.
#![allow(dead_code, reason = "each test file uses a part")]

use std::collections::BTreeMap;
use std::path::PathBuf;

use prost::Message as _;
use tract_onnx::pb::{
    AttributeProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, TensorProto, TensorShapeProto,
    TypeProto, ValueInfoProto, tensor_shape_proto, type_proto,
};

pub type Files = BTreeMap<String, Vec<u8>>;

/// The files of `tests/models/NAME`.
pub fn files(name: &str) -> Files {
    let dir: PathBuf = [env!("CARGO_MANIFEST_DIR"), "tests", "models", name].iter().collect();
    let entries = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let read = entries.filter(|path| path.extension().is_some_and(|e| e == "onnx" || e == "toml"));
    read.map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), std::fs::read(&path).unwrap()))
        .collect()
}

/// `model.toml` for graphs with one state `x`, no actions, `next = f(x)`, a reward and a value.
pub const UNCONTROLLED: &str = r#"
format = 1
gamma = 0.9
reward_convention = "transition"
[action]
kind = "none"
[states]
x = {}
[dynamics]
states = { x = "x" }
next = { x = "next" }
reward = "reward"
[value]
states = { x = "x" }
value = "value"
"#;

pub fn input(name: &str, dims: &[i64]) -> ValueInfoProto {
    let dim = |&n: &i64| tensor_shape_proto::Dimension {
        value: (n > 0).then_some(tensor_shape_proto::dimension::Value::DimValue(n)),
        ..Default::default()
    };
    let shape = TensorShapeProto { dim: dims.iter().map(dim).collect() };
    let tensor = type_proto::Tensor { elem_type: 1, shape: Some(shape) };
    let value = Some(type_proto::Value::TensorType(tensor));
    ValueInfoProto {
        name: name.to_owned(),
        r#type: Some(TypeProto { value, ..Default::default() }),
        ..Default::default()
    }
}

pub fn node(op: &str, inputs: &[&str], output: &str) -> NodeProto {
    NodeProto {
        op_type: op.to_owned(),
        name: format!("{op}_{output}"),
        input: inputs.iter().map(|&i| i.to_owned()).collect(),
        output: vec![output.to_owned()],
        ..Default::default()
    }
}

pub fn with_int(mut node: NodeProto, name: &str, i: i64) -> NodeProto {
    node.attribute.push(AttributeProto { name: name.to_owned(), i, r#type: 2, ..Default::default() });
    node
}

pub fn integers(name: &str, values: &[i64]) -> TensorProto {
    let (name, dims, int64_data) = (name.to_owned(), vec![values.len() as i64], values.to_vec());
    TensorProto { name, dims, data_type: 7, int64_data, ..Default::default() }
}

pub fn floats(name: &str, dims: &[i64], values: &[f32]) -> TensorProto {
    let (name, dims, float_data) = (name.to_owned(), dims.to_vec(), values.to_vec());
    TensorProto { name, dims, data_type: 1, float_data, ..Default::default() }
}

pub fn model(
    inputs: Vec<ValueInfoProto>,
    constants: Vec<TensorProto>,
    nodes: Vec<NodeProto>,
    outputs: &[&str],
) -> ModelProto {
    let output = |name: &&str| ValueInfoProto { name: (*name).to_owned(), ..Default::default() };
    let graph = GraphProto {
        name: "g".to_owned(),
        node: nodes,
        initializer: constants,
        input: inputs,
        output: outputs.iter().map(output).collect(),
        ..Default::default()
    };
    ModelProto {
        ir_version: 8,
        opset_import: vec![OperatorSetIdProto { domain: String::new(), version: 18 }],
        graph: Some(graph),
        ..Default::default()
    }
}

/// A folder whose dynamics are `nodes` on an input `x [b, 4]`; they must compute `next`. Reward and value are sums.
pub fn uncontrolled(constants: Vec<TensorProto>, nodes: Vec<NodeProto>) -> Files {
    let mut dynamics = nodes;
    dynamics.push(with_int(node("ReduceSum", &["x", "axes"], "reward"), "keepdims", 0));
    let mut constants = constants;
    constants.push(integers("axes", &[1]));
    let value = vec![with_int(node("ReduceSum", &["x", "axes"], "value"), "keepdims", 0)];
    let dynamics = model(vec![input("x", &[-1, 4])], constants, dynamics, &["next", "reward"]);
    let value = model(vec![input("x", &[-1, 4])], vec![integers("axes", &[1])], value, &["value"]);
    folder(UNCONTROLLED, &[("dynamics", &dynamics), ("value", &value)])
}

pub fn folder(settings: &str, graphs: &[(&str, &ModelProto)]) -> Files {
    let mut files = Files::from([("model.toml".to_owned(), settings.as_bytes().to_vec())]);
    for (name, graph) in graphs {
        files.insert(format!("{name}.onnx"), graph.encode_to_vec());
    }
    files
}
