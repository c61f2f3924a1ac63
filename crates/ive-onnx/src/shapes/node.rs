//! A node with the shapes of its inputs, and the rules of the plainest operators.

use tract_onnx::pb::{AttributeProto, NodeProto};

use super::Known;

pub(super) type Shapes = Result<Vec<Known>, String>;

pub(super) struct Node<'a> {
    pub(super) proto: &'a NodeProto,
    pub(super) inputs: Vec<Option<&'a Known>>,
    pub(super) opset: i64,
}

impl<'a> Node<'a> {
    pub(super) fn input(&self, i: usize) -> Result<&'a Known, String> {
        self.optional(i).ok_or_else(|| format!("input {i} is missing"))
    }

    pub(super) fn optional(&self, i: usize) -> Option<&'a Known> {
        self.inputs.get(i).copied().flatten()
    }

    /// The integers of an input that decides about a shape.
    pub(super) fn values(&self, i: usize) -> Result<&'a [i64], String> {
        let input = self.input(i)?;
        input
            .values
            .as_deref()
            .ok_or_else(|| format!("a shape depends on input {i}, which is not a constant"))
    }

    pub(super) fn attribute(&self, name: &str) -> Option<&'a AttributeProto> {
        self.proto.attribute.iter().find(|a| a.name == name)
    }

    pub(super) fn int(&self, name: &str, default: i64) -> i64 {
        self.attribute(name).map_or(default, |a| a.i)
    }

    pub(super) fn ints(&self, name: &str) -> Option<&'a [i64]> {
        self.attribute(name).map(|a| &*a.ints)
    }

    /// As an axis of a tensor of this rank; negative ones count from the end.
    pub(super) fn axis(axis: i64, rank: usize) -> Result<usize, String> {
        let from_start = if axis < 0 { axis.checked_add(rank as i64) } else { Some(axis) };
        from_start
            .and_then(|axis| usize::try_from(axis).ok())
            .filter(|axis| *axis < rank)
            .ok_or_else(|| format!("axis {axis} of a tensor of rank {rank}"))
    }

    /// Axes from an attribute, or from an input as in newer operator sets.
    pub(super) fn axes(&self, input: usize) -> Result<Option<&'a [i64]>, String> {
        match (self.ints("axes"), self.optional(input)) {
            (Some(axes), _) => Ok(Some(axes)),
            (None, Some(_)) => self.values(input).map(Some),
            (None, None) => Ok(None),
        }
    }

    /// One result of the shape of the first input. What else goes in must not make it larger.
    pub(super) fn like_first(&self) -> Shapes {
        let shape = &self.input(0)?.shape;
        for other in self.inputs[1..].iter().flatten() {
            if broadcast(shape, &other.shape)? != *shape {
                return Err(format!("{:?} does not fit into {shape:?}", other.shape));
            }
        }
        Ok(vec![Known::of(shape.clone())])
    }

    /// As the first input, with a number for each channel, axis 1, in all others.
    pub(super) fn by_channel(&self) -> Shapes {
        let shape = &self.input(0)?.shape;
        let channels = *shape.get(1).ok_or_else(|| format!("no channels in {shape:?}"))?;
        if self.int("training_mode", 0) != 0 {
            return Err("it is in training mode: export the model in evaluation mode".to_owned());
        }
        for other in self.inputs[1..].iter().flatten() {
            if other.shape != [channels] {
                return Err(format!("{:?} for {channels} channels", other.shape));
            }
        }
        Ok(vec![Known::of(shape.clone())])
    }

    /// In evaluation: the input, and a mask.
    pub(super) fn dropout(&self) -> Shapes {
        if self.inputs.len() > 2 {
            return Err("it has a training mode: export the model in evaluation mode".to_owned());
        }
        let first = Known::of(self.input(0)?.shape.clone());
        Ok(vec![first.clone(), first])
    }

    pub(super) fn broadcast_all(&self) -> Shapes {
        let mut shape = self.input(0)?.shape.clone();
        for i in 1..self.inputs.len() {
            shape = broadcast(&shape, &self.input(i)?.shape)?;
        }
        Ok(vec![Known::of(shape)])
    }
}

/// The shape of an operation on all pairs of entries, axes aligned at the end, ones stretched.
pub(super) fn broadcast(a: &[usize], b: &[usize]) -> Result<Vec<usize>, String> {
    let rank = a.len().max(b.len());
    let at = |shape: &[usize], i: usize| (i + shape.len()).checked_sub(rank).map_or(1, |i| shape[i]);
    let dims = (0..rank).map(|i| match (at(a, i), at(b, i)) {
        (x, y) if x == y || y == 1 => Ok(x),
        (1, y) => Ok(y),
        _ => Err(format!("{a:?} and {b:?} cannot be broadcast")),
    });
    dims.collect()
}
