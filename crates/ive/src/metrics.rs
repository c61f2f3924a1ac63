//! Is the signal any good? Detection metrics, rank correlation, and the statistics reviewers expect.
//!
//! Detection: scores of negatives (known, in distribution) and positives (unknown, out of distribution); a good signal
//! ranks positives higher. Everything here is a function of plain slices.

use crate::error::{at_least, finite, in_range};
use crate::{Error, Result, Rng, mean, sigma, stratified_bootstrap};

/// Scores of one class in increasing order, checked.
fn sorted(what: &'static str, x: &[f64]) -> Result<Vec<f64>> {
    if x.is_empty() {
        return Err(Error::Empty { what });
    }
    finite(what, x)?;
    let mut x = x.to_vec();
    x.sort_by(f64::total_cmp);
    Ok(x)
}

/// Area under the ROC curve: the probability that a positive scores higher than a negative, ties counted half
/// (Mann–Whitney). 0.5 is chance, 1 is perfect.
///
/// ```
/// assert_eq!(ive::auroc(&[0.1, 0.2], &[0.2, 0.3])?, 0.875);
/// # Ok::<(), ive::Error>(())
/// ```
///
/// # Errors
/// If a class is empty or a score is not finite.
pub fn auroc(negatives: &[f64], positives: &[f64]) -> Result<f64> {
    let negatives = sorted("scores of the negatives", negatives)?;
    let positives = sorted("scores of the positives", positives)?;
    let wins = |p: f64| {
        let below = negatives.partition_point(|&n| n < p);
        let not_above = negatives.partition_point(|&n| n <= p);
        (below + not_above) as f64 / 2.0
    };
    Ok(positives.iter().map(|&p| wins(p)).sum::<f64>() / (positives.len() * negatives.len()) as f64)
}

/// Area under the precision–recall curve for the positives, as average precision `Σ (Rₙ − Rₙ₋₁) Pₙ` over the distinct
/// thresholds. Chance is the share of positives.
///
/// # Errors
/// If a class is empty or a score is not finite.
pub fn aupr(negatives: &[f64], positives: &[f64]) -> Result<f64> {
    let negatives = sorted("scores of the negatives", negatives)?;
    let positives = sorted("scores of the positives", positives)?;
    let at_least = |x: &[f64], t: f64| (x.len() - x.partition_point(|&v| v < t)) as f64;
    let mut thresholds = positives.clone();
    thresholds.dedup();
    let (mut area, mut recall_before) = (0.0, 0.0);
    for &t in thresholds.iter().rev() {
        let (hits, false_alarms) = (at_least(&positives, t), at_least(&negatives, t));
        let recall = hits / positives.len() as f64;
        area += (recall - recall_before) * hits / (hits + false_alarms);
        recall_before = recall;
    }
    Ok(area)
}

/// The false-positive rate at the highest threshold that still finds 95 % of the positives. 0 is perfect.
///
/// # Errors
/// If a class is empty or a score is not finite.
pub fn fpr95(negatives: &[f64], positives: &[f64]) -> Result<f64> {
    let negatives = sorted("scores of the negatives", negatives)?;
    let positives = sorted("scores of the positives", positives)?;
    let missable = (0.05 * positives.len() as f64 + 1e-9) as usize;
    let threshold = positives[missable];
    Ok((negatives.len() - negatives.partition_point(|&n| n < threshold)) as f64 / negatives.len() as f64)
}

/// Spearman's rank correlation, ties with their mean rank. NaN if one side is constant.
///
/// # Errors
/// If the lengths differ, there are fewer than two numbers, or one is not finite.
pub fn spearman(x: &[f64], y: &[f64]) -> Result<f64> {
    crate::error::same_length("numbers to correlate", x.len(), y.len())?;
    at_least("numbers to correlate", 2, x.len())?;
    finite("numbers to correlate", x)?;
    finite("numbers to correlate", y)?;
    let (x, y) = (ranks(x), ranks(y));
    let (mx, my) = (mean(&x), mean(&y));
    let moment = |a: &[f64], ma: f64, b: &[f64], mb: f64| -> f64 {
        a.iter().zip(b).map(|(a, b)| (a - ma) * (b - mb)).sum()
    };
    Ok(moment(&x, mx, &y, my) / (moment(&x, mx, &x, mx) * moment(&y, my, &y, my)).sqrt())
}

fn ranks(x: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..x.len()).collect();
    order.sort_by(|&i, &j| x[i].total_cmp(&x[j]));
    let mut rank = vec![0.0; x.len()];
    let mut below = 0;
    for tie in order.chunk_by(|&i, &j| x[i] == x[j]) {
        tie.iter().for_each(|&i| rank[i] = below as f64 + f64::midpoint(tie.len() as f64, 1.0));
        below += tie.len();
    }
    rank
}

/// Mean and standard error (sample standard deviation / √N). The error is NaN for a single number, and both are without any.
pub fn mean_and_error(x: &[f64]) -> (f64, f64) {
    (mean(x), sigma::of(x, 1) / (x.len() as f64).sqrt())
}

/// The interquartile mean: the mean of the middle half, as `scipy.stats.trim_mean(x, 0.25)` and rliable compute it
/// (⌊N/4⌋ numbers are cut at each end).
///
/// # Errors
/// If there is no number, or one is not finite.
pub fn interquartile_mean(x: &[f64]) -> Result<f64> {
    let x = sorted("numbers to average", x)?;
    let cut = x.len() / 4;
    Ok(mean(&x[cut..x.len() - cut]))
}

/// The q-quantile with linear interpolation, 0 ≤ q ≤ 1.
///
/// # Errors
/// If there is no number, one is not finite, or q is out of range.
pub fn quantile(x: &[f64], q: f64) -> Result<f64> {
    in_range("quantile", q, 0.0, 1.0)?;
    let x = sorted("numbers", x)?;
    let at = q * (x.len() - 1) as f64;
    let (low, part) = (at as usize, at.fract());
    Ok(x[low] + part * (x[(low + 1).min(x.len() - 1)] - x[low]))
}

/// A percentile bootstrap interval for a statistic of independent units (seeds, never episodes): the units are
/// resampled with replacement `replicates` times. `confidence` is for example 0.95. `rng` is consumed.
///
/// # Errors
/// If there is no unit, no replicate, or the confidence is not between 0 and 1.
pub fn bootstrap_interval<T: Clone>(
    units: &[T],
    statistic: impl Fn(&[T]) -> f64,
    confidence: f64,
    replicates: usize,
    rng: &mut Rng,
) -> Result<(f64, f64)> {
    stratified_bootstrap(&[units.to_vec()], |strata| statistic(&strata[0]), confidence, replicates, rng)
}

#[cfg(test)]
mod tests {
    use super::*;

    // Expected values: scikit-learn 1.x `roc_auc_score`, `average_precision_score` and SciPy `spearmanr`, `trim_mean`,
    // NumPy `quantile`, on the arrays below.
    const NEGATIVES: [f64; 6] = [0.1, 0.4, 0.35, 0.8, 0.2, 0.4];
    const POSITIVES: [f64; 4] = [0.9, 0.4, 0.7, 0.3];

    #[test]
    fn detection_matches_scikit_learn() {
        assert!((auroc(&NEGATIVES, &POSITIVES).unwrap() - EXPECTED[0]).abs() < 1e-15);
        assert!((aupr(&NEGATIVES, &POSITIVES).unwrap() - EXPECTED[1]).abs() < 1e-15);
        assert!((spearman(&NEGATIVES, &[3.0, 1.0, 4.0, 1.0, 5.0, 9.0]).unwrap() - EXPECTED[2]).abs() < 1e-15);
        assert!((interquartile_mean(&NEGATIVES).unwrap() - EXPECTED[3]).abs() < 1e-15);
        assert!((quantile(&NEGATIVES, 0.3).unwrap() - EXPECTED[4]).abs() < 1e-15);
    }
    const EXPECTED: [f64; 5] = [0.7083333333333334, 0.6666666666666666, -0.3382352941176471, 0.3375, 0.275];

    /// By hand: with four positives none may be missed, so the threshold is 0.3, and four of six negatives reach it.
    #[test]
    fn fpr95_by_hand() {
        assert!((fpr95(&NEGATIVES, &POSITIVES).unwrap() - 4.0 / 6.0).abs() < 1e-15);
        assert_eq!(fpr95(&[0.0, 1.0], &[2.0, 3.0]).unwrap(), 0.0);
        // Of twenty positives one may be missed.
        let positives: Vec<f64> = (0..20).map(f64::from).collect();
        assert_eq!(fpr95(&[0.5], &positives).unwrap(), 0.0);
    }

    /// Half a turn of 0..n moves every rank by n/2: ρ = 1 − 6 Σd² / (n (n² − 1)) with Σd² = n · (n/2)².
    #[test]
    fn a_million_numbers_are_correlated_in_a_moment() {
        let n = 1_000_000;
        let x: Vec<f64> = (0..n).map(f64::from).collect();
        let y: Vec<f64> = (0..n).map(|i| f64::from((i + n / 2) % n)).collect();
        let size = f64::from(n);
        let expected = 1.0 - 6.0 * (size / 2.0).powi(2) / (size * size - 1.0);
        let begin = std::time::Instant::now();
        assert!((spearman(&x, &y).unwrap() - expected).abs() < 1e-10);
        // A quadratic algorithm takes minutes.
        assert!(begin.elapsed().as_secs() < 20, "{:?}", begin.elapsed());
    }

    /// Expected values: SciPy 1.17 `spearmanr`.
    #[test]
    fn ties_have_the_ranks_of_scipy() {
        let x = [3.0, 1.0, 1.0, 2.0, 3.0, 3.0, 0.0, -0.0, 5.0, 2.0];
        let y = [1.0, 1.0, 2.0, 2.0, 2.0, 7.0, 7.0, 0.5, 0.5, 0.5];
        assert!((spearman(&x, &y).unwrap() - SCIPY_TIES[0]).abs() < 1e-15);
        let steps: Vec<f64> = (0..1000).map(|i| f64::from(i * i % 7)).collect();
        let waves: Vec<f64> = (0..1000).map(|i| f64::from(i * 31 % 11)).collect();
        assert!((spearman(&steps, &waves).unwrap() - SCIPY_TIES[1]).abs() < 1e-14);
        assert!(spearman(&x, &[1.0; 10]).unwrap().is_nan());
    }
    const SCIPY_TIES: [f64; 2] = [-0.09585104818486867, -0.0007320937850203874];

    /// The same units, the same draws, the same interval as one stratum.
    #[test]
    fn units_are_one_stratum() {
        let units = [3.0, 1.0, 4.0, 1.0, 5.0];
        let (mut a, mut b) = (Rng::from_seed(6), Rng::from_seed(6));
        let one = bootstrap_interval(&units, mean, 0.9, 100, &mut a).unwrap();
        let strata = [units.to_vec()];
        let other = stratified_bootstrap(&strata, |s| mean(&s[0]), 0.9, 100, &mut b).unwrap();
        assert_eq!((one, a), (other, b));
    }

    #[test]
    fn one_sided_or_broken_input_is_refused() {
        assert_eq!(auroc(&[], &[1.0]).unwrap_err().to_string(), "scores of the negatives: must not be empty");
        assert!(matches!(aupr(&[1.0], &[f64::NAN]), Err(Error::NotFinite { index: 0, .. })));
        assert!(spearman(&[1.0], &[1.0]).is_err());
        assert!(quantile(&[1.0], 1.5).is_err());
        assert!(bootstrap_interval(&[] as &[f64], mean, 0.95, 10, &mut Rng::from_seed(0)).is_err());
    }

    /// The percentile interval of a mean of 400 normals is close to mean ± 1.96 s.e.; 10 % of its width is allowed,
    /// which is several times the Monte-Carlo error of 4000 replicates.
    #[test]
    fn bootstrap_of_a_mean_is_close_to_the_normal_interval() {
        let rng = &mut Rng::from_seed(3);
        let mut x = vec![0.0; 400];
        rng.fill_normal(&mut x);
        let (low, high) = bootstrap_interval(&x, mean, 0.95, 4000, rng).unwrap();
        let (m, se) = mean_and_error(&x);
        assert!((low - (m - 1.96 * se)).abs() < 0.2 * se && (high - (m + 1.96 * se)).abs() < 0.2 * se);
    }
}
