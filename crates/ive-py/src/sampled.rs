//! Several sampled rollouts of the same states.

use crate::arrays::refused;
use crate::ensemble::Ensemble;
use ive::ValueEnsemble;
use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;

/// A number for each state, and its standard error.
type WithError<'py> = (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>);

/// Samples of an ensemble that come one at a time, in bounded memory.
#[pyclass(module = "ive._ive")]
pub(crate) struct SampledEnsemble(ive::SampledEnsemble);

#[pymethods]
impl SampledEnsemble {
    /// No samples yet, to be put into so many groups.
    #[new]
    fn new(groups: usize) -> PyResult<Self> {
        ive::SampledEnsemble::new(groups).map(Self).map_err(refused)
    }

    /// Takes another sample.
    fn push(&mut self, py: Python<'_>, sample: &Ensemble) -> PyResult<()> {
        py.detach(|| self.0.push(&sample.values)).map_err(refused)
    }

    /// How many samples were taken.
    #[getter]
    fn samples(&self) -> usize {
        self.0.samples()
    }

    /// The mean of the samples, member by member.
    fn mean(&self, py: Python<'_>) -> PyResult<Ensemble> {
        py.detach(|| self.0.mean()).map(Ensemble::from).map_err(refused)
    }

    /// σ over the members of the mean, and its standard error.
    fn std<'py>(&self, py: Python<'py>) -> PyResult<WithError<'py>> {
        let (sigma, error) = py.detach(|| self.0.std()).map_err(refused)?;
        Ok((sigma.into_pyarray(py), error.into_pyarray(py)))
    }
}

/// The mean of several ensembles, member by member.
#[pyfunction]
pub(crate) fn average(py: Python<'_>, samples: Vec<PyRef<'_, Ensemble>>) -> PyResult<Ensemble> {
    let samples: Vec<ValueEnsemble> = samples.iter().map(|sample| sample.values.clone()).collect();
    py.detach(|| ValueEnsemble::average(&samples)).map(Ensemble::from).map_err(refused)
}

/// σ over the members of the averaged samples, and its standard error by the jackknife over samples.
#[pyfunction]
pub(crate) fn sampled_std<'py>(
    py: Python<'py>,
    samples: Vec<PyRef<'py, Ensemble>>,
) -> PyResult<WithError<'py>> {
    let samples: Vec<ValueEnsemble> = samples.iter().map(|sample| sample.values.clone()).collect();
    let (sigma, error) = py.detach(|| ValueEnsemble::sampled_std(&samples)).map_err(refused)?;
    Ok((sigma.into_pyarray(py), error.into_pyarray(py)))
}
