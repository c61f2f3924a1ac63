//! Measures of detection, risk and calibration against SciPy, scikit-learn and NumPy: `golden/metrics.json`, written by
//! `golden/metrics.py`.

#![allow(clippy::unwrap_used, reason = "a test that cannot unwrap has failed")]

use ive::{ClusterBootstrap, Guard, Ranking, RiskCoverage, Rng, aupr, auroc, binomial_interval, fpr95};
use serde_json::Value;

fn golden() -> Value {
    serde_json::from_str(include_str!("golden/metrics.json")).unwrap()
}

fn number(of: &Value, key: &str) -> f64 {
    of[key].as_f64().unwrap()
}

fn count(of: &Value, key: &str) -> usize {
    of[key].as_u64().unwrap() as usize
}

/// The formula of the script.
fn scores(n: usize, shift: f64, step: f64) -> Vec<f64> {
    (0..n).map(|i| (10.0 * (step * (i + 1) as f64).sin()).round_ties_even() / 10.0 + shift).collect()
}

#[test]
fn detection_matches_scikit_learn() {
    for case in golden()["detection"].as_array().unwrap() {
        let (n, m) = (count(case, "n"), count(case, "m"));
        let (negatives, positives) = (scores(n, 0.0, 1.7), scores(m, number(case, "shift"), 2.3));
        let found = Ranking::new(&negatives, &positives).unwrap().detection();
        let direct =
            [auroc(&negatives, &positives), aupr(&negatives, &positives), fpr95(&negatives, &positives)];
        for ((key, walked), direct) in
            [("auroc", found.auroc), ("aupr", found.aupr), ("fpr95", found.fpr95)].into_iter().zip(direct)
        {
            assert!((walked - number(case, key)).abs() < 1e-12, "{key} of {case}: {walked}");
            assert!((direct.unwrap() - number(case, key)).abs() < 1e-12, "{key} of {case}");
        }
    }
}

/// With independent states the bootstrap interval of an AUROC is that of DeLong. 15 % of its width is allowed: the
/// Monte-Carlo error of 4000 replicates is 3 % of it, the rest is what a percentile interval and a normal one differ by.
#[test]
fn intervals_of_independent_states_are_those_of_delong() {
    let golden = golden();
    let case = &golden["detection"][3];
    let (n, m) = (count(case, "n"), count(case, "m"));
    let ranking = Ranking::new(&scores(n, 0.0, 1.7), &scores(m, number(case, "shift"), 2.3)).unwrap();
    let each = |n: usize| (0..n).collect::<Vec<usize>>();
    let rng = Rng::from_seed(21);
    let bootstrap = ClusterBootstrap::new(&[&each(n), &each(m)], 0.95, 4000, &rng).unwrap();
    let found = ranking.estimate(&bootstrap).unwrap().auroc;
    let half = 1.959964 * number(case, "auroc_error");
    assert!((found.low - (found.value - half)).abs() < 0.3 * half, "{found:?} {half}");
    assert!((found.high - (found.value + half)).abs() < 0.3 * half, "{found:?} {half}");
}

#[test]
fn risk_is_the_mean_over_all_orders_of_equal_scores() {
    let golden = golden();
    let list = |key: &str| -> Vec<f64> {
        golden["risk"][key].as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
    };
    let curve = RiskCoverage::new(&list("scores"), &list("errors")).unwrap();
    assert!((curve.area() - number(&golden["risk"], "area")).abs() < 1e-12, "{}", curve.area());
    assert!((curve.excess() - number(&golden["risk"], "excess")).abs() < 1e-12, "{}", curve.excess());
}

#[test]
fn binomial_intervals_match_scipy() {
    for case in golden()["binomial"].as_array().unwrap() {
        let (low, high) =
            binomial_interval(count(case, "successes"), count(case, "trials"), number(case, "confidence"))
                .unwrap();
        assert!(
            (low - number(case, "low")).abs() < 1e-10 && (high - number(case, "high")).abs() < 1e-10,
            "{case}"
        );
    }
}

#[test]
fn guards_match_numpy_and_scipy() {
    for case in golden()["guard"].as_array().unwrap() {
        let held_out: Vec<f64> = (0..count(case, "n")).map(|i| ((i + 1) as f64).sin()).collect();
        let guard = Guard::calibrate(&held_out, number(case, "rate")).unwrap();
        assert!((guard.threshold() - number(case, "threshold")).abs() < 1e-15, "{case}: {guard:?}");
        let (low, high) = guard.rate_interval(0.9).unwrap();
        assert!((low / number(case, "low") - 1.0).abs() < 1e-9, "{case}: {low}");
        assert!((high / number(case, "high") - 1.0).abs() < 1e-9, "{case}: {high}");
    }
}
