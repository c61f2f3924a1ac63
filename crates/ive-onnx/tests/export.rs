//! A value prediction network written as graphs predicts what the network's formulas say, computed here in double precision with
//! plain loops.

#![allow(clippy::unwrap_used, reason = "a test that cannot unwrap has failed")]

use ive::{Model as _, Rng, ValueFunction as _};
use ive_onnx::export::{Tensors, value_prediction_network};
use ive_onnx::{Actions, Array, Limits, OnnxModel};

const SIDE: usize = 6;
const CHANNELS: usize = 2;
const FILTERS: usize = 3;
const TORSO: usize = 7;
const UNITS: usize = 5;
const HEAD: usize = 4;
const ACTIONS: usize = 3;
const FEATURES: usize = (SIDE - 2) * (SIDE - 2) * FILTERS;

/// Random parameters, kept for the loops.
struct Network(Vec<(&'static str, Vec<usize>, Vec<f32>)>);

impl Network {
    fn random() -> Self {
        let rng = &mut Rng::from_seed(3);
        let gates = 4 * UNITS;
        let shapes: [(&str, &[usize]); 17] = [
            ("conv", &[3, 3, CHANNELS, FILTERS]),
            ("conv.bias", &[FILTERS]),
            ("torso", &[FEATURES, TORSO]),
            ("torso.bias", &[TORSO]),
            ("start", &[TORSO, UNITS]),
            ("start.bias", &[UNITS]),
            ("lstm.action", &[ACTIONS, gates]),
            ("lstm.recurrent", &[UNITS, gates]),
            ("lstm.bias", &[gates]),
            ("reward.action", &[ACTIONS, HEAD]),
            ("reward.hidden", &[UNITS, HEAD]),
            ("reward.bias", &[HEAD]),
            ("reward.output", &[HEAD]),
            ("reward.output.bias", &[1]),
            ("value.hidden", &[UNITS, HEAD]),
            ("value.bias", &[HEAD]),
            ("value.output", &[HEAD]),
        ];
        let mut all: Vec<_> = shapes
            .iter()
            .map(|(name, shape)| {
                let numbers = (0..shape.iter().product()).map(|_| 0.5 * rng.normal() as f32).collect();
                (*name, shape.to_vec(), numbers)
            })
            .collect();
        all.push(("value.output.bias", vec![1], vec![0.3]));
        Self(all)
    }

    fn tensors(&self) -> Tensors {
        let mut tensors = Tensors::default();
        self.0.iter().for_each(|(name, shape, numbers)| tensors.add(name, shape, numbers).unwrap());
        tensors
    }

    fn at(&self, name: &str, i: usize) -> f64 {
        f64::from(self.0.iter().find(|t| t.0 == name).unwrap().2[i])
    }

    /// `x W + b`.
    fn layer(&self, x: &[f64], weight: &str, bias: &str, n: usize) -> Vec<f64> {
        let sum = |o: usize| x.iter().enumerate().map(|(i, x)| x * self.at(weight, i * n + o)).sum::<f64>();
        (0..n).map(|o| sum(o) + self.at(bias, o)).collect()
    }

    fn encode(&self, board: &[f64]) -> Vec<f64> {
        let out = SIDE - 2;
        let mut features = vec![0.0; FEATURES];
        for y in 0..out {
            for x in 0..out {
                for f in 0..FILTERS {
                    let mut sum = self.at("conv.bias", f);
                    for (dy, dx) in (0..3).flat_map(|dy| (0..3).map(move |dx| (dy, dx))) {
                        for c in 0..CHANNELS {
                            let cell = board[((y + dy) * SIDE + x + dx) * CHANNELS + c];
                            sum += cell * self.at("conv", ((dy * 3 + dx) * CHANNELS + c) * FILTERS + f);
                        }
                    }
                    features[(y * out + x) * FILTERS + f] = sum.max(0.0);
                }
            }
        }
        let torso: Vec<f64> =
            self.layer(&features, "torso", "torso.bias", TORSO).iter().map(|x| x.max(0.0)).collect();
        self.layer(&torso, "start", "start.bias", UNITS).iter().map(|x| x.tanh()).collect()
    }

    fn head(&self, units: Vec<f64>, name: &str) -> f64 {
        let elu = units.iter().map(|x| if *x > 0.0 { *x } else { x.exp_m1() });
        let output = |(i, x): (usize, f64)| x * self.at(&format!("{name}.output"), i);
        elu.enumerate().map(output).sum::<f64>() + self.at(&format!("{name}.output.bias"), 0)
    }

    fn value(&self, h: &[f64]) -> f64 {
        self.head(self.layer(h, "value.hidden", "value.bias", HEAD), "value")
    }

    /// r̂, h' and c'.
    fn step(&self, h: &[f64], c: &[f64], action: usize) -> (f64, Vec<f64>, Vec<f64>) {
        let mut units = self.layer(h, "reward.hidden", "reward.bias", HEAD);
        units.iter_mut().enumerate().for_each(|(o, x)| *x += self.at("reward.action", action * HEAD + o));
        let mut gates = self.layer(h, "lstm.recurrent", "lstm.bias", 4 * UNITS);
        gates.iter_mut().enumerate().for_each(|(o, x)| *x += self.at("lstm.action", action * 4 * UNITS + o));
        let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
        let cell: Vec<f64> = (0..UNITS)
            .map(|j| sigmoid(gates[2 * UNITS + j] + 1.0) * c[j] + sigmoid(gates[j]) * gates[UNITS + j].tanh())
            .collect();
        let hidden = (0..UNITS).map(|j| sigmoid(gates[3 * UNITS + j]) * cell[j].tanh()).collect();
        (self.head(units, "reward"), hidden, cell)
    }
}

#[test]
fn a_written_value_prediction_network_predicts_as_its_formulas() {
    let network = Network::random();
    let files = value_prediction_network(&network.tensors(), 0.99).unwrap();
    let model = OnnxModel::from_files(&files, &Limits::default()).unwrap();
    let rng = &mut Rng::from_seed(4);
    let count = 3;
    let boards: Vec<f32> =
        (0..count * SIDE * SIDE * CHANNELS).map(|_| f32::from(u8::from(rng.uniform() < 0.3))).collect();
    let mut states =
        model.start(&Array::new(vec![count, SIDE, SIDE, CHANNELS], boards.clone()).unwrap()).unwrap();
    let of = |board: &[f32]| board.iter().copied().map(f64::from).collect::<Vec<_>>();
    let mut expected: Vec<(Vec<f64>, Vec<f64>)> = boards
        .chunks(SIDE * SIDE * CHANNELS)
        .map(|board| (network.encode(&of(board)), vec![0.0; UNITS]))
        .collect();
    for step in 0..5 {
        let values = model.values(&states).unwrap();
        let actions: Vec<usize> = (0..count).map(|row| (row + step) % ACTIONS).collect();
        let imagined = model.imagine(&states, &Actions::Discrete(actions.clone()), rng).unwrap();
        for row in 0..count {
            let (h, c) = &expected[row];
            let (reward, hidden, cell) = network.step(h, c, actions[row]);
            assert!((values[row] - network.value(h)).abs() < 1e-5, "value {row} at step {step}");
            assert!((imagined.reward[row] - reward).abs() < 1e-5, "reward {row} at step {step}");
            assert_eq!(imagined.discount[row], 0.99);
            expected[row] = (hidden, cell);
        }
        states = imagined.next;
    }
}

#[test]
fn a_network_with_a_tensor_missing_or_of_another_shape_is_an_error() {
    let network = Network::random();
    for (name, ..) in &network.0 {
        let mut tensors = Tensors::default();
        for (other, shape, numbers) in network.0.iter().filter(|t| t.0 != *name) {
            tensors.add(other, shape, numbers).unwrap();
        }
        let error = value_prediction_network(&tensors, 0.99).unwrap_err().to_string();
        assert!(error.contains(name), "without {name}: {error}");
    }
    let mut tensors = network.tensors();
    tensors.add("start.bias", &[2], &[0.0; 2]).unwrap();
    assert!(value_prediction_network(&tensors, 0.99).is_err());
    assert!(Tensors::default().add("x", &[2], &[0.0; 3]).is_err());
    let mut more = network.tensors();
    more.add("value.prior", &[1], &[0.5]).unwrap();
    let error = value_prediction_network(&more, 0.99).unwrap_err().to_string();
    assert!(error.contains("value.prior"), "what the graphs would leave out: {error}");
}
