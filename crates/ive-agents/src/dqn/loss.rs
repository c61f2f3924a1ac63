//! The loss of a deep Q-network.

use super::network::Network;
use crate::nn::{Block, Executor, Graph, Loss, Over, Parameters};

/// Transitions of an update, with the targets `y = r + γ max_a' Q⁻(s', a')` worked out.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// Boards, `[transitions, words]`.
    pub boards: Vec<u64>,
    /// Actions taken.
    pub actions: Vec<u8>,
    /// What Q of them should be.
    pub targets: Vec<f32>,
}

/// The mean of `Huber(Q(s, a) − y)`.
pub fn loss(net: &Network, g: &mut dyn Graph, p: Block, batch: &Batch) -> Loss {
    let values = net.values(g, p, &batch.boards);
    let (taken, targets) = (g.pick(values, &batch.actions), g.input(&batch.targets, 1));
    g.huber(taken, targets, Over::Mean)
}

/// Writes the gradient of the loss into `gradient` and returns the loss.
pub fn gradient(
    net: &Network,
    x: &[f32],
    batch: &Batch,
    executor: &mut Executor,
    gradient: &mut [f32],
) -> f64 {
    executor.run(&[Parameters::trained(x)], |g| {
        let loss = loss(net, g, Block(0), batch);
        g.backward(loss, &mut [gradient]);
        g.loss(loss)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::{Device, Engine, Precision};
    use ive::Rng;

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

    /// Loss and gradient on the engine, in double precision.
    fn evaluate(net: &Network, x: &[f64], batch: &Batch) -> (f64, Vec<f64>) {
        let device = Device::cpu().with_precision(Precision::Double);
        let mut g = Engine::wide(&device, vec![(x.to_vec(), true)]);
        let loss = loss(net, &mut g, Block(0), batch);
        let gradient = g.backward_wide(loss).remove(0);
        (g.loss(loss), gradient)
    }

    fn widen(x: &[f32]) -> Vec<f64> {
        x.iter().copied().map(f64::from).collect()
    }

    fn length(x: &[f64]) -> f64 {
        x.iter().map(|x| x * x).sum::<f64>().sqrt()
    }

    /// Tolerance and sensitivity as in the same test of the value prediction network.
    #[test]
    fn gradients_of_both_executors_equal_double_precision_for_every_tensor() {
        let mut rng = Rng::from_seed(21);
        for (channels, actions, count) in [(4, 6, 32), (7, 3, 5), (10, 6, 1)] {
            let net = Network::new(channels, actions);
            let x = net.initial(&mut rng);
            let batch = batch(&net, count, &mut rng);
            let (expected_loss, expected) = evaluate(&net, &widen(&x), &batch);
            let (mut ours, mut theirs) = (vec![f32::NAN; x.len()], vec![f32::NAN; x.len()]);
            let losses = [
                gradient(&net, &x, &batch, &mut Executor::default(), &mut ours),
                gradient(&net, &x, &batch, &mut Executor::Engine(Device::cpu()), &mut theirs),
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
        let (_, gradient) = evaluate(&net, &x, &batch);
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
                (evaluate(&net, &above, &batch).0 - evaluate(&net, &below, &batch).0) / (2.0 * h);
            assert!((difference - slope).abs() < 1e-8, "{}: {difference} and {slope}", slot.name);
        }
    }
}
