//! `Gemm` with constant weights, the layer that exporters write, as an operator of the engine.

use std::sync::Arc;

use tract_onnx::Onnx;
use tract_onnx::model::ParsingContext;
use tract_onnx::pb::{NodeProto, TensorProto};
use tract_onnx::prelude::{Datum as _, IntoTValue as _, SpecialOps as _, ToDim as _};
use tract_onnx::tract_hir::internal::{
    EvalContext, EvalOp, Expansion, InferenceOp, InferenceResult, Op, OutletId, Solver, StaticName, TValue,
    TVec, Tensor, TensorProxy, TractResult, TypedFact, TypedModel, TypedOp, as_op, bail, expand,
    op_as_typed_op, op_out_of_plan, tvec,
};

use crate::dense::{Dense, is_fast};

/// The engine's own `Gemm`, for what [`Dense`] does not cover.
const PLAIN: &str = "ive.Gemm";

/// The reader of the engine, with our fully connected layers where this processor is fast at them.
pub(crate) fn reader() -> Onnx {
    let mut onnx = tract_onnx::onnx().with_ignore_value_info(true);
    if is_fast()
        && let Some(plain) = onnx.op_register.0.get("Gemm").copied()
    {
        onnx.op_register.insert(PLAIN, plain);
        onnx.op_register.insert("Gemm", gemm);
    }
    onnx
}

fn gemm(context: &ParsingContext, node: &NodeProto) -> TractResult<(Box<dyn InferenceOp>, Vec<String>)> {
    match layer(context, node)? {
        Some(layer) => Ok((expand(Layer(Arc::new(layer))), vec![])),
        None => match context.framework.op_register.0.get(PLAIN) {
            Some(plain) => plain(context, node),
            None => bail!("the engine has no Gemm"),
        },
    }
}

/// The layer, if its weights and bias are constants in single precision.
fn layer(context: &ParsingContext, node: &NodeProto) -> TractResult<Option<Dense>> {
    let constants = context.model.graph.iter().flat_map(|graph| &graph.initializer);
    let constant = |i: usize| -> Option<&TensorProto> {
        let name = node.input.get(i)?;
        constants.clone().find(|tensor| tensor.name == *name && tensor.data_type == 1)
    };
    let int = |name: &str| node.attribute.iter().find(|a| a.name == name).is_some_and(|a| a.i != 0);
    let scale = |name: &str| node.attribute.iter().find(|a| a.name == name).map_or(1.0, |a| a.f);
    let has_bias = node.input.get(2).is_some_and(|name| !name.is_empty());
    let (Some(weight), false) = (constant(1), int("transA")) else { return Ok(None) };
    let weight = context.load_tensor(weight)?;
    let (transposed, alpha, beta) = (int("transB"), scale("alpha"), scale("beta"));
    let &[rows, columns] = weight.shape() else { return Ok(None) };
    let (inputs, outputs) = if transposed { (columns, rows) } else { (rows, columns) };
    let bias: Vec<f32> = match (has_bias, constant(2)) {
        (false, _) => vec![0.0; outputs],
        (true, Some(bias)) if matches!(bias.dims.as_slice(), [n] | [1, n] if *n == outputs as i64) => {
            numbers(&context.load_tensor(bias)?)?.to_vec()
        }
        _ => return Ok(None),
    };
    let w = numbers(&weight)?;
    let at = |i: usize, o: usize| if transposed { w[o * columns + i] } else { w[i * columns + o] };
    Ok(Some(Dense::new(inputs, outputs, |i, o| alpha * at(i, o), |o| beta * bias[o])))
}

fn numbers(tensor: &Tensor) -> TractResult<&[f32]> {
    tensor.try_as_plain_ram()?.as_slice::<f32>()
}

/// The layer as the engine knows it.
#[derive(Clone, Debug)]
struct Layer(Arc<Dense>);

impl PartialEq for Layer {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Layer {}

impl Expansion for Layer {
    fn name(&self) -> StaticName {
        "Dense".into()
    }

    fn rules<'r, 'p: 'r, 's: 'r>(
        &'s self,
        s: &mut Solver<'r>,
        inputs: &'p [TensorProxy],
        outputs: &'p [TensorProxy],
    ) -> InferenceResult {
        s.equals(&inputs[0].rank, 2)?;
        s.equals(&outputs[0].rank, 2)?;
        s.equals(&inputs[0].datum_type, f32::datum_type())?;
        s.equals(&outputs[0].datum_type, f32::datum_type())?;
        s.equals(&inputs[0].shape[0], &outputs[0].shape[0])?;
        s.equals(&inputs[0].shape[1], self.0.inputs().to_dim())?;
        s.equals(&outputs[0].shape[1], self.0.outputs().to_dim())
    }

    fn wire(&self, prefix: &str, model: &mut TypedModel, inputs: &[OutletId]) -> TractResult<TVec<OutletId>> {
        model.wire_node(prefix, self.clone(), &inputs[..1])
    }
}

impl Op for Layer {
    fn name(&self) -> StaticName {
        "Dense".into()
    }

    op_as_typed_op!();
}

impl EvalOp for Layer {
    op_out_of_plan!();

    fn eval(&self, _: &EvalContext, inputs: TVec<TValue>) -> TractResult<TVec<TValue>> {
        let x = numbers(&inputs[0])?;
        let rows = inputs[0].shape()[0];
        let mut y = Tensor::zero::<f32>(&[rows, self.0.outputs()])?;
        self.0.forward(x, y.try_as_plain_ram_mut()?.as_slice_mut::<f32>()?);
        Ok(tvec!(y.into_tvalue()))
    }
}

impl TypedOp for Layer {
    fn output_facts(&self, inputs: &[&TypedFact]) -> TractResult<TVec<TypedFact>> {
        let shape = [inputs[0].shape[0].clone(), self.0.outputs().to_dim()];
        Ok(tvec!(TypedFact::dt_shape(f32::datum_type(), shape)))
    }

    as_op!();
}
