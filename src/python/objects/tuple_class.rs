//! Classes whose instances have the layout of a tuple, as named tuples without further fields do.

use pyo3::exceptions::PyTypeError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyTuple, PyType};

/// A class that was checked: its instances have the layout of a tuple.
///
/// Memory of an instance may be read and written as that of a tuple without another check. The class is kept alive, so that
/// its address stays its own.
#[derive(Debug)]
pub(crate) struct TupleClass(Py<PyType>);

impl TupleClass {
    /// Check a class.
    ///
    /// # Errors
    /// It does not derive from `tuple` directly, or its instances have fields of their own.
    pub(crate) fn new(class: &Bound<'_, PyType>) -> PyResult<Self> {
        let tuple = class.py().get_type::<PyTuple>();
        if !class.getattr("__base__")?.is(&tuple) {
            return Err(PyTypeError::new_err(format!("{class} does not derive from tuple directly")));
        }
        for name in ["__basicsize__", "__itemsize__", "__dictoffset__", "__weakrefoffset__"] {
            if !class.getattr(name)?.eq(tuple.getattr(name)?)? {
                return Err(PyTypeError::new_err(format!(
                    "{name} of {class} differs from tuple's: the class does not have tuple's memory layout"
                )));
            }
        }
        Ok(Self(class.clone().unbind()))
    }

    /// Return the class.
    #[cfg(any(Py_LIMITED_API, Py_GIL_DISABLED))]
    pub(super) fn bind<'py>(&self, py: Python<'py>) -> &Bound<'py, PyType> {
        self.0.bind(py)
    }

    /// Return the address of the class.
    #[inline]
    pub(super) fn as_type_ptr(&self) -> *mut ffi::PyTypeObject {
        self.0.as_ptr().cast()
    }
}
