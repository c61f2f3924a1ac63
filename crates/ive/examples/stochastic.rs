//! A stochastic model: the noise of sampling is not disagreement, and must be averaged away before σ is taken.
//!
//! `cargo run --release --example stochastic`

use ive::{Imagined, ModelError, Rng, SampledEnsemble, ValueEnsemble, standard_deviation, unroll};

/// Compares σ of one sampled path, which is wrong, with σ of many, which is right.
pub fn main() -> Result<(), ive::Error> {
    // Each step pays +1 or −1 by the toss of a coin and leads back to the same state, so the true value is 0.
    let model = |s: &Vec<f64>, (): &(), rng: &mut Rng| -> Result<_, ModelError> {
        let reward = s.iter().map(|_| if rng.uniform() < 0.5 { -1.0 } else { 1.0 }).collect();
        Ok(Imagined { next: s.clone(), reward, discount: vec![0.9; s.len()] })
    };
    // A state is the value that was learned for it: 0 is right, 2 is wrong.
    let value = |s: &Vec<f64>| -> Result<_, ModelError> { Ok(s.clone()) };
    let policy = |_: &Vec<f64>, _: &mut Rng| -> Result<(), ModelError> { Ok(()) };
    let rng = &mut Rng::from_seed(3);
    let mut sample =
        || unroll(&model, &value, &policy, vec![0.0, 2.0], 5, rng).map(|path| ValueEnsemble::implicit(&path));

    // The expectation of member k is 0.9ᵏ times the learned value.
    let members: Vec<f64> = (0..=5).map(|k| 2.0 * 0.9_f64.powi(k)).collect();
    let truth = [0.0, standard_deviation(&members, 0)?];
    let one = sample()?.std();
    let few = ValueEnsemble::sampled_std(&(0..100).map(|_| sample()).collect::<Result<Vec<_>, _>>()?)?;
    // One at a time: memory for twenty groups, however many samples there are.
    let mut stream = SampledEnsemble::new(20)?;
    for _ in 0..20_000 {
        stream.push(&sample()?)?;
    }
    let many = stream.std()?;

    println!("learned value                      0 (right)        2 (wrong)");
    println!("σ, exact                           {:.3}            {:.3}", truth[0], truth[1]);
    println!("σ of one path                      {:.3}            {:.3}", one[0], one[1]);
    for (name, (sigma, error)) in
        [("σ of 100 paths ± error    ", &few), ("σ of 20000 paths ± error  ", &many)]
    {
        println!("{name}         {:.3} ± {:.3}    {:.3} ± {:.3}", sigma[0], error[0], sigma[1], error[1]);
    }
    assert!(one[0] > 0.5, "one path reads the coin as disagreement, where there is none");
    assert!((many.0[1] - truth[1]).abs() < 4.0 * many.1[1], "many paths find what there is");
    assert!(many.0[0] < 0.02 && many.0[1] > 10.0 * many.0[0], "and tell it from nothing");
    Ok(())
}
