//! A model, a value function and a policy as three closures: where does the value function make things up?
//!
//! `cargo run --release --example closures`

use ive::{Imagined, ModelError, Rng, ValueEnsemble, unroll};

/// Prints σ for five places on a line and checks that it is high where nothing was learned.
pub fn main() -> Result<(), ive::Error> {
    // The model: walk along a line. Every step pays 1, and γ is 0.9.
    let model = |x: &Vec<f64>, step: &Vec<f64>, _: &mut Rng| -> Result<_, ModelError> {
        let next = x.iter().zip(step).map(|(x, step)| x + step).collect();
        Ok(Imagined { next, reward: vec![1.0; x.len()], discount: vec![0.9; x.len()] })
    };
    // The value: right on the left, 1 / (1 − γ) = 10; nonsense on the right, where nothing was ever learned.
    let value = |x: &Vec<f64>| -> Result<_, ModelError> {
        Ok(x.iter().map(|x| if *x < 0.0 { 10.0 } else { 10.0 + 3.0 * x.sin() }).collect())
    };
    // The policy: away from the middle.
    let policy = |x: &Vec<f64>, _: &mut Rng| -> Result<Vec<f64>, ModelError> {
        Ok(x.iter().map(|x| x.signum()).collect())
    };

    let start = vec![-4.0, -2.0, 1.0, 2.0, 4.0];
    let path = unroll(&model, &value, &policy, start.clone(), 5, &mut Rng::from_seed(0))?;
    let ensemble = ValueEnsemble::implicit(&path);
    let (mu, sigma) = (ensemble.mean(), ensemble.std());
    println!("   x       μ       σ   (over the 6 members k = 0..5)");
    for ((x, mu), sigma) in start.iter().zip(&mu).zip(&sigma) {
        println!("{x:>4} {mu:>7.3} {sigma:>7.3}");
    }
    assert!(sigma[..2].iter().all(|&s| s < 1e-12), "on the left all estimates agree");
    assert!(sigma[2..].iter().all(|&s| s > 1.0), "on the right they do not");
    Ok(())
}
