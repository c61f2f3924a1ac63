//! Disagreement of members that are distributions.

use crate::arrays::{Floats, refused, tuple};
use ive::Weighting;
use numpy::{IntoPyArray, PyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// The weighted Jensen–Shannon divergence of distributions `[member, state, atom]`, `[state]`.
#[pyfunction]
pub(crate) fn jensen_shannon<'py>(
    py: Python<'py>,
    probabilities: &Bound<'py, PyAny>,
    weighting: &str,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let weighting = match weighting {
        "uniform" => Weighting::Uniform,
        "decreasing" => Weighting::Decreasing,
        "increasing" => Weighting::Increasing,
        other => {
            let allowed = "\"uniform\", \"decreasing\" or \"increasing\"";
            return Err(PyValueError::new_err(format!("weighting: expected {allowed}, got {other:?}")));
        }
    };
    let array = Floats::of("probabilities", probabilities)?;
    let &[members, states, atoms] = array.shape() else {
        let got = tuple(array.shape());
        return Err(PyValueError::new_err(format!(
            "probabilities: expected three axes, got the shape {got}"
        )));
    };
    let numbers = array.numbers("probabilities")?;
    let one = |state: usize, rows: &mut [Vec<f64>]| {
        for (k, row) in rows.iter_mut().enumerate() {
            row.clear();
            row.extend_from_slice(&numbers.part((k * states + state) * atoms, atoms));
        }
        ive::jensen_shannon(rows, weighting).map_err(|error| (state, error))
    };
    let all = || {
        let mut rows = vec![Vec::with_capacity(atoms); members];
        (0..states).map(|state| one(state, &mut rows)).collect::<Result<Vec<f64>, _>>()
    };
    let divergence = py.detach(all).map_err(|(state, error)| match error {
        ive::Error::NotADistribution { row, sum, .. } => PyValueError::new_err(format!(
            "probabilities: member {row} of state {state} is no distribution: it sums to {sum}, or an entry is negative"
        )),
        other => refused(other),
    })?;
    Ok(divergence.into_pyarray(py))
}
