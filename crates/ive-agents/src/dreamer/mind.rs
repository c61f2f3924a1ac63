//! Everything that Dreamer learns: its networks, and those who train them.

use ive::Rng;

use super::config::{Config, Sizes};
use super::network::{Actor, Dynamics, Model, Value};
use super::plan::Judges;
use crate::archive::{Archive, ArchiveError};
use crate::learner::{Learner, Optimiser};
use crate::nn::cpu::descent::Adam;
use crate::nn::{Block, Layout, Parameters};

/// Where the parameters of the model are in [`Mind::frozen`].
pub(super) const MODEL: Block = Block(0);
/// Those of the actor.
pub(super) const ACTOR: Block = Block(1);
/// Those of the first value. The other values follow, then further models.
pub(super) const VALUE: Block = Block(2);

/// Networks and learners. Values share a form, and so do further models.
#[derive(Clone, Debug)]
pub struct Mind {
    /// The agent's own model.
    pub model: Model,
    /// The form of values.
    pub value: Value,
    /// The actor.
    pub actor: Actor,
    /// The form of further models of an explicit ensemble.
    pub dynamics: Dynamics,
    pub(super) learn_model: Learner,
    pub(super) learn_actor: Learner,
    pub(super) learn_values: Vec<Learner>,
    pub(super) learn_further: Vec<Learner>,
}

impl Mind {
    /// At the beginning.
    pub fn new(config: &Config, model: Model, sizes: &Sizes, rng: &Rng) -> Self {
        let (value, actor) = (Value::new(sizes), Actor::new(sizes));
        let mut further = Layout::default();
        let dynamics = Dynamics::new(&mut further, sizes);
        let learner = |layout: &Layout, parameters: Vec<f32>| {
            let adam = Adam::new(layout.len(), config.adam_epsilon);
            Learner::new(layout.clone(), parameters, Optimiser::Adam(adam), config.clip)
        };
        let stream = |i: usize| rng.fold_in(i as u64);
        let values = 0..config.value_networks();
        let models = 0..config.model_networks() - 1;
        Self {
            learn_model: learner(&model.layout, model.initial(&mut stream(0))),
            learn_actor: learner(&actor.layout, actor.initial(&mut stream(1))),
            learn_values: values
                .map(|i| learner(&value.layout, value.initial(&mut stream(100 + i))))
                .collect(),
            learn_further: models
                .map(|i| {
                    let mut initial = vec![0.0; further.len()];
                    dynamics.initialise(&mut initial, &mut stream(200 + i));
                    learner(&further, initial)
                })
                .collect(),
            model,
            value,
            actor,
            dynamics,
        }
    }

    /// All parameters as they are: model, actor, values, further models.
    pub fn frozen(&self) -> Vec<Parameters<'_>> {
        let first = [&self.learn_model, &self.learn_actor];
        let all = first.into_iter().chain(&self.learn_values).chain(&self.learn_further);
        all.map(|learner| Parameters::frozen(learner.parameters())).collect()
    }

    /// The values, with the places of their parameters in [`frozen`](Self::frozen).
    pub fn values(&self) -> Vec<(&Value, Block)> {
        (0..self.learn_values.len()).map(|i| (&self.value, Block(VALUE.0 + i))).collect()
    }

    /// The models, likewise; the first is the agent's own.
    pub fn models(&self) -> Vec<(&Dynamics, Block)> {
        let first = VALUE.0 + self.learn_values.len();
        let further = (0..self.learn_further.len()).map(|i| (&self.dynamics, Block(first + i)));
        std::iter::once((&self.model.dynamics, MODEL)).chain(further).collect()
    }

    /// Saves or restores.
    pub fn archive(&mut self, archive: &mut Archive) -> Result<(), ArchiveError> {
        self.learn_model.archive("model.", archive)?;
        self.learn_actor.archive("actor.", archive)?;
        for (i, learner) in self.learn_values.iter_mut().enumerate() {
            learner.archive(&format!("value.{i}."), archive)?;
        }
        for (i, learner) in self.learn_further.iter_mut().enumerate() {
            learner.archive(&format!("model.{}.", i + 1), archive)?;
        }
        Ok(())
    }
}

/// Who judges plans by the settings of an agent.
pub(super) fn judges<'a>(
    config: &Config,
    models: &'a [(&'a Dynamics, Block)],
    values: &'a [(&'a Value, Block)],
) -> Judges<'a> {
    let Config { utility, beta, .. } = *config;
    Judges { models, values, utility, beta, discount: config.discount, lambda: config.lambda }
}
