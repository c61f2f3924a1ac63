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

use ive::{Error, Imagined, Model, ModelError, Rng, ValueFunction};

use super::network::Network;
use crate::nn::cpu::board::{FEATURES, SIZE};
use crate::nn::cpu::head::{HEAD, Head};
use crate::nn::cpu::lstm::{self, GATES, Outputs, UNITS};
use crate::nn::cpu::rows::{add_action_rows, add_tanh};
use crate::nn::cpu::torso::TORSO;
use crate::nn::cpu::{Matrix, matmul};

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

    /// The latent states of observations `[b, row, column, channel]` of zeros and ones: h⁰ and c⁰ = 0.
    ///
    /// # Errors
    /// If an observation is cut off, or holds something else.
    pub fn encode(&self, observations: &[u8]) -> Result<Latents, Error> {
        let (board, x) = (&self.net.torso.board, &*self.parameters);
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
        let (mut features, mut torso) = (vec![0.0; count * FEATURES], vec![0.0; count * TORSO]);
        self.net.torso.forward(x, &bits, &mut features, &mut torso);
        let mut hidden = vec![0.0; count * UNITS];
        let weight = Matrix::new(self.net.start.of(x), TORSO, UNITS);
        matmul(&mut hidden, Matrix::new(&torso, count, TORSO), weight);
        add_tanh(&mut hidden, self.net.start_bias.of(x));
        Ok(Latents { cell: vec![0.0; hidden.len()], hidden })
    }

    /// The outputs of a head; `table` holds a row for each action, or nothing.
    fn head(&self, head: &Head, table: &[f32], hidden: &[f32], actions: &[u8]) -> Vec<f64> {
        let (x, count) = (&*self.parameters, actions.len());
        let (mut units, mut out) = (vec![0.0; count * HEAD], vec![0.0; count]);
        let weight = Matrix::new(head.hidden.of(x), UNITS, HEAD);
        matmul(&mut units, Matrix::new(hidden, count, UNITS), weight);
        add_action_rows(&mut units, table, head.bias.of(x), actions);
        head.forward(x, &mut units, &mut out);
        out.into_iter().map(f64::from).collect()
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
    /// `h', c' = LSTM(one-hot a; h, c)` and `r̂(s, a)`. Predictions do not end: the discount is γ.
    fn imagine(&self, s: &Latents, actions: &[usize], _: &mut Rng) -> Result<Imagined<Latents>, ModelError> {
        let actions = self.check(s, actions)?;
        let (net, x, count) = (&self.net, &*self.parameters, s.len());
        let mut gates = vec![0.0; count * GATES];
        let weight = Matrix::new(net.lstm.of(x), UNITS, GATES);
        matmul(&mut gates, Matrix::new(&s.hidden, count, UNITS), weight);
        add_action_rows(&mut gates, net.lstm_action.of(x), net.lstm_bias.of(x), &actions);
        let [mut hidden, mut cell, mut cell_tanh] = std::array::from_fn(|_| vec![0.0; count * UNITS]);
        let out = Outputs { cell: &mut cell, cell_tanh: &mut cell_tanh, hidden: &mut hidden };
        lstm::forward(&mut gates, Some(&s.cell), out);
        Ok(Imagined {
            next: Latents { hidden, cell },
            reward: self.head(&net.reward, net.reward_action.of(x), &s.hidden, &actions),
            discount: vec![self.discount; count],
        })
    }
}

/// The same with a vector, which is what a policy returns.
impl Model<Latents, Vec<usize>> for LatentModel {
    fn imagine(&self, s: &Latents, a: &Vec<usize>, rng: &mut Rng) -> Result<Imagined<Latents>, ModelError> {
        self.imagine(s, a.as_slice(), rng)
    }
}

impl ValueFunction<Latents> for LatentModel {
    /// v̂(s). For states that were just encoded it was never trained.
    fn values(&self, states: &Latents) -> Result<Vec<f64>, ModelError> {
        Ok(self.head(&self.net.value, &[], &states.hidden, &vec![0; states.len()]))
    }
}
