//! The policies of `model.toml`.

use ive::{Model as _, ModelError, Policy, Rng, ValueFunction as _};

use crate::decode::softmax;
use crate::error::Result;
use crate::graph::Graph;
use crate::imagine::{draw, numbers};
use crate::model::{bad_action, plain};
use crate::settings::{ActionKind, Choice, PolicyKind};
use crate::{Actions, OnnxModel, States};

/// The first of the largest.
fn argmax(scores: &[f64]) -> usize {
    let better = |best: usize, i: usize| if scores[i] > scores[best] { i } else { best };
    (1..scores.len()).fold(0, better)
}

/// A draw from probabilities.
fn sample(p: &[f64], rng: &mut Rng) -> usize {
    let mut left = rng.uniform();
    for (i, p) in p.iter().enumerate() {
        left -= p;
        if left < 0.0 {
            return i;
        }
    }
    argmax(p)
}

/// Actions of logits `[b, count]`.
fn choose(logits: &[f32], count: usize, choice: Choice, rng: &mut Rng) -> Result<Vec<usize>> {
    let one = |row: &[f32]| {
        let mut scores: Vec<f64> = row.iter().copied().map(f64::from).collect();
        if let Some(bad) = scores.iter().find(|x| x.is_nan() || **x == f64::INFINITY) {
            return Err(bad_action(format!("a logit is {bad}")));
        }
        Ok(match choice {
            Choice::Argmax => argmax(&scores),
            Choice::Sample => {
                softmax(&mut scores);
                sample(&scores, rng)
            }
        })
    };
    logits.chunks_exact(count).map(one).collect()
}

impl Policy<States, Actions> for OnnxModel {
    fn act(&self, states: &States, rng: &mut Rng) -> std::result::Result<Actions, ModelError> {
        let rows = states.rows;
        let graph = || self.policy.as_ref().expect("opened for the kinds that use it");
        Ok(match (&self.settings.action, self.settings.policy.as_ref()) {
            (ActionKind::None, _) | (_, None) => Actions::None,
            (ActionKind::Discrete { count, .. }, Some(kind)) => Actions::Discrete(match kind {
                PolicyKind::Logits { states: names, choose: choice, .. } => {
                    let output = run(graph(), self.pick(names, states), rows)?;
                    choose(&output, *count, *choice, rng)?
                }
                PolicyKind::Greedy {} => self.greedy(states, *count, rng)?,
                PolicyKind::Uniform {} => (0..rows).map(|_| rng.below(*count)).collect(),
                PolicyKind::Fixed { action } => vec![*action; rows],
                PolicyKind::Action { .. } => {
                    let number = |x: f32| match x.round() {
                        x if x >= 0.0 && x < *count as f32 => Ok(x as usize),
                        _ => Err(bad_action(format!("the policy says {x}, and there are {count} actions"))),
                    };
                    self.computed(states, rng)?.into_iter().map(number).collect::<Result<_>>()?
                }
                PolicyKind::FixedVector { .. } => unreachable_kind(kind)?,
            }),
            (ActionKind::Continuous { bounds, size }, Some(kind)) => Actions::Continuous(match kind {
                PolicyKind::Action { .. } => self.computed(states, rng)?,
                PolicyKind::Uniform {} => {
                    let [low, high] = bounds.unwrap_or([0.0, 0.0]);
                    (0..rows * size).map(|_| low + (high - low) * rng.uniform() as f32).collect()
                }
                PolicyKind::FixedVector { action } => action.repeat(rows),
                _ => unreachable_kind(kind)?,
            }),
        })
    }
}

/// For kinds that settings with these actions never have.
fn unreachable_kind<T>(kind: &PolicyKind) -> Result<T> {
    Err(bad_action(format!("the policy {kind:?} does not fit the kind of actions")))
}

fn run(
    graph: &Graph,
    inputs: Vec<std::sync::Arc<tract_onnx::prelude::Tensor>>,
    rows: usize,
) -> Result<Vec<f32>> {
    let mut outputs = graph.run(&inputs, rows)?;
    let output = plain(graph, outputs.pop().expect("the output was asked for"))?;
    Ok(numbers(graph, &output)?.to_vec())
}

impl OnnxModel {
    /// What `policy.onnx` computes, where that is the action.
    fn computed(&self, states: &States, rng: &mut Rng) -> Result<Vec<f32>> {
        let (Some(graph), Some(PolicyKind::Action { states: names, noise, .. })) =
            (&self.policy, &self.settings.policy)
        else {
            return Err(bad_action("there is no policy.onnx".to_owned()));
        };
        let mut inputs = self.pick(names, states);
        let first = inputs.len();
        inputs.extend(draw(graph, noise, first, states.rows, rng)?);
        run(graph, inputs, states.rows)
    }

    /// `argmax_a r̂(s, a) + γ v̂(s')`: one imagined step for each action.
    fn greedy(
        &self,
        states: &States,
        count: usize,
        rng: &mut Rng,
    ) -> std::result::Result<Vec<usize>, ModelError> {
        let rows = states.rows;
        let mut scores = vec![0.0; rows * count];
        for action in 0..count {
            let step = self.imagine(states, &Actions::Discrete(vec![action; rows]), rng)?;
            let values = self.values(&step.next)?;
            for row in 0..rows {
                let score = step.reward[row] + step.discount[row] * values[row];
                if !score.is_finite() {
                    return Err(bad_action(format!("action {action} would be worth {score}")).into());
                }
                scores[row * count + action] = score;
            }
        }
        Ok(scores.chunks_exact(count).map(argmax).collect())
    }
}
