//! Samples of stochastic models, all at once and one at a time.

#![allow(clippy::unwrap_used, reason = "a test that cannot unwrap has failed")]

use ive::{Members, Rng, Rollout, SampledEnsemble, ValueEnsemble};

/// Two members at 1 and 3 with unit noise: the true σ is 1.
fn noisy(n: usize, rng: &mut Rng) -> Vec<ValueEnsemble> {
    let one =
        |rng: &mut Rng| ValueEnsemble::from_members([[1.0 + rng.normal()], [3.0 + rng.normal()]]).unwrap();
    (0..n).map(|_| one(rng)).collect()
}

fn streamed(samples: &[ValueEnsemble], groups: usize) -> SampledEnsemble {
    let mut all = SampledEnsemble::new(groups).unwrap();
    samples.iter().for_each(|sample| all.push(sample).unwrap());
    all
}

/// σ over noisy members approaches the true one with more samples, and the jackknife error tells how far it is. With 400
/// samples of unit noise it is √(1/2)/√400 ≈ 0.035.
#[test]
fn the_error_of_a_sampled_std_covers_the_truth() {
    let rng = &mut Rng::from_seed(4);
    let (std, error) = ValueEnsemble::sampled_std(&noisy(400, rng)).unwrap();
    assert!((error[0] - 0.0354).abs() < 0.005, "{error:?}");
    assert!((std[0] - 1.0).abs() < 4.0 * error[0], "{std:?} ± {error:?}");
    assert!(ValueEnsemble::sampled_std(&noisy(1, rng)).is_err() && ValueEnsemble::sampled_std(&[]).is_err());
}

/// Expected values: the delete-one jackknife written out in NumPy for these five samples of two members.
#[test]
fn all_at_once_is_the_jackknife_of_numpy() {
    let samples = [[0.3, 2.0], [1.1, 3.5], [0.8, 2.2], [1.9, 2.9], [0.1, 4.0]];
    let samples = samples.map(|[a, b]| ValueEnsemble::from_members([[a], [b]]).unwrap());
    let (std, error) = ValueEnsemble::sampled_std(&samples).unwrap();
    assert!((std[0] - NUMPY[0]).abs() < 1e-14 && (error[0] - NUMPY[1]).abs() < 1e-14, "{std:?} {error:?}");
}
const NUMPY: [f64; 2] = [1.04, 0.2546566315649368];

#[test]
fn one_at_a_time_is_all_at_once_while_there_is_a_group_for_each() {
    let samples = noisy(20, &mut Rng::from_seed(1));
    for groups in [20, 64] {
        assert_eq!(streamed(&samples, groups).std().unwrap(), ValueEnsemble::sampled_std(&samples).unwrap());
    }
    let (many, all) = (streamed(&samples, 3), ValueEnsemble::average(&samples).unwrap());
    assert_eq!(many.samples(), 20);
    let difference = many.mean().unwrap().member(0)[0] - all.member(0)[0];
    assert!(difference.abs() < 1e-15, "{difference}");
}

/// However samples fall into groups, equal or not, the squared error is that of σ itself: √(1/2)/√n. The mean over 400
/// repetitions of an estimate with a relative spread of √(2/19) is known to 1.6 %; five times that is allowed.
#[test]
fn groups_of_any_size_give_the_right_error() {
    let rng = &mut Rng::from_seed(9);
    for n in [30, 95, 200] {
        let squares = (0..400).map(|_| streamed(&noisy(n, rng), 20).std().unwrap().1[0].powi(2));
        let mean = squares.sum::<f64>() / 400.0;
        let ratio = mean * 2.0 * n as f64;
        assert!((ratio - 1.0).abs() < 0.08, "{n} samples: {ratio}");
    }
}

#[test]
fn other_members_are_refused_and_both_are_named() {
    let mut path = Rollout::start(vec![0.0]).unwrap();
    (0..5).for_each(|_| path.push(&[1.0], &[1.0], &[0.0]).unwrap());
    let ensemble = ValueEnsemble::implicit(&path);
    let part = |ks: std::ops::RangeInclusive<usize>| ensemble.select(&Members::new(ks).unwrap()).unwrap();
    let error = ValueEnsemble::average(&[part(0..=4), part(1..=5)]).unwrap_err();
    assert_eq!(error.to_string(), "samples of an ensemble: one has the members k=0..4, another k=1..5");
    let explicit = ValueEnsemble::from_members(vec![vec![0.0]; 5]).unwrap();
    let error = ValueEnsemble::average(&[part(0..=4), explicit.clone()]).unwrap_err();
    assert_eq!(error.to_string(), "samples of an ensemble: one has the members k=0..4, another explicit");
    let mut samples = streamed(&[explicit], 2);
    assert!(samples.push(&ValueEnsemble::from_members([[1.0]]).unwrap()).is_err());
    assert!(samples.push(&ValueEnsemble::from_members(vec![vec![0.0; 2]; 5]).unwrap()).is_err());
    assert_eq!(samples.samples(), 1, "a refused sample is not counted");
    assert!(samples.std().is_err() && SampledEnsemble::new(0).is_err());
    assert!(SampledEnsemble::new(2).unwrap().mean().is_err());
}
