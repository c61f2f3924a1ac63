//! Predictions that another program wrote down, in any language, and an alarm for states that are out of distribution.
//!
//! `cargo run --release --example logged_arrays`

use ive::{Error, Rng, Rollout, ValueEnsemble, auroc, quantile};

/// What a log holds for a batch of states: the value of each, then reward, discount and value of every imagined step.
/// Here the numbers are made up: predictions agree with each other up to `noise`.
fn logged(states: usize, noise: f64, rng: &mut Rng) -> (Vec<f64>, Vec<[Vec<f64>; 3]>) {
    let mut column =
        |mean: f64, spread: f64| (0..states).map(|_| mean + spread * rng.normal()).collect::<Vec<f64>>();
    let start = column(5.0, noise);
    // With a reward of 0.5 and γ = 0.9, a value of 5 is consistent: 0.5 + 0.9 · 5 = 5.
    let steps = (0..5).map(|_| [column(0.5, noise / 10.0), vec![0.9; states], column(5.0, noise)]).collect();
    (start, steps)
}

/// σ of every state of a log.
fn sigma((start, steps): (Vec<f64>, Vec<[Vec<f64>; 3]>)) -> Result<Vec<f64>, Error> {
    let mut path = Rollout::start(start)?;
    for [reward, discount, value] in &steps {
        path.push(reward, discount, value)?;
    }
    Ok(ValueEnsemble::implicit(&path).std())
}

/// Sets a threshold by ordinary states and counts alarms on others.
pub fn main() -> Result<(), Error> {
    let rng = &mut Rng::from_seed(1);
    // Calibration: ordinary states only. One in a hundred may raise a false alarm.
    let threshold = quantile(&sigma(logged(2000, 0.1, rng))?, 0.99)?;
    let (ordinary, strange) = (sigma(logged(2000, 0.1, rng))?, sigma(logged(500, 0.5, rng))?);
    let alarms = |sigma: &[f64]| sigma.iter().filter(|&&s| s > threshold).count() as f64 / sigma.len() as f64;
    println!("threshold for σ             {threshold:.3}");
    println!("alarms on ordinary states   {:.3}", alarms(&ordinary));
    println!("alarms on strange states    {:.3}", alarms(&strange));
    println!("AUROC                       {:.3}", auroc(&ordinary, &strange)?);
    // 0.01, within five standard errors of two samples of 2000: 5 · √(2 · 0.01 · 0.99 / 2000).
    assert!((alarms(&ordinary) - 0.01).abs() < 0.016);
    assert!(alarms(&strange) > 0.9);
    Ok(())
}
