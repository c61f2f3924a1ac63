//! Writing ONNX graphs, layer by layer.

use prost::Message as _;
use tract_onnx::pb::{
    AttributeProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, TensorProto, TensorShapeProto,
    TypeProto, ValueInfoProto, tensor_shape_proto, type_proto,
};

/// The operator set that is written; every reader of recent years knows it.
const OPSET: i64 = 17;
const IR_VERSION: i64 = 8;
/// `FLOAT` and `INTS` of `onnx.proto3`.
const FLOAT: i32 = 1;
const INT64: i32 = 7;
const ATTRIBUTE_INT: i32 = 2;
const ATTRIBUTE_INTS: i32 = 7;

/// A graph that grows. Tensors have the names of what makes them.
#[derive(Debug, Default)]
pub(crate) struct Writer {
    inputs: Vec<ValueInfoProto>,
    constants: Vec<TensorProto>,
    nodes: Vec<NodeProto>,
    outputs: Vec<ValueInfoProto>,
}

impl Writer {
    /// An input `[batch, …]`.
    pub(crate) fn input(&mut self, name: &str, shape: &[usize]) -> String {
        self.inputs.push(value(name, shape));
        name.to_owned()
    }

    /// The numbers of a tensor, row by row.
    pub(crate) fn constant(&mut self, name: &str, shape: &[usize], numbers: &[f32]) -> String {
        let raw_data = numbers.iter().flat_map(|x| x.to_le_bytes()).collect();
        let dims = shape.iter().map(|&n| n as i64).collect();
        let tensor =
            TensorProto { name: name.to_owned(), dims, data_type: FLOAT, raw_data, ..Default::default() };
        self.constants.push(tensor);
        name.to_owned()
    }

    fn integers(&mut self, name: &str, numbers: &[i64]) -> String {
        let raw_data = numbers.iter().flat_map(|x| x.to_le_bytes()).collect();
        let dims = vec![numbers.len() as i64];
        let tensor =
            TensorProto { name: name.to_owned(), dims, data_type: INT64, raw_data, ..Default::default() };
        self.constants.push(tensor);
        name.to_owned()
    }

    /// An operator with one result.
    pub(crate) fn node(&mut self, operator: &str, inputs: &[&str], output: &str) -> String {
        self.add(operator, inputs, &[output]);
        output.to_owned()
    }

    fn add(&mut self, operator: &str, inputs: &[&str], outputs: &[&str]) -> &mut NodeProto {
        let names = |list: &[&str]| list.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
        self.nodes.push(NodeProto {
            op_type: operator.to_owned(),
            name: outputs[0].to_owned(),
            input: names(inputs),
            output: names(outputs),
            ..Default::default()
        });
        self.nodes.last_mut().expect("just added")
    }

    /// `x W + b`, W `[inputs, outputs]`.
    pub(crate) fn dense(&mut self, x: &str, name: &str, weight: &[f32], bias: &[f32]) -> String {
        let shape = [weight.len() / bias.len().max(1), bias.len()];
        let weight = self.constant(&format!("{name}.weight"), &shape, weight);
        let bias = self.constant(&format!("{name}.bias"), &shape[1..], bias);
        self.node("Gemm", &[x, &weight, &bias], name)
    }

    /// Matrices side by side.
    pub(crate) fn columns(&mut self, parts: &[&str], name: &str) -> String {
        let axis =
            AttributeProto { name: "axis".to_owned(), i: 1, r#type: ATTRIBUTE_INT, ..Default::default() };
        self.add("Concat", parts, &[name]).attribute.push(axis);
        name.to_owned()
    }

    /// `parts` of equal width.
    pub(crate) fn split(&mut self, x: &str, width: usize, parts: &[&str]) {
        let sizes = self.integers(&format!("{}.sizes", parts[0]), &vec![width as i64; parts.len()]);
        let axis =
            AttributeProto { name: "axis".to_owned(), i: 1, r#type: ATTRIBUTE_INT, ..Default::default() };
        self.add("Split", &[x, &sizes], parts).attribute.push(axis);
    }

    /// Axes in another order.
    pub(crate) fn transpose(&mut self, x: &str, order: &[i64], name: &str) -> String {
        let (ints, r#type) = (order.to_vec(), ATTRIBUTE_INTS);
        let order = AttributeProto { name: "perm".to_owned(), ints, r#type, ..Default::default() };
        self.add("Transpose", &[x], &[name]).attribute.push(order);
        name.to_owned()
    }

    /// A tensor that somebody will ask for, `[batch, …]`.
    pub(crate) fn output(&mut self, name: &str, shape: &[usize]) {
        self.outputs.push(value(name, shape));
    }

    /// The bytes of the file.
    pub(crate) fn finish(self, name: &str) -> Vec<u8> {
        let graph = GraphProto {
            name: name.to_owned(),
            node: self.nodes,
            initializer: self.constants,
            input: self.inputs,
            output: self.outputs,
            ..Default::default()
        };
        let model = ModelProto {
            ir_version: IR_VERSION,
            opset_import: vec![OperatorSetIdProto { domain: String::new(), version: OPSET }],
            producer_name: "ive".to_owned(),
            producer_version: env!("CARGO_PKG_VERSION").to_owned(),
            graph: Some(graph),
            ..Default::default()
        };
        model.encode_to_vec()
    }
}

/// A tensor of numbers `[batch, …]` with a free batch.
fn value(name: &str, shape: &[usize]) -> ValueInfoProto {
    use tensor_shape_proto::{Dimension, dimension::Value};
    let dim = |value| Dimension { value: Some(value), ..Default::default() };
    let batch = dim(Value::DimParam("batch".to_owned()));
    let dims = std::iter::once(batch).chain(shape.iter().map(|&n| dim(Value::DimValue(n as i64))));
    let tensor =
        type_proto::Tensor { elem_type: FLOAT, shape: Some(TensorShapeProto { dim: dims.collect() }) };
    let r#type = TypeProto { value: Some(type_proto::Value::TensorType(tensor)), ..Default::default() };
    ValueInfoProto { name: name.to_owned(), r#type: Some(r#type), ..Default::default() }
}
