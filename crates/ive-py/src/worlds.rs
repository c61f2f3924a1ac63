//! Environments by name, one or many in step.

mod fleet;
mod games;

use crate::arrays::{refused, writable};
use fleet::{Autoreset, Out};
use games::{Games, Refused};
use ive_envs::registry::{self, ActionKind};
use ive_envs::{OptionError, StepError};
use numpy::{PyArrayDyn, PyReadonlyArrayDyn};
use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Environments of one name that take their steps together.
#[pyclass(frozen, module = "ive._ive")]
pub(crate) struct Worlds {
    games: Mutex<Games>,
    num_envs: usize,
    length: usize,
}

/// Reward, whether the episode is over for good, whether it was cut off.
type Step = (f64, bool, bool);

#[pymethods]
impl Worlds {
    /// The worlds of these seeds, which begin at a reset.
    #[new]
    #[pyo3(signature = (name, options, seeds, *, autoreset, limit, threads))]
    fn new(
        py: Python<'_>,
        name: String,
        options: Vec<(String, String)>,
        seeds: Vec<u64>,
        autoreset: &str,
        limit: Option<u32>,
        threads: usize,
    ) -> PyResult<Self> {
        let autoreset = Autoreset::from_name(autoreset)
            .ok_or_else(|| PyValueError::new_err(format!("autoreset: there is no mode {autoreset:?}")))?;
        let plan = games::Plan { name, options, autoreset, limit, threads };
        let num_envs = seeds.len();
        let games = py.detach(|| Games::new(plan, &seeds)).map_err(not_made)?;
        let length = games.observation_len();
        Ok(Self { games: Mutex::new(games), num_envs, length })
    }

    /// The shape of an observation.
    #[getter]
    fn shape(&self) -> Vec<usize> {
        self.lock().shape()
    }

    /// The names of the actions, in the order of their numbers.
    #[getter]
    fn actions(&self) -> Vec<&'static str> {
        self.lock().actions()
    }

    /// Makes some worlds anew, with these seeds; None leaves a world as it is.
    fn reseed(&self, py: Python<'_>, seeds: Vec<Option<u64>>) -> PyResult<()> {
        same_length("seeds", self.num_envs, seeds.len())?;
        py.detach(|| self.lock().reseed(&seeds)).map_err(not_made)
    }

    /// Starts an episode in all worlds, or in those of the mask, and writes what all of them show.
    #[pyo3(signature = (observations, mask=None))]
    fn reset(
        &self,
        py: Python<'_>,
        observations: &Bound<'_, PyAny>,
        mask: Option<Vec<bool>>,
    ) -> PyResult<()> {
        let mask = mask.unwrap_or_else(|| vec![true; self.num_envs]);
        same_length("reset_mask", self.num_envs, mask.len())?;
        self.with_observations(py, observations, |games, out| games.reset(&mask, out))
    }

    /// A step in one world alone, if there is but one, with the number of an action or a number for each motor.
    fn step_one(
        &self,
        py: Python<'_>,
        action: &Bound<'_, PyAny>,
        observation: &Bound<'_, PyAny>,
    ) -> PyResult<Step> {
        same_length("environments", 1, self.num_envs)?;
        let actions = match action.extract::<i64>() {
            Ok(action) => Actions::numbered(vec![action])?,
            Err(_) => Actions::of(action)?,
        };
        let (mut reward, mut terminated, mut truncated) = ([0.0], [false], [false]);
        let step = |games: &mut Games, observations: Observations<'_>| {
            let out = Out { rewards: &mut reward, terminated: &mut terminated, truncated: &mut truncated };
            games.step(&actions, observations, out)
        };
        self.with_observations(py, observation, step)?;
        Ok((reward[0], terminated[0], truncated[0]))
    }

    /// A step in every world; whether a world has started over within it.
    fn step(
        &self,
        py: Python<'_>,
        actions: &Bound<'_, PyAny>,
        observations: &Bound<'_, PyAny>,
        rewards: &Bound<'_, PyAny>,
        terminated: &Bound<'_, PyAny>,
        truncated: &Bound<'_, PyAny>,
    ) -> PyResult<bool> {
        let actions = Actions::of(actions)?;
        let mut rewards = writable::<f64>("rewards", rewards)?;
        let mut terminated = writable::<bool>("terminated", terminated)?;
        let mut truncated = writable::<bool>("truncated", truncated)?;
        let out = Out {
            rewards: rewards.as_slice_mut()?,
            terminated: terminated.as_slice_mut()?,
            truncated: truncated.as_slice_mut()?,
        };
        for (name, got) in [
            ("rewards", out.rewards.len()),
            ("terminated", out.terminated.len()),
            ("truncated", out.truncated.len()),
        ] {
            same_length(name, self.num_envs, got)?;
        }
        self.with_observations(py, observations, |games, observations| {
            games.step(&actions, observations, out)
        })
    }

    /// Writes the last observations of the episodes of these worlds that ended within the last step.
    fn final_observations(
        &self,
        py: Python<'_>,
        indices: Vec<usize>,
        observations: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        indices.iter().try_for_each(|&index| self.check_index(index))?;
        let last = |games: &mut Games, out: Observations<'_>| games.last_observations(&indices, out);
        self.with_some_observations(py, indices.len(), observations, last)
    }

    /// What Procgen tells about levels: those shown, those of the step, and whether the step completed them.
    fn levels(&self) -> Option<(Vec<i32>, Vec<i32>, Vec<bool>)> {
        self.lock().levels()
    }

    /// A picture of one world: height, width, and red, green and blue of each pixel.
    fn picture<'py>(&self, py: Python<'py>, index: usize) -> PyResult<(usize, usize, Bound<'py, PyBytes>)> {
        self.check_index(index)?;
        let (height, width, pixels) =
            py.detach(|| self.lock().picture(index)).map_err(PyRuntimeError::new_err)?;
        Ok((height, width, PyBytes::new(py, &pixels)))
    }

    /// The complete state of every world; one for all of them with Procgen.
    fn save<'py>(&self, py: Python<'py>) -> Vec<Bound<'py, PyBytes>> {
        let states = py.detach(|| self.lock().save());
        states.iter().map(|state| PyBytes::new(py, state)).collect()
    }

    /// Takes over saved states.
    fn restore(&self, py: Python<'_>, states: Vec<Vec<u8>>, observations: &Bound<'_, PyAny>) -> PyResult<()> {
        py.detach(|| self.lock().restore(&states)).map_err(PyValueError::new_err)?;
        self.with_observations(py, observations, |games, out| games.observe(out))
    }
}

impl Worlds {
    /// A step that panicked would be a bug; what it left behind is still a world.
    fn lock(&self) -> MutexGuard<'_, Games> {
        self.games.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn check_index(&self, index: usize) -> PyResult<()> {
        if index < self.num_envs {
            return Ok(());
        }
        let text = format!("index: there are {} environments, got {index}", self.num_envs);
        Err(PyValueError::new_err(text))
    }

    /// Calls a function with the buffer for all observations, without the interpreter's lock.
    fn with_observations<R: Send>(
        &self,
        py: Python<'_>,
        observations: &Bound<'_, PyAny>,
        function: impl FnOnce(&mut Games, Observations<'_>) -> Result<R, Refused> + Send,
    ) -> PyResult<R> {
        self.with_some_observations(py, self.num_envs, observations, function)
    }

    /// The same with a buffer for the observations of so many worlds.
    fn with_some_observations<R: Send>(
        &self,
        py: Python<'_>,
        worlds: usize,
        observations: &Bound<'_, PyAny>,
        function: impl FnOnce(&mut Games, Observations<'_>) -> Result<R, Refused> + Send,
    ) -> PyResult<R> {
        let needed = worlds * self.length;
        if observations.is_instance_of::<PyArrayDyn<f64>>() {
            let mut array = writable::<f64>("observations", observations)?;
            let slice = array.as_slice_mut()?;
            same_length("observations", needed, slice.len())?;
            return py.detach(|| function(&mut self.lock(), Observations::Reals(slice))).map_err(not_moved);
        }
        let mut array = writable::<u8>("observations", observations)?;
        let slice = array.as_slice_mut()?;
        same_length("observations", needed, slice.len())?;
        py.detach(|| function(&mut self.lock(), Observations::Bytes(slice))).map_err(not_moved)
    }
}

/// Where observations are written to, world by world.
pub(crate) enum Observations<'a> {
    Bytes(&'a mut [u8]),
    Reals(&'a mut [f64]),
}

/// One action for each world.
pub(crate) enum Actions {
    /// Numbers of actions.
    Numbers(Vec<usize>),
    /// A number for each motor, world by world.
    Reals(Vec<f64>),
}

impl Actions {
    fn of(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let Ok(numbers) = object.extract::<PyReadonlyArrayDyn<'_, i64>>() {
            return Self::numbered(numbers.as_slice()?.to_vec());
        }
        if let Ok(reals) = object.extract::<PyReadonlyArrayDyn<'_, f64>>() {
            return Ok(Self::Reals(reals.as_slice()?.to_vec()));
        }
        Err(PyTypeError::new_err("actions: expected an array of int64 or float64"))
    }

    fn numbered(actions: Vec<i64>) -> PyResult<Self> {
        let number = |&action: &i64| {
            let none = || PyValueError::new_err(format!("actions: {action} is negative"));
            usize::try_from(action).map_err(|_| none())
        };
        Ok(Self::Numbers(actions.iter().map(number).collect::<PyResult<_>>()?))
    }
}

/// The names of all environments.
#[pyfunction]
pub(crate) fn names() -> Vec<String> {
    registry::entries().into_iter().map(|entry| entry.name).collect()
}

/// What there is to know about an environment.
#[pyfunction]
pub(crate) fn describe<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyDict>> {
    let entry = registry::find(name).map_err(refused)?;
    let about = PyDict::new(py);
    about.set_item("name", entry.name)?;
    about.set_item("summary", entry.summary)?;
    about.set_item("shape", entry.shape)?;
    about.set_item("entries", entry.entries)?;
    about.set_item("channels", entry.channels)?;
    about.set_item("discrete", entry.action_kind == ActionKind::Numbered)?;
    about.set_item("actions", entry.actions)?;
    about.set_item("minimal_actions", entry.minimal_actions)?;
    let options = PyDict::new(py);
    for option in entry.options {
        options.set_item(option.key, (option.default, option.values, option.meaning))?;
    }
    about.set_item("options", options)?;
    about.set_item("origin", entry.origin)?;
    about.set_item("licence", entry.licence)?;
    Ok(about)
}

fn same_length(name: &str, expected: usize, got: usize) -> PyResult<()> {
    if expected == got {
        return Ok(());
    }
    Err(PyValueError::new_err(format!("{name}: expected length {expected}, got {got}")))
}

/// A name or an option that does not exist is a value error; a library that cannot be had is not.
fn not_made(error: OptionError) -> PyErr {
    match error {
        OptionError::Native(error) => PyRuntimeError::new_err(error.to_string()),
        other => refused(other),
    }
}

/// Physics that cannot go on are not the caller's fault.
fn not_moved(error: Refused) -> PyErr {
    match error {
        Refused::Step(error @ StepError::Unstable { .. }) => PyRuntimeError::new_err(error.to_string()),
        Refused::Step(error) => refused(error),
        Refused::Type => PyTypeError::new_err("actions or observations: these environments have others"),
    }
}
