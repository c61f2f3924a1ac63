//! Matrix products, and how many multiplications a node takes.

use super::node::{Node, Shapes, broadcast};
use super::{Known, volume};

/// As in NumPy: vectors count as a row or a column, further axes are broadcast.
pub(super) fn matmul(node: &Node) -> Shapes {
    let (a, b) = (&node.input(0)?.shape, &node.input(1)?.shape);
    let misfit = || format!("{a:?} times {b:?}");
    if a.is_empty() || b.is_empty() {
        return Err(misfit());
    }
    let rows = if a.len() == 1 { [&[1], a.as_slice()].concat() } else { a.clone() };
    let columns = if b.len() == 1 { [b.as_slice(), &[1]].concat() } else { b.clone() };
    let (batch_a, matrix_a) = rows.split_at(rows.len() - 2);
    let (batch_b, matrix_b) = columns.split_at(columns.len() - 2);
    if matrix_a[1] != matrix_b[0] {
        return Err(misfit());
    }
    let mut shape = broadcast(batch_a, batch_b)?;
    shape.extend((a.len() > 1).then_some(matrix_a[0]));
    shape.extend((b.len() > 1).then_some(matrix_b[1]));
    Ok(vec![Known::of(shape)])
}

pub(super) fn gemm(node: &Node) -> Shapes {
    let [[m, inner], [other, n]] = [matrix(node, 0, "transA")?, matrix(node, 1, "transB")?];
    if inner != other {
        return Err(format!("[{m}, {inner}] times [{other}, {n}]"));
    }
    let shape = vec![m, n];
    if let Some(bias) = node.optional(2)
        && broadcast(&shape, &bias.shape)? != shape
    {
        return Err(format!("a bias {:?} for {shape:?}", bias.shape));
    }
    Ok(vec![Known::of(shape)])
}

/// The shape of a matrix as it enters the product.
fn matrix(node: &Node, i: usize, transposed: &str) -> Result<[usize; 2], String> {
    let shape = &node.input(i)?.shape;
    let [rows, columns] =
        <[usize; 2]>::try_from(shape.as_slice()).map_err(|_| format!("{shape:?} is not a matrix"))?;
    Ok(if node.int(transposed, 0) == 0 { [rows, columns] } else { [columns, rows] })
}

/// Multiplications of a node; everything that is not a product counts one for each result.
pub(super) fn of(node: &Node, outputs: &[Known]) -> Option<u64> {
    let results = outputs.iter().try_fold(0u64, |all, x| all.checked_add(volume(&x.shape)?))?;
    let each = match node.proto.op_type.as_str() {
        "MatMul" => *node.inputs[0]?.shape.last()? as u64,
        "Gemm" => node.inputs[0]?.shape.iter().max().copied()? as u64,
        "Conv" => volume(&node.inputs[1]?.shape[1..])?,
        "MaxPool" | "AveragePool" => {
            let kernel = node.ints("kernel_shape").unwrap_or_default();
            volume(&kernel.iter().map(|&k| usize::try_from(k).unwrap_or(usize::MAX)).collect::<Vec<_>>())?
        }
        // Both products of all gates, in every step.
        "LSTM" | "GRU" | "RNN" => {
            let sides = volume(&node.inputs[1]?.shape)?.checked_add(volume(&node.inputs[2]?.shape)?)?;
            return volume(&node.inputs[0]?.shape[..2])?.checked_mul(sides);
        }
        name if name.starts_with("Reduce") || name.starts_with("Arg") => {
            return volume(&node.inputs[0]?.shape);
        }
        _ => 1,
    };
    results.checked_mul(each)
}
