//! Tabular learners for the gridworld: expected SARSA for the value, maximum likelihood for the model.
//!
//! [`learn`] gives n independently initialised value tables and models of one data set, from which every ensemble of
//! Figures 3 and 5 is made ([`ensembles`]). There are two learners: minibatches and Adam, as in the paper
//! ([`sgd`]), and the point to which those converge ([`limit`]), which is exact, a thousand times faster, and the oracle
//! for the first. Both start from the same random tables, so one seed can be compared with itself.
//!
//! Pairs that the data never show receive no gradient and keep their random start: they are where the members of every
//! ensemble disagree. Paper: App. B.1.

pub mod ensembles;
pub mod limit;
pub mod sgd;

use ive::{Rng, TabularModel};
use ive_envs::grid::{ACTIONS, PAIRS, STATES, Transition};

pub use ensembles::Learned;
pub use sgd::Sgd;

/// How the tables are learned.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Learner {
    /// Minibatches and Adam.
    Sgd(Sgd),
    /// The point to which they converge.
    Limit,
}

/// A data set, as counts and as a list.
#[derive(Clone, Debug)]
pub struct Dataset {
    /// The recorded steps, in order.
    pub transitions: Vec<Transition>,
    /// How often each step (s, a, s') occurs, `[state, action, next]`.
    pub counts: Vec<u32>,
    /// How often each pair occurs, `[state, action]`.
    pub pair_counts: Vec<u32>,
}

impl Dataset {
    /// Counts a list of steps.
    pub fn new(transitions: Vec<Transition>) -> Self {
        let (mut counts, mut pair_counts) = (vec![0; PAIRS * STATES], vec![0; PAIRS]);
        for t in &transitions {
            let pair = t.state * ACTIONS + t.action;
            counts[pair * STATES + t.next] += 1;
            pair_counts[pair] += 1;
        }
        Self { transitions, counts, pair_counts }
    }

    /// Whether the data show this pair.
    pub fn visited(&self, pair: usize) -> bool {
        self.pair_counts[pair] > 0
    }

    /// Whether the data show any action in this state.
    pub fn visited_state(&self, state: usize) -> bool {
        self.pair_counts[state * ACTIONS..(state + 1) * ACTIONS].iter().any(|&n| n > 0)
    }
}

/// Where each random table of a seed comes from. Streams are named, so the order of learning does not matter.
const VALUE_START: u64 = 1;
const REWARD_START: u64 = 2;
const LOGIT_START: u64 = 3;
const VALUE_ORDER: u64 = 4;
const MODEL_ORDER: u64 = 5;

/// The N(0, 1) start of a table over pairs.
fn start_of_pairs(root: &Rng, table: u64, member: usize) -> Vec<f64> {
    let mut x = vec![0.0; PAIRS];
    root.fold_in(table).fold_in(member as u64).fill_normal(&mut x);
    x
}

/// The N(0, 1) start of the next-state logits of one pair. Each pair has its own stream, so that a learner that needs
/// only some rows draws only those.
fn start_of_logits(root: &Rng, member: usize, pair: usize) -> [f64; STATES] {
    let mut x = [0.0; STATES];
    root.fold_in(LOGIT_START).fold_in(member as u64).fold_in(pair as u64).fill_normal(&mut x);
    x
}

/// n value tables and n models of one data set, with starts and minibatch orders from `root`.
///
/// `go_on` is asked between members; `None` means it said no.
///
/// # Errors
/// If a setting of the learner is out of range, or it diverged: the model it learned is not finite.
pub fn learn(
    data: &Dataset,
    learner: Learner,
    discount: f64,
    members: usize,
    root: &Rng,
    go_on: &dyn Fn() -> bool,
) -> ive::Result<Option<Learned>> {
    if let Learner::Sgd(sgd) = learner {
        sgd.check()?;
    }
    let mut learned = Learned { values: Vec::new(), models: Vec::new(), discount };
    let limit = limit::Limit::new(data);
    if learner == Learner::Limit {
        learned.values = limit.values(discount, (0..members).map(|i| start_of_pairs(root, VALUE_START, i)));
    }
    for member in 0..members {
        if !go_on() {
            return Ok(None);
        }
        let mut reward = start_of_pairs(root, REWARD_START, member);
        let start = |pair| start_of_logits(root, member, pair);
        let transition = match learner {
            Learner::Limit => limit.model(&mut reward, start),
            Learner::Sgd(sgd) => {
                let mut values = start_of_pairs(root, VALUE_START, member);
                let orders = [VALUE_ORDER, MODEL_ORDER].map(|o| root.fold_in(o).fold_in(member as u64));
                let [mut value_order, mut model_order] = orders;
                sgd.fit_values(data, discount, &mut values, &mut value_order);
                learned.values.push(values);
                let mut logits: Vec<f64> = (0..PAIRS).flat_map(start).collect();
                sgd.fit_model(data, &mut reward, &mut logits, &mut model_order);
                logits.chunks(STATES).flat_map(ive::softmax).collect()
            }
        };
        learned.models.push(TabularModel::dense(STATES, ACTIONS, reward, transition)?);
    }
    Ok(Some(learned))
}
