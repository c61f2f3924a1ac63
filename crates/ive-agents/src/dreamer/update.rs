//! One update: the model from what was lived through, actor and values from what is imagined from there.

use ive::Rng;

use super::config::Config;
use super::loss::{self, Filtered, Networks, Noise, Sequences, Weights};
use super::mind::Mind;
use super::network::Latent;
use crate::AgentError;
use crate::nn::{Block, Executor, Parameters};

/// What an update came by.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Updated {
    /// `KL(posterior ‖ prior)`.
    pub divergence: f64,
    /// Losses of observations, rewards, actor and values.
    pub observation: f64,
    /// Of rewards.
    pub reward: f64,
    /// Of the actor.
    pub actor: f64,
    /// Of the values, their mean.
    pub value: f64,
    /// Mean λ-return of what was imagined.
    pub imagined: f64,
    /// Mean standard deviation of the actor in the states from which it was imagined.
    pub actor_std: f64,
    /// Lengths of the gradients of model, actor and values.
    pub norms: [f64; 3],
}

/// Memory of updates, used again and again.
#[derive(Clone, Debug, Default)]
pub struct Scratch {
    noise: Vec<f32>,
    imagination: Noise,
    filtered: Filtered,
    starts: Vec<u32>,
    z: Vec<f32>,
    d: Vec<f32>,
    features: Vec<f32>,
    returns: Vec<Vec<f32>>,
    stds: Vec<f32>,
}

/// So many standard normal deviates.
pub(super) fn normals(count: usize, rng: &mut Rng, out: &mut Vec<f32>) {
    out.clear();
    let mut some = [0.0; 64];
    while out.len() < count {
        let part = &mut some[..64.min(count - out.len())];
        rng.fill_normal(part);
        out.extend(part.iter().map(|&x| x as f32));
    }
}

fn mean(x: &[f32]) -> f64 {
    x.iter().map(|&x| f64::from(x)).sum::<f64>() / x.len() as f64
}

/// Rows of a matrix by number.
fn gather(from: &[f32], columns: usize, rows: &[u32], to: &mut Vec<f32>) {
    to.clear();
    rows.iter().for_each(|&row| to.extend_from_slice(&from[row as usize * columns..][..columns]));
}

impl Mind {
    /// One step of all networks. Every gradient is that at the parameters before the update.
    ///
    /// # Errors
    /// If something is not finite; the state is not to be saved then.
    pub fn update(
        &mut self,
        config: &Config,
        data: &Sequences,
        rng: &mut Rng,
        executor: &mut Executor,
        s: &mut Scratch,
        step: u64,
    ) -> Result<Updated, AgentError> {
        let weights = Weights {
            divergence: config.divergence_weight,
            free_nats: config.free_nats,
            observation: config.observation_weight,
            reward: config.reward_weight,
        };
        let mut said = Updated::default();
        let (steps, [stochastic, deterministic]) = (data.rewards.len(), self.model.latent);

        normals(steps * stochastic, rng, &mut s.noise);
        let (x, gradient) = self.learn_model.gradient();
        executor.run(&[Parameters::trained(x)], |g| {
            let model = loss::of_model(&self.model, g, Block(0), data, &s.noise, &weights);
            g.read(model.states.z, &mut s.filtered.z);
            g.read(model.states.d, &mut s.filtered.d);
            if !self.learn_further.is_empty() {
                g.read(model.posterior.0, &mut s.filtered.mean);
                g.read(model.posterior.1, &mut s.filtered.std);
            }
            said.divergence = g.loss(model.divergence);
            (said.observation, said.reward) = (g.loss(model.observation), g.loss(model.reward));
            g.backward(model.total, &mut [gradient]);
        });

        self.imagine(config, steps, rng, executor, s, &mut said);

        for (learner, returns) in self.learn_values.iter_mut().zip(&s.returns) {
            let (x, gradient) = learner.gradient();
            said.value += executor.run(&[Parameters::trained(x)], |g| {
                let value = (&self.value, Block(0));
                let loss = loss::of_value(value, g, &s.features, returns, config.horizon, config.discount);
                g.backward(loss, &mut [gradient]);
                g.loss(loss)
            });
        }
        said.value /= self.learn_values.len() as f64;

        for learner in &mut self.learn_further {
            let (x, gradient) = learner.gradient();
            let loss = executor.run(&[Parameters::trained(x)], |g| {
                let loss = loss::of_further_model(&self.dynamics, g, Block(0), data, &s.filtered, &weights);
                g.backward(loss, &mut [gradient]);
                g.loss(loss)
            });
            learner.step(&[("loss_further_model", loss)], 1.0, config.model_rate, step)?;
        }
        let losses =
            [("kl", said.divergence), ("loss_observation", said.observation), ("loss_reward", said.reward)];
        said.norms[0] = self.learn_model.step(&losses, 1.0, config.model_rate, step)?;
        said.norms[1] = self.learn_actor.step(&[("loss_actor", said.actor)], 1.0, config.actor_rate, step)?;
        for learner in &mut self.learn_values {
            said.norms[2] += learner.step(&[("loss_value", said.value)], 1.0, config.value_rate, step)?;
        }
        said.norms[2] /= self.learn_values.len() as f64;
        debug_assert_eq!(s.filtered.d.len(), steps * deterministic, "a state for each step");
        Ok(said)
    }

    /// Imagines from some of the states; the gradient of the actor, and what the values are to learn.
    fn imagine(
        &mut self,
        config: &Config,
        steps: usize,
        rng: &mut Rng,
        executor: &mut Executor,
        s: &mut Scratch,
        said: &mut Updated,
    ) {
        let count = if config.starts == 0 { steps } else { config.starts.min(steps) };
        s.starts.clear();
        s.starts.extend(0..steps as u32);
        if count < steps {
            rng.shuffle_front(&mut s.starts, count);
            s.starts.truncate(count);
        }
        let [stochastic, deterministic] = self.model.latent;
        gather(&s.filtered.z, stochastic, &s.starts, &mut s.z);
        gather(&s.filtered.d, deterministic, &s.starts, &mut s.d);
        normals(config.horizon * count * self.actor.motors, rng, &mut s.imagination.actions);
        normals(config.horizon * count * stochastic, rng, &mut s.imagination.states);

        let first = 2;
        let values: Vec<_> = (0..self.learn_values.len()).map(|i| (&self.value, Block(first + i))).collect();
        let (actor, gradient) = self.learn_actor.gradient();
        let mut blocks = vec![Parameters::frozen(self.learn_model.parameters()), Parameters::trained(actor)];
        blocks.extend(self.learn_values.iter().map(|learner| Parameters::frozen(learner.parameters())));
        let nets =
            Networks { model: (&self.model, Block(0)), values: &values, actor: (&self.actor, Block(1)) };
        s.returns.resize(values.len(), Vec::new());
        executor.run(&blocks, |g| {
            let state = Latent { z: g.input(&s.z, stochastic), d: g.input(&s.d, deterministic) };
            let discounts = [config.discount, config.lambda];
            let actor = loss::of_actor(nets, g, state, config.horizon, &s.imagination, discounts);
            g.read(actor.imagined.features, &mut s.features);
            g.read(actor.imagined.std, &mut s.stds);
            actor.returns.iter().zip(&mut s.returns).for_each(|(&own, out)| g.read(own, out));
            said.actor = g.loss(actor.loss);
            g.backward(actor.loss, &mut [gradient]);
        });
        said.actor_std = mean(&s.stds);
        said.imagined = s.returns.iter().map(|returns| mean(returns)).sum::<f64>() / s.returns.len() as f64;
    }
}
