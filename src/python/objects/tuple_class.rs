//! Classes whose instances have the memory layout of a tuple, such as named tuples.

use pyo3::exceptions::PyTypeError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyTuple, PyType};

/// A class whose instances are checked to have the memory layout of a tuple.
///
/// Instances may be read and written as tuples without further checks. The reference keeps the class alive, so that no
/// other class can get its address.
#[derive(Debug)]
pub(crate) struct TupleClass(Py<PyType>);

impl TupleClass {
    /// Check a class.
    ///
    /// # Errors
    /// The class does not derive from `tuple` directly, or its instances have additional fields.
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
