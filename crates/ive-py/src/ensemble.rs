//! Ensembles of predictions that are already there, as arrays.

use crate::arrays::{Floats, Numbers, refused, tuple};
use ive::{Discounts, Members, Predictions, Signal, Statistics, ValueEnsemble};
use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::sync::{Mutex, PoisonError};

/// Estimates `[member, state]` of the values of the same states.
#[pyclass(frozen, module = "ive._ive")]
pub(crate) struct Ensemble {
    pub(crate) values: ValueEnsemble,
    /// μ and σ, where they came with the values. Whoever asks first gets them without a copy; later they are computed again.
    known: Mutex<Statistics>,
}

impl From<ValueEnsemble> for Ensemble {
    fn from(values: ValueEnsemble) -> Self {
        Self { values, known: Mutex::default() }
    }
}

#[pymethods]
impl Ensemble {
    /// Any members, `[member, state]`.
    #[staticmethod]
    fn from_members(py: Python<'_>, members: &Bound<'_, PyAny>) -> PyResult<Self> {
        let members = Floats::of("members", members)?;
        let &[size, states] = members.shape() else {
            let got = tuple(members.shape());
            return Err(PyValueError::new_err(format!("members: expected two axes, got the shape {got}")));
        };
        let numbers = members.numbers("members")?;
        let rows = || (0..size).map(|i| numbers.part(i * states, states));
        py.detach(|| ValueEnsemble::from_members(rows())).map(Self::from).map_err(refused)
    }

    /// How many members there are.
    #[getter]
    fn size(&self) -> usize {
        self.values.size()
    }

    /// How many states each member values.
    #[getter]
    fn states(&self) -> usize {
        self.values.states()
    }

    /// The unroll lengths of an implicit ensemble.
    #[getter]
    fn k(&self) -> Option<Vec<usize>> {
        self.values.unroll_lengths().map(|members| members.lengths().to_vec())
    }

    /// All members, `[member, state]`.
    fn members<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let shape = [self.values.size(), self.values.states()];
        let all: Vec<f64> = py.detach(|| {
            let mut all = Vec::with_capacity(shape[0] * shape[1]);
            self.values.members().for_each(|member| all.extend_from_slice(member));
            all
        });
        all.into_pyarray(py).reshape(shape)
    }

    /// μ, `[state]`.
    fn mean<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        let known = self.take(|known| &mut known.mean);
        let mean = if known.is_empty() { py.detach(|| self.values.mean()) } else { known };
        mean.into_pyarray(py)
    }

    /// σ, `[state]`.
    fn std<'py>(&self, py: Python<'py>, ddof: usize) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let known = if ddof == 0 { self.take(|known| &mut known.std) } else { Vec::new() };
        if known.is_empty() { self.signal(py, Signal::Std { ddof }) } else { Ok(known.into_pyarray(py)) }
    }

    /// μ + β·σ, `[state]`.
    fn score<'py>(&self, py: Python<'py>, beta: f64) -> PyResult<Bound<'py, PyArray1<f64>>> {
        if !beta.is_finite() {
            return Err(PyValueError::new_err(format!("beta: {beta} is not a finite number")));
        }
        self.signal(py, Signal::MeanPlusStd { beta })
    }

    /// The largest member minus the smallest, `[state]`.
    fn range<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        self.signal(py, Signal::Range)
    }

    /// The ensemble restricted to some unroll lengths.
    fn select(&self, py: Python<'_>, members: Vec<usize>) -> PyResult<Self> {
        let members = Members::new(members).map_err(refused)?;
        py.detach(|| self.values.select(&members)).map(Self::from).map_err(refused)
    }
}

impl Ensemble {
    /// What is known of a statistic; nothing is left behind.
    fn take(&self, which: impl FnOnce(&mut Statistics) -> &mut Vec<f64>) -> Vec<f64> {
        std::mem::take(which(&mut self.known.lock().unwrap_or_else(PoisonError::into_inner)))
    }

    fn signal<'py>(&self, py: Python<'py>, signal: Signal) -> PyResult<Bound<'py, PyArray1<f64>>> {
        Ok(py.detach(|| self.values.score(signal)).map_err(refused)?.into_pyarray(py))
    }
}

/// The implicit ensemble of predictions along paths: rewards `[k, state]`, values `[k + 1, state]` and discounts, a number or
/// `[k, state]`. All arrays have the same precision.
#[pyfunction]
pub(crate) fn implicit(
    py: Python<'_>,
    rewards: &Bound<'_, PyAny>,
    values: &Bound<'_, PyAny>,
    discount: &Bound<'_, PyAny>,
    members: Option<Vec<usize>>,
) -> PyResult<Ensemble> {
    let rewards = Floats::of("rewards", rewards)?;
    let values = Floats::of("values", values)?;
    let constant = discount.extract::<f64>().ok();
    let each = if constant.is_none() { Some(Floats::of("discount", discount)?) } else { None };
    let each = each.as_ref().map(|each| each.numbers("discount")).transpose()?;
    let &[steps, states] = rewards.shape() else {
        let got = tuple(rewards.shape());
        return Err(PyValueError::new_err(format!("rewards: expected two axes, got the shape {got}")));
    };
    let members = members.map_or_else(|| Members::new(0..=steps), Members::new).map_err(refused)?;
    let (rewards, values) = (rewards.numbers("rewards")?, values.numbers("values")?);
    match (rewards, values, each) {
        (Numbers::Double(r), Numbers::Double(v), None | Some(Numbers::Double(_))) => {
            let each = if let Some(Numbers::Double(each)) = each { Some(each) } else { None };
            py.detach(|| predicted(r, v, constant, each, states, &members))
        }
        (Numbers::Single(r), Numbers::Single(v), None | Some(Numbers::Single(_))) => {
            let each = if let Some(Numbers::Single(each)) = each { Some(each) } else { None };
            py.detach(|| predicted(r, v, constant, each, states, &members))
        }
        _ => return Err(PyValueError::new_err("rewards, values and discount differ in precision")),
    }
    .map_err(refused)
}

/// The ensemble with its statistics.
fn predicted<T: Copy + Into<f64> + Send + Sync>(
    rewards: &[T],
    values: &[T],
    constant: Option<f64>,
    each: Option<&[T]>,
    states: usize,
    members: &Members,
) -> ive::Result<Ensemble> {
    let discounts = each.map_or(Discounts::Constant(constant.unwrap_or(f64::NAN)), Discounts::Each);
    let (values, known) = Predictions::new(rewards, values, discounts, states)?.score(members, 0)?;
    Ok(Ensemble { values, known: Mutex::new(known) })
}
