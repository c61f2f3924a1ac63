//! The optimisers of the hand-written networks against sequences that `optimisers.py` computed in double precision.

#![expect(clippy::unwrap_used, reason = "a test whose preparation fails must fail")]

use ive_agents::nn::cpu::descent::{Adam, CentredRmsProp, norm};
use serde_json::Value;

fn reference() -> Value {
    serde_json::from_str(include_str!("golden/optimisers.json")).unwrap()
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
}

/// The gradient of the script's first lines.
fn gradient(t: u64, sizes: &[f64]) -> Vec<f32> {
    let entry = |(j, size): (usize, &f64)| {
        let (t, j) = (t as f64, j as f64);
        (size * ((0.7 * t + j).sin() + 0.3 * (0.05 * t * j).cos())) as f32
    };
    sizes.iter().enumerate().map(entry).collect()
}

/// Runs `step` and compares where the reference has numbers. Each step rounds x (of order one) and its change (1e-2) once
/// or twice, 1e-7 in all; two hundred of them add up to 1e-5 if they all went one way.
fn compare(name: &str, mut step: impl FnMut(u64, &mut [f32], &[f32])) {
    let reference = reference();
    let sizes = numbers(&reference["sizes"]);
    let mut x: Vec<f32> = (0..sizes.len()).map(|j| (j as f64).cos() as f32).collect();
    for t in 1..=reference["steps"].as_u64().unwrap() {
        let g = gradient(t, &sizes);
        step(t, &mut x, &g);
        let Some(expected) = reference[name].get(t.to_string()) else { continue };
        let tolerance = 2e-7 + 5e-8 * t as f64;
        for (j, (ours, theirs)) in x.iter().zip(numbers(expected)).enumerate() {
            let error = (f64::from(*ours) - theirs).abs();
            assert!(error < tolerance, "{name}, step {t}, entry {j}: {ours}, not {theirs} ({error:.1e})");
        }
    }
}

#[test]
fn adam_with_clipping_follows_the_reference() {
    let (clip, rate) = (reference()["clip"].as_f64().unwrap(), reference()["rate"].as_f64().unwrap());
    let mut adam = Adam::new(7, 1e-8);
    compare("adam", |t, x, g| {
        let length = norm(g);
        if let Some(expected) = reference()["gradient_norms"].get(t.to_string()) {
            assert!((length / expected.as_f64().unwrap() - 1.0).abs() < 2e-7, "length {length} at step {t}");
        }
        adam.step(x, g, (clip / length).min(1.0), rate);
    });
}

#[test]
fn centred_rms_prop_follows_the_reference() {
    let rate = reference()["rate"].as_f64().unwrap();
    let mut optimiser = CentredRmsProp::new(7, 0.95, 0.01);
    compare("centred_rms_prop", |_, x, g| optimiser.step(x, g, 1.0, rate));
}

/// A constant gradient has no variance: `n − ḡ²` is rounding noise of either sign, and must not become NaN.
#[test]
fn centred_rms_prop_survives_gradients_without_variance() {
    let mut optimiser = CentredRmsProp::new(3, 0.95, 0.01);
    let mut x = [0.0; 3];
    for _ in 0..1000 {
        optimiser.step(&mut x, &[1.0, 1e-3, 0.0], 1.0, 1e-4);
    }
    assert!(x.iter().all(|x| x.is_finite()) && x[2] == 0.0, "{x:?}");
}
