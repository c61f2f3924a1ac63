//! How new a state looks, whatever an agent thinks of it: random network distillation.
//!
//! A network f with random weights is predicted by another one, f̂, that is trained on states which were met. Where there were
//! none like s, the prediction is poor: `novelty(s) = ‖f̂(s) − f(s)‖² / outputs`. Burda et al. (2019), *Exploration by Random Network
//! Distillation*. It needs neither rewards nor a value, so it is what σ-IVE has to be measured against as a detector of new
//! observations; it says nothing about how wrong a value is.

use ive::Rng;

use crate::AgentError;
use crate::learner::{Learner, Optimiser};
use crate::nn::cpu::descent::Adam;
use crate::nn::layout::he;
use crate::nn::{Activation, Block, Dense, Executor, Graph, Layout, Over, Parameters, Var};

/// Units of hidden layers, and outputs.
const UNITS: usize = 128;
const OUTPUTS: usize = 64;
/// Adam.
const RATE: f64 = 1e-3;
const EPSILON: f64 = 1e-8;
/// Passes over the states, and how many of them make an update.
const EPOCHS: usize = 20;
const BATCH: usize = 64;
/// Streams.
const TARGET: u64 = 1;
const PREDICTOR: u64 = 2;
const ORDER: u64 = 3;

/// Dense layers with ReLUs between them.
#[derive(Clone, Debug)]
struct Layers(Vec<Dense>);

impl Layers {
    /// Layers of these sizes, and their initial parameters (He).
    fn new(names: &[[&'static str; 2]], sizes: &[usize], rng: &mut Rng) -> (Self, Layout, Vec<f32>) {
        let mut layout = Layout::default();
        let last = names.len() - 1;
        let layer = |(i, name): (usize, &[&'static str; 2])| {
            let activation = if i == last { Activation::Linear } else { Activation::Relu };
            Dense::new(&mut layout, *name, [sizes[i], sizes[i + 1]], activation)
        };
        let layers: Vec<Dense> = names.iter().enumerate().map(layer).collect();
        let mut all = vec![0.0; layout.len()];
        layers.iter().for_each(|layer| he(layer.weight.of_mut(&mut all), layer.inputs(), rng));
        (Self(layers), layout, all)
    }

    fn forward(&self, g: &mut dyn Graph, p: Block, x: Var) -> Var {
        self.0.iter().fold(x, |x, layer| g.dense(p, layer, x))
    }
}

/// A random network and one that has learnt to predict it on some states.
#[derive(Clone, Debug)]
pub struct Distillation {
    entries: usize,
    target: Layers,
    fixed: Vec<f32>,
    predictor: Layers,
    learnt: Vec<f32>,
}

impl Distillation {
    /// Learns states of so many entries, one after the other. `rng` is not advanced.
    ///
    /// # Errors
    /// If training diverges.
    pub fn learn(states: &[f32], entries: usize, rng: &Rng) -> Result<Self, AgentError> {
        let (target, _, fixed) = Layers::new(
            &[["hidden", "hidden.bias"], ["output", "output.bias"]],
            &[entries, UNITS, OUTPUTS],
            &mut rng.fold_in(TARGET),
        );
        let (predictor, layout, initial) = Layers::new(
            &[["first", "first.bias"], ["second", "second.bias"], ["output", "output.bias"]],
            &[entries, UNITS, UNITS, OUTPUTS],
            &mut rng.fold_in(PREDICTOR),
        );
        let adam = Optimiser::Adam(Adam::new(layout.len(), EPSILON));
        let mut learner = Learner::new(layout, initial, adam, f64::INFINITY);
        let (mut executor, mut ordering) = (Executor::default(), rng.fold_in(ORDER));
        let mut order: Vec<usize> = (0..states.len() / entries).collect();
        for epoch in 0..EPOCHS {
            ordering.shuffle(&mut order);
            for some in order.chunks(BATCH) {
                let x: Vec<f32> =
                    some.iter().flat_map(|i| states[i * entries..][..entries].iter().copied()).collect();
                let (parameters, gradient) = learner.gradient();
                let blocks = [Parameters::trained(parameters), Parameters::frozen(&fixed)];
                let loss = executor.run(&blocks, |g| {
                    let x = g.input(&x, entries);
                    let (said, wanted) = (predictor.forward(g, Block(0), x), target.forward(g, Block(1), x));
                    let loss = g.gaussian(said, wanted, Over::Mean);
                    g.backward(loss, &mut [gradient]);
                    g.loss(loss)
                });
                learner.step(&[("loss_novelty", loss)], 1.0, RATE, epoch as u64)?;
            }
        }
        let learnt = learner.parameters().to_vec();
        Ok(Self { entries, target, fixed, predictor, learnt })
    }

    /// The error of the prediction of each of some states, one after the other.
    pub fn novelty(&self, states: &[f32]) -> Vec<f64> {
        let blocks = [Parameters::frozen(&self.learnt), Parameters::frozen(&self.fixed)];
        let (mut said, mut wanted) = (Vec::new(), Vec::new());
        Executor::default().run(&blocks, |g| {
            let x = g.input(states, self.entries);
            let (a, b) = (self.predictor.forward(g, Block(0), x), self.target.forward(g, Block(1), x));
            g.read(a, &mut said);
            g.read(b, &mut wanted);
        });
        let error = |(a, b): (&[f32], &[f32])| {
            let squares = a.iter().zip(b).map(|(a, b)| f64::from(a - b).powi(2));
            squares.sum::<f64>() / OUTPUTS as f64
        };
        said.chunks_exact(OUTPUTS).zip(wanted.chunks_exact(OUTPUTS)).map(error).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// States with two of twenty entries set among the first ten; new ones have theirs among the last ten.
    fn states(from: usize, count: usize, rng: &mut Rng) -> Vec<f32> {
        let mut all = vec![0.0; 20 * count];
        for state in all.chunks_mut(20) {
            (0..2).for_each(|_| state[from + rng.below(10)] = 1.0);
        }
        all
    }

    #[test]
    fn what_was_learnt_looks_old_and_what_was_not_looks_new() {
        let rng = &mut Rng::from_seed(1);
        let net = Distillation::learn(&states(0, 512, rng), 20, &Rng::from_seed(2)).unwrap();
        let (old, new) = (net.novelty(&states(0, 100, rng)), net.novelty(&states(10, 100, rng)));
        assert_eq!((old.len(), new.len()), (100, 100));
        // Entries that were never set have their initial weights: every new state is predicted worse than every old one.
        assert_eq!(ive::auroc(&old, &new).unwrap(), 1.0);
        let again =
            Distillation::learn(&states(0, 512, &mut Rng::from_seed(1)), 20, &Rng::from_seed(2)).unwrap();
        assert_eq!(
            again.novelty(&states(0, 3, &mut Rng::from_seed(3))),
            net.novelty(&states(0, 3, &mut Rng::from_seed(3)))
        );
    }
}
