//! A folder of graphs, opened and checked.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use tract_onnx::prelude::{Datum as _, IntoArcTensor as _, Tensor};

use crate::decode::Decode;
use crate::error::{OnnxError, Result};
use crate::file::read;
use crate::graph::{Graph, Port, Shapes, state_ports};
use crate::imagine::numbers;
use crate::settings::{ActionKind, Encoding, Noise, PolicyKind, Settings, Start, wrong};
use crate::{Array, Limits, States};

/// Bytes of `model.toml`.
const MAX_SETTINGS: u64 = 1 << 20;

/// A world model of ONNX graphs: an [`ive::Model`], an [`ive::ValueFunction`] and an [`ive::Policy`].
///
/// It may be shared between threads. Every graph runs on the thread that asks.
#[derive(Debug)]
pub struct OnnxModel {
    pub(crate) settings: Settings,
    pub(crate) representation: Option<Graph>,
    pub(crate) dynamics: Graph,
    pub(crate) reward: Option<Graph>,
    pub(crate) value: Graph,
    pub(crate) policy: Option<Graph>,
    /// Shapes of the tensors of a state with 0 in place of the batch, in the order of their names.
    shapes: Vec<Vec<usize>>,
}

impl OnnxModel {
    /// Opens a folder with `model.toml` and the graphs that it speaks of.
    ///
    /// # Errors
    /// If a file is missing, malformed, refused or too large, or names and shapes do not fit together.
    pub fn open(dir: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(dir, &Limits::default())
    }

    /// As [`open`](Self::open), with other limits.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_with(dir: impl AsRef<Path>, limits: &Limits) -> Result<Self> {
        let dir = dir.as_ref();
        Self::build(limits, |name, most| read(&dir.join(name), name, most))
    }

    /// As [`open_with`](Self::open_with), from the contents of files by their names (`model.toml`, `dynamics.onnx`, …).
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn from_files(files: &BTreeMap<String, Vec<u8>>, limits: &Limits) -> Result<Self> {
        Self::build(limits, |name, most| match files.get(name) {
            Some(bytes) if bytes.len() as u64 <= most => Ok(bytes.clone()),
            Some(bytes) => {
                let (graph, what, got) = (stem(name), "file in bytes".to_owned(), bytes.len() as u64);
                Err(OnnxError::TooLarge { graph, what, got, limit: most })
            }
            None => Err(OnnxError::Read { path: name.into(), cause: std::io::ErrorKind::NotFound.into() }),
        })
    }

    /// `file` gives the bytes of a file by its name, if they are at most so many.
    fn build(limits: &Limits, file: impl Fn(&str, u64) -> Result<Vec<u8>>) -> Result<Self> {
        let text = String::from_utf8(file("model.toml", MAX_SETTINGS)?);
        let settings = Settings::parse(&text.map_err(|error| wrong("form", &error.to_string()))?)?;
        let open = |name: &str, (inputs, outputs): (Vec<Port>, Vec<Port>)| {
            Graph::new(name, &file(&format!("{name}.onnx"), limits.file_bytes)?, inputs, outputs, limits)
        };
        let dynamics = open("dynamics", dynamics_ports(&settings))?;
        let value = open("value", value_ports(&settings))?;
        let optional = |name: &str, ports: Option<_>| ports.map(|ports| open(name, ports)).transpose();
        let representation = optional("representation", representation_ports(&settings))?;
        let reward = optional("reward", reward_ports(&settings))?;
        let policy = optional("policy", policy_ports(&settings))?;
        let mut model =
            Self { settings, representation, dynamics, reward, value, policy, shapes: Vec::new() };
        model.check_shapes()?;
        Ok(model)
    }

    /// What `model.toml` says.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// How many numbered actions there are; none for other kinds of actions.
    pub fn num_actions(&self) -> Option<usize> {
        match self.settings.action {
            ActionKind::Discrete { count, .. } => Some(count),
            _ => None,
        }
    }

    /// Whether two rollouts from the same state may differ: they then are samples, to be averaged.
    pub fn is_stochastic(&self) -> bool {
        let policy = match &self.settings.policy {
            Some(PolicyKind::Logits { choose, .. }) => *choose == crate::settings::Choice::Sample,
            Some(PolicyKind::Action { noise, .. }) => !noise.is_empty(),
            Some(PolicyKind::Uniform {}) => true,
            _ => false,
        };
        policy || !self.settings.dynamics.noise.is_empty()
    }

    /// States to start from: observations through the representation where there is one, otherwise the one tensor of a state.
    ///
    /// # Errors
    /// If the shape does not fit, or a state has several tensors and no representation makes them.
    pub fn start(&self, array: &Array) -> Result<States> {
        match self.settings.states.len() {
            _ if self.representation.is_some() => self.encode(array),
            1 => self.states(std::slice::from_ref(array)),
            n => Err(wrong(
                "states",
                &format!("a state has {n} tensors, and there is no representation to make them"),
            )),
        }
    }

    /// The states of a batch of observations, batch first.
    ///
    /// # Errors
    /// If there is no representation, or the shape does not fit.
    pub fn encode(&self, observations: &Array) -> Result<States> {
        let graph = self.representation.as_ref().ok_or_else(|| wrong("representation", "there is none"))?;
        let rows = *observations.shape().first().unwrap_or(&0);
        let expected = &graph.shapes(rows.max(1))?.inputs[0];
        if observations.shape().get(1..) != expected.get(1..) {
            let reason =
                format!("shape {:?}, the graph takes [b, {}]", observations.shape(), list(&expected[1..]));
            return Err(graph.misfit("observations", reason));
        }
        let input = tensor(graph, observations.shape(), observations.data())?;
        let mut encoded = graph.run(&[graph.as_input(0, input)?], rows)?.into_iter();
        let tensors =
            self.settings.states.values().zip(&self.shapes).map(|(state, shape)| match state.start {
                Start::Encoded => {
                    computed_state(graph, encoded.next().expect("the graph has an output for each"))
                }
                Start::Zeros => {
                    let shape = with_batch(shape, state.batch_axis, rows);
                    tensor(graph, &shape, &vec![0.0; shape.iter().product()])
                }
            });
        Ok(States { rows, tensors: tensors.collect::<Result<_>>()? })
    }

    /// A batch of states from all of its tensors, in the order of their names and in the shape that the graphs take.
    ///
    /// # Errors
    /// If their number or a shape does not fit.
    pub fn states(&self, arrays: &[Array]) -> Result<States> {
        let states = &self.settings.states;
        if arrays.len() != states.len() {
            let names: Vec<&str> = states.keys().map(String::as_str).collect();
            return Err(wrong("states", &format!("{} arrays for {}", arrays.len(), names.join(", "))));
        }
        let mut rows = None;
        let mut tensors = Vec::with_capacity(arrays.len());
        for (((name, state), shape), array) in states.iter().zip(&self.shapes).zip(arrays) {
            let batch = *array.shape().get(state.batch_axis).unwrap_or(&0);
            let expected = with_batch(shape, state.batch_axis, *rows.get_or_insert(batch));
            if array.shape() != expected || batch == 0 {
                let reason = format!("shape {:?}, not {expected:?}", array.shape());
                return Err(self.dynamics.misfit(&format!("state `{name}`"), reason));
            }
            tensors.push(tensor(&self.dynamics, array.shape(), array.data())?);
        }
        Ok(States { rows: rows.unwrap_or(0), tensors })
    }

    /// The tensors that a section names, in the order of its ports.
    pub(crate) fn pick(&self, names: &BTreeMap<String, String>, states: &States) -> Vec<Arc<Tensor>> {
        let all = self.settings.states.keys().zip(&states.tensors);
        all.filter(|(name, _)| names.contains_key(*name)).map(|(_, tensor)| tensor.clone()).collect()
    }

    /// States, heads and actions have the shapes that they need, the same in all graphs.
    fn check_shapes(&mut self) -> Result<()> {
        let s = &self.settings;
        let mut states = StateShapes::default();
        let dynamics = self.dynamics.shapes(2)?;
        let heads = states.take(s, &self.dynamics, &s.dynamics.states, &dynamics.inputs, &dynamics)?;
        check_action_input(s, &self.dynamics, heads, &dynamics)?;
        let heads = states.take(s, &self.dynamics, &s.dynamics.next, &dynamics.outputs, &dynamics)?;
        let first = usize::from(s.dynamics.reward.is_some());
        check_head(&self.dynamics, &heads[..first], &dynamics, &s.dynamics.reward_decode, "reward_decode")?;
        check_head(&self.dynamics, &heads[first..], &dynamics, &Decode::default(), "discount")?;
        let value = self.value.shapes(2)?;
        states.take(s, &self.value, &s.value.states, &value.inputs, &value)?;
        check_head(&self.value, &value.outputs, &value, &s.value.value_decode, "value_decode")?;
        if let (Some(graph), Some(section)) = (&self.reward, &s.reward) {
            let shapes = graph.shapes(2)?;
            states.take(s, graph, &section.states, &shapes.inputs, &shapes)?;
            check_head(graph, &shapes.outputs[..1], &shapes, &section.reward_decode, "reward_decode")?;
            check_head(graph, &shapes.outputs[1..], &shapes, &Decode::default(), "discount")?;
        }
        if let (Some(graph), Some(section)) = (&self.representation, &s.representation) {
            let shapes = graph.shapes(2)?;
            states.take(s, graph, &section.states, &shapes.outputs, &shapes)?;
        }
        if let (
            Some(graph),
            Some(PolicyKind::Logits { states: names, .. } | PolicyKind::Action { states: names, .. }),
        ) = (&self.policy, &s.policy)
        {
            let shapes = graph.shapes(2)?;
            states.take(s, graph, names, &shapes.inputs, &shapes)?;
            let width = match (&s.action, &s.policy) {
                (ActionKind::Discrete { count, .. }, Some(PolicyKind::Logits { .. })) => *count,
                (ActionKind::Continuous { size, .. }, _) => *size,
                _ => 1,
            };
            let got = &shapes.outputs[0];
            if got.iter().product::<usize>() != width * shapes.rows {
                return Err(graph.misfit(
                    "its output",
                    format!("shape {got:?}, {width} numbers for each state are needed"),
                ));
            }
        }
        let missing = |name: &String| wrong("states", &format!("no graph takes or makes `{name}`"));
        let shapes = s.states.keys().map(|name| states.0.remove(name).ok_or_else(|| missing(name)));
        self.shapes = shapes.collect::<Result<_>>()?;
        Ok(())
    }
}

/// The shape of each state tensor as the graphs so far have it, with 0 for the batch.
#[derive(Default)]
struct StateShapes(BTreeMap<String, Vec<usize>>);

impl StateShapes {
    /// Compares the first shapes of a list with those known; returns the rest of the list.
    fn take<'a>(
        &mut self,
        settings: &Settings,
        graph: &Graph,
        names: &BTreeMap<String, String>,
        list: &'a [Vec<usize>],
        of: &Shapes,
    ) -> Result<&'a [Vec<usize>]> {
        for (name, shape) in names.keys().zip(list) {
            let axis = settings.states[name].batch_axis;
            if shape.get(axis) != Some(&of.rows) {
                return Err(graph.misfit(
                    &format!("state `{name}`"),
                    format!("shape {shape:?} without a batch at axis {axis}"),
                ));
            }
            let free = with_batch(shape, axis, 0);
            let known = self.0.entry(name.clone()).or_insert_with(|| free.clone());
            if *known != free {
                let reason = format!("shape {free:?}, elsewhere {known:?} (0 is the batch)");
                return Err(graph.misfit(&format!("state `{name}`"), reason));
            }
        }
        Ok(&list[names.len()..])
    }
}

fn check_action_input(settings: &Settings, graph: &Graph, inputs: &[Vec<usize>], of: &Shapes) -> Result<()> {
    let b = of.rows;
    let fits = match (&settings.action, inputs.first()) {
        (ActionKind::None, _) => true,
        (ActionKind::Discrete { count, encoding: Encoding::OneHot }, Some(shape)) => *shape == [b, *count],
        (ActionKind::Discrete { encoding: Encoding::Index, .. }, Some(shape)) => {
            *shape == [b] || *shape == [b, 1]
        }
        (ActionKind::Continuous { size, .. }, Some(shape)) => *shape == [b, *size],
        (_, None) => false,
    };
    if fits {
        return Ok(());
    }
    Err(graph.misfit(
        "action",
        format!("shape {:?} for {b} states does not fit {:?}", inputs.first(), settings.action),
    ))
}

/// A head has as many numbers for each state as its code needs.
fn check_head(graph: &Graph, head: &[Vec<usize>], of: &Shapes, decode: &Decode, key: &str) -> Result<()> {
    let Some(shape) = head.first() else { return Ok(()) };
    let width = shape.iter().product::<usize>() / of.rows;
    if decode.fits(width) {
        return Ok(());
    }
    Err(graph.misfit(
        "head",
        format!("shape {shape:?}, {width} numbers for each state; see `{key}` in model.toml"),
    ))
}

/// The name of a file without its ending.
pub(crate) fn stem(name: &str) -> String {
    name.split('.').next().unwrap_or(name).to_owned()
}

fn with_batch(shape: &[usize], axis: usize, rows: usize) -> Vec<usize> {
    let mut shape = shape.to_vec();
    shape[axis] = rows;
    shape
}

fn list(shape: &[usize]) -> String {
    shape.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// Refuses what is not finite. Gates and comparisons swallow NaN, and a state that is none must not pass as certain.
fn finite<'a>(graph: &Graph, what: &str, data: impl IntoIterator<Item = &'a f32>) -> Result<()> {
    match data.into_iter().enumerate().find(|(_, x)| !x.is_finite()) {
        None => Ok(()),
        Some((at, x)) => Err(graph.misfit(what, format!("number {at} is {x}, not finite"))),
    }
}

/// A part of a state that a graph computed, in single precision.
pub(crate) fn computed_state(graph: &Graph, output: Arc<Tensor>) -> Result<Arc<Tensor>> {
    let tensor = plain(graph, output)?;
    finite(graph, "a state", numbers(graph, &tensor)?)?;
    Ok(tensor)
}

pub(crate) fn tensor(graph: &Graph, shape: &[usize], data: &[f32]) -> Result<Arc<Tensor>> {
    finite(graph, "array", data)?;
    let tensor = Tensor::from_shape(shape, data).map_err(|error| graph.misfit("array", error.to_string()))?;
    Ok(tensor.into_arc_tensor())
}

/// A result in single precision.
pub(crate) fn plain(graph: &Graph, tensor: Arc<Tensor>) -> Result<Arc<Tensor>> {
    if tensor.datum_type() == f32::datum_type() {
        return Ok(tensor);
    }
    let cast = tensor.cast_to::<f32>().map_err(|error| graph.misfit("its output", error.to_string()))?;
    Ok(cast.into_owned().into_arc_tensor())
}

fn dynamics_ports(settings: &Settings) -> (Vec<Port>, Vec<Port>) {
    let section = &settings.dynamics;
    let mut inputs = state_ports(&section.states, &settings.states);
    inputs.extend(section.action.as_deref().map(Port::first));
    inputs.extend(noise_ports(&section.noise));
    let mut outputs = state_ports(&section.next, &settings.states);
    let heads = [&section.reward, &section.discount, &section.continuation];
    outputs.extend(heads.into_iter().flatten().map(|name| Port::first(name)));
    (inputs, outputs)
}

fn noise_ports(noise: &[Noise]) -> impl Iterator<Item = Port> {
    noise.iter().map(|noise| Port::first(&noise.input))
}

fn value_ports(settings: &Settings) -> (Vec<Port>, Vec<Port>) {
    (state_ports(&settings.value.states, &settings.states), vec![Port::first(&settings.value.value)])
}

fn representation_ports(settings: &Settings) -> Option<(Vec<Port>, Vec<Port>)> {
    let section = settings.representation.as_ref()?;
    Some((vec![Port::first(&section.observation)], state_ports(&section.states, &settings.states)))
}

fn reward_ports(settings: &Settings) -> Option<(Vec<Port>, Vec<Port>)> {
    let section = settings.reward.as_ref()?;
    let mut outputs = vec![Port::first(&section.reward)];
    outputs.extend(
        [&section.discount, &section.continuation].into_iter().flatten().map(|name| Port::first(name)),
    );
    Some((state_ports(&section.states, &settings.states), outputs))
}

fn policy_ports(settings: &Settings) -> Option<(Vec<Port>, Vec<Port>)> {
    match settings.policy.as_ref()? {
        PolicyKind::Logits { states, logits, .. } => {
            Some((state_ports(states, &settings.states), vec![Port::first(logits)]))
        }
        PolicyKind::Action { states, action, noise } => {
            let mut inputs = state_ports(states, &settings.states);
            inputs.extend(noise_ports(noise));
            Some((inputs, vec![Port::first(action)]))
        }
        _ => None,
    }
}

/// Used where a caller gives actions that do not fit.
pub(crate) fn bad_action(reason: String) -> OnnxError {
    OnnxError::Action { reason }
}
