//! Convolutions and pooling over any number of spatial axes.

use super::Known;
use super::node::{Node, Shapes};

/// X `[n, channels, …]`, W `[outputs, channels / groups, …]`, B `[outputs]`.
pub(super) fn conv(node: &Node) -> Shapes {
    let (x, w) = (&node.input(0)?.shape, &node.input(1)?.shape);
    if x.len() < 3 || x.len() != w.len() {
        return Err(format!("{x:?} convolved with {w:?}"));
    }
    let groups =
        usize::try_from(node.int("group", 1)).ok().filter(|g| *g > 0).ok_or("group is not positive")?;
    if w[1].checked_mul(groups) != Some(x[1]) || w[0] % groups != 0 {
        return Err(format!("{x:?} convolved with {w:?} in {groups} groups"));
    }
    if let Some(bias) = node.optional(2)
        && bias.shape != [w[0]]
    {
        return Err(format!("a bias {:?} for {} channels", bias.shape, w[0]));
    }
    let kernel = &w[2..];
    if let Some(given) = node.ints("kernel_shape")
        && positive(given, kernel.len(), "kernel_shape")? != kernel
    {
        return Err(format!("kernel_shape {given:?} with weights {w:?}"));
    }
    windows(node, w[0], kernel)
}

pub(super) fn pool(node: &Node) -> Shapes {
    let x = &node.input(0)?.shape;
    let spatial = x.len().checked_sub(2).filter(|n| *n > 0).ok_or_else(|| format!("pooling of {x:?}"))?;
    let kernel = positive(node.ints("kernel_shape").unwrap_or_default(), spatial, "kernel_shape")?;
    windows(node, x[1], &kernel)
}

pub(super) fn global(node: &Node) -> Shapes {
    let x = &node.input(0)?.shape;
    if x.len() < 3 {
        return Err(format!("pooling of {x:?}"));
    }
    let ones = vec![1; x.len() - 2];
    Ok(vec![Known::of([&x[..2], &ones].concat())])
}

/// How many windows fit along each axis.
fn windows(node: &Node, channels: usize, kernel: &[usize]) -> Shapes {
    let x = &node.input(0)?.shape;
    let n = kernel.len();
    let each = |name: &str| node.ints(name).map_or_else(|| Ok(vec![1; n]), |given| positive(given, n, name));
    let (strides, dilations) = (each("strides")?, each("dilations")?);
    let pads = padding(node, n)?;
    let same = node.attribute("auto_pad").is_some_and(|a| a.s.starts_with(b"SAME"));
    let up = usize::from(node.int("ceil_mode", 0) != 0);
    let mut shape = vec![x[0], channels];
    for i in 0..n {
        let stride = strides[i];
        let width = (kernel[i] - 1).checked_mul(dilations[i]).and_then(|w| w.checked_add(1));
        let padded = x[i + 2].checked_add(pads[i]).and_then(|p| p.checked_add(pads[i + n]));
        let (width, padded) = width.zip(padded).ok_or("the window overflows")?;
        shape.push(if same {
            x[i + 2].div_ceil(stride)
        } else {
            let room =
                padded.checked_sub(width).ok_or_else(|| format!("a window of {width} in {padded} cells"))?;
            (room + up * (stride - 1)) / stride + 1
        });
    }
    Ok(vec![Known::of(shape)])
}

/// Cells before each axis, then cells behind it. No larger than a picture could need.
fn padding(node: &Node, n: usize) -> Result<Vec<usize>, String> {
    let Some(pads) = node.ints("pads") else { return Ok(vec![0; 2 * n]) };
    let small = pads.iter().all(|p| (0..=4096).contains(p));
    if small && pads.len() == 2 * n {
        Ok(pads.iter().map(|&p| p as usize).collect())
    } else {
        Err(format!("pads {pads:?} for {n} axes"))
    }
}

fn positive(given: &[i64], n: usize, name: &str) -> Result<Vec<usize>, String> {
    if given.len() == n && given.iter().all(|x| (1..=1 << 20).contains(x)) {
        Ok(given.iter().map(|&x| x as usize).collect())
    } else {
        Err(format!("{name} {given:?} for {n} axes"))
    }
}
