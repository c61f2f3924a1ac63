//! A value prediction network as the library sees it: an [`ive::Model`] and an [`ive::ValueFunction`] of latent states.
//!
//! ```
//! use ive::{Members, ModelError, Rng, ValueEnsemble, unroll};
//! use ive_agents::vpn::model::{LatentModel, Latents};
//! use ive_agents::vpn::network::Network;
//!
//! let net = Network::new(4, 6);                               // boards of 10 × 10 cells and 4 channels, 6 actions
//! let parameters = net.initial(1.0, 4.0, &mut Rng::from_seed(0)); // or those of a trained agent: `Vpn::model`
//! let model = LatentModel::new(&net, &parameters, 0.99)?;
//! let start = model.encode(&[0; 2 * 400])?;                   // two empty boards
//! let policy = |s: &Latents, rng: &mut Rng| -> Result<_, ModelError> {
//!     Ok((0..s.len()).map(|_| rng.below(6)).collect::<Vec<_>>())
//! };
//! let path = unroll(&model, &model, &policy, start, 5, &mut Rng::from_seed(1))?;
//! // The value of a freshly encoded state, k = 0, is never trained.
//! let ensemble = ValueEnsemble::implicit(&path).select(&Members::new(1..=5)?)?;
//! assert_eq!(ensemble.std().len(), 2);
//! # Ok::<(), ive::Error>(())
//! ```

use ive::{Error, Imagined, Model, ModelError, Rng, ValueEnsemble, ValueFunction};

use super::network::{Latent, Network, UNITS};
use crate::nn::cpu::board::SIZE;
use crate::nn::cpu::tape::Memory;
use crate::nn::{Block, Graph, Parameters, Var};

/// A batch of latent states (h, c).
#[derive(Clone, Debug, PartialEq)]
pub struct Latents {
    /// `[b, UNITS]`.
    hidden: Vec<f32>,
    /// `[b, UNITS]`.
    cell: Vec<f32>,
}

impl Latents {
    /// How many states there are.
    pub fn len(&self) -> usize {
        self.hidden.len() / UNITS
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.hidden.is_empty()
    }
}

/// A network with its parameters: the transition and r̂ as a model, v̂ as a value function.
#[derive(Clone, Debug)]
pub struct LatentModel {
    net: Network,
    parameters: Vec<f32>,
    discount: f64,
}

impl LatentModel {
    /// A model with these parameters, in the order of [`Network::layout`].
    ///
    /// # Errors
    /// If their number is not the network's.
    pub fn new(net: &Network, parameters: &[f32], discount: f64) -> Result<Self, Error> {
        let (expected, got) = (net.layout.len(), parameters.len());
        if expected != got {
            return Err(Error::Shape { what: "parameters of a network", expected, got });
        }
        Ok(Self { net: net.clone(), parameters: parameters.to_vec(), discount })
    }

    /// The latent states of observations `[b, row, column, channel]` of zeros and ones: h⁰ and c⁰.
    ///
    /// # Errors
    /// If an observation is cut off, or holds something else.
    pub fn encode(&self, observations: &[u8]) -> Result<Latents, Error> {
        let board = &self.net.torso.board;
        let size = SIZE * SIZE * board.channels();
        let count = observations.len().div_ceil(size);
        if observations.len() != count * size {
            let (what, got) = ("observations of whole boards", observations.len());
            return Err(Error::Shape { what, expected: count * size, got });
        }
        if let Some(&cell) = observations.iter().find(|&&cell| cell > 1) {
            let (what, value) = ("cell of an observation", f64::from(cell));
            return Err(Error::OutOfRange { what, value, min: 0.0, max: 1.0 });
        }
        let mut bits = Vec::new();
        board.pack_all(observations, &mut bits);
        Ok(self.graph(|g| {
            let state = self.net.encode(g, Block(0), &bits);
            let hidden = numbers(g, state.hidden);
            let cell = state.cell.map_or_else(|| vec![0.0; hidden.len()], |cell| numbers(g, cell));
            Latents { hidden, cell }
        }))
    }

    /// A graph over the parameters.
    fn graph<R>(&self, work: impl FnOnce(&mut dyn Graph) -> R) -> R {
        // Twice: the second is where priors are read.
        work(&mut Memory::default().tape(&[Parameters::frozen(&self.parameters); 2]))
    }

    /// v̂(s) of each value head, `[heads][states]`: an explicit ensemble.
    pub fn value_heads(&self, states: &Latents) -> Vec<Vec<f64>> {
        let heads = self.net.design.value_heads;
        self.graph(|g| {
            let hidden = g.input(&states.hidden, UNITS);
            let values = self.net.values(g, Block(0), hidden);
            let values = numbers(g, values);
            let of = |head: usize| values.iter().skip(head).step_by(heads).copied().map(f64::from).collect();
            (0..heads).map(of).collect()
        })
    }

    /// The explicit ensemble of an action in each state: `r̂(s, a) + γ v̂ᵢ(s')`, a member for each value head i. Its standard
    /// deviation is σ-EVE.
    ///
    /// # Errors
    /// If there is not an action of the network for each state, or a prediction is not finite.
    pub fn explicit(&self, states: &Latents, actions: &[usize]) -> Result<ValueEnsemble, ModelError> {
        let Imagined { next, reward, .. } = self.imagine(states, actions, &mut Rng::from_seed(0))?;
        let backed_up = |values: Vec<f64>| -> Vec<f64> {
            reward.iter().zip(values).map(|(r, v)| r + self.discount * v).collect()
        };
        Ok(ValueEnsemble::from_members(self.value_heads(&next).into_iter().map(backed_up))?)
    }

    /// Actions as bytes, one for each state.
    fn check(&self, states: &Latents, actions: &[usize]) -> Result<Vec<u8>, Error> {
        let (expected, got) = (states.len(), actions.len());
        if expected != got {
            return Err(Error::Shape { what: "actions of a step", expected, got });
        }
        if let Some(&action) = actions.iter().find(|&&action| action >= self.net.actions) {
            let max = (self.net.actions - 1) as f64;
            return Err(Error::OutOfRange { what: "action", value: action as f64, min: 0.0, max });
        }
        Ok(actions.iter().map(|&action| action as u8).collect())
    }
}

impl Model<Latents, [usize]> for LatentModel {
    /// h', c' and r̂(s, a). Predictions do not end: the discount is γ.
    fn imagine(&self, s: &Latents, actions: &[usize], _: &mut Rng) -> Result<Imagined<Latents>, ModelError> {
        let actions = self.check(s, actions)?;
        Ok(self.graph(|g| {
            let hidden = g.input(&s.hidden, UNITS);
            let state = Latent { hidden, cell: Some(g.input(&s.cell, UNITS)) };
            let reward = self.net.reward(g, Block(0), hidden, &actions);
            let next = self.net.transition(g, Block(0), state, &actions);
            let cell = next.cell.map_or_else(Vec::new, |cell| numbers(g, cell));
            Imagined {
                next: Latents { hidden: numbers(g, next.hidden), cell },
                reward: numbers(g, reward).into_iter().map(f64::from).collect(),
                discount: vec![self.discount; s.len()],
            }
        }))
    }
}

/// The same with a vector, which is what a policy returns.
impl Model<Latents, Vec<usize>> for LatentModel {
    fn imagine(&self, s: &Latents, a: &Vec<usize>, rng: &mut Rng) -> Result<Imagined<Latents>, ModelError> {
        self.imagine(s, a.as_slice(), rng)
    }
}

impl ValueFunction<Latents> for LatentModel {
    /// v̂(s), the mean of the value heads. For states that were just encoded it was never trained, unless `train_zero` is set.
    fn values(&self, states: &Latents) -> Result<Vec<f64>, ModelError> {
        Ok(self.graph(|g| {
            let hidden = g.input(&states.hidden, UNITS);
            let values = self.net.value(g, Block(0), hidden);
            numbers(g, values).into_iter().map(f64::from).collect()
        }))
    }
}

fn numbers(g: &dyn Graph, x: Var) -> Vec<f32> {
    let mut out = Vec::new();
    g.read(x, &mut out);
    out
}
