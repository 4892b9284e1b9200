//! The options of `assign` and `plan`: the engine, and Kafka's test flag.

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyString};

use crate::python::error::{shown, wrong_type};
use crate::python::imports::IllegalArgumentError;

/// The engine asked for: this one, or the pure Python reference.
pub(crate) enum Engine {
    Rust,
    Reference,
}

impl FromPyObject<'_, '_> for Engine {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        match value.cast::<PyString>().map(|name| name.to_string_lossy().into_owned()).as_deref() {
            Ok("rust") => Ok(Self::Rust),
            Ok("reference") => Ok(Self::Reference),
            _ => Err(IllegalArgumentError::new_err(format!(
                "engine must be 'rust' or 'reference', not {}",
                shown(&value)
            ))),
        }
    }
}

/// Kafka's test flag: rack logic even where every partition is on every rack.
pub(crate) struct PreferRackAware(pub(crate) bool);

impl FromPyObject<'_, '_> for PreferRackAware {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        match value.cast::<PyBool>() {
            Ok(flag) => Ok(Self(flag.is_true())),
            Err(_) => Err(wrong_type("prefer_rack_aware", "a bool", &value)),
        }
    }
}
