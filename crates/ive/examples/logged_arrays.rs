//! Predictions that another program wrote down, in any language, and an alarm for states that are out of distribution.
//!
//! `cargo run --release --example logged_arrays`; `ive score`, `ive ood` and `ive guard` do the same with files.

use ive::{Discounts, Error, Guard, Members, Predictions, Rng, auroc};

/// Steps of the imagined paths, and γ.
const STEPS: usize = 5;
const GAMMA: f64 = 0.9;

/// σ of every state of a log that holds rewards `[k, batch]` and values `[k + 1, batch]`. Here the numbers are made up:
/// predictions agree with each other up to `noise`.
fn sigma(states: usize, noise: f64, rng: &mut Rng) -> Result<Vec<f64>, Error> {
    let mut array = |rows: usize, mean: f64, spread: f64| {
        (0..rows * states).map(|_| mean + spread * rng.normal()).collect::<Vec<f64>>()
    };
    // With a reward of 0.5 and γ = 0.9, a value of 5 is consistent: 0.5 + 0.9 · 5 = 5.
    let (rewards, values) = (array(STEPS, 0.5, noise / 10.0), array(STEPS + 1, 5.0, noise));
    let predictions = Predictions::new(&rewards, &values, Discounts::Constant(GAMMA), states)?;
    Ok(predictions.statistics(&Members::up_to(STEPS as u16), 0)?.std)
}

/// Sets a threshold by ordinary states and counts alarms on others.
pub fn main() -> Result<(), Error> {
    let rng = &mut Rng::from_seed(1);
    // Calibration: ordinary states only. One in a hundred may raise a false alarm.
    let guard = Guard::calibrate(&sigma(2000, 0.1, rng)?, 0.01)?;
    let (ordinary, strange) = (sigma(2000, 0.1, rng)?, sigma(500, 0.5, rng)?);
    let alarms =
        |sigma: &[f64]| sigma.iter().filter(|&&s| guard.is_alarm(s)).count() as f64 / sigma.len() as f64;
    println!("threshold for σ             {:.3}", guard.threshold());
    println!("alarms on ordinary states   {:.3}", alarms(&ordinary));
    println!("alarms on strange states    {:.3}", alarms(&strange));
    println!("AUROC                       {:.3}", auroc(&ordinary, &strange)?);
    // 0.01, within five standard errors of two samples of 2000: 5 · √(2 · 0.01 · 0.99 / 2000).
    assert!((alarms(&ordinary) - 0.01).abs() < 0.016);
    assert!(alarms(&strange) > 0.9);
    Ok(())
}
