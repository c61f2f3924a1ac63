//! A value prediction network written as graphs predicts what the network's formulas say, computed here in double precision with
//! plain loops.

#![allow(clippy::unwrap_used, reason = "a test that cannot unwrap has failed")]

use ive::{Model as _, Rng, ValueFunction as _};
use ive_onnx::export::{Tensors, value_prediction_network};
use ive_onnx::{Actions, Array, Limits, OnnxModel};

const SIDE: usize = 6;
const CHANNELS: usize = 2;
const FILTERS: usize = 3;
const UNITS: usize = 5;
const HEAD: usize = 4;
const ACTIONS: usize = 3;
const FEATURES: usize = (SIDE - 2) * (SIDE - 2) * FILTERS;

/// Random parameters, kept for the loops.
struct Network {
    tensors: Vec<(&'static str, Vec<usize>, Vec<f32>)>,
    /// `network = "relu"`.
    relu: bool,
    /// Outputs of the torso: h⁰ itself, or what the layer before h⁰ looks at.
    torso: usize,
    value_heads: usize,
}

impl Network {
    fn random(relu: bool, value_heads: usize) -> Self {
        let rng = &mut Rng::from_seed(3);
        let (gates, torso) = (4 * UNITS, if relu { UNITS } else { UNITS + 2 });
        let mut shapes: Vec<(&str, Vec<usize>)> = vec![
            ("conv", vec![3, 3, CHANNELS, FILTERS]),
            ("conv.bias", vec![FILTERS]),
            ("torso", vec![FEATURES, torso]),
            ("torso.bias", vec![torso]),
            ("lstm.action", vec![ACTIONS, gates]),
            ("lstm.recurrent", vec![UNITS, gates]),
            ("lstm.bias", vec![gates]),
            ("value.output.bias", vec![value_heads]),
        ];
        shapes.extend(if relu {
            vec![
                ("reward.output", vec![ACTIONS, UNITS]),
                ("reward.output.bias", vec![ACTIONS]),
                ("value.output", vec![value_heads, UNITS]),
            ]
        } else {
            vec![
                ("start", vec![torso, UNITS]),
                ("start.bias", vec![UNITS]),
                ("reward.action", vec![ACTIONS, HEAD]),
                ("reward.hidden", vec![UNITS, HEAD]),
                ("reward.bias", vec![HEAD]),
                ("reward.output", vec![1, HEAD]),
                ("reward.output.bias", vec![1]),
                ("value.hidden", vec![UNITS, HEAD]),
                ("value.bias", vec![HEAD]),
                ("value.output", vec![value_heads, HEAD]),
            ]
        });
        let tensors = shapes.into_iter().map(|(name, shape)| {
            let numbers = (0..shape.iter().product()).map(|_| 0.5 * rng.normal() as f32).collect();
            (name, shape, numbers)
        });
        Self { tensors: tensors.collect(), relu, torso, value_heads }
    }

    fn tensors(&self) -> Tensors {
        let mut tensors = Tensors::default();
        self.tensors.iter().for_each(|(name, shape, numbers)| tensors.add(name, shape, numbers).unwrap());
        tensors
    }

    fn at(&self, name: &str, i: usize) -> f64 {
        f64::from(self.tensors.iter().find(|t| t.0 == name).unwrap().2[i])
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
        let torso = self.layer(&features, "torso", "torso.bias", self.torso);
        let torso: Vec<f64> = torso.iter().map(|x| x.max(0.0)).collect();
        if self.relu {
            return torso;
        }
        self.layer(&torso, "start", "start.bias", UNITS).iter().map(|x| x.tanh()).collect()
    }

    /// Row `row` of the outputs of a head, `w · x + b`.
    fn output(&self, name: &str, row: usize, x: &[f64]) -> f64 {
        let weight = |i: usize| self.at(&format!("{name}.output"), row * x.len() + i);
        x.iter().enumerate().map(|(i, x)| x * weight(i)).sum::<f64>()
            + self.at(&format!("{name}.output.bias"), row)
    }

    /// The mean of all value heads.
    fn value(&self, h: &[f64]) -> f64 {
        let hidden;
        let x = if self.relu {
            h
        } else {
            hidden = elu(self.layer(h, "value.hidden", "value.bias", HEAD));
            &hidden
        };
        (0..self.value_heads).map(|row| self.output("value", row, x)).sum::<f64>() / self.value_heads as f64
    }

    fn reward(&self, h: &[f64], action: usize) -> f64 {
        if self.relu {
            return self.output("reward", action, h);
        }
        let mut units = self.layer(h, "reward.hidden", "reward.bias", HEAD);
        units.iter_mut().enumerate().for_each(|(o, x)| *x += self.at("reward.action", action * HEAD + o));
        self.output("reward", 0, &elu(units))
    }

    /// h' and c'.
    fn step(&self, h: &[f64], c: &[f64], action: usize) -> (Vec<f64>, Vec<f64>) {
        let mut gates = self.layer(h, "lstm.recurrent", "lstm.bias", 4 * UNITS);
        gates.iter_mut().enumerate().for_each(|(o, x)| *x += self.at("lstm.action", action * 4 * UNITS + o));
        let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
        let cell: Vec<f64> = (0..UNITS)
            .map(|j| sigmoid(gates[2 * UNITS + j] + 1.0) * c[j] + sigmoid(gates[j]) * gates[UNITS + j].tanh())
            .collect();
        let squash = |x: f64| if self.relu { x.max(0.0) } else { x.tanh() };
        let hidden = (0..UNITS).map(|j| sigmoid(gates[3 * UNITS + j]) * squash(cell[j])).collect();
        (hidden, cell)
    }
}

fn elu(units: Vec<f64>) -> Vec<f64> {
    units.iter().map(|x| if *x > 0.0 { *x } else { x.exp_m1() }).collect()
}

#[test]
fn a_written_value_prediction_network_predicts_as_its_formulas() {
    for (relu, value_heads) in [(false, 1), (true, 1), (false, 3), (true, 3)] {
        let network = Network::random(relu, value_heads);
        let files = value_prediction_network(&network.tensors(), 0.99).unwrap();
        let model = OnnxModel::from_files(&files, &Limits::default()).unwrap();
        let rng = &mut Rng::from_seed(4);
        let count = 3;
        let boards: Vec<f32> =
            (0..count * SIDE * SIDE * CHANNELS).map(|_| f32::from(u8::from(rng.uniform() < 0.3))).collect();
        let mut states =
            model.start(&Array::new(vec![count, SIDE, SIDE, CHANNELS], boards.clone()).unwrap()).unwrap();
        let of = |board: &[f32]| board.iter().copied().map(f64::from).collect::<Vec<_>>();
        let start = |board: &[f32]| {
            let h = network.encode(&of(board));
            let c = if relu { h.clone() } else { vec![0.0; UNITS] };
            (h, c)
        };
        let mut expected: Vec<(Vec<f64>, Vec<f64>)> =
            boards.chunks(SIDE * SIDE * CHANNELS).map(start).collect();
        for step in 0..5 {
            let values = model.values(&states).unwrap();
            let actions: Vec<usize> = (0..count).map(|row| (row + step) % ACTIONS).collect();
            let imagined = model.imagine(&states, &Actions::Discrete(actions.clone()), rng).unwrap();
            for row in 0..count {
                let (h, c) = &expected[row];
                let place = format!("relu {relu}, {value_heads} heads, row {row} at step {step}");
                assert!((values[row] - network.value(h)).abs() < 1e-5, "value: {place}");
                assert!(
                    (imagined.reward[row] - network.reward(h, actions[row])).abs() < 1e-5,
                    "reward: {place}"
                );
                assert_eq!(imagined.discount[row], 0.99);
                expected[row] = network.step(h, c, actions[row]);
            }
            states = imagined.next;
        }
    }
}

#[test]
fn a_network_with_a_tensor_missing_or_of_another_shape_is_an_error() {
    for relu in [false, true] {
        let network = Network::random(relu, 1);
        for (name, ..) in &network.tensors {
            let mut tensors = Tensors::default();
            for (other, shape, numbers) in network.tensors.iter().filter(|t| t.0 != *name) {
                tensors.add(other, shape, numbers).unwrap();
            }
            let error = value_prediction_network(&tensors, 0.99).unwrap_err().to_string();
            assert!(error.contains(name), "without {name}: {error}");
        }
        for name in ["lstm.bias", "torso.bias", "value.output", "reward.output.bias"] {
            let mut tensors = network.tensors();
            tensors.add(name, &[2], &[0.0; 2]).unwrap();
            assert!(value_prediction_network(&tensors, 0.99).is_err(), "{name}");
        }
    }
    let network = Network::random(false, 1);
    let mut tensors = network.tensors();
    tensors.add("start.bias", &[2], &[0.0; 2]).unwrap();
    assert!(value_prediction_network(&tensors, 0.99).is_err());
    assert!(Tensors::default().add("x", &[2], &[0.0; 3]).is_err());
    let mut more = network.tensors();
    more.add("value.prior", &[1], &[0.5]).unwrap();
    let error = value_prediction_network(&more, 0.99).unwrap_err().to_string();
    assert!(error.contains("value.prior"), "what the graphs would leave out: {error}");
}
