//! The tabular learners against the NumPy program of `crates/ive/tests/golden` and against each other.

#![allow(clippy::unwrap_used, reason = "a test that cannot unwrap has failed")]

use ive::Rng;
use ive_agents::tabular::{self, Dataset, Learner, Sgd, limit::Limit};
use ive_envs::grid::{self, ACTIONS, PAIRS, Reaching, STATES, Transition};
use serde_json::Value;

fn golden() -> Value {
    serde_json::from_str(include_str!("../../ive/tests/golden/tabular.json")).unwrap()
}

fn numbers(value: &Value) -> Vec<f64> {
    match value {
        Value::Array(rows) => rows.iter().flat_map(numbers).collect(),
        other => vec![other.as_f64().unwrap()],
    }
}

fn assert_close(got: &[f64], want: &[f64], tolerance: f64, what: &str) {
    assert_eq!(got.len(), want.len(), "{what}");
    for (i, (g, w)) in got.iter().zip(want).enumerate() {
        assert!((g - w).abs() <= tolerance * w.abs().max(1.0), "{what}[{i}]: {g} against {w}");
    }
}

/// The synthetic transitions of `golden/README.md`.
fn data() -> Dataset {
    let step = |i: usize| {
        let (state, action) = (1 + 7 * i % 24, (i / 24 + i / 100) % 4);
        let moved = if i.is_multiple_of(10) { (action + 1) % 4 } else { action };
        Transition { state, action, next: grid::next_state(state, moved) }
    };
    let kept = |t: &Transition| t.next != grid::UNSEEN && !(t.state + 3 * t.action).is_multiple_of(8);
    Dataset::new((0..500).map(step).filter(kept).collect())
}

fn starts() -> (Vec<f64>, Vec<f64>, Vec<f64>) {
    let table = |n: usize, f: fn(f64) -> f64| (0..n).map(|i| f(i as f64)).collect::<Vec<f64>>();
    (
        table(PAIRS, |i| (1.0 + i).sin()),
        table(PAIRS, |i| (2.0 + i).cos()),
        table(PAIRS * STATES, |i| 2.0 * (0.5 + i).sin()),
    )
}

#[test]
fn counts_match_numpy() {
    let (data, golden) = (data(), golden());
    assert_eq!(data.transitions.len() as u64, golden["n_kept"].as_u64().unwrap());
    let want: Vec<u32> = numbers(&golden["pair_counts"]).iter().map(|&n| n as u32).collect();
    assert_eq!(data.pair_counts, want);
}

/// Float64 on both sides; the linear systems differ (25 unknowns here, 82 there), hence 1e-12.
#[test]
fn the_limit_matches_numpy() {
    let (data, golden) = (data(), golden());
    let (q0, r0, logits) = starts();
    for gamma in [0.9, 0.99] {
        let key = |what: &str| format!("limit/gamma={gamma}/{what}");
        let q = Limit::new(&data).values(gamma, [q0.clone()].into_iter()).remove(0);
        assert_close(&q, &numbers(&golden[key("q")]), 1e-12, "q");
        let mut r = r0.clone();
        let start = |pair: usize| logits[pair * STATES..(pair + 1) * STATES].try_into().unwrap();
        let p = Limit::new(&data).model(&mut r, start);
        let model = ive::TabularModel::dense(STATES, ACTIONS, r, p).unwrap();
        let learned = tabular::Learned { values: vec![q], models: vec![model], discount: gamma };
        let sigma = |n| learned.implicit(&ive::Members::up_to(n), 0).unwrap();
        // σ of visited pairs is rounding: compared absolutely.
        assert_close(&sigma(1).states, &numbers(&golden[key("sigma_ive_v(1)")]), 1e-12, "sigma 1");
        assert_close(&sigma(20).states, &numbers(&golden[key("sigma_ive_v(20)")]), 1e-12, "sigma 20");
        let pairs = sigma(5).pairs;
        assert_close(&pairs, &numbers(&golden[key("sigma_ive_q(5)")]), 1e-12, "sigma of pairs");

        let rng = &mut Rng::from_seed(0);
        let seek = ive::greedy_policy(&pairs, ACTIONS, ive::Ties::Uniform, rng).unwrap();
        let avoid: Vec<f64> = pairs.iter().map(|s| -s).collect();
        let avoid = ive::greedy_policy(&avoid, ACTIONS, ive::Ties::Uniform, rng).unwrap();
        for (policy, wind, what) in [(seek, 0.1, "seek_being_wind=0.1"), (avoid, 0.5, "avoid_being_wind=0.5")]
        {
            let curve = grid::reaching(&policy, wind, 150, Reaching::BeingAt);
            let got: Vec<f64> = [1, 8, 9, 10, 16, 20, 50, 100, 150].iter().map(|l| curve[l - 1]).collect();
            assert_close(&got, &numbers(&golden[key(what)]), 1e-12, what);
        }
    }
}

/// Single precision against float64. Adam divides by the root of a running mean, so a relative error of 1e-7 in a
/// gradient moves an entry by about that share of the learning rate, each step: 1000 steps of 5e-5 stay within 1e-6,
/// 1000 steps of 1e-2 are near convergence, where minibatch noise of 1e-2 amplifies rounding: 1e-4 is allowed.
#[test]
fn minibatches_match_numpy() {
    let (data, golden) = (data(), golden());
    for (rate, epochs, tolerance) in [("5e-05", 25, 2e-6), ("5e-05", 250, 2e-6), ("0.01", 250, 1e-4)] {
        let sgd = Sgd { learning_rate: rate.parse().unwrap(), epochs, batch: 128, shuffle: false };
        let (mut q, mut r, mut logits) = starts();
        let rng = &mut Rng::from_seed(0);
        sgd.fit_values(&data, 0.9, &mut q, rng);
        sgd.fit_model(&data, &mut r, &mut logits, rng);
        let want = |what: &str| numbers(&golden[format!("sgd/lr={rate}/epochs={epochs}/gamma=0.9/{what}")]);
        assert_close(&q[4..16], &want("q[1..3]"), tolerance, "q");
        assert_close(&r[4..16], &want("r[1..3]"), tolerance, "r");
        assert_close(&logits[97 * STATES..98 * STATES], &want("logits[24,1]"), tolerance, "logits");
        let square = |x: &[f64]| x.iter().map(|v| v * v).sum::<f64>();
        let sums = [q.iter().sum(), square(&q), square(&r), square(&logits)];
        // Sums of 100 to 2500 entries, whose errors add up as a random walk: at most √2500 times one of them.
        assert_close(&sums, &want("sums(q,q^2,r^2,logits^2)"), 50.0 * tolerance, "sums");
    }
}

/// The default learner converges to the limit. At 5e-4 the reference program was within 2e-4 (root mean square) for
/// values and 1e-4 (total variation) for next states; ten times that is allowed for the worst entry.
#[test]
fn minibatches_converge_to_the_limit() {
    let rng = Rng::from_seed(17);
    let data = Dataset::new(grid::collect(500, 0.1, &mut rng.fold_in(0)));
    let sgd = Sgd { learning_rate: 5e-4, epochs: 10_000, batch: 128, shuffle: true };
    let learn = |learner| tabular::learn(&data, learner, 0.9, 1, &rng, &|| true).unwrap().unwrap();
    let (learned, limit) = (learn(Learner::Sgd(sgd)), learn(Learner::Limit));
    assert_close(&learned.values[0], &limit.values[0], 2e-3, "values");
    let probe: Vec<f64> = (0..STATES).map(|s| (s as f64).sin()).collect();
    let [a, b] = [&learned, &limit].map(|l| l.models[0].action_values(&probe, 0.9).unwrap());
    assert_close(&a, &b, 2e-3, "backups of a probe");
}

#[test]
fn same_seed_same_bits_and_members_differ() {
    let rng = Rng::from_seed(3);
    let data = Dataset::new(grid::collect(500, 0.1, &mut rng.fold_in(0)));
    let sgd = Learner::Sgd(Sgd { learning_rate: 5e-4, epochs: 20, batch: 128, shuffle: true });
    let once = || tabular::learn(&data, sgd, 0.9, 3, &rng, &|| true).unwrap().unwrap();
    let (a, b) = std::thread::scope(|scope| {
        let (a, b) = (scope.spawn(once), scope.spawn(once));
        (a.join().unwrap(), b.join().unwrap())
    });
    assert_eq!(a.values, b.values);
    assert_eq!(a.models, b.models);
    assert_ne!(a.values[0], a.values[1]);
    assert!(
        tabular::learn(&data, sgd, 0.9, 3, &rng, &|| false).unwrap().is_none(),
        "stopped between members"
    );
}
