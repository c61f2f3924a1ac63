//! The toy as a whole: consistency, determinism, stopping, learning.

#![expect(clippy::unwrap_used, reason = "a test whose preparation fails must fail")]

use ive_agents::nn::{Device, Precision};
use ive_agents::toy::{
    DataLayout, Problem, ToyConfig, ToyError, ToyModel, ToyOutcome, model_predicted_values, run, train,
};

/// 241 states in [−3, 3], as the reference.
fn grid() -> Vec<f64> {
    (0..241).map(|i| -3.0 + 0.025 * f64::from(i)).collect()
}

fn small() -> ToyConfig {
    ToyConfig { steps: 30, ..ToyConfig::default() }
}

fn quietly(config: &ToyConfig, seed: u64) -> ToyOutcome {
    run(config, seed, &grid(), &Device::cpu(), &mut |_| true).unwrap()
}

/// With r̂ = c everywhere and v̂ = c/(1 − γ), every k-step value is c/(1 − γ), whatever the transition: σ must vanish.
#[test]
fn std_is_zero_when_the_value_is_that_of_a_constant_reward() {
    let (config, device) = (ToyConfig::default(), Device::cpu().with_precision(Precision::Double));
    let mut parameters = ToyModel::new(&config, 3, &device).unwrap().parameters();
    let (value, reward, end) = (1120, 2209, 3298); // value and reward follow the representation; bias last
    parameters[value..end].fill(0.0);
    parameters[reward - 1] = 0.7 / (1.0 - config.discount);
    parameters[end - 1] = 0.7;
    let ensemble =
        ToyModel::from_parameters(&config, &parameters, &device).unwrap().ensemble(&grid()).unwrap();
    // Eleven sums of numbers up to 7, rounded.
    assert!(ensemble.std().iter().all(|&sigma| sigma < 1e-14));
    assert!(ensemble.mean().iter().all(|&mean| (mean - 7.0).abs() < 1e-13));
}

/// The loss computes the members inside the engine; the library computes them from the model. They are the same numbers,
/// up to the order of summation.
#[test]
fn members_of_the_loss_are_members_of_the_library() {
    for horizon in [0, 1, 10] {
        let config = ToyConfig { horizon, ..ToyConfig::default() };
        let device = Device::cpu().with_precision(Precision::Double);
        let model = ToyModel::new(&config, 1, &device).unwrap();
        let states = [-2.5, 0.1, 1.7];
        let problem = Problem::new(&config, &states, &[0.0; 3], &device.recording());
        let inside = model_predicted_values(&model.recording_network(), &problem).into_data();
        let inside: Vec<f64> = inside.try_into_vec().unwrap();
        let ensemble = model.ensemble(&states).unwrap();
        let outside: Vec<f64> = ensemble.members().flatten().copied().collect();
        assert_eq!(inside.len(), 3 * (horizon + 1));
        let error = inside.iter().zip(&outside).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(error < 1e-14, "they differ by {error:e}");
    }
}

#[test]
fn the_same_seed_gives_the_same_bits_also_side_by_side() {
    let alone = [quietly(&small(), 1), quietly(&small(), 2)];
    assert_ne!(alone[0].after, alone[1].after);
    let threads = [1, 2, 1].map(|seed| std::thread::spawn(move || quietly(&small(), seed)));
    let [first, second, again] = threads.map(|thread| thread.join().unwrap());
    assert_eq!(first, alone[0]);
    assert_eq!(second, alone[1]);
    assert_eq!(again, alone[0]);
}

#[test]
fn progress_hears_every_step_and_may_stop() {
    let mut heard = Vec::new();
    let mut progress = |step| {
        heard.push(step);
        step < 4
    };
    let outcome = run(&small(), 0, &[0.0], &Device::cpu(), &mut progress).unwrap();
    assert!(outcome.stopped);
    assert_eq!((heard, outcome.losses.len()), (vec![1, 2, 3, 4], 4));
    assert!(!quietly(&small(), 0).stopped);
}

#[test]
fn bad_input_is_an_error_with_its_name() {
    let device = Device::cpu();
    let failure = |config: &ToyConfig, grid: &[f64]| {
        run(config, 0, grid, &device, &mut |_| true).unwrap_err().to_string()
    };
    let config = ToyConfig { discount: -0.1, ..small() };
    assert_eq!(failure(&config, &[0.0]), "toy setting discount: -0.1 is outside the range 0 to 1");
    assert_eq!(failure(&small(), &[]), "toy: states of the toy: must not be empty");
    let message = "toy: states of the toy: entry 1 is NaN, not a finite number";
    assert_eq!(failure(&small(), &[0.0, f64::NAN]), message);
}

/// Parameters of 1e30 overflow single precision at once.
#[test]
fn a_loss_that_is_not_finite_stops_training() {
    let (config, device) = (small(), Device::cpu());
    let count = ToyModel::new(&config, 0, &device).unwrap().parameters().len();
    let start = ToyModel::from_parameters(&config, &vec![1e30; count], &device).unwrap();
    let error = train(&config, &start, &mut |_| true).unwrap_err();
    assert!(matches!(error, ToyError::LossNotFinite { step: 1, .. }), "{error}");
}

/// Statistics of several seeds: (mean, standard error).
fn mean_and_error(x: &[f64]) -> (f64, f64) {
    let n = x.len() as f64;
    let mean = x.iter().sum::<f64>() / n;
    let variance = x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0);
    (mean, (variance / n).sqrt())
}

fn over_seeds(config: &ToyConfig, seeds: std::ops::Range<u64>) -> Vec<ToyOutcome> {
    let (even, odd): (Vec<u64>, Vec<u64>) = seeds.partition(|seed| seed % 2 == 0);
    let halves = [even, odd].map(|half| {
        let config = config.clone();
        std::thread::spawn(move || half.iter().map(|&seed| quietly(&config, seed)).collect::<Vec<_>>())
    });
    halves.into_iter().flat_map(|half| half.join().unwrap()).collect()
}

/// Before training the reference finds, over 20 seeds, 0.90 ± 0.04 times as much disagreement far from the data as at the
/// data for the "gap" layout, and 2.45 ± 0.20 times for "centre". Four combined standard errors are allowed.
#[test]
fn untrained_networks_disagree_as_those_of_the_reference() {
    for (data, expected, its_error) in [(DataLayout::Gap, 0.90, 0.04), (DataLayout::Centre, 2.45, 0.20)] {
        let config = ToyConfig { steps: 0, data, ..ToyConfig::default() };
        let ratios: Vec<f64> =
            (0..60).map(|seed| quietly(&config, seed).sigma_ratio_before().unwrap()).collect();
        let (ours, our_error) = mean_and_error(&ratios);
        println!("{data:?}: {ours:.3} ± {our_error:.3}, reference {expected} ± {its_error}");
        assert!(
            (ours - expected).abs() < 4.0 * f64::hypot(our_error, its_error),
            "{data:?}: {ours} ± {our_error}"
        );
    }
}

/// The reference, with other random numbers, finds over 20 seeds after 2000 steps that σ far from the data is 30.5 ± 1.5
/// times σ at the data (so 6.7 between seeds), and 0.90 ± 0.04 times before (0.18 between seeds). The mean of three seeds
/// has a standard error of 3.9 (0.10); together with the reference's own that is 4.2 (0.11), and four of these are allowed.
#[test]
fn disagreement_shrinks_at_the_data_and_stays_elsewhere() {
    let outcomes = over_seeds(&ToyConfig::default(), 0..3);
    let of = |f: &dyn Fn(&ToyOutcome) -> f64| mean_and_error(&outcomes.iter().map(f).collect::<Vec<_>>()).0;
    let before = of(&|o| o.sigma_ratio_before().unwrap());
    let after = of(&|o| o.sigma_ratio_after().unwrap());
    assert!((before - 0.90).abs() < 4.0 * 0.11, "before {before}");
    assert!((after - 30.5).abs() < 4.0 * 4.2, "after {after}");
    assert!(outcomes.iter().all(|o| o.root_mean_square_error() < 0.02));
}

/// The whole table of the reference at 2000 steps, each mean within four combined standard errors.
#[test]
#[ignore = "slow: a minute"]
fn twenty_seeds_agree_with_the_reference() {
    let outcomes = over_seeds(&ToyConfig::default(), 0..20);
    let mean = |x: Vec<f64>| x.iter().sum::<f64>() / x.len() as f64;
    let check = |name: &str, value: &dyn Fn(&ToyOutcome) -> f64, expected: f64, its_error: f64| {
        let (ours, our_error) = mean_and_error(&outcomes.iter().map(value).collect::<Vec<_>>());
        println!("{name}: {ours:.5} ± {our_error:.5}, reference {expected} ± {its_error}");
        let combined = f64::hypot(our_error, its_error);
        assert!((ours - expected).abs() < 4.0 * combined, "{name}: {ours} ± {our_error}");
    };
    check("σ at data before", &|o| mean(o.before_at_data.std()), 0.072, 0.012);
    check("ratio before", &|o| o.sigma_ratio_before().unwrap(), 0.90, 0.04);
    check("σ at data after", &|o| mean(o.after_at_data.std()), 0.0023, 0.0002);
    check("ratio after", &|o| o.sigma_ratio_after().unwrap(), 30.5, 1.5);
}
