//! Recurrent layers: `LSTM`, `GRU` and `RNN`.

use super::Known;
use super::node::{Node, Shapes};

/// X `[t, b, in]`, W `[directions, gates·h, in]`, R `[directions, gates·h, h]`, then optional biases, lengths and first
/// states; to Y `[t, directions, b, h]`, the last h and, for an LSTM, the last c `[directions, b, h]`.
pub(super) fn shapes(node: &Node, gates: usize, has_cell: bool) -> Shapes {
    let (x, w, r) = (&node.input(0)?.shape, &node.input(1)?.shape, &node.input(2)?.shape);
    let directions = if node.attribute("direction").is_some_and(|a| a.s == b"bidirectional") { 2 } else { 1 };
    if node.int("layout", 0) != 0 {
        return Err("batch first (layout 1) is not supported".to_owned());
    }
    let hidden = *r.get(2).ok_or_else(|| format!("recurrent weights {r:?}"))?;
    let rows = hidden.checked_mul(gates).ok_or("the number of units overflows")?;
    let [steps, batch, inputs] = <[usize; 3]>::try_from(x.as_slice())
        .map_err(|_| format!("inputs {x:?}, not [time, batch, input]"))?;
    let state = [directions, batch, hidden];
    let mut expected = vec![
        (1, vec![directions, rows, inputs]),
        (2, vec![directions, rows, hidden]),
        (3, vec![directions, 2 * rows]),
        (5, state.to_vec()),
    ];
    if has_cell {
        expected.push((6, state.to_vec()));
        expected.push((7, vec![directions, 3 * hidden]));
    }
    for (i, shape) in expected {
        if let Some(input) = node.optional(i)
            && input.shape != shape
        {
            return Err(format!("input {i} has the shape {:?}, not {shape:?}", input.shape));
        }
    }
    if node.optional(4).is_some() {
        return Err("sequences of different lengths are not supported".to_owned());
    }
    if node.attribute("hidden_size").is_some_and(|a| usize::try_from(a.i) != Ok(hidden)) {
        return Err(format!("hidden_size is not {hidden}, as the weights say ({w:?})"));
    }
    let mut outputs = vec![Known::of(vec![steps, directions, batch, hidden]), Known::of(state.to_vec())];
    outputs.extend(has_cell.then(|| Known::of(state.to_vec())));
    Ok(outputs)
}
