//! The loss of a deep Q-network on the tensor engine: the counterpart of [`loss`](super::loss), with the same parameters
//! in the same order, and its reference.

use burn::module::{Module, Param};
use burn::tensor::Tensor;
use ive::Rng;

use super::loss::Batch;
use super::network::Network;
use crate::nn::cpu::board::Board;
use crate::nn::cpu::torso::TORSO;
use crate::nn::torso::{Torso, boards, one_hot};
use crate::nn::{Device, Gradients, huber, set_flat_parameters, to_host};

/// The modules, in the order of [`Network::layout`].
#[derive(Module, Debug)]
struct Modules {
    torso: Torso,
    /// `[actions, TORSO]`.
    output: Param<Tensor<2>>,
    output_bias: Param<Tensor<1>>,
}

/// A deep Q-network on a device of the tensor engine.
#[derive(Clone, Debug)]
pub struct Engine {
    device: Device,
    board: Board,
    actions: usize,
    modules: Modules,
}

impl Engine {
    /// The counterpart of a network on a device.
    pub fn new(net: &Network, device: &Device) -> Self {
        let (device, actions) = (device.recording(), net.actions);
        let modules = Modules {
            // Every use brings its own parameters; these only give the shapes.
            torso: Torso::new(net.torso.board.channels(), &device, &mut Rng::from_seed(0)),
            output: Param::from_tensor(device.matrix(&vec![0.0; actions * TORSO], [actions, TORSO])),
            output_bias: Param::from_tensor(device.vector(&vec![0.0; actions])),
        };
        Self { device, board: net.torso.board.clone(), actions, modules }
    }

    /// Writes the gradient of the mean of `Huber(Q(s, a) − y)` into `gradient` and returns that mean, as
    /// [`loss::gradient`](super::loss::gradient).
    ///
    /// # Panics
    /// If the number of parameters is not the network's.
    pub fn gradient(&self, x: &[f32], batch: &Batch, gradient: &mut [f32]) -> f64 {
        let x: Vec<f64> = x.iter().copied().map(f64::from).collect();
        let (loss, values) = self.evaluate(&x, batch);
        gradient.iter_mut().zip(values).for_each(|(g, v)| *g = v as f32);
        loss
    }

    /// The loss and its gradient in the precision of the device.
    fn evaluate(&self, x: &[f64], batch: &Batch) -> (f64, Vec<f64>) {
        let modules = set_flat_parameters(self.modules.clone(), x)
            .expect("the modules have the parameters of the network's layout");
        let torso = modules.torso.forward(boards(&self.board, &batch.boards, &self.device));
        let q = torso.matmul(modules.output.val().transpose()) + modules.output_bias.val().unsqueeze();
        let taken = (q * one_hot(&batch.actions, self.actions, &self.device)).sum_dim(1);
        let targets: Vec<f64> = batch.targets.iter().copied().map(f64::from).collect();
        let loss = huber(taken - self.device.matrix(&targets, [targets.len(), 1])).mean();
        let gradients = Gradients::of(&loss, &modules).flat(&modules);
        (to_host(loss)[0], gradients)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dqn::loss::{self, Workspace};
    use crate::nn::Precision;

    fn batch(net: &Network, count: usize, rng: &mut Rng) -> Batch {
        let board = &net.torso.board;
        let cells: Vec<u8> =
            (0..count * 100 * board.channels()).map(|_| u8::from(rng.uniform() < 0.1)).collect();
        let mut batch = Batch::default();
        board.pack_all(&cells, &mut batch.boards);
        for _ in 0..count {
            batch.actions.push(rng.below(net.actions) as u8);
            batch.targets.push(rng.normal() as f32);
        }
        batch
    }

    fn widen(x: &[f32]) -> Vec<f64> {
        x.iter().copied().map(f64::from).collect()
    }

    fn length(x: &[f64]) -> f64 {
        x.iter().map(|x| x * x).sum::<f64>().sqrt()
    }

    /// Tolerance and sensitivity as in the same test of the value prediction network.
    #[test]
    fn hand_written_gradient_equals_the_engine_for_every_tensor() {
        let mut rng = Rng::from_seed(21);
        for (channels, actions, count) in [(4, 6, 32), (7, 3, 5), (10, 6, 1)] {
            let net = Network::new(channels, actions);
            let x = net.initial(&mut rng);
            let batch = batch(&net, count, &mut rng);
            let double = Engine::new(&net, &Device::cpu().with_precision(Precision::Double));
            let single = Engine::new(&net, &Device::cpu());
            let (expected_loss, expected) = double.evaluate(&widen(&x), &batch);
            let (mut ours, mut theirs) = (vec![f32::NAN; x.len()], vec![f32::NAN; x.len()]);
            let losses = [
                loss::gradient(&net, &x, &batch, &mut Workspace::default(), &mut ours),
                single.gradient(&x, &batch, &mut theirs),
            ];
            for (loss, gradient) in losses.into_iter().zip([ours, theirs]) {
                assert!((loss / expected_loss - 1.0).abs() < 1e-6, "loss {loss} and {expected_loss}");
                for slot in net.layout.slots() {
                    let expected = &expected[slot.range.clone()];
                    let errors: Vec<f64> =
                        slot.of(&gradient).iter().zip(expected).map(|(g, e)| f64::from(*g) - e).collect();
                    let (error, size) = (length(&errors), length(expected));
                    assert!(size > 1e-3 && error < 5e-6 * size, "{}: {error} of {size}", slot.name);
                }
            }
        }
    }

    /// Steps and tolerance as in the same test of the value prediction network.
    #[test]
    fn engine_gradient_equals_finite_differences_in_every_tensor() {
        let mut rng = Rng::from_seed(22);
        let net = Network::new(4, 6);
        let (x, batch) = (widen(&net.initial(&mut rng)), batch(&net, 8, &mut rng));
        let engine = Engine::new(&net, &Device::cpu().with_precision(Precision::Double));
        let (_, gradient) = engine.evaluate(&x, &batch);
        for slot in net.layout.slots() {
            let (h, mut above, mut below) = (1e-6, x.clone(), x.clone());
            let (mut slope, scale) = (0.0, 1.0 / (slot.range.len() as f64).sqrt());
            for j in slot.range.clone() {
                let direction = scale * rng.normal();
                slope += direction * gradient[j];
                above[j] += h * direction;
                below[j] -= h * direction;
            }
            let difference =
                (engine.evaluate(&above, &batch).0 - engine.evaluate(&below, &batch).0) / (2.0 * h);
            assert!((difference - slope).abs() < 1e-8, "{}: {difference} and {slope}", slot.name);
        }
    }
}
