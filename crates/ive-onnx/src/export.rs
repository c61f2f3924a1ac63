//! Trained value prediction networks as folders of graphs.
//!
//! ```text
//!                  network = "paper"                          network = "relu"
//! representation   h⁰ = tanh(S relu(T relu(conv x))), c⁰ = 0   h⁰ = c⁰ = relu(T relu(conv x))
//! dynamics         h' = σ(o) tanh(c')                         h' = σ(o) relu(c')
//!                  r̂ = MLP([h, one-hot a])                    r̂ = O_a · h + b_a
//! value            v̂ = MLP(h)                                 v̂ = w · h + b
//! ```
//!
//! with `c' = σ(f + 1) c + σ(i) tanh(g)` in both. Parameters come by name, as checkpoints keep them, and the names tell the two
//! apart, so this knows nothing of the code that trains.

use std::collections::BTreeMap;

use crate::decode::Decode;
use crate::error::{OnnxError, Result};
use crate::settings::{
    ActionKind, Convention, Dynamics, Encoding, FORMAT, PolicyKind, Representation, Settings, Start,
    StateTensor, Value,
};
use crate::write::Writer;

/// Parameters of a network: shape and numbers, row by row, of each tensor.
#[derive(Clone, Debug, Default)]
pub struct Tensors(BTreeMap<String, (Vec<usize>, Vec<f32>)>);

impl Tensors {
    /// Adds a tensor.
    ///
    /// # Errors
    /// If the numbers are not as many as the shape says.
    pub fn add(&mut self, name: &str, shape: &[usize], numbers: &[f32]) -> Result<()> {
        if shape.iter().product::<usize>() != numbers.len() {
            return Err(misfit(name, format!("{} numbers for the shape {shape:?}", numbers.len())));
        }
        self.0.insert(name.to_owned(), (shape.to_vec(), numbers.to_vec()));
        Ok(())
    }

    fn get(&self, name: &str) -> Result<&[f32]> {
        self.0.get(name).map(|tensor| &*tensor.1).ok_or_else(|| misfit(name, "it is missing".to_owned()))
    }

    fn shape<const N: usize>(&self, name: &str) -> Result<[usize; N]> {
        let shape = self.0.get(name).map_or(&[][..], |tensor| &tensor.0);
        shape.try_into().map_err(|_| misfit(name, format!("shape {shape:?}, {N} axes are needed")))
    }

    /// Of so many numbers.
    fn sized(&self, name: &str, count: usize) -> Result<&[f32]> {
        let numbers = self.get(name)?;
        if numbers.len() == count {
            Ok(numbers)
        } else {
            Err(misfit(name, format!("{} numbers, not {count}", numbers.len())))
        }
    }
}

fn misfit(name: &str, reason: String) -> OnnxError {
    OnnxError::Shape { graph: "export".to_owned(), what: format!("tensor `{name}`"), reason }
}

/// The tensors of both networks.
const TENSORS: [&str; 11] = [
    "conv",
    "conv.bias",
    "torso",
    "torso.bias",
    "lstm.action",
    "lstm.recurrent",
    "lstm.bias",
    "reward.output",
    "reward.output.bias",
    "value.output",
    "value.output.bias",
];

/// What only `network = "paper"` has: a layer before h⁰, and hidden layers in its heads.
const OF_PAPER: [&str; 7] =
    ["start", "start.bias", "reward.action", "reward.hidden", "reward.bias", "value.hidden", "value.bias"];

/// The files of a folder for a value prediction network on boards `[b, row, column, channel]`.
///
/// Networks with the settings `reward_loss = "huber"` and `prior_scale = 0` can be written: the others have other formulas. All but
/// the loss, which leaves no trace in the tensors, are refused. Of several value heads their mean is written, as in plans.
///
/// The policy is written as `greedy`, one step of the model for each action. The agent itself plans deeper, which is not a graph.
///
/// # Errors
/// If a tensor is missing, has another shape than the network needs, or is one that the graphs would leave out.
pub fn value_prediction_network(tensors: &Tensors, gamma: f64) -> Result<BTreeMap<String, Vec<u8>>> {
    let known = |name: &&str| TENSORS.contains(name) || OF_PAPER.contains(name);
    if let Some(name) = tensors.0.keys().map(String::as_str).find(|name| !known(name)) {
        return Err(misfit(name, "it has no place in the graphs".to_owned()));
    }
    let [actions, gates] = tensors.shape("lstm.action")?;
    let relu = !OF_PAPER.iter().any(|name| tensors.0.contains_key(*name));
    let sizes = Sizes { actions, units: gates / 4, relu };
    let settings = toml::to_string(&settings(gamma, &sizes))
        .map_err(|error| crate::settings::wrong("export", &error.to_string()))?;
    Ok(BTreeMap::from([
        ("model.toml".to_owned(), settings.into_bytes()),
        ("representation.onnx".to_owned(), representation(tensors, &sizes)?),
        ("dynamics.onnx".to_owned(), dynamics(tensors, &sizes)?),
        ("value.onnx".to_owned(), value(tensors, &sizes)?),
    ]))
}

struct Sizes {
    actions: usize,
    units: usize,
    /// `network = "relu"`.
    relu: bool,
}

fn representation(tensors: &Tensors, sizes: &Sizes) -> Result<Vec<u8>> {
    let [height, width, channels, filters] = tensors.shape("conv")?;
    let [features, torso] = tensors.shape("torso")?;
    let side = (features / filters.max(1)).isqrt();
    if side * side * filters != features {
        return Err(misfit("torso", format!("{features} inputs are no square of {filters} filters")));
    }
    let weight = tensors.get("conv")?;
    // [row, column, channel, filter] to [filter, channel, row, column].
    let mut turned = Vec::with_capacity(weight.len());
    for f in 0..filters {
        for c in 0..channels {
            turned.extend((0..height * width).map(|place| weight[(place * channels + c) * filters + f]));
        }
    }
    let mut w = Writer::default();
    let boards = w.input("boards", &[side + height - 1, side + width - 1, channels]);
    let x = w.transpose(&boards, &[0, 3, 1, 2], "channels_first");
    let kernel = w.constant("conv.weight", &[filters, channels, height, width], &turned);
    let bias = w.constant("conv.bias", &[filters], tensors.sized("conv.bias", filters)?);
    let x = w.node("Conv", &[&x, &kernel, &bias], "conv");
    let x = w.node("Relu", &[&x], "conv.relu");
    let x = w.transpose(&x, &[0, 2, 3, 1], "channels_last");
    let x = w.node("Flatten", &[&x], "features");
    let x = w.dense(&x, "torso", tensors.get("torso")?, tensors.sized("torso.bias", torso)?);
    if sizes.relu {
        if torso != sizes.units {
            return Err(misfit("torso", format!("{torso} outputs, not {}", sizes.units)));
        }
        w.node("Relu", &[&x], "h");
        w.node("Identity", &["h"], "c");
    } else {
        let x = w.node("Relu", &[&x], "torso.relu");
        let weight = tensors.sized("start", torso * sizes.units)?;
        let x = w.dense(&x, "start", weight, tensors.sized("start.bias", sizes.units)?);
        w.node("Tanh", &[&x], "h");
    }
    w.output("h", &[sizes.units]);
    if sizes.relu {
        w.output("c", &[sizes.units]);
    }
    Ok(w.finish("representation"))
}

fn dynamics(tensors: &Tensors, sizes: &Sizes) -> Result<Vec<u8>> {
    let (units, gates) = (sizes.units, 4 * sizes.units);
    let mut w = Writer::default();
    let (h, c) = (w.input("h", &[units]), w.input("c", &[units]));
    let action = w.input("action", &[sizes.actions]);
    let x = w.columns(&[&h, &action], "h_and_action");
    let weight = [
        tensors.sized("lstm.recurrent", units * gates)?,
        tensors.sized("lstm.action", sizes.actions * gates)?,
    ];
    // Gates i, g, f, o; the forget gate has a constant one.
    let mut bias = tensors.sized("lstm.bias", gates)?.to_vec();
    bias[2 * units..3 * units].iter_mut().for_each(|b| *b += 1.0);
    let all = w.dense(&x, "gates", &weight.concat(), &bias);
    w.split(&all, units, &["i", "g", "f", "o"]);
    for (operator, gate) in [("Sigmoid", "i"), ("Tanh", "g"), ("Sigmoid", "f"), ("Sigmoid", "o")] {
        w.node(operator, &[gate], &format!("{gate}.open"));
    }
    let kept = w.node("Mul", &["f.open", &c], "kept");
    let taken = w.node("Mul", &["i.open", "g.open"], "taken");
    let cell = w.node("Add", &[&kept, &taken], "c_next");
    let shown = w.node(if sizes.relu { "Relu" } else { "Tanh" }, &[&cell], "c_next.squashed");
    w.node("Mul", &["o.open", &shown], "h_next");
    if sizes.relu {
        let weight = transposed(tensors.sized("reward.output", sizes.actions * units)?, units);
        let bias = tensors.sized("reward.output.bias", sizes.actions)?;
        let each = w.dense(&h, "rewards", &weight, bias);
        let taken = w.node("Mul", &[&each, &action], "rewards.taken");
        w.dense(&taken, "reward", &vec![1.0; sizes.actions], &[0.0]);
    } else {
        let hidden = [tensors.get("reward.hidden")?, tensors.get("reward.action")?].concat();
        head(&mut w, tensors, &x, "reward", &hidden)?;
    }
    w.output("h_next", &[units]);
    w.output("c_next", &[units]);
    w.output("reward", &[1]);
    Ok(w.finish("dynamics"))
}

fn value(tensors: &Tensors, sizes: &Sizes) -> Result<Vec<u8>> {
    let mut w = Writer::default();
    let h = w.input("h", &[sizes.units]);
    if sizes.relu {
        readout(&mut w, tensors, &h, "value", sizes.units)?;
    } else {
        head(&mut w, tensors, &h, "value", tensors.get("value.hidden")?)?;
    }
    w.output("value", &[1]);
    Ok(w.finish("value"))
}

/// A hidden layer of ELUs and one output, called as its head.
fn head(w: &mut Writer, tensors: &Tensors, x: &str, name: &str, hidden: &[f32]) -> Result<()> {
    let bias = tensors.get(&format!("{name}.bias"))?;
    let x = w.dense(x, &format!("{name}.hidden"), hidden, bias);
    let x = w.node("Elu", &[&x], &format!("{name}.elu"));
    readout(w, tensors, &x, name, bias.len())
}

/// The mean of the outputs of a head. Outputs are linear, so the mean of their weights has it.
fn readout(w: &mut Writer, tensors: &Tensors, x: &str, name: &str, inputs: usize) -> Result<()> {
    let bias = tensors.get(&format!("{name}.output.bias"))?;
    let heads = bias.len();
    let weight = tensors.sized(&format!("{name}.output"), heads * inputs)?;
    let mean = |numbers: &[f32]| (numbers.iter().map(|&x| f64::from(x)).sum::<f64>() / heads as f64) as f32;
    let weight: Vec<f32> = transposed(weight, inputs).chunks(heads).map(mean).collect();
    w.dense(x, name, &weight, &[mean(bias)]);
    Ok(())
}

/// Rows of so many numbers, column by column.
fn transposed(rows: &[f32], width: usize) -> Vec<f32> {
    (0..width).flat_map(|i| rows.iter().skip(i).step_by(width).copied()).collect()
}

fn settings(gamma: f64, sizes: &Sizes) -> Settings {
    let map = |pairs: &[(&str, &str)]| {
        pairs.iter().map(|(state, name)| ((*state).to_owned(), (*name).to_owned())).collect()
    };
    let tensor = |start| StateTensor { batch_axis: 0, start };
    Settings {
        format: FORMAT,
        gamma: Some(gamma),
        reward_convention: Convention::Transition,
        action: ActionKind::Discrete { count: sizes.actions, encoding: Encoding::OneHot },
        states: BTreeMap::from([
            ("c".to_owned(), tensor(if sizes.relu { Start::Encoded } else { Start::Zeros })),
            ("h".to_owned(), tensor(Start::Encoded)),
        ]),
        representation: Some(Representation {
            observation: "boards".to_owned(),
            states: map(if sizes.relu { &[("h", "h"), ("c", "c")] } else { &[("h", "h")] }),
        }),
        dynamics: Dynamics {
            states: map(&[("h", "h"), ("c", "c")]),
            action: Some("action".to_owned()),
            next: map(&[("h", "h_next"), ("c", "c_next")]),
            reward: Some("reward".to_owned()),
            reward_decode: Decode::default(),
            discount: None,
            continuation: None,
            noise: Vec::new(),
        },
        reward: None,
        value: Value {
            states: map(&[("h", "h")]),
            value: "value".to_owned(),
            value_decode: Decode::default(),
        },
        policy: Some(PolicyKind::Greedy {}),
    }
}
