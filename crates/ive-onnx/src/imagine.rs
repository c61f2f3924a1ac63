//! The graphs as the library sees them: a model and a value function.

use std::sync::Arc;

use ive::{Imagined, Model, ModelError, Rng, ValueFunction};
use tract_onnx::prelude::Tensor;

use crate::decode::Decode;
use crate::error::Result;
use crate::graph::Graph;
use crate::model::{bad_action, computed_state, plain, tensor};
use crate::settings::{ActionKind, Convention, Distribution, Encoding, Noise};
use crate::{Actions, OnnxModel, States};

/// Numbers of a head, one for each state.
pub(crate) fn head(graph: &Graph, output: Arc<Tensor>, rows: usize, decode: &Decode) -> Result<Vec<f64>> {
    let output = plain(graph, output)?;
    Ok(decode.rows(numbers(graph, &output)?, rows))
}

pub(crate) fn numbers<'a>(graph: &Graph, tensor: &'a Tensor) -> Result<&'a [f32]> {
    let view = tensor.try_as_plain_ram().and_then(|view| view.as_slice::<f32>());
    view.map_err(|error| graph.misfit("its output", error.to_string()))
}

/// Random numbers for the inputs from `first` on that ask for them.
pub(crate) fn draw(
    graph: &Graph,
    noise: &[Noise],
    first: usize,
    rows: usize,
    rng: &mut Rng,
) -> Result<Vec<Arc<Tensor>>> {
    if noise.is_empty() {
        return Ok(Vec::new());
    }
    let shapes = graph.shapes(rows)?.inputs;
    let one = |(i, noise): (usize, &Noise)| {
        let mut shape = shapes[first + i].clone();
        shape[0] = rows;
        let number = |rng: &mut Rng| match noise.distribution {
            Distribution::Normal => rng.normal(),
            Distribution::Uniform => rng.uniform(),
            // u = 0 would be infinite; 1 − u is never 0.
            Distribution::Gumbel => -(-(1.0 - rng.uniform()).ln()).max(f64::MIN_POSITIVE).ln(),
        };
        let data: Vec<f32> = (0..shape.iter().product()).map(|_| number(rng) as f32).collect();
        graph.as_input(first + i, tensor(graph, &shape, &data)?)
    };
    noise.iter().enumerate().map(one).collect()
}

impl OnnxModel {
    /// Actions as the dynamics take them.
    fn action_input(&self, actions: &Actions, rows: usize) -> Result<Option<Arc<Tensor>>> {
        let index = self.settings.dynamics.states.len();
        let (shape, data) = match (&self.settings.action, actions) {
            (ActionKind::None, Actions::None) => return Ok(None),
            (ActionKind::Discrete { count, encoding }, Actions::Discrete(all)) => {
                if all.len() != rows {
                    return Err(bad_action(format!("{} for {rows} states", all.len())));
                }
                if let Some(action) = all.iter().find(|action| **action >= *count) {
                    return Err(bad_action(format!("number {action} of {count}, which count from 0")));
                }
                match encoding {
                    Encoding::OneHot => (vec![rows, *count], one_hot(all, *count)),
                    Encoding::Index => {
                        let mut shape = self.dynamics.shapes(rows)?.inputs[index].clone();
                        shape[0] = rows;
                        (shape, all.iter().map(|&action| action as f32).collect())
                    }
                }
            }
            (ActionKind::Continuous { size, .. }, Actions::Continuous(all)) if all.len() == rows * size => {
                (vec![rows, *size], all.clone())
            }
            (kind, _) => return Err(bad_action(format!("they do not fit {rows} states and {kind:?}"))),
        };
        self.dynamics.as_input(index, tensor(&self.dynamics, &shape, &data)?).map(Some)
    }

    fn step(&self, states: &States, actions: &Actions, rng: &mut Rng) -> Result<Imagined<States>> {
        let (section, rows) = (&self.settings.dynamics, states.rows);
        let mut inputs = self.pick(&section.states, states);
        inputs.extend(self.action_input(actions, rows)?);
        let first = inputs.len();
        inputs.extend(draw(&self.dynamics, &section.noise, first, rows, rng)?);
        let mut outputs = self.dynamics.run(&inputs, rows)?.into_iter();
        let tensors =
            outputs.by_ref().take(section.next.len()).map(|tensor| computed_state(&self.dynamics, tensor));
        let next = States { rows, tensors: tensors.collect::<Result<_>>()? };
        let mut reward = None;
        if section.reward.is_some() {
            let output = outputs.next().expect("the output was asked for");
            reward = Some(head(&self.dynamics, output, rows, &section.reward_decode)?);
        }
        let mut discount = outputs
            .next()
            .map(|output| head(&self.dynamics, output, rows, &Decode::default()))
            .transpose()?;
        if let (Some(graph), Some(outcome)) = (&self.reward, &self.settings.reward) {
            let place = if self.settings.reward_convention == Convention::State { states } else { &next };
            let mut outputs = graph.run(&self.pick(&outcome.states, place), rows)?.into_iter();
            let output = outputs.next().expect("the output was asked for");
            reward = Some(head(graph, output, rows, &outcome.reward_decode)?);
            let theirs =
                outputs.next().map(|output| head(graph, output, rows, &Decode::default())).transpose()?;
            discount = discount.or(theirs);
        }
        let reward = reward.expect("settings have one source of rewards");
        // γ is left out where the graph computes the discount itself.
        let gamma = self.settings.gamma.unwrap_or(1.0);
        let discount =
            discount.map_or_else(|| vec![gamma; rows], |d| d.into_iter().map(|d| gamma * d).collect());
        Ok(Imagined { next, reward, discount })
    }
}

fn one_hot(actions: &[usize], count: usize) -> Vec<f32> {
    let mut data = vec![0.0; actions.len() * count];
    actions.iter().enumerate().for_each(|(row, action)| data[row * count + action] = 1.0);
    data
}

impl Model<States, Actions> for OnnxModel {
    fn imagine(
        &self,
        states: &States,
        actions: &Actions,
        rng: &mut Rng,
    ) -> std::result::Result<Imagined<States>, ModelError> {
        Ok(self.step(states, actions, rng)?)
    }
}

impl ValueFunction<States> for OnnxModel {
    fn values(&self, states: &States) -> std::result::Result<Vec<f64>, ModelError> {
        let section = &self.settings.value;
        let mut outputs = self.value.run(&self.pick(&section.states, states), states.rows)?;
        let output = outputs.pop().expect("the output was asked for");
        Ok(head(&self.value, output, states.rows, &section.value_decode)?)
    }
}
