//! The loss of a value prediction network on the tensor engine.
//!
//! The same network and loss as [`network`](super::network) and [`loss`](super::loss), with the same parameters in the
//! same order, but with gradients from the engine. It is the reference for the hand-written ones, and it runs on every
//! device that the engine has. On a processor the hand-written ones are many times faster.

use burn::module::Module;
use burn::tensor::Tensor;
use ive::Rng;

use super::batch::Batch;
use super::loss::Losses;
use super::network::Network;
use crate::nn::cpu::board::Board;
use crate::nn::cpu::head::HEAD;
use crate::nn::cpu::lstm::UNITS;
use crate::nn::cpu::torso::TORSO;
use crate::nn::torso::{Torso, boards, one_hot};
use crate::nn::{Device, Gradients, Linear, LstmCell, LstmState, Mlp, huber, set_flat_parameters, to_host};

/// The modules, in the order of [`Network::layout`].
#[derive(Module, Debug)]
struct Modules {
    torso: Torso,
    start: Linear,
    transition: LstmCell,
    /// Its first rows are those of the action: an input is [one-hot a, h].
    reward: Mlp,
    value: Mlp,
}

/// A value prediction network on a device of the tensor engine.
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
        let device = device.recording();
        // Every use brings its own parameters; these only give the shapes.
        let rng = &mut Rng::from_seed(0);
        let modules = Modules {
            torso: Torso::new(net.torso.board.channels(), &device, rng),
            start: Linear::new(TORSO, UNITS, &device, rng),
            transition: LstmCell::new(net.actions, UNITS, &device, rng),
            reward: Mlp::new(net.actions + UNITS, HEAD, 1, &device, rng),
            value: Mlp::new(UNITS, HEAD, 1, &device, rng),
        };
        Self { device, board: net.torso.board.clone(), actions: net.actions, modules }
    }

    /// Writes the gradient of the loss into `gradient` and returns the loss, as [`loss::gradient`](super::loss::gradient).
    ///
    /// # Panics
    /// If the number of parameters is not the network's.
    pub fn gradient(&self, x: &[f32], batch: &Batch, gradient: &mut [f32]) -> Losses {
        let x: Vec<f64> = x.iter().copied().map(f64::from).collect();
        let (losses, values) = self.evaluate(&x, batch);
        gradient.iter_mut().zip(values).for_each(|(g, v)| *g = v as f32);
        losses
    }

    /// The losses and their gradient in the precision of the device.
    fn evaluate(&self, x: &[f64], batch: &Batch) -> (Losses, Vec<f64>) {
        let modules = set_flat_parameters(self.modules.clone(), x)
            .expect("the modules have the parameters of the network's layout");
        let (reward, value) = self.losses(&modules, batch);
        let gradients = Gradients::of(&(reward.clone() + value.clone()), &modules).flat(&modules);
        (Losses { reward: to_host(reward)[0], value: to_host(value)[0] }, gradients)
    }

    /// `Σ Huber(r̂ − r)` and `Σ Huber(v̂ − R)` over all predictions.
    fn losses(&self, modules: &Modules, batch: &Batch) -> (Tensor<1>, Tensor<1>) {
        let zero = self.device.vector(&[0.0]);
        let (mut reward_loss, mut value_loss) = (zero.clone(), zero);
        let mut state = modules.encode(boards(&self.board, &batch.boards, &self.device));
        let mut at = 0;
        for &m in &batch.reach {
            let column = |all: &[f32]| {
                let values: Vec<f64> = all[at..at + m].iter().copied().map(f64::from).collect();
                self.device.matrix(&values, [m, 1])
            };
            let action = one_hot(&batch.actions[at..at + m], self.actions, &self.device);
            // Starts with the most depths come first: those that go on are the first rows.
            let before = LstmState { hidden: state.hidden.narrow(0, 0, m), cell: state.cell.narrow(0, 0, m) };
            let reward = modules.outcome(before.hidden.clone(), action.clone());
            reward_loss = reward_loss + huber(reward - column(&batch.rewards)).sum();
            state = modules.transition.forward(action, before);
            let value = modules.value.forward(state.hidden.clone());
            let weighted = huber(value - column(&batch.values)) * column(&batch.value_weights);
            value_loss = value_loss + weighted.sum();
            at += m;
        }
        (reward_loss, value_loss)
    }
}

impl Modules {
    /// `h⁰ = tanh(S relu(T relu(conv x)))`, `c⁰ = 0`.
    fn encode(&self, boards: Tensor<4>) -> LstmState {
        let hidden = self.start.forward(self.torso.forward(boards)).tanh();
        LstmState { cell: hidden.zeros_like(), hidden }
    }

    /// `r̂(s, a) = MLP([one-hot a, h])`.
    fn outcome(&self, hidden: Tensor<2>, action: Tensor<2>) -> Tensor<2> {
        self.reward.forward(Tensor::cat(vec![action, hidden], 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::Precision;
    use crate::nn::cpu::Slot;
    use crate::vpn::batch::Lesson;
    use crate::vpn::config::Ends;
    use crate::vpn::loss::{self, Workspace};
    use crate::vpn::planner::Planner;
    use crate::windows::Windows;

    /// Random windows with ends of episodes, the last of which teaches only rewards.
    fn batch(net: &Network, windows: usize, ends: Ends, rng: &mut Rng) -> Batch {
        let (board, length) = (&net.torso.board, 6);
        let mut all = Windows::zeroed(board.words(), length, windows);
        let mut bits = Vec::new();
        for i in 0..windows {
            for t in 0..=length {
                let cells: Vec<u8> =
                    (0..100 * board.channels()).map(|_| u8::from(rng.uniform() < 0.1)).collect();
                board.pack_all(&cells, &mut bits);
                all.set_board(i, t, &bits);
                if t < length {
                    let (action, reward) = (rng.below(net.actions) as u8, 2.0 * rng.normal() as f32);
                    all.set_step(i, t, action, reward, rng.uniform() < 0.2);
                }
            }
        }
        let bootstrap = |i| if i + 1 < windows || windows == 1 { Some(3.0 - i as f32) } else { None };
        let lessons: Vec<Lesson<'_>> =
            (0..windows).map(|i| Lesson { window: all.get(i), bootstrap: bootstrap(i) }).collect();
        let mut batch = Batch::default();
        batch.fill(lessons, 4, 0.9, ends);
        batch
    }

    /// Initial parameters plus noise: biases that are not zero, and outputs whose errors lie on both sides of the
    /// threshold of Huber's loss.
    fn parameters(net: &Network, rng: &mut Rng) -> Vec<f32> {
        let mut x = net.initial(1.0, 2.0, rng);
        for slot in net.layout.slots() {
            let noise = if slot.name.contains("bias") || slot.name.contains("output") { 0.2 } else { 0.0 };
            slot.of_mut(&mut x).iter_mut().for_each(|w| *w += (noise * rng.normal()) as f32);
        }
        x
    }

    /// The Euclidean length of a tensor's part.
    fn length(slot: &Slot, all: &[f64]) -> f64 {
        all[slot.range.clone()].iter().map(|x| x * x).sum::<f64>().sqrt()
    }

    fn double(net: &Network) -> Engine {
        Engine::new(net, &Device::cpu().with_precision(Precision::Double))
    }

    fn widen(x: &[f32]) -> Vec<f64> {
        x.iter().copied().map(f64::from).collect()
    }

    #[test]
    fn modules_have_the_shapes_of_the_layout_in_its_order() {
        for (channels, actions) in [(4, 6), (10, 3)] {
            let net = Network::new(channels, actions);
            assert_eq!(crate::nn::count_parameters(&double(&net).modules), net.layout.len());
        }
    }

    /// Every tensor's gradient differs from the engine's, in double precision, by less than 5e-6 of its length: a unit
    /// in the last place is 6e-8, and sums over some hundred terms of both signs lose an order of magnitude or two. A
    /// wrong sign in one tensor is a difference of twice its length, a hundred tolerances at the least.
    #[test]
    fn hand_written_gradient_equals_the_engine_for_every_tensor() {
        let mut rng = Rng::from_seed(11);
        for (channels, actions, windows) in [(4, 6, 1), (7, 3, 2), (10, 6, 4)] {
            for ends in [Ends::Mask, Ends::Absorb] {
                for plain in [false, true] {
                    let net = Network::new(channels, actions);
                    let x = if plain { net.initial(1.0, 1.0, &mut rng) } else { parameters(&net, &mut rng) };
                    let batch = batch(&net, windows, ends, &mut rng);
                    let (losses, expected) = double(&net).evaluate(&widen(&x), &batch);
                    let (mut ours, mut work) = (vec![f32::NAN; x.len()], Workspace::default());
                    let our_losses = loss::gradient(&net, &x, &batch, &mut work, &mut ours);
                    for (ours, theirs) in
                        [(our_losses.reward, losses.reward), (our_losses.value, losses.value)]
                    {
                        assert!((ours / theirs - 1.0).abs() < 1e-6, "loss {ours} and {theirs}");
                    }
                    let difference: Vec<f64> =
                        widen(&ours).iter().zip(&expected).map(|(o, e)| o - e).collect();
                    for slot in net.layout.slots() {
                        let (error, size) = (length(slot, &difference), length(slot, &expected));
                        // A single number is a sum over the predictions, of terms up to one that may cancel.
                        let alone = slot.range.len() == 1;
                        let tolerance = if alone { 2e-7 * batch.predictions() as f64 } else { 5e-6 * size };
                        let name = slot.name;
                        assert!(size > 100.0 * tolerance, "gradient of {name}: {size} is too small to tell");
                        assert!(error < tolerance, "gradient of {name}: off by {error} of {size}");
                    }
                }
            }
        }
    }

    /// The slope of the loss along a random direction in each tensor, by central differences with step h = 1e-6: they
    /// err by h² and by rounding, 1e-16 · loss / h = 1e-8 for losses of a hundred.
    #[test]
    fn engine_gradient_equals_finite_differences_in_every_tensor() {
        let mut rng = Rng::from_seed(12);
        let net = Network::new(4, 6);
        let x = widen(&parameters(&net, &mut rng));
        let batch = batch(&net, 3, Ends::Absorb, &mut rng);
        let engine = double(&net);
        let (_, gradient) = engine.evaluate(&x, &batch);
        let loss = |x: &[f64]| {
            let (losses, _) = engine.evaluate(x, &batch);
            losses.reward + losses.value
        };
        for slot in net.layout.slots() {
            for _ in 0..3 {
                let (h, mut above, mut below) = (1e-6, x.clone(), x.clone());
                let (mut slope, scale) = (0.0, 1.0 / (slot.range.len() as f64).sqrt());
                for j in slot.range.clone() {
                    let direction = scale * rng.normal();
                    slope += direction * gradient[j];
                    above[j] += h * direction;
                    below[j] -= h * direction;
                }
                let difference = (loss(&above) - loss(&below)) / (2.0 * h);
                let error = (difference - slope).abs();
                assert!(error < 1e-6, "{}: slope {difference}, gradient {slope}", slot.name);
            }
        }
    }

    /// Rewards and values along the best paths of a plan, through the modules of the engine.
    #[test]
    fn members_of_a_plan_equal_the_modules_along_its_path() {
        let mut rng = Rng::from_seed(14);
        let (net, discount, roots) = (Network::new(6, 6), 0.9, 4);
        let x = parameters(&net, &mut rng);
        let seen: Vec<u8> = (0..roots * 600).map(|_| u8::from(rng.uniform() < 0.1)).collect();
        let (mut bits, mut choices) = (Vec::new(), Vec::new());
        net.torso.board.pack_all(&seen, &mut bits);
        let mut planner = Planner::new(&net, discount, &[1.0; 4], &[4, 3, 2, 1]);
        planner.load(&x);
        planner.plan(&bits, &mut choices);
        let engine = double(&net);
        let modules = set_flat_parameters(engine.modules.clone(), &widen(&x)).unwrap().valid();
        let device = Device::cpu().with_precision(Precision::Double);
        let (mut path, mut members) = (Vec::new(), Vec::new());
        for (root, bits) in bits.chunks_exact(net.torso.board.words()).enumerate() {
            planner.path(root, &mut path);
            planner.members(root, &mut members);
            assert_eq!((path.len(), path[0]), (4, choices[root].action));
            let mut state = modules.encode(boards(&net.torso.board, bits, &device));
            let (mut rewards, mut factor) = (0.0, 1.0);
            for (&action, member) in path.iter().zip(&members) {
                let action = one_hot(&[action as u8], net.actions, &device);
                rewards += factor * to_host(modules.outcome(state.hidden.clone(), action.clone()))[0];
                factor *= discount;
                state = modules.transition.forward(action, state);
                let expected = rewards + factor * to_host(modules.value.forward(state.hidden.clone()))[0];
                assert!((f64::from(*member) - expected).abs() < 1e-5, "{member} and {expected}");
            }
        }
    }

    #[test]
    fn single_precision_engine_agrees_with_the_hand_written_gradient() {
        let mut rng = Rng::from_seed(13);
        let net = Network::new(4, 6);
        let (x, batch) = (parameters(&net, &mut rng), batch(&net, 2, Ends::Mask, &mut rng));
        let (mut theirs, mut ours) = (vec![0.0; x.len()], vec![0.0; x.len()]);
        Engine::new(&net, &Device::cpu()).gradient(&x, &batch, &mut theirs);
        loss::gradient(&net, &x, &batch, &mut Workspace::default(), &mut ours);
        let difference: Vec<f64> = widen(&ours).iter().zip(&theirs).map(|(o, t)| o - f64::from(*t)).collect();
        for slot in net.layout.slots() {
            assert!(length(slot, &difference) < 2e-5 * length(slot, &widen(&theirs)), "{}", slot.name);
        }
    }
}
