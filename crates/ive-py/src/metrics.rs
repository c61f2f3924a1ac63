//! Is the signal any good? Detection, risk–coverage and rank correlation, with intervals.

use crate::arrays::{Floats, refused};
use ive::{ClusterBootstrap, Estimate, Ranking, RiskCoverage, Rng};
use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;

/// A statistic, and the two ends of its interval.
type WithInterval = (f64, f64, f64);

/// The two coordinates of the points of a curve.
type Curve<'py> = (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>);

/// A statistic of two lists of numbers.
type Statistic = fn(&[f64], &[f64]) -> ive::Result<f64>;

fn with_interval(estimate: Estimate) -> WithInterval {
    (estimate.value, estimate.low, estimate.high)
}

fn of_two(
    py: Python<'_>,
    (first, x): (&str, &Bound<'_, PyAny>),
    (second, y): (&str, &Bound<'_, PyAny>),
    statistic: Statistic,
) -> PyResult<f64> {
    let (x, y) = (Floats::of(first, x)?, Floats::of(second, y)?);
    let (x, y) = (x.numbers(first)?, y.numbers(second)?);
    py.detach(|| statistic(&x.all(), &y.all())).map_err(refused)
}

/// Area under the ROC curve.
#[pyfunction]
pub(crate) fn auroc(
    py: Python<'_>,
    negatives: &Bound<'_, PyAny>,
    positives: &Bound<'_, PyAny>,
) -> PyResult<f64> {
    of_two(py, ("negatives", negatives), ("positives", positives), ive::auroc)
}

/// Average precision.
#[pyfunction]
pub(crate) fn aupr(
    py: Python<'_>,
    negatives: &Bound<'_, PyAny>,
    positives: &Bound<'_, PyAny>,
) -> PyResult<f64> {
    of_two(py, ("negatives", negatives), ("positives", positives), ive::aupr)
}

/// False-positive rate where 95 % of the positives are found.
#[pyfunction]
pub(crate) fn fpr95(
    py: Python<'_>,
    negatives: &Bound<'_, PyAny>,
    positives: &Bound<'_, PyAny>,
) -> PyResult<f64> {
    of_two(py, ("negatives", negatives), ("positives", positives), ive::fpr95)
}

/// Spearman's rank correlation.
#[pyfunction]
pub(crate) fn spearman(py: Python<'_>, x: &Bound<'_, PyAny>, y: &Bound<'_, PyAny>) -> PyResult<f64> {
    of_two(py, ("x", x), ("y", y), ive::spearman)
}

/// A bootstrap over clusters of states, one list of cluster names for each group.
fn bootstrap(
    groups: &[Vec<usize>],
    confidence: f64,
    replicates: usize,
    seed: u64,
) -> ive::Result<ClusterBootstrap> {
    let groups: Vec<&[usize]> = groups.iter().map(Vec::as_slice).collect();
    ClusterBootstrap::new(&groups, confidence, replicates, &Rng::from_seed(seed))
}

/// AUROC, AUPR and FPR95 with intervals; with the scores of a rival, its excess over them. Episodes of the negatives and of the
/// positives, or of both at once if positive i is negative i under a shift.
#[pyfunction]
#[pyo3(signature = (negatives, positives, episodes, confidence, replicates, seed, other=None))]
#[expect(clippy::too_many_arguments, reason = "called by one function in Python, which names them")]
pub(crate) fn detection(
    py: Python<'_>,
    negatives: &Bound<'_, PyAny>,
    positives: &Bound<'_, PyAny>,
    episodes: Vec<Vec<usize>>,
    confidence: f64,
    replicates: usize,
    seed: u64,
    other: Option<(Bound<'_, PyAny>, Bound<'_, PyAny>)>,
) -> PyResult<[WithInterval; 3]> {
    let ranking = |negatives: &Bound<'_, PyAny>, positives: &Bound<'_, PyAny>| {
        let (negatives, positives) =
            (Floats::of("negatives", negatives)?, Floats::of("positives", positives)?);
        let (negatives, positives) = (negatives.numbers("negatives")?, positives.numbers("positives")?);
        py.detach(|| Ranking::new(&negatives.all(), &positives.all())).map_err(refused)
    };
    let own = ranking(negatives, positives)?;
    let rival = other.map(|(negatives, positives)| ranking(&negatives, &positives)).transpose()?;
    let found = py.detach(|| {
        let bootstrap = bootstrap(&episodes, confidence, replicates, seed)?;
        match &rival {
            Some(rival) => own.difference(rival, &bootstrap),
            None => own.estimate(&bootstrap),
        }
    });
    let found = found.map_err(refused)?;
    Ok([found.auroc, found.aupr, found.fpr95].map(with_interval))
}

/// The ROC curve: false-positive rates and true-positive rates.
#[pyfunction]
pub(crate) fn roc<'py>(
    py: Python<'py>,
    negatives: &Bound<'py, PyAny>,
    positives: &Bound<'py, PyAny>,
) -> PyResult<Curve<'py>> {
    let (negatives, positives) = (Floats::of("negatives", negatives)?, Floats::of("positives", positives)?);
    let (negatives, positives) = (negatives.numbers("negatives")?, positives.numbers("positives")?);
    let ranking = py.detach(|| Ranking::new(&negatives.all(), &positives.all())).map_err(refused)?;
    let (alarms, hits): (Vec<f64>, Vec<f64>) = ranking.roc().into_iter().unzip();
    Ok((alarms.into_pyarray(py), hits.into_pyarray(py)))
}

/// The risk–coverage curve: coverages, risks, the area under it, and by how much that exceeds the best possible one.
#[pyfunction]
pub(crate) fn risk_coverage<'py>(
    py: Python<'py>,
    scores: &Bound<'py, PyAny>,
    errors: &Bound<'py, PyAny>,
    episodes: Vec<usize>,
    confidence: f64,
    replicates: usize,
    seed: u64,
) -> PyResult<(Curve<'py>, WithInterval, WithInterval)> {
    let (scores, errors) = (Floats::of("scores", scores)?, Floats::of("errors", errors)?);
    let (scores, errors) = (scores.numbers("scores")?, errors.numbers("errors")?);
    let found = py.detach(|| -> ive::Result<_> {
        let curve = RiskCoverage::new(&scores.all(), &errors.all())?;
        let estimate = curve.estimate(&bootstrap(&[episodes], confidence, replicates, seed)?)?;
        Ok((curve.points(), estimate))
    });
    let (points, estimate) = found.map_err(refused)?;
    let (coverage, risk): (Vec<f64>, Vec<f64>) = points.into_iter().unzip();
    let (area, excess) = (with_interval(estimate.area), with_interval(estimate.excess));
    Ok(((coverage.into_pyarray(py), risk.into_pyarray(py)), area, excess))
}

/// The interval of Clopper and Pearson.
#[pyfunction]
pub(crate) fn binomial_interval(successes: usize, trials: usize, confidence: f64) -> PyResult<(f64, f64)> {
    ive::binomial_interval(successes, trials, confidence).map_err(refused)
}

/// A percentile bootstrap interval of the mean or the interquartile mean of independent units.
#[pyfunction]
pub(crate) fn bootstrap_interval(
    py: Python<'_>,
    units: &Bound<'_, PyAny>,
    interquartile: bool,
    confidence: f64,
    replicates: usize,
    seed: u64,
) -> PyResult<(f64, f64)> {
    let units = Floats::of("units", units)?;
    let units = units.numbers("units")?.all();
    let statistic = |x: &[f64]| {
        if interquartile { ive::interquartile_mean(x).unwrap_or(f64::NAN) } else { ive::mean(x) }
    };
    let rng = &mut Rng::from_seed(seed);
    py.detach(|| ive::bootstrap_interval(&units, statistic, confidence, replicates, rng)).map_err(refused)
}
