//! Arrays of Python as slices, and errors of the library as exceptions.

use numpy::{
    Element, PyArrayDyn, PyArrayMethods, PyReadonlyArrayDyn, PyReadwriteArrayDyn, PyUntypedArrayMethods,
};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use std::borrow::Cow;

/// An array of real numbers in C order, of either precision.
pub(crate) enum Floats<'py> {
    Single(PyReadonlyArrayDyn<'py, f32>),
    Double(PyReadonlyArrayDyn<'py, f64>),
}

impl<'py> Floats<'py> {
    /// The argument of this name.
    pub(crate) fn of(name: &str, object: &Bound<'py, PyAny>) -> PyResult<Self> {
        let array = if let Ok(array) = object.cast::<PyArrayDyn<f64>>() {
            Self::Double(array.try_readonly().map_err(|error| busy(name, &error))?)
        } else if let Ok(array) = object.cast::<PyArrayDyn<f32>>() {
            Self::Single(array.try_readonly().map_err(|error| busy(name, &error))?)
        } else {
            return Err(PyTypeError::new_err(format!(
                "{name}: expected a NumPy array of float32 or float64"
            )));
        };
        array.numbers(name)?;
        Ok(array)
    }

    /// How long each axis is.
    pub(crate) fn shape(&self) -> &[usize] {
        match self {
            Self::Single(array) => array.shape(),
            Self::Double(array) => array.shape(),
        }
    }

    /// The numbers in order.
    pub(crate) fn numbers(&self, name: &str) -> PyResult<Numbers<'_>> {
        let slice = match self {
            Self::Single(array) => array.as_slice().map(Numbers::Single),
            Self::Double(array) => array.as_slice().map(Numbers::Double),
        };
        slice.map_err(|_| PyValueError::new_err(format!("{name}: the array must be contiguous (C order)")))
    }
}

/// Real numbers of either precision. All calculation is done in double precision.
#[derive(Clone, Copy)]
pub(crate) enum Numbers<'a> {
    Single(&'a [f32]),
    Double(&'a [f64]),
}

impl<'a> Numbers<'a> {
    /// How many there are.
    pub(crate) fn len(self) -> usize {
        match self {
            Self::Single(x) => x.len(),
            Self::Double(x) => x.len(),
        }
    }

    /// The numbers from `start`, so many of them, in double precision; a view where they are that already.
    pub(crate) fn part(self, start: usize, length: usize) -> Cow<'a, [f64]> {
        match self {
            Self::Single(x) => x[start..start + length].iter().copied().map(f64::from).collect(),
            Self::Double(x) => Cow::Borrowed(&x[start..start + length]),
        }
    }

    /// All of them.
    pub(crate) fn all(self) -> Cow<'a, [f64]> {
        self.part(0, self.len())
    }
}

/// The array as a slice that can be written to.
pub(crate) fn writable<'py, T: Element>(
    name: &str,
    object: &Bound<'py, PyAny>,
) -> PyResult<PyReadwriteArrayDyn<'py, T>> {
    let array = object.cast::<PyArrayDyn<T>>();
    let array =
        array.map_err(|_| PyTypeError::new_err(format!("{name}: an array of another type is needed")))?;
    array.try_readwrite().map_err(|error| busy(name, &error))
}

/// A shape as Python writes it: `(2,)`, `(2, 3)`.
pub(crate) fn tuple(shape: &[usize]) -> String {
    let inner: Vec<String> = shape.iter().map(ToString::to_string).collect();
    if shape.len() == 1 { format!("({},)", inner[0]) } else { format!("({})", inner.join(", ")) }
}

/// What the library refuses is a value that makes no sense.
pub(crate) fn refused(error: impl std::error::Error) -> PyErr {
    PyValueError::new_err(error.to_string())
}

fn busy(name: &str, error: &numpy::BorrowError) -> PyErr {
    PyValueError::new_err(format!("{name}: {error}"))
}
