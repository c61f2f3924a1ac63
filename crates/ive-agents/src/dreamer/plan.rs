//! Planning with what the model says: utilities of action sequences, and two ways to find good ones.
//!
//! With the states s⁰, s¹, … that actions a⁰, a¹, … lead to, the members of an implicit ensemble are
//! `qᵏ = Σ_{i<k} γⁱ r̂(sⁱ) + γᵏ v̂(sᵏ)`, k = 1 to K; a utility is `μ + βσ` over them. Paper: Sec. 4.3 and the appendix on Dreamer.

use super::config::Utility;
use super::loss::lambda_returns;
use super::network::{Dynamics, Latent, Value};
use crate::nn::members::{k_step_values, mean_and_std};
use crate::nn::{Block, Graph, Var};

/// μ + βσ of each row, with μ and σ: `[rows, 1]` each.
#[derive(Clone, Copy, Debug)]
pub struct Judged {
    /// What a plan is chosen by.
    pub utility: Var,
    /// μ.
    pub mean: Var,
    /// σ.
    pub std: Var,
}

/// The statistics of members `[rows, n]`.
pub fn judge(g: &mut dyn Graph, members: Var, beta: f64) -> Judged {
    let (mean, std) = mean_and_std(g, members);
    Judged { utility: g.linear(&[(1.0, mean), (beta as f32, std)], 0.0), mean, std }
}

/// What judges plans: models and values, each with the place of its parameters.
#[derive(Clone, Copy, Debug)]
pub struct Judges<'a> {
    /// Models; more than one for explicit ensembles of models. The first is the agent's own.
    pub models: &'a [(&'a Dynamics, Block)],
    /// Values; more than one for explicit ensembles of values.
    pub values: &'a [(&'a Value, Block)],
    /// By what.
    pub utility: Utility,
    /// β.
    pub beta: f64,
    /// γ.
    pub discount: f64,
    /// λ.
    pub lambda: f64,
}

impl Judges<'_> {
    /// Judges action sequences that all begin in `start`: `actions[t]` is `[rows, motors]`, `noise[t]` is that of the latent states behind
    /// it (none: their means).
    pub fn judge(&self, g: &mut dyn Graph, start: Latent, actions: &[Var], noise: Option<&[f32]>) -> Judged {
        let path = roll(g, &self.models[0], start, actions, noise);
        self.judge_path(g, start, &path, actions, noise)
    }

    /// The same where it is known which features the first model comes by.
    pub fn judge_path(
        &self,
        g: &mut dyn Graph,
        start: Latent,
        path: &[Var],
        actions: &[Var],
        noise: Option<&[f32]>,
    ) -> Judged {
        let horizon = actions.len();
        let members = match self.utility {
            Utility::LambdaReturn => return self.own_return(g, path),
            Utility::Ive => {
                let (rewards, values) = self.heads(g, path);
                k_step_values(g, &rewards, &values, self.discount as f32, 1..=horizon)
            }
            Utility::Eve => {
                let rewards = rewards_of(g, &self.models[0], &path[..horizon]);
                let ends: Vec<Var> =
                    self.values.iter().map(|(value, p)| value.value(g, *p, path[horizon])).collect();
                let members: Vec<Var> = ends.into_iter().map(|end| self.whole(g, &rewards, end)).collect();
                g.columns(&members)
            }
            Utility::Emve => {
                let mut members = Vec::with_capacity(self.models.len());
                for (i, model) in self.models.iter().enumerate() {
                    let other = (i > 0).then(|| roll(g, model, start, actions, noise));
                    let path = other.as_deref().unwrap_or(path);
                    let rewards = rewards_of(g, model, &path[..horizon]);
                    let (value, p) = self.values[0];
                    let end = value.value(g, p, path[horizon]);
                    members.push(self.whole(g, &rewards, end));
                }
                g.columns(&members)
            }
        };
        judge(g, members, self.beta)
    }

    /// r̂ of all states but the last, v̂ of all.
    fn heads(&self, g: &mut dyn Graph, features: &[Var]) -> (Vec<Var>, Vec<Var>) {
        let rewards = rewards_of(g, &self.models[0], &features[..features.len() - 1]);
        let (value, p) = self.values[0];
        let seen = g.stack(features);
        let values = value.value(g, p, seen);
        (rewards, split(g, values, features.len()))
    }

    /// The longest member alone: all rewards, then the value at the end.
    fn whole(&self, g: &mut dyn Graph, rewards: &[Var], end: Var) -> Var {
        let discounted = |i: usize| self.discount.powi(i as i32) as f32;
        let mut terms: Vec<(f32, Var)> =
            rewards.iter().enumerate().map(|(i, r)| (discounted(i), *r)).collect();
        terms.push((discounted(rewards.len()), end));
        g.linear(&terms, 0.0)
    }

    /// Dreamer's own λ-return from the first state on.
    fn own_return(&self, g: &mut dyn Graph, features: &[Var]) -> Judged {
        let all = g.stack(features);
        let (model, p) = self.models[0];
        let rewards = model.reward(g, p, all);
        let (value, p) = self.values[0];
        let values = value.value(g, p, all);
        let rows = g.shape(features[0])[0];
        let returns = lambda_returns(g, rewards, values, rows, self.discount, self.lambda);
        let first = g.rows(returns, 0..rows);
        let nothing = g.linear(&[(0.0, first)], 0.0);
        Judged { utility: first, mean: first, std: nothing }
    }
}

/// The features that a model comes by along actions, the start among them.
fn roll(
    g: &mut dyn Graph,
    (model, p): &(&Dynamics, Block),
    start: Latent,
    actions: &[Var],
    noise: Option<&[f32]>,
) -> Vec<Var> {
    let (mut state, horizon) = (start, actions.len());
    let mut features = vec![state.features(g)];
    for (t, &action) in actions.iter().enumerate() {
        let part = noise.map(|all| &all[t * all.len() / horizon..(t + 1) * all.len() / horizon]);
        state = model.imagine(g, *p, state, action, part);
        features.push(state.features(g));
    }
    features
}

/// r̂ of states, evaluated together.
fn rewards_of(g: &mut dyn Graph, (model, p): &(&Dynamics, Block), features: &[Var]) -> Vec<Var> {
    let all = g.stack(features);
    let rewards = model.reward(g, *p, all);
    split(g, rewards, features.len())
}

/// Equal blocks of rows.
fn split(g: &mut dyn Graph, x: Var, parts: usize) -> Vec<Var> {
    let rows = g.shape(x)[0] / parts;
    (0..parts).map(|t| g.rows(x, t * rows..(t + 1) * rows)).collect()
}
