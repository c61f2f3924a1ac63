//! Operators that move, cut, join and repeat, and the arithmetic on shapes that exporters write into graphs.

use super::node::{Node, Shapes, broadcast};
use super::{Known, MAX_VALUES, constant as constant_of, volume};

/// A number as a length, unless it is negative.
fn length(n: i64) -> Result<usize, String> {
    usize::try_from(n).map_err(|_| format!("a length of {n}"))
}

fn lengths(values: &[i64]) -> Result<Vec<usize>, String> {
    values.iter().map(|&n| length(n)).collect()
}

/// `+ − · ÷` on short integers, so that computed shapes stay known.
pub(super) fn arithmetic(node: &Node) -> Shapes {
    let mut all = node.broadcast_all()?;
    let (a, b) = (node.input(0)?, node.input(1)?);
    if let (Some(x), Some(y)) = (&a.values, &b.values)
        && a.shape.len().max(b.shape.len()) <= 1
        && !x.is_empty()
        && !y.is_empty()
    {
        let op = node.proto.op_type.as_str();
        let one = |i: usize| {
            let (x, y) = (x[i % x.len()], y[i % y.len()]);
            match op {
                "Add" => x.checked_add(y),
                "Sub" => x.checked_sub(y),
                "Mul" => x.checked_mul(y),
                _ => x.checked_div(y),
            }
        };
        all[0].values = (0..x.len().max(y.len())).map(one).collect();
    }
    Ok(all)
}

pub(super) fn constant(node: &Node) -> Shapes {
    let attribute = node.proto.attribute.first().ok_or("it has no value")?;
    let known = match attribute.name.as_str() {
        "value" => constant_of(attribute.t.as_ref().ok_or("it has no tensor")?)?,
        "value_int" => Known::integers(vec![], vec![attribute.i]),
        "value_ints" => Known::integers(vec![attribute.ints.len()], attribute.ints.clone()),
        "value_float" => Known::of(vec![]),
        "value_floats" => Known::of(vec![attribute.floats.len()]),
        other => return Err(format!("a constant of the kind {other}")),
    };
    Ok(vec![known])
}

pub(super) fn constant_of_shape(node: &Node) -> Shapes {
    let shape = lengths(node.values(0)?)?;
    let fill = node.attribute("value").and_then(|a| a.t.as_ref());
    let value = match fill {
        Some(tensor) => constant_of(tensor)?.values.and_then(|values| values.first().copied()),
        None => None,
    };
    let count = volume(&shape).filter(|n| *n <= MAX_VALUES as u64);
    let values = value.zip(count).map(|(value, count)| vec![value; count as usize]);
    Ok(vec![Known { shape, values }])
}

pub(super) fn range(node: &Node) -> Shapes {
    let one = |i: usize| node.values(i)?.first().copied().ok_or_else(|| format!("input {i} is empty"));
    let (start, limit, step) = (one(0)?, one(1)?, one(2)?);
    let span = limit.checked_sub(start).ok_or("the range overflows")?;
    if step == 0 || step == i64::MIN {
        return Err(format!("a range in steps of {step}"));
    }
    let (span, step) =
        if step > 0 { (i128::from(span), i128::from(step)) } else { (-i128::from(span), -i128::from(step)) };
    let count = usize::try_from(((span + step - 1) / step).max(0)).map_err(|_| "the range overflows")?;
    Ok(vec![Known::of(vec![count])])
}

pub(super) fn shape(node: &Node) -> Shapes {
    let shape = &node.input(0)?.shape;
    let rank = shape.len() as i64;
    let clip = |at: i64| if at < 0 { at.saturating_add(rank) } else { at }.clamp(0, rank) as usize;
    let (start, end) = (clip(node.int("start", 0)), clip(node.int("end", rank)));
    let part = shape.get(start..end).ok_or_else(|| format!("axes {start} to {end}"))?;
    Ok(vec![Known::integers(vec![part.len()], part.iter().map(|&n| n as i64).collect())])
}

pub(super) fn size(node: &Node) -> Shapes {
    let count =
        volume(&node.input(0)?.shape).and_then(|n| i64::try_from(n).ok()).ok_or("the size overflows")?;
    Ok(vec![Known::integers(vec![], vec![count])])
}

/// 0 keeps a dimension, −1 is what is left.
pub(super) fn reshape(node: &Node) -> Shapes {
    let (input, wanted) = (node.input(0)?, node.values(1)?);
    let misfit = || format!("{:?} into {wanted:?}", input.shape);
    if node.int("allowzero", 0) != 0 && wanted.contains(&0) {
        return Err("a dimension of zero".to_owned());
    }
    let count = volume(&input.shape).ok_or_else(misfit)?;
    let (mut shape, mut rest) = (Vec::with_capacity(wanted.len()), None);
    for (i, &n) in wanted.iter().enumerate() {
        shape.push(match n {
            -1 if rest.is_none() => {
                rest = Some(i);
                1
            }
            0 => *input.shape.get(i).ok_or_else(misfit)?,
            n => length(n)?,
        });
    }
    let given = volume(&shape).filter(|n| *n > 0).ok_or_else(misfit)?;
    if let Some(i) = rest {
        shape[i] = usize::try_from(count / given).map_err(|_| misfit())?;
    }
    if volume(&shape) == Some(count) {
        Ok(vec![Known { shape, values: input.values.clone() }])
    } else {
        Err(misfit())
    }
}

pub(super) fn flatten(node: &Node) -> Shapes {
    let shape = &node.input(0)?.shape;
    let axis = node.int("axis", 1);
    let axis = if axis == shape.len() as i64 { shape.len() } else { Node::axis(axis, shape.len())? };
    let (rows, columns) = (volume(&shape[..axis]), volume(&shape[axis..]));
    let (rows, columns) = rows.zip(columns).ok_or("the size overflows")?;
    Ok(vec![Known::of(vec![rows as usize, columns as usize])])
}

pub(super) fn squeeze(node: &Node) -> Shapes {
    let input = node.input(0)?;
    let rank = input.shape.len();
    let gone: Vec<usize> = match node.axes(1)? {
        Some(axes) => axes.iter().map(|&axis| Node::axis(axis, rank)).collect::<Result<_, _>>()?,
        None => (0..rank).filter(|&i| input.shape[i] == 1).collect(),
    };
    if let Some(&axis) = gone.iter().find(|&&i| input.shape[i] != 1) {
        return Err(format!("axis {axis} of {:?} is not one", input.shape));
    }
    let shape = (0..rank).filter(|i| !gone.contains(i)).map(|i| input.shape[i]).collect();
    Ok(vec![Known { shape, values: input.values.clone() }])
}

pub(super) fn unsqueeze(node: &Node) -> Shapes {
    let input = node.input(0)?;
    let axes = node.axes(1)?.ok_or("it has no axes")?;
    let rank = input.shape.len() + axes.len();
    let new: Vec<usize> = axes.iter().map(|&axis| Node::axis(axis, rank)).collect::<Result<_, _>>()?;
    if (1..new.len()).any(|i| new[..i].contains(&new[i])) {
        return Err(format!("axes {axes:?}, one of them twice"));
    }
    let mut old = input.shape.iter().copied();
    let shape = (0..rank).map(|i| if new.contains(&i) { 1 } else { old.next().unwrap_or(1) }).collect();
    Ok(vec![Known { shape, values: input.values.clone() }])
}

pub(super) fn transpose(node: &Node) -> Shapes {
    let shape = &node.input(0)?.shape;
    let rank = shape.len();
    let order: Vec<usize> = match node.ints("perm") {
        Some(order) => order.iter().map(|&axis| Node::axis(axis, rank)).collect::<Result<_, _>>()?,
        None => (0..rank).rev().collect(),
    };
    if order.len() != rank || (0..rank).any(|i| !order.contains(&i)) {
        return Err(format!("{order:?} is no order of {rank} axes"));
    }
    Ok(vec![Known::of(order.iter().map(|&i| shape[i]).collect())])
}

pub(super) fn concat(node: &Node) -> Shapes {
    let mut shape = node.input(0)?.shape.clone();
    let axis = Node::axis(node.int("axis", 0), shape.len())?;
    let mut values = node.input(0)?.values.clone().filter(|_| shape.len() == 1);
    for i in 1..node.inputs.len() {
        let next = node.input(i)?;
        let fits = next.shape.len() == shape.len()
            && (0..shape.len()).all(|j| j == axis || next.shape[j] == shape[j]);
        if !fits {
            return Err(format!("{shape:?} and {:?} along axis {axis}", next.shape));
        }
        shape[axis] = shape[axis].checked_add(next.shape[axis]).ok_or("the size overflows")?;
        values = values.zip(next.values.as_ref()).map(|(all, next)| [all, next.clone()].concat());
    }
    Ok(vec![Known { shape, values: values.filter(|values| values.len() <= MAX_VALUES) }])
}

pub(super) fn split(node: &Node) -> Shapes {
    let shape = &node.input(0)?.shape;
    let axis = Node::axis(node.int("axis", 0), shape.len())?;
    let parts = node.proto.output.len();
    let sizes = match (node.ints("split"), node.optional(1)) {
        (Some(sizes), _) => lengths(sizes)?,
        (None, Some(_)) => lengths(node.values(1)?)?,
        (None, None) => {
            // Equal parts, the last one smaller.
            let size = shape[axis].div_ceil(parts.max(1));
            (0..parts).map(|i| size.min(shape[axis].saturating_sub(i * size))).collect()
        }
    };
    let sum = sizes.iter().try_fold(0usize, |sum, n| sum.checked_add(*n));
    if sum != Some(shape[axis]) || sizes.len() != parts {
        return Err(format!("{} into {sizes:?}, for {parts} outputs", shape[axis]));
    }
    let part = |size: usize| {
        let mut shape = shape.clone();
        shape[axis] = size;
        Known::of(shape)
    };
    Ok(sizes.into_iter().map(part).collect())
}

pub(super) fn slice(node: &Node) -> Shapes {
    let input = node.input(0)?;
    let rank = input.shape.len();
    let from_attributes = node.opset < 10;
    let given = |name: &str, i: usize| {
        if from_attributes { node.ints(name).ok_or(format!("no {name}")) } else { node.values(i) }
    };
    let (starts, ends) = (given("starts", 1)?, given("ends", 2)?);
    let axes: Vec<i64> = match node.axes(3)? {
        Some(axes) => axes.to_vec(),
        None => (0..starts.len() as i64).collect(),
    };
    let steps = if !from_attributes && node.optional(4).is_some() {
        node.values(4)?.to_vec()
    } else {
        vec![1; starts.len()]
    };
    if ends.len() != starts.len() || axes.len() != starts.len() || steps.len() != starts.len() {
        return Err(format!("starts {starts:?}, ends {ends:?}, axes {axes:?}, steps {steps:?}"));
    }
    let (mut shape, mut values) =
        (input.shape.clone(), input.values.clone().filter(|_| rank == 1 && starts.len() == 1));
    for (i, &axis) in axes.iter().enumerate() {
        let axis = Node::axis(axis, rank)?;
        let picked = positions(starts[i], ends[i], steps[i], shape[axis] as i64)?;
        values = values.map(|values| picked.clone().map(|at| values[at]).collect());
        shape[axis] = picked.len();
    }
    Ok(vec![Known { shape, values }])
}

/// Which entries of n a slice takes; bounds beyond the ends are moved to them.
fn positions(
    start: i64,
    end: i64,
    step: i64,
    n: i64,
) -> Result<impl ExactSizeIterator<Item = usize> + Clone, String> {
    let from_start = |at: i64| if at < 0 { at.saturating_add(n) } else { at };
    let (start, end) = match step {
        1.. => (from_start(start).clamp(0, n), from_start(end).clamp(0, n)),
        i64::MIN..=-1 if step > i64::MIN => {
            (from_start(start).clamp(-1, n - 1), from_start(end).clamp(-1, n - 1))
        }
        _ => return Err(format!("a slice in steps of {step}")),
    };
    let span = if step > 0 { end - start } else { start - end };
    let count = span.max(0).unsigned_abs().div_ceil(step.unsigned_abs()) as usize;
    Ok((0..count).map(move |i| (start + i as i64 * step) as usize))
}

pub(super) fn gather(node: &Node) -> Shapes {
    let (data, indices) = (node.input(0)?, node.input(1)?);
    let axis = Node::axis(node.int("axis", 0), data.shape.len())?;
    let shape = [&data.shape[..axis], &indices.shape, &data.shape[axis + 1..]].concat();
    let picked = data.values.as_ref().filter(|_| data.shape.len() == 1).zip(indices.values.as_ref());
    let values = match picked {
        Some((data, indices)) => {
            let one = |&i: &i64| Node::axis(i, data.len()).map(|i| data[i]);
            Some(indices.iter().map(one).collect::<Result<Vec<i64>, _>>()?)
        }
        None => None,
    };
    Ok(vec![Known { shape, values }])
}

pub(super) fn gather_elements(node: &Node) -> Shapes {
    let (data, indices) = (&node.input(0)?.shape, &node.input(1)?.shape);
    Node::axis(node.int("axis", 0), data.len())?;
    if data.len() == indices.len() {
        Ok(vec![Known::of(indices.clone())])
    } else {
        Err(format!("{indices:?} of {data:?}"))
    }
}

pub(super) fn expand(node: &Node) -> Shapes {
    let input = node.input(0)?;
    Ok(vec![Known::of(broadcast(&input.shape, &lengths(node.values(1)?)?)?)])
}

pub(super) fn tile(node: &Node) -> Shapes {
    let (shape, times) = (&node.input(0)?.shape, lengths(node.values(1)?)?);
    if times.len() != shape.len() {
        return Err(format!("{times:?} times {shape:?}"));
    }
    let dims = shape.iter().zip(&times).map(|(n, times)| n.checked_mul(*times));
    Ok(vec![Known::of(dims.collect::<Option<_>>().ok_or("the size overflows")?)])
}

pub(super) fn pad(node: &Node) -> Shapes {
    let shape = &node.input(0)?.shape;
    let pads = match node.ints("pads") {
        Some(pads) => pads,
        None => node.values(1)?,
    };
    let rank = shape.len();
    if pads.len() != 2 * rank || node.optional(3).is_some() {
        return Err(format!("pads {pads:?} for {rank} axes"));
    }
    let dim = |i: usize| {
        shape[i]
            .checked_add(length(pads[i])?)
            .and_then(|n| n.checked_add(length(pads[i + rank]).ok()?))
            .ok_or("the size overflows".to_owned())
    };
    Ok(vec![Known::of((0..rank).map(dim).collect::<Result<_, _>>()?)])
}

pub(super) fn one_hot(node: &Node) -> Shapes {
    let mut shape = node.input(0)?.shape.clone();
    let depth = length(*node.values(1)?.first().ok_or("no depth")?)?;
    let axis = Node::axis(node.int("axis", -1), shape.len() + 1)?;
    if node.input(2)?.shape != [2] {
        return Err(format!("two values are needed, not {:?}", node.input(2)?.shape));
    }
    shape.insert(axis, depth);
    Ok(vec![Known::of(shape)])
}

pub(super) fn arg(node: &Node) -> Shapes {
    let shape = &node.input(0)?.shape;
    let axis = Node::axis(node.int("axis", 0), shape.len())?;
    Ok(vec![Known::of(without(shape, &[axis], node.int("keepdims", 1) != 0))])
}

pub(super) fn reduce(node: &Node) -> Shapes {
    let shape = &node.input(0)?.shape;
    let axes: Vec<usize> = match node.axes(1)? {
        Some(axes) if !axes.is_empty() => {
            axes.iter().map(|&axis| Node::axis(axis, shape.len())).collect::<Result<_, _>>()?
        }
        _ if node.int("noop_with_empty_axes", 0) != 0 => vec![],
        _ => (0..shape.len()).collect(),
    };
    Ok(vec![Known::of(without(shape, &axes, node.int("keepdims", 1) != 0))])
}

fn without(shape: &[usize], axes: &[usize], keep: bool) -> Vec<usize> {
    let dims = shape.iter().enumerate();
    if keep {
        dims.map(|(i, &n)| if axes.contains(&i) { 1 } else { n }).collect()
    } else {
        dims.filter(|(i, _)| !axes.contains(i)).map(|(_, &n)| n).collect()
    }
}
