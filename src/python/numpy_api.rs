//! First use of numpy's C functions. rust-numpy panics where they cannot be looked up, so it is used only after `load`.

use std::thread;

use numpy::{PyArray1, PyArrayMethods, PyUntypedArray};
use pyo3::exceptions::PyImportError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

/// Import numpy and look up its C functions.
///
/// Errors: what the import raises, also by a signal handler; `ImportError`, if the caller is a signal handler that interrupts the
/// import of numpy, or if this build cannot use the C functions of the installed numpy.
pub(crate) fn load(py: Python<'_>) -> PyResult<()> {
    static LOADED: PyOnceLock<()> = PyOnceLock::new();
    LOADED.get_or_try_init(py, || look_up(py)).copied()
}

fn look_up(py: Python<'_>) -> PyResult<()> {
    let numpy = py.import("numpy")?;
    // Another thread would wait for the end of the import, which this thread can reach only after this call.
    if numpy.getattr("__spec__")?.getattr("_initializing").is_ok_and(|value| value.is_truthy().unwrap_or(false)) {
        return Err(PyImportError::new_err("numpy is not imported yet: import it before the signal handler is set"));
    }
    // The look-up runs Python code. Signal handlers run in the main thread only, so they cannot raise an exception in it here.
    let first_use = || Python::attach(|py| drop(PyArray1::<i32>::zeros(py, 1, false).readonly()));
    let thread = thread::Builder::new().name("assignor".to_owned()).spawn(first_use)?;
    py.detach(|| thread.join())
        .map_err(|_| PyImportError::new_err("cannot use the C functions of this numpy: install another version of it"))
}

/// Return a value that is a numpy array; None for any other value.
pub(crate) fn as_array<'a, 'py>(value: &'a Bound<'py, PyAny>) -> PyResult<Option<&'a Bound<'py, PyUntypedArray>>> {
    load(value.py())?;
    Ok(value.cast::<PyUntypedArray>().ok())
}
