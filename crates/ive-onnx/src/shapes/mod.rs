//! The shape of every tensor of a graph, before the engine sees it.
//!
//! The engine computes constants while it reads a graph, so a few bytes of a hostile file (`ConstantOfShape` of 2⁴⁰) could
//! fill the memory, which no error handling survives. Here every shape is worked out first, from the operators
//! alone, and held against the [`Limits`]. Operators without a rule here are refused, and so are tensors whose shape depends on
//! numbers that are only known when the graph runs. The list of operators is that of [`rule`].

mod convolution;
mod layout;
mod node;
mod products;
mod recurrent;

use std::collections::HashMap;

use tract_onnx::pb::{
    GraphProto, ModelProto, TensorProto, ValueInfoProto, tensor_shape_proto::dimension, type_proto,
};

use crate::Limits;
use crate::error::{OnnxError, Result};
use crate::limits::MAX_RANK;
use node::Node;

/// Integers of a tensor are followed up to this many: shapes and axes are short.
const MAX_VALUES: usize = 64;
/// Bytes of the largest kind of element, which is what every element is counted as.
const ELEMENT_BYTES: u64 = 8;

/// A shape, and the numbers themselves where they are few integers that another shape may depend on.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Known {
    pub(crate) shape: Vec<usize>,
    pub(crate) values: Option<Vec<i64>>,
}

impl Known {
    fn of(shape: Vec<usize>) -> Self {
        Self { shape, values: None }
    }

    fn integers(shape: Vec<usize>, values: Vec<i64>) -> Self {
        Self { shape, values: (values.len() <= MAX_VALUES).then_some(values) }
    }

    fn volume(&self) -> Option<u64> {
        volume(&self.shape)
    }
}

fn volume(shape: &[usize]) -> Option<u64> {
    shape.iter().try_fold(1u64, |all, &n| all.checked_mul(n as u64))
}

/// What a run takes.
#[derive(Default)]
struct Cost {
    bytes: u64,
    products: u64,
}

/// The shapes of all tensors by name. The inputs must have numbers for all of their dimensions.
///
/// # Errors
/// If an operator is not known, shapes do not fit together, or a limit is passed.
pub(crate) fn shapes(name: &str, model: &ModelProto, limits: &Limits) -> Result<HashMap<String, Known>> {
    let graph = model.graph.as_ref().ok_or_else(|| malformed(name, "it has no graph"))?;
    let opset = opset(name, model)?;
    for (what, got) in [
        ("number of nodes", graph.node.len()),
        ("number of constants", graph.initializer.len()),
        ("number of inputs", graph.input.len()),
        ("number of outputs", graph.output.len()),
    ] {
        at_most(name, what, got as u64, limits.nodes)?;
    }
    let mut cost = Cost::default();
    let mut known = constants(name, graph, limits, &mut cost)?;
    for input in &graph.input {
        if !known.contains_key(&input.name) {
            let shape = input_shape(name, input)?;
            let dims = shape.into_iter().collect::<Option<Vec<usize>>>();
            let dims =
                dims.ok_or_else(|| bad_shape(name, &input.name, "a dimension has no number".to_owned()))?;
            define(name, &mut known, &input.name, Known::of(dims), limits, &mut cost)?;
        }
    }
    for (position, proto) in graph.node.iter().enumerate() {
        let label = format!("node {position} ({} `{}`)", proto.op_type, proto.name);
        check_domain(name, &label, &proto.domain)?;
        let inputs = proto.input.iter().map(|input| match input.as_str() {
            "" => Ok(None),
            input => known.get(input).map(Some).ok_or_else(|| {
                malformed(name, &format!("{label} uses `{input}`, which is not defined before it"))
            }),
        });
        let inputs: Vec<Option<&Known>> = inputs.collect::<Result<_>>()?;
        let node = Node { proto, inputs, opset };
        let outputs = rule(&node).map_err(|reason| bad_shape(name, &label, reason))?;
        let products = products::of(&node, &outputs).unwrap_or(u64::MAX);
        cost.products = cost.products.saturating_add(products);
        at_most(name, "number of multiplications in a run", cost.products, limits.run_products)?;
        if proto.output.len() > outputs.len() {
            let reason = format!("it has {} outputs, {} are known", proto.output.len(), outputs.len());
            return Err(bad_shape(name, &label, reason));
        }
        for (output, shape) in proto.output.iter().zip(outputs) {
            if shape.shape.contains(&0) {
                return Err(bad_shape(name, &label, format!("`{output}` is empty: {:?}", shape.shape)));
            }
            if !output.is_empty() {
                define(name, &mut known, output, shape, limits, &mut cost)?;
            }
        }
    }
    match graph.output.iter().find(|output| !known.contains_key(&output.name)) {
        Some(output) => Err(malformed(name, &format!("nothing computes the output `{}`", output.name))),
        None => Ok(known),
    }
}

/// Shapes of the results of a node, in words where they do not fit. This is the list of operators that are accepted.
fn rule(node: &Node) -> std::result::Result<Vec<Known>, String> {
    match node.proto.op_type.as_str() {
        "Abs" | "Acos" | "Acosh" | "Asin" | "Asinh" | "Atan" | "Atanh" | "Ceil" | "Celu" | "Clip" | "Cos"
        | "Cosh" | "CumSum" | "Elu" | "Erf" | "Exp" | "Floor" | "Gelu" | "HardSigmoid" | "HardSwish"
        | "IsInf" | "IsNaN" | "LeakyRelu" | "Log" | "LogSoftmax" | "LpNormalization" | "Mish" | "Neg"
        | "Not" | "Reciprocal" | "Relu" | "Round" | "Selu" | "Shrink" | "Sigmoid" | "Sign" | "Sin"
        | "Sinh" | "Softmax" | "Softplus" | "Softsign" | "Sqrt" | "Swish" | "Tan" | "Tanh"
        | "ThresholdedRelu" | "LayerNormalization" | "RMSNormalization" => node.like_first(),
        "BatchNormalization" | "InstanceNormalization" | "GroupNormalization" => node.by_channel(),
        "Dropout" => node.dropout(),
        "Identity" | "Cast" | "CastLike" => Ok(vec![node.input(0)?.clone()]),
        "Add" | "Sub" | "Mul" | "Div" => layout::arithmetic(node),
        "And" | "Or" | "Xor" | "Equal" | "Greater" | "GreaterOrEqual" | "Less" | "LessOrEqual" | "Max"
        | "Mean" | "Min" | "Mod" | "Pow" | "PRelu" | "Sum" | "Where" => node.broadcast_all(),
        "MatMul" => products::matmul(node),
        "Gemm" => products::gemm(node),
        "Conv" => convolution::conv(node),
        "MaxPool" | "AveragePool" => convolution::pool(node),
        "GlobalAveragePool" | "GlobalMaxPool" => convolution::global(node),
        "LSTM" => recurrent::shapes(node, 4, true),
        "GRU" => recurrent::shapes(node, 3, false),
        "RNN" => recurrent::shapes(node, 1, false),
        "ArgMax" | "ArgMin" => layout::arg(node),
        "ReduceL1" | "ReduceL2" | "ReduceLogSum" | "ReduceLogSumExp" | "ReduceMax" | "ReduceMean"
        | "ReduceMin" | "ReduceProd" | "ReduceSum" | "ReduceSumSquare" => layout::reduce(node),
        "Concat" => layout::concat(node),
        "Constant" => layout::constant(node),
        "ConstantOfShape" => layout::constant_of_shape(node),
        "Expand" => layout::expand(node),
        "Flatten" => layout::flatten(node),
        "Gather" => layout::gather(node),
        "GatherElements" => layout::gather_elements(node),
        "OneHot" => layout::one_hot(node),
        "Pad" => layout::pad(node),
        "Range" => layout::range(node),
        "Reshape" => layout::reshape(node),
        "Shape" => layout::shape(node),
        "Size" => layout::size(node),
        "Slice" => layout::slice(node),
        "Split" => layout::split(node),
        "Squeeze" => layout::squeeze(node),
        "Tile" => layout::tile(node),
        "Transpose" => layout::transpose(node),
        "Unsqueeze" => layout::unsqueeze(node),
        random @ ("RandomNormal" | "RandomNormalLike" | "RandomUniform" | "RandomUniformLike"
        | "Multinomial" | "Bernoulli") => Err(format!(
            "{random} draws its own random numbers: make the noise an input, so that a seed decides (`noise` in model.toml)"
        )),
        other => Err(format!("the operator {other} is not supported")),
    }
}

/// Takes a tensor into the table, unless it is too large or has the name of another.
fn define(
    graph: &str,
    known: &mut HashMap<String, Known>,
    name: &str,
    tensor: Known,
    limits: &Limits,
    cost: &mut Cost,
) -> Result<()> {
    if tensor.shape.len() > MAX_RANK {
        return Err(too_large(
            graph,
            &format!("rank of `{name}`"),
            tensor.shape.len() as u64,
            MAX_RANK as u64,
        ));
    }
    let bytes = tensor.volume().and_then(|volume| volume.checked_mul(ELEMENT_BYTES)).unwrap_or(u64::MAX);
    cost.bytes = cost.bytes.saturating_add(bytes);
    at_most(graph, &format!("memory in bytes with `{name}`"), cost.bytes, limits.run_bytes)?;
    match known.insert(name.to_owned(), tensor) {
        None => Ok(()),
        Some(_) => Err(malformed(graph, &format!("`{name}` is defined twice"))),
    }
}

fn constants(
    name: &str,
    graph: &GraphProto,
    limits: &Limits,
    cost: &mut Cost,
) -> Result<HashMap<String, Known>> {
    let mut known = HashMap::new();
    for tensor in &graph.initializer {
        let shape = constant(tensor)
            .map_err(|reason| bad_shape(name, &format!("constant `{}`", tensor.name), reason))?;
        define(name, &mut known, &tensor.name, shape, limits, cost)?;
    }
    Ok(known)
}

/// The shape of a constant, and its numbers if they are few integers.
fn constant(tensor: &TensorProto) -> std::result::Result<Known, String> {
    if tensor.data_location.is_some_and(|location| location != 0) || !tensor.external_data.is_empty() {
        return Err("it lies in another file".to_owned());
    }
    let dims = tensor.dims.iter().map(|&n| usize::try_from(n));
    let shape: Vec<usize> =
        dims.collect::<std::result::Result<_, _>>().map_err(|_| format!("shape {:?}", tensor.dims))?;
    let count = volume(&shape).ok_or_else(|| format!("shape {shape:?}"))?;
    let (bytes, typed) = match tensor.data_type {
        1 => (4, tensor.float_data.len()),
        2 | 3 | 9 => (1, tensor.int32_data.len()),
        6 => (4, tensor.int32_data.len()),
        7 => (8, tensor.int64_data.len()),
        10 => (2, tensor.int32_data.len()),
        11 => (8, tensor.double_data.len()),
        other => return Err(format!("elements of type {other} are not supported")),
    };
    let raw = tensor.raw_data.len() as u64;
    let there = if raw > 0 { raw } else { (typed as u64).saturating_mul(bytes) };
    if count.checked_mul(bytes) != Some(there) {
        return Err(format!("{there} bytes for the shape {shape:?} with {bytes} each"));
    }
    let values = if count <= MAX_VALUES as u64 { integers(tensor) } else { None };
    Ok(Known { shape, values })
}

fn integers(tensor: &TensorProto) -> Option<Vec<i64>> {
    match (tensor.data_type, tensor.raw_data.is_empty()) {
        (7, true) => Some(tensor.int64_data.clone()),
        (6, true) => Some(tensor.int32_data.iter().map(|&x| i64::from(x)).collect()),
        (7, false) => Some(tensor.raw_data.as_chunks().0.iter().map(|x| i64::from_le_bytes(*x)).collect()),
        (6, false) => {
            Some(tensor.raw_data.as_chunks().0.iter().map(|x| i64::from(i32::from_le_bytes(*x))).collect())
        }
        _ => None,
    }
}

/// The declared shape of an input; `None` for a dimension without a number.
pub(crate) fn input_shape(graph: &str, input: &ValueInfoProto) -> Result<Vec<Option<usize>>> {
    let no_shape = || bad_shape(graph, &format!("input `{}`", input.name), "it has no shape".to_owned());
    let type_proto::Value::TensorType(tensor) =
        input.r#type.as_ref().and_then(|t| t.value.as_ref()).ok_or_else(no_shape)?;
    let dims = tensor.shape.as_ref().ok_or_else(no_shape)?.dim.iter().map(|dim| match &dim.value {
        Some(dimension::Value::DimValue(n)) => {
            usize::try_from(*n).ok().filter(|n| *n > 0).map(Some).ok_or_else(|| {
                bad_shape(graph, &format!("input `{}`", input.name), format!("a dimension of {n}"))
            })
        }
        _ => Ok(None),
    });
    dims.collect()
}

fn opset(graph: &str, model: &ModelProto) -> Result<i64> {
    let mut version = None;
    for set in &model.opset_import {
        if matches!(set.domain.as_str(), "" | "ai.onnx") {
            version = Some(set.version);
        }
    }
    version.filter(|v| (9..=26).contains(v)).ok_or_else(|| {
        let got = version.map_or("none".to_owned(), |v| v.to_string());
        malformed(graph, &format!("operator set 9 to 26 is needed, it has {got}"))
    })
}

fn check_domain(graph: &str, label: &str, domain: &str) -> Result<()> {
    match domain {
        "" | "ai.onnx" => Ok(()),
        other => Err(OnnxError::Refused {
            graph: graph.to_owned(),
            reason: format!("{label} is an operator of the domain `{other}`, not of ONNX itself"),
        }),
    }
}

fn at_most(graph: &str, what: &str, got: u64, limit: u64) -> Result<()> {
    if got <= limit { Ok(()) } else { Err(too_large(graph, what, got, limit)) }
}

fn too_large(graph: &str, what: &str, got: u64, limit: u64) -> OnnxError {
    OnnxError::TooLarge { graph: graph.to_owned(), what: what.to_owned(), got, limit }
}

fn malformed(graph: &str, reason: &str) -> OnnxError {
    OnnxError::Malformed { graph: graph.to_owned(), reason: reason.to_owned() }
}

fn bad_shape(graph: &str, what: &str, reason: String) -> OnnxError {
    OnnxError::Shape { graph: graph.to_owned(), what: what.to_owned(), reason }
}
