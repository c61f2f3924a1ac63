//! A network in single precision as model and value function. States are one tensor, `[batch, 1]`, and stay one; only
//! rewards, discounts and values cross over, as `f64`.
//!
//! `ndarray` stands for any tensor library. It was chosen because it builds in seconds; with candle, burn or tch only the
//! bodies of the four small functions below would differ.
//!
//! `cargo run --release --example network`

use ive::{Imagined, Model, ModelError, Rng, ValueEnsemble, ValueFunction, unroll};
use ndarray::{Array1, Array2, Axis};

const UNITS: usize = 64;
const DISCOUNT: f32 = 0.9;

/// A layer of fixed random units, and three outputs that are learned on it.
struct Network {
    weight: Array2<f32>,
    bias: Array1<f32>,
    next: Array1<f32>,
    reward: Array1<f32>,
    value: Array1<f32>,
}

impl Network {
    fn new(rng: &mut Rng) -> Self {
        let mut normal = |_| rng.normal() as f32;
        let weight = Array2::from_shape_fn((1, UNITS), |at| 2.0 * normal(at.1));
        let bias = Array1::from_shape_fn(UNITS, &mut normal);
        let mut output = || Array1::from_shape_fn(UNITS, |at| 0.1 * normal(at));
        Self { weight, bias, next: output(), reward: output(), value: output() }
    }

    fn hidden(&self, states: &Array2<f32>) -> Array2<f32> {
        (states.dot(&self.weight) + &self.bias).mapv(f32::tanh)
    }

    /// Gradient descent on squared errors. The value learns from its own prediction one step later.
    fn fit(&mut self, states: &Array2<f32>, next: &Array2<f32>, reward: &Array1<f32>) {
        let (here, there) = (self.hidden(states), self.hidden(next));
        let rate = 0.5 / (UNITS * states.nrows()) as f32;
        let towards = |output: &mut Array1<f32>, target: &Array1<f32>| {
            let error = here.dot(output) - target;
            *output -= &(here.t().dot(&error) * rate);
        };
        for _ in 0..4000 {
            towards(&mut self.next, &next.column(0).to_owned());
            towards(&mut self.reward, reward);
            let target = reward + &(there.dot(&self.value) * DISCOUNT);
            towards(&mut self.value, &target);
        }
    }
}

fn wide(x: Array1<f32>) -> Vec<f64> {
    x.iter().copied().map(f64::from).collect()
}

impl Model<Array2<f32>, ()> for Network {
    fn imagine(
        &self,
        states: &Array2<f32>,
        (): &(),
        _: &mut Rng,
    ) -> Result<Imagined<Array2<f32>>, ModelError> {
        let hidden = self.hidden(states);
        Ok(Imagined {
            next: hidden.dot(&self.next).insert_axis(Axis(1)),
            reward: wide(hidden.dot(&self.reward)),
            discount: vec![f64::from(DISCOUNT); states.nrows()],
        })
    }
}

impl ValueFunction<Array2<f32>> for Network {
    fn values(&self, states: &Array2<f32>) -> Result<Vec<f64>, ModelError> {
        Ok(wide(self.hidden(states).dot(&self.value)))
    }
}

/// Learns on one half of a line and looks at both.
pub fn main() -> Result<(), ive::Error> {
    let rng = &mut Rng::from_seed(0);
    // The world: a drift to −0.5, and a reward that waves. Data come from −1 to 0 only.
    let states = Array2::from_shape_fn((256, 1), |_| -rng.uniform() as f32);
    let next = states.mapv(|x| 0.8 * x - 0.1);
    let reward = states.column(0).mapv(|x| (3.0 * x).cos());
    let mut network = Network::new(rng);
    network.fit(&states, &next, &reward);

    let policy = |_: &Array2<f32>, _: &mut Rng| -> Result<(), ModelError> { Ok(()) };
    let places = Array2::from_shape_fn((9, 1), |(i, _)| -1.0 + 0.375 * i as f32);
    let path = unroll(&network, &network, &policy, places.clone(), 5, rng)?;
    let ensemble = ValueEnsemble::implicit(&path);
    let (mu, sigma) = (ensemble.mean(), ensemble.std());
    println!("    x        μ       σ");
    for ((x, mu), sigma) in places.iter().zip(&mu).zip(&sigma) {
        println!("{x:>5.2} {mu:>8.3} {sigma:>7.3}{}", if *x > 0.0 { "   no data here" } else { "" });
    }
    let (known, unknown) = (ive::mean(&sigma[..3]), ive::mean(&sigma[5..]));
    println!("mean σ: {known:.4} where there were data, {unknown:.4} far from them");
    assert!(unknown > 5.0 * known);
    Ok(())
}
