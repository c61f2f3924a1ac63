//! One file of the folder, made ready for the batches that it meets.
//!
//! A graph is written for a batch of a fixed size, or for any. It is given to the engine with a number in place of every
//! free batch, because the engine then folds shapes, packs weights once and needs no symbols at run time. The plans for
//! the last few sizes are kept.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use tract_onnx::pb::{GraphProto, ModelProto, TensorProto, tensor_shape_proto::dimension, type_proto};
use tract_onnx::prelude::{
    Datum as _, Framework as _, InferenceModelExt as _, IntoArcTensor, IntoTValue, TVec, Tensor, TractResult,
    TypedSimplePlan,
};

use crate::Limits;
use crate::error::{OnnxError, Result};
use crate::file::{decode, guarded};
use crate::gemm::reader;
use crate::limits::ROWS;
use crate::shapes::{self, Known};

/// How many batch sizes a graph is kept ready for.
const PLANS: usize = 4;

/// An input or output that `model.toml` names.
#[derive(Clone, Debug)]
pub(crate) struct Port {
    pub(crate) name: String,
    pub(crate) batch_axis: usize,
}

impl Port {
    /// With the batch first.
    pub(crate) fn first(name: &str) -> Self {
        Self { name: name.to_owned(), batch_axis: 0 }
    }
}

/// A graph with its inputs and outputs in the order of the caller.
pub(crate) struct Graph {
    name: String,
    model: ModelProto,
    inputs: Vec<Port>,
    outputs: Vec<Port>,
    limits: Limits,
    /// The batch that the file demands, if it does.
    fixed: Option<usize>,
    plans: Mutex<Vec<(usize, Arc<TypedSimplePlan>)>>,
}

impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Graph")
            .field("name", &self.name)
            .field("inputs", &self.inputs)
            .field("outputs", &self.outputs)
            .field("fixed", &self.fixed)
            .finish_non_exhaustive()
    }
}

/// The shapes of the named inputs and outputs for some batch.
pub(crate) struct Shapes {
    pub(crate) rows: usize,
    pub(crate) inputs: Vec<Vec<usize>>,
    pub(crate) outputs: Vec<Vec<usize>>,
}

impl Graph {
    /// Reads the bytes of a file, and makes it ready for one state, so that what the engine cannot run is known now.
    pub(crate) fn new(
        name: &str,
        bytes: &[u8],
        inputs: Vec<Port>,
        outputs: Vec<Port>,
        limits: &Limits,
    ) -> Result<Self> {
        let model = decode(name, bytes)?;
        let mut graph = Self {
            name: name.to_owned(),
            model,
            inputs,
            outputs,
            limits: *limits,
            fixed: None,
            plans: Mutex::default(),
        };
        graph.keep_what_is_named()?;
        graph.fixed = graph.fixed_batch()?;
        graph.shapes(2)?;
        graph.plan(graph.fixed.unwrap_or(1))?;
        Ok(graph)
    }

    fn proto(&self) -> &GraphProto {
        self.model.graph.as_ref().expect("checked by keep_what_is_named")
    }

    /// Drops outputs that nobody asks for, so that the engine does not compute them, and all declared shapes but those of
    /// the inputs, because the engine works out its own.
    fn keep_what_is_named(&mut self) -> Result<()> {
        let missing =
            || OnnxError::Malformed { graph: self.name.clone(), reason: "it has no graph".to_owned() };
        let graph = self.model.graph.as_mut().ok_or_else(missing)?;
        let constants: Vec<&str> = graph.initializer.iter().map(|c: &TensorProto| c.name.as_str()).collect();
        graph.input.retain(|input| !constants.contains(&input.name.as_str()));
        graph.value_info.clear();
        let names =
            |list: &[tract_onnx::pb::ValueInfoProto]| list.iter().map(|v| v.name.clone()).collect::<Vec<_>>();
        let (inputs, outputs) = (names(&graph.input), names(&graph.output));
        for (what, ports, known) in [("input", &self.inputs, &inputs), ("output", &self.outputs, &outputs)] {
            if let Some(port) = ports.iter().find(|port| !known.contains(&port.name)) {
                let (graph, name) = (self.name.clone(), port.name.clone());
                return Err(OnnxError::Name { graph, what, name, known: known.clone() });
            }
        }
        if let Some(extra) = inputs.iter().find(|name| !self.inputs.iter().any(|port| port.name == **name)) {
            let reason = format!("the input `{extra}` of {}.onnx is not mapped", self.name);
            return Err(crate::settings::wrong(&self.name, &reason));
        }
        let in_order = |ports: &[Port], list: &[tract_onnx::pb::ValueInfoProto]| {
            let find = |port: &Port| list.iter().find(|v| v.name == port.name).cloned();
            ports.iter().filter_map(find).collect::<Vec<_>>()
        };
        graph.input = in_order(&self.inputs, &graph.input);
        graph.output = in_order(&self.outputs, &graph.output);
        for output in &mut graph.output {
            output.r#type = None;
        }
        Ok(())
    }

    /// The batch that the inputs demand, when one has a number for it. All other dimensions must have numbers.
    fn fixed_batch(&self) -> Result<Option<usize>> {
        let mut fixed: Option<usize> = None;
        for (port, input) in self.inputs.iter().zip(&self.proto().input) {
            let shape = shapes::input_shape(&self.name, input)?;
            let wrong = |reason: String| self.misfit(&format!("input `{}`", port.name), reason);
            if port.batch_axis >= shape.len() {
                return Err(wrong(format!("no axis {} for the batch in {shape:?}", port.batch_axis)));
            }
            for (axis, dim) in shape.iter().enumerate() {
                match (axis == port.batch_axis, dim) {
                    (true, Some(n)) if fixed.is_some_and(|other| other != *n) => {
                        return Err(wrong(format!("a batch of {n}, another input has {fixed:?}")));
                    }
                    (true, Some(n)) => fixed = Some(*n),
                    (false, None) => {
                        return Err(wrong(format!("axis {axis} has no number; only the batch may be free")));
                    }
                    _ => {}
                }
            }
        }
        Ok(fixed)
    }

    /// The model for a batch of this size.
    fn concrete(&self, rows: usize) -> ModelProto {
        let mut model = self.model.clone();
        let inputs = model.graph.as_mut().map(|graph| &mut graph.input).into_iter().flatten();
        for (port, input) in self.inputs.iter().zip(inputs) {
            if let Some(type_proto::Value::TensorType(tensor)) =
                input.r#type.as_mut().and_then(|t| t.value.as_mut())
                && let Some(dim) = tensor.shape.as_mut().and_then(|shape| shape.dim.get_mut(port.batch_axis))
            {
                dim.value = Some(dimension::Value::DimValue(rows as i64));
            }
        }
        model
    }

    /// The shapes of inputs and outputs at a batch of `rows`, or of the batch that the file demands. Every output must
    /// have the batch where the caller expects it.
    pub(crate) fn shapes(&self, rows: usize) -> Result<Shapes> {
        let rows = self.fixed.unwrap_or(rows);
        let known = shapes::shapes(&self.name, &self.concrete(rows), &self.limits)?;
        let of = |port: &Port, known: &HashMap<String, Known>| known[&port.name].shape.clone();
        let inputs = self.inputs.iter().map(|port| of(port, &known)).collect();
        let outputs: Vec<Vec<usize>> = self.outputs.iter().map(|port| of(port, &known)).collect();
        for (port, shape) in self.outputs.iter().zip(&outputs) {
            if shape.get(port.batch_axis) != Some(&rows) {
                let reason =
                    format!("shape {shape:?} for {rows} states, which must be axis {}", port.batch_axis);
                return Err(self.misfit(&format!("output `{}`", port.name), reason));
            }
        }
        Ok(Shapes { rows, inputs, outputs })
    }

    pub(crate) fn misfit(&self, what: &str, reason: String) -> OnnxError {
        OnnxError::Shape { graph: self.name.clone(), what: what.to_owned(), reason }
    }

    /// A plan for this many states, made when it is first asked for.
    fn plan(&self, rows: usize) -> Result<Arc<TypedSimplePlan>> {
        let mut plans = self.plans.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = plans.iter().position(|(size, _)| *size == rows) {
            return Ok(plans[at].1.clone());
        }
        self.shapes(rows)?;
        let model = self.concrete(rows);
        let plan = guarded(&self.name, || build(&model))?.map_err(|error| self.engine(&error))?;
        if plans.len() == PLANS {
            plans.remove(0);
        }
        plans.push((rows, plan.clone()));
        Ok(plan)
    }

    /// A tensor in the type of elements that the i-th input has.
    pub(crate) fn as_input(&self, i: usize, tensor: Arc<Tensor>) -> Result<Arc<Tensor>> {
        let input = &self.proto().input[i];
        let declared = match input.r#type.as_ref().and_then(|t| t.value.as_ref()) {
            Some(type_proto::Value::TensorType(tensor)) => tensor.elem_type,
            None => 0,
        };
        let wanted = match declared {
            1 => return Ok(tensor),
            2 => u8::datum_type(),
            6 => i32::datum_type(),
            7 => i64::datum_type(),
            11 => f64::datum_type(),
            other => {
                return Err(
                    self.misfit(&format!("input `{}`", input.name), format!("elements of type {other}"))
                );
            }
        };
        let cast = tensor.cast_to_dt(wanted).map_err(|error| self.engine(&error))?;
        Ok(cast.into_owned().into_arc_tensor())
    }

    fn engine(&self, error: &dyn fmt::Debug) -> OnnxError {
        // The engine's causes, without the backtrace that may follow.
        let text = format!("{error:?}");
        let reason = text.split("Stack backtrace").next().unwrap_or_default().trim().replace('\n', " ");
        OnnxError::Engine { graph: self.name.clone(), reason }
    }

    /// The outputs for a batch of `rows` states. Larger batches than a plan's are cut, the last piece is filled up with
    /// copies of its last state.
    pub(crate) fn run(&self, inputs: &[Arc<Tensor>], rows: usize) -> Result<Vec<Arc<Tensor>>> {
        let size = self.fixed.unwrap_or(rows.min(ROWS));
        if rows == 0 {
            return Err(self.misfit("inputs", "there are no states".to_owned()));
        }
        let plan = self.plan(size)?;
        if size == rows {
            return self.run_once(&plan, inputs.to_vec());
        }
        let mut pieces: Vec<Vec<Arc<Tensor>>> = vec![Vec::new(); self.outputs.len()];
        for start in (0..rows).step_by(size) {
            let count = size.min(rows - start);
            let cut =
                |(port, tensor): (&Port, &Arc<Tensor>)| part(tensor, port.batch_axis, start, count, size);
            let piece = self.inputs.iter().zip(inputs).map(cut).collect::<TractResult<Vec<_>>>();
            let outputs = self.run_once(&plan, piece.map_err(|error| self.engine(&error))?)?;
            pieces.iter_mut().zip(outputs).for_each(|(all, piece)| all.push(piece));
        }
        let whole =
            self.outputs.iter().zip(pieces).map(|(port, pieces)| join(&pieces, port.batch_axis, rows));
        whole.collect::<TractResult<Vec<_>>>().map_err(|error| self.engine(&error))
    }

    fn run_once(&self, plan: &Arc<TypedSimplePlan>, inputs: Vec<Arc<Tensor>>) -> Result<Vec<Arc<Tensor>>> {
        let inputs: TVec<_> = inputs.into_iter().map(IntoTValue::into_tvalue).collect();
        let outputs = guarded(&self.name, || plan.run(inputs))?.map_err(|error| self.engine(&error))?;
        Ok(outputs.into_iter().map(IntoArcTensor::into_arc_tensor).collect())
    }
}

fn build(model: &ModelProto) -> TractResult<Arc<TypedSimplePlan>> {
    let parsed = reader().model_for_proto_model(model)?;
    TypedSimplePlan::new(parsed.into_optimized()?)
}

/// `count` states from `start` on, filled up to `size` with copies of the last one.
fn part(tensor: &Tensor, axis: usize, start: usize, count: usize, size: usize) -> TractResult<Arc<Tensor>> {
    let cut = tensor.slice(axis, start, start + count)?;
    if count == size {
        return Ok(cut.into_arc_tensor());
    }
    let last = tensor.slice(axis, start + count - 1, start + count)?;
    let fill = std::iter::repeat_n(&last, size - count);
    let all: Vec<&Tensor> = std::iter::once(&cut).chain(fill).collect();
    Ok(Tensor::stack_tensors(axis, &all)?.into_arc_tensor())
}

/// The first `rows` states of all pieces.
fn join(pieces: &[Arc<Tensor>], axis: usize, rows: usize) -> TractResult<Arc<Tensor>> {
    let refs: Vec<&Tensor> = pieces.iter().map(|piece| &**piece).collect();
    let all = Tensor::stack_tensors(axis, &refs)?;
    Ok(all.slice(axis, 0, rows)?.into_arc_tensor())
}

/// Ports of the tensors of states, with the names that a section gives them.
pub(crate) fn state_ports(
    names: &BTreeMap<String, String>,
    axes: &BTreeMap<String, crate::settings::StateTensor>,
) -> Vec<Port> {
    let port =
        |(state, name): (&String, &String)| Port { name: name.clone(), batch_axis: axes[state].batch_axis };
    names.iter().map(port).collect()
}
