//! The alarm with a stated false-alarm rate.

use crate::arrays::{Floats, refused};
use ive::GuardUnit;
use numpy::{IntoPyArray, PyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// A threshold for a score.
#[pyclass(frozen, module = "ive._ive")]
pub(crate) struct Guard(ive::Guard);

#[pymethods]
impl Guard {
    /// From one score of each of some held-out states, or from the scores of whole episodes.
    #[staticmethod]
    fn calibrate(
        py: Python<'_>,
        scores: &Bound<'_, PyAny>,
        rate: f64,
        episodes: Option<Vec<usize>>,
    ) -> PyResult<Self> {
        let scores = Floats::of("scores", scores)?;
        let scores = scores.numbers("scores")?.all();
        let guard = py.detach(|| match episodes {
            Some(episodes) => ive::Guard::calibrate_episodes(&scores, &episodes, rate),
            None => ive::Guard::calibrate(&scores, rate),
        });
        guard.map(Self).map_err(refused)
    }

    /// A guard from its parts.
    #[staticmethod]
    fn from_parts(threshold: f64, rate: f64, n: usize, unit: &str) -> PyResult<Self> {
        let unit = match unit {
            "step" => GuardUnit::Step,
            "episode" => GuardUnit::Episode,
            other => {
                let text = format!("unit: expected \"step\" or \"episode\", got {other:?}");
                return Err(PyValueError::new_err(text));
            }
        };
        ive::Guard::from_parts(threshold, rate, n, unit).map(Self).map_err(refused)
    }

    /// How many held-out scores a rate needs.
    #[staticmethod]
    fn needed(rate: f64) -> PyResult<usize> {
        ive::Guard::needed(rate).map_err(refused)
    }

    /// Whether a score is an alarm.
    fn is_alarm(&self, score: f64) -> bool {
        self.0.is_alarm(score)
    }

    /// Which scores are alarms.
    fn alarms<'py>(
        &self,
        py: Python<'py>,
        scores: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyArray1<bool>>> {
        let scores = Floats::of("scores", scores)?;
        let scores = scores.numbers("scores")?.all();
        let alarms: Vec<bool> = py.detach(|| scores.iter().map(|&score| self.0.is_alarm(score)).collect());
        Ok(alarms.into_pyarray(py))
    }

    /// Scores up to this one raise no alarm.
    #[getter]
    fn threshold(&self) -> f64 {
        self.0.threshold()
    }

    /// The stated false-alarm rate.
    #[getter]
    fn rate(&self) -> f64 {
        self.0.rate()
    }

    /// How many held-out scores or episodes are behind it.
    #[getter]
    fn n(&self) -> usize {
        self.0.n()
    }

    /// What false alarms are counted by.
    #[getter]
    fn unit(&self) -> &'static str {
        match self.0.unit() {
            GuardUnit::Episode => "episode",
            _ => "step",
        }
    }

    /// Where the false-alarm rate of this one guard lies.
    fn rate_interval(&self, confidence: f64) -> PyResult<(f64, f64)> {
        self.0.rate_interval(confidence).map_err(refused)
    }
}
