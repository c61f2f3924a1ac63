//! A world model in ONNX files: members of the implicit ensemble of its states.

use std::path::PathBuf;

use ive::Rng;
use ive_onnx::{Array, OnnxModel, Scored, score, score_actions};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArrayDyn, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::arrays::refused;
use crate::ensemble::Ensemble;

/// The ensemble, and the standard error of its σ if it was sampled.
type Found<'py> = (Ensemble, Option<Bound<'py, PyArray1<f64>>>);

fn unfit(error: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}

fn copied(array: &PyReadonlyArrayDyn<'_, f32>) -> PyResult<Array> {
    let data = array.as_slice().map_err(|_| PyValueError::new_err("states: not contiguous (C order)"))?;
    Array::new(array.shape().to_vec(), data.to_vec()).map_err(unfit)
}

/// The model of a folder.
#[pyclass(frozen, module = "ive._ive")]
pub(crate) struct Onnx {
    model: OnnxModel,
}

#[pymethods]
impl Onnx {
    /// Opens a folder with `model.toml` and its graphs.
    #[staticmethod]
    fn open(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        py.detach(|| OnnxModel::open(path)).map(|model| Self { model }).map_err(unfit)
    }

    /// Members k = 0..n of states, one array (observations, or the one tensor of a state) or all tensors of a state in the order of their names; with `actions` k = 1..n of every pair of a state and an action.
    fn score<'py>(
        &self,
        py: Python<'py>,
        states: Vec<PyReadonlyArrayDyn<'py, f32>>,
        sizes: (usize, usize),
        seed: u64,
        actions: bool,
    ) -> PyResult<Found<'py>> {
        let arrays = states.iter().map(copied).collect::<PyResult<Vec<Array>>>()?;
        let found: PyResult<Scored> = py.detach(|| {
            let start = match &arrays[..] {
                [one] => self.model.start(one),
                all => self.model.states(all),
            };
            let start = start.map_err(unfit)?;
            let (horizon, samples) = sizes;
            let of = if actions { score_actions } else { score };
            of(&self.model, &start, horizon, samples, &mut Rng::from_seed(seed)).map_err(refused)
        });
        let found = found?;
        Ok((Ensemble::from(found.ensemble), found.std_error.map(|errors| errors.into_pyarray(py))))
    }

    /// The names of the tensors of a state.
    #[getter]
    fn states(&self) -> Vec<String> {
        self.model.settings().states.keys().cloned().collect()
    }

    /// γ; none if the model predicts its discounts.
    #[getter]
    fn discount(&self) -> Option<f64> {
        self.model.settings().gamma
    }

    /// How many numbered actions there are; none for other kinds.
    #[getter]
    fn num_actions(&self) -> Option<usize> {
        self.model.num_actions()
    }

    /// Whether two rollouts from the same state may differ.
    #[getter]
    fn is_stochastic(&self) -> bool {
        self.model.is_stochastic()
    }
}
