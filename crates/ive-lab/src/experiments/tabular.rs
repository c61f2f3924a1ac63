//! What the two gridworld experiments share: learning the tables of one seed.

use ive::Rng;
use ive_agents::tabular::{Dataset, Learned, Learner, Sgd, learn, sgd::MAX_LEARNING_RATE};
use ive_envs::grid;
use serde::{Deserialize, Serialize};

use super::ours;
use crate::exit::Outcome;
use crate::settings::range;

/// How tables are learned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LearnerName {
    /// Minibatches and Adam.
    Sgd,
    /// The point to which they converge.
    Limit,
}

/// The settings of learning, which both experiments have.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Learning {
    /// Minibatches or their limit.
    pub learner: LearnerName,
    /// γ.
    pub discount: f64,
    /// Steps of data.
    pub data_steps: usize,
    /// δ while collecting data.
    pub wind: f64,
    /// Adam's step size.
    pub learning_rate: f64,
    /// Passes over the data.
    pub epochs: usize,
    /// Steps per minibatch.
    pub batch: usize,
}

/// How the learning of a run compares with the paper's.
pub fn compared_with_paper(learning: &Learning) -> String {
    let Learning { learner, epochs, learning_rate, .. } = *learning;
    match learner {
        LearnerName::Limit => "the limit of the learners in place of minibatches".to_owned(),
        LearnerName::Sgd if (epochs, learning_rate) == (10_000, 5e-5) => {
            "10000 epochs of Adam at 5e-5 as in the paper, which does not converge".to_owned()
        }
        LearnerName::Sgd => {
            format!(
                "{epochs} epochs of Adam at {learning_rate:e} (the paper: 10000 at 5e-5, which does not converge)"
            )
        }
    }
}

/// The stream of a seed from which its data come.
const DATA: u64 = 0;
/// The stream from which ties are broken.
pub const TIES: u64 = 6;

impl Learning {
    /// Checks every field; `at` is the name of the experiment.
    pub fn check(&self, at: &str) -> Outcome {
        let field = |name: &str| format!("{at}.{name}");
        range(&field("discount"), self.discount, 0.0, 0.999)?;
        range(&field("data_steps"), self.data_steps as f64, 1.0, 1e6)?;
        range(&field("wind"), self.wind, 0.0, 1.0)?;
        range(&field("learning_rate"), self.learning_rate, 1e-7, MAX_LEARNING_RATE)?;
        range(&field("epochs"), self.epochs as f64, 1.0, 1e6)?;
        range(&field("batch"), self.batch as f64, 1.0, Sgd::MAX_BATCH as f64)
    }

    /// The learner of the library.
    pub fn learner(&self) -> Learner {
        match self.learner {
            LearnerName::Limit => Learner::Limit,
            LearnerName::Sgd => Learner::Sgd(Sgd {
                learning_rate: self.learning_rate,
                epochs: self.epochs,
                batch: self.batch,
                shuffle: true,
            }),
        }
    }

    /// The data of a seed and `members` learned tables and models; `None` if asked to stop.
    pub fn learn(
        &self,
        seed: u64,
        members: usize,
        go_on: &dyn Fn() -> bool,
    ) -> Outcome<Option<(Dataset, Learned)>> {
        let root = Rng::from_seed(seed);
        let data = Dataset::new(grid::collect(self.data_steps, self.wind, &mut root.fold_in(DATA)));
        let learned = ours(learn(&data, self.learner(), self.discount, members, &root, go_on))?;
        Ok(learned.map(|l| (data, l)))
    }
}
