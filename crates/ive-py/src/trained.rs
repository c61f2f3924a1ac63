//! The agent of a run directory: what it would do, and what it expects.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use ive::{Members, ValueEnsemble};
use ive_agents::evaluation::Observations;
use ive_agents::{Agent, AgentError, Decision};
use ive_envs::registry::ObservationKind;
use ive_lab::{Failure, Plan, load_with};
use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayDyn, PyArrayMethods, PyReadonlyArrayDyn};
use pyo3::exceptions::{
    PyFileNotFoundError, PyNotImplementedError, PyOSError, PyRuntimeError, PyTypeError, PyValueError,
};
use pyo3::prelude::*;

use crate::arrays::refused;
use crate::ensemble::Ensemble;

/// Why a run cannot be opened, as an exception.
fn unopened(failure: Failure) -> PyErr {
    match failure.code {
        64 => PyFileNotFoundError::new_err(failure.message),
        65 | 78 => PyValueError::new_err(failure.message),
        74 => PyOSError::new_err(failure.message),
        _ => PyRuntimeError::new_err(failure.message),
    }
}

/// Why an agent does not answer, as an exception.
fn unanswered(error: AgentError) -> PyErr {
    match error {
        AgentError::Members { .. } => PyValueError::new_err(format!("members: {error}")),
        AgentError::Observations { .. } => PyValueError::new_err(error.to_string()),
        AgentError::Recurrent => PyNotImplementedError::new_err(error.to_string()),
        _ => PyRuntimeError::new_err(error.to_string()),
    }
}

/// Actions `[state, number]`, values `[state]`, and the members if the agent has a model.
type Answer<'py> = (Bound<'py, PyArray2<f64>>, Bound<'py, PyArray1<f64>>, Option<Ensemble>);

/// A trained agent.
#[pyclass(frozen, module = "ive._ive")]
pub(crate) struct Trained {
    plan: Plan,
    agent: Mutex<Box<dyn Agent>>,
    /// Whether it sees bytes; otherwise numbers.
    bytes: bool,
    shape: Vec<usize>,
    actions: Vec<&'static str>,
    steps: u64,
    discount: f64,
}

#[pymethods]
impl Trained {
    /// From a run directory, and what there is to be warned of.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<(Self, Vec<String>)> {
        let mut warnings = Vec::new();
        let loaded = py.detach(|| load_with(&path, |what| warnings.push(what.to_owned())));
        let (plan, agent) = loaded.map_err(|failure| {
            let before = warnings.iter().map(|w| format!("{w}; ")).collect::<String>();
            unopened(Failure { message: before + &failure.message, ..failure })
        })?;
        let kinds = plan.environment().map_err(unopened)?.kinds();
        let spec = agent.shown();
        let found = Self {
            bytes: kinds.observation != ObservationKind::Vector,
            shape: spec.shape.clone(),
            actions: spec.actions.clone(),
            steps: agent.steps(),
            discount: agent.summary().discount,
            plan,
            agent: Mutex::new(agent),
        };
        Ok((found, warnings))
    }

    /// What it would do in states given as observations of its kind, one after the other: uint8, or float64.
    fn decide<'py>(
        &self,
        py: Python<'py>,
        observations: &Bound<'py, PyAny>,
        members: Option<Vec<usize>>,
    ) -> PyResult<Answer<'py>> {
        let members = members.map(Members::new).transpose().map_err(refused)?;
        let decisions = if self.bytes {
            let array = readable::<u8>(observations, "uint8")?;
            let seen = slice(&array)?;
            py.detach(|| self.ask(Observations::Bytes(seen), members.as_ref()))
        } else {
            let array = readable::<f64>(observations, "float64")?;
            let seen = slice(&array)?;
            py.detach(|| self.ask(Observations::Numbers(seen), members.as_ref()))
        }
        .map_err(unanswered)?;
        let ensemble = ensemble(&decisions).map_err(refused)?;
        let width = decisions.first().map_or(1, |d| d.action.len());
        let actions: Vec<f64> = decisions.iter().flat_map(|d| d.action.iter().copied()).collect();
        let values: Vec<f64> = decisions.iter().map(|d| d.value).collect();
        let actions = actions.into_pyarray(py).reshape([decisions.len(), width])?;
        Ok((actions, values.into_pyarray(py), ensemble.map(Ensemble::from)))
    }

    /// The name of the agent.
    #[getter]
    fn agent(&self) -> &str {
        &self.plan.agent
    }

    /// The name of its environment.
    #[getter]
    fn environment(&self) -> &str {
        &self.plan.world
    }

    /// The options of its environment.
    #[getter]
    fn options(&self) -> BTreeMap<String, String> {
        self.plan.options.clone()
    }

    /// The seed of the run.
    #[getter]
    fn seed(&self) -> u64 {
        self.plan.seed
    }

    /// Environment steps of training so far.
    #[getter]
    fn steps(&self) -> u64 {
        self.steps
    }

    /// Environment steps that the run shall have.
    #[getter]
    fn planned_steps(&self) -> u64 {
        self.plan.steps
    }

    /// γ.
    #[getter]
    fn discount(&self) -> f64 {
        self.discount
    }

    /// Whether it sees bytes; otherwise float64.
    #[getter]
    fn bytes(&self) -> bool {
        self.bytes
    }

    /// The shape of an observation.
    #[getter]
    fn shape(&self) -> Vec<usize> {
        self.shape.clone()
    }

    /// The names of the actions, or of the motors.
    #[getter]
    fn actions(&self) -> Vec<&'static str> {
        self.actions.clone()
    }
}

impl Trained {
    fn ask(
        &self,
        observations: Observations<'_>,
        members: Option<&Members>,
    ) -> Result<Vec<Decision<Vec<f64>>>, AgentError> {
        self.agent.lock().unwrap_or_else(PoisonError::into_inner).answer(observations, members)
    }
}

fn readable<'py, T: numpy::Element>(
    object: &Bound<'py, PyAny>,
    kind: &str,
) -> PyResult<PyReadonlyArrayDyn<'py, T>> {
    let array = object.cast::<PyArrayDyn<T>>();
    let array =
        array.map_err(|_| PyTypeError::new_err(format!("observations: expected a NumPy array of {kind}")))?;
    array.try_readonly().map_err(|e| PyValueError::new_err(format!("observations: {e}")))
}

fn slice<'a, T: numpy::Element>(array: &'a PyReadonlyArrayDyn<'_, T>) -> PyResult<&'a [T]> {
    array
        .as_slice()
        .map_err(|_| PyValueError::new_err("observations: the array must be contiguous (C order)"))
}

/// The members of all decisions; none if the agent has no model, or there is no decision.
fn ensemble(decisions: &[Decision<Vec<f64>>]) -> ive::Result<Option<ValueEnsemble>> {
    let all: Option<Vec<_>> = decisions.iter().map(|d| d.members.as_ref()).collect();
    let Some(all) = all.filter(|all| !all.is_empty()) else { return Ok(None) };
    let rows = (0..all[0].values().len()).map(|k| all.iter().map(|m| m.values()[k]).collect::<Vec<f64>>());
    ValueEnsemble::from_members(rows)?.with_unroll_lengths(all[0].ks().clone()).map(Some)
}
