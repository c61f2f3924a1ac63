//! Representation, value, reward and transition of the toy, and what the library sees of them.

use burn::module::Module;
use burn::tensor::Tensor;
use ive::{Error, Imagined, Model, ModelError, Rng, ValueEnsemble, ValueFunction, unroll};

use super::{ToyConfig, ToyError};
use crate::nn::{Device, Mlp, ZeroStateLstm, flat_parameters, set_flat_parameters, to_host};

/// Stream of the initial weights among the streams of a seed.
const INITIAL_WEIGHTS: u64 = 1;

/// The four networks of the toy. Paper: App. A.2.1, Eq. (8)–(11).
///
/// Parameters in order: representation, value, reward (each `W₁`, `b₁`, `W₂`, `b₂`), transition (`W`, `b`).
#[derive(Module, Debug)]
pub struct ToyNetwork {
    representation: Mlp,
    value: Mlp,
    reward: Mlp,
    transition: ZeroStateLstm,
}

impl ToyNetwork {
    /// Networks with random weights on a device. `rng` is consumed.
    pub fn new(config: &ToyConfig, device: &Device, rng: &mut Rng) -> Self {
        let (latent, hidden) = (config.latent, config.hidden);
        Self {
            representation: Mlp::new(1, hidden, latent, device, rng),
            value: Mlp::new(latent, hidden, 1, device, rng),
            reward: Mlp::new(latent, hidden, 1, device, rng),
            transition: ZeroStateLstm::new(latent, latent, device, rng),
        }
    }

    /// ĥ: `z = tanh(MLP(s))`, `[b, 1]` to `[b, latent]`.
    pub fn represent(&self, states: Tensor<2>) -> Tensor<2> {
        self.representation.forward(states).tanh()
    }

    /// v̂: `v = MLP(z)`, `[b, latent]` to `[b, 1]`.
    pub fn value(&self, latents: Tensor<2>) -> Tensor<2> {
        self.value.forward(latents)
    }

    /// r̂: `r = MLP(z)` of the latent state that a step *arrives* in, `[b, latent]` to `[b, 1]`: the paper's one-step
    /// value is `(r̂ + γ v̂) ∘ p̂ ∘ ĥ`.
    pub fn reward(&self, latents: Tensor<2>) -> Tensor<2> {
        self.reward.forward(latents)
    }

    /// p̂: `z¹ = LSTM(z, 0)`, `[b, latent]` to `[b, latent]`, from the zero state at every step.
    pub fn transition(&self, latents: Tensor<2>) -> Tensor<2> {
        self.transition.forward(latents)
    }
}

/// A batch of latent states, kept on its device.
#[derive(Clone, Debug)]
pub struct Latents(Tensor<2>);

/// The toy as the library sees it: a deterministic model without actions, and a value function, on latent states.
#[derive(Clone, Debug)]
pub struct ToyModel {
    network: ToyNetwork,
    discount: f64,
    horizon: usize,
    device: Device,
}

impl ToyModel {
    /// The untrained toy of a seed.
    ///
    /// # Errors
    /// If a setting is out of range.
    pub fn new(config: &ToyConfig, seed: u64, device: &Device) -> Result<Self, ToyError> {
        config.validate()?;
        let mut rng = Rng::from_seed(seed).fold_in(INITIAL_WEIGHTS);
        Ok(Self::of_network(&ToyNetwork::new(config, &device.recording(), &mut rng), config, device))
    }

    /// The toy with given parameters, in the order of [`ToyNetwork`].
    ///
    /// # Errors
    /// If a setting is out of range, or the number of parameters is wrong.
    pub fn from_parameters(
        config: &ToyConfig,
        parameters: &[f64],
        device: &Device,
    ) -> Result<Self, ToyError> {
        config.validate()?;
        let random = ToyNetwork::new(config, &device.recording(), &mut Rng::from_seed(0));
        Ok(Self::of_network(&set_flat_parameters(random, parameters)?, config, device))
    }

    pub(super) fn of_network(network: &ToyNetwork, config: &ToyConfig, device: &Device) -> Self {
        let device = device.clone();
        Self { network: network.valid(), discount: config.discount, horizon: config.horizon, device }
    }

    /// The networks, ready to be trained, on the recording device.
    pub fn recording_network(&self) -> ToyNetwork {
        self.network.clone().train()
    }

    /// The parameters, in the order of [`ToyNetwork`].
    pub fn parameters(&self) -> Vec<f64> {
        flat_parameters(&self.network)
    }

    /// The device of the parameters.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// ĥ(s) for each state.
    ///
    /// # Errors
    /// If there is no state, or one is not finite.
    pub fn represent(&self, states: &[f64]) -> ive::Result<Latents> {
        if states.is_empty() {
            return Err(Error::Empty { what: "states of the toy" });
        }
        if let Some(index) = states.iter().position(|s| !s.is_finite()) {
            return Err(Error::NotFinite { what: "states of the toy", index, value: states[index] });
        }
        let states = self.device.matrix(states, [states.len(), 1]);
        Ok(Latents(self.network.represent(states)))
    }

    /// IVE(n) at each state, members k = 0..n, by unrolling the model. Paper: App. A.2.1, Eq. (12)–(15), with all k
    /// rewards in the sum as in Eq. (13) and (14).
    ///
    /// # Errors
    /// As [`represent`](Self::represent), or if a prediction is not finite.
    pub fn ensemble(&self, states: &[f64]) -> ive::Result<ValueEnsemble> {
        let no_actions = |_: &Latents, _: &mut Rng| -> Result<(), ModelError> { Ok(()) };
        // The model is deterministic: the generator is not used.
        let mut rng = Rng::from_seed(0);
        let path = unroll(self, self, &no_actions, self.represent(states)?, self.horizon, &mut rng)?;
        Ok(ValueEnsemble::implicit(&path))
    }
}

impl Model<Latents, ()> for ToyModel {
    fn imagine(&self, states: &Latents, (): &(), _: &mut Rng) -> Result<Imagined<Latents>, ModelError> {
        let next = self.network.transition(states.0.clone());
        let reward = to_host(self.network.reward(next.clone()));
        let discount = vec![self.discount; reward.len()];
        Ok(Imagined { next: Latents(next), reward, discount })
    }
}

impl ValueFunction<Latents> for ToyModel {
    fn values(&self, states: &Latents) -> Result<Vec<f64>, ModelError> {
        Ok(to_host(self.network.value(states.0.clone())))
    }
}
