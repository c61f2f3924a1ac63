//! The native half of the Python package `ive`, imported there as `ive._ive`.
//!
//! It takes arrays that are contiguous and gives arrays that are flat. What people call, with names, shapes, defaults and
//! documentation, is written in Python (`python/src/ive`). Here, numbers that are not finite and lengths that do not fit are
//! errors, as in the library itself; nothing panics on input from Python, and long work is done without the interpreter's lock.

mod arrays;
mod divergence;
mod ensemble;
mod guard;
mod metrics;
mod onnx;
mod sampled;
mod trained;
mod worlds;

use pyo3::prelude::*;

#[pymodule]
mod _ive {
    #[pymodule_export]
    use crate::divergence::jensen_shannon;
    #[pymodule_export]
    use crate::ensemble::{Ensemble, implicit};
    #[pymodule_export]
    use crate::guard::Guard;
    #[pymodule_export]
    use crate::metrics::{
        aupr, auroc, binomial_interval, bootstrap_interval, detection, fpr95, risk_coverage, roc, spearman,
    };
    #[pymodule_export]
    use crate::onnx::Onnx;
    #[pymodule_export]
    use crate::sampled::{SampledEnsemble, average, sampled_std};
    #[pymodule_export]
    use crate::trained::Trained;
    #[pymodule_export]
    use crate::worlds::{Worlds, describe, names};

    /// The version of the library.
    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");
}
