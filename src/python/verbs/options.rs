//! Options of verbs that both engines have.

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyString};

use crate::python::error::wrong_type;
use crate::python::imports::REFERENCE_VERB;

/// The engine that a caller chooses.
pub(crate) enum Engine {
    /// This one.
    Rust,
    /// Another one, or a value that is no engine: `assignor._engine` decides.
    Other(Py<PyAny>),
}

impl Engine {
    /// Return the verb of a module of the other engine; None if the engine is this one.
    pub(crate) fn other<'py>(self, py: Python<'py>, module: &str, verb: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
        match self {
            Self::Rust => Ok(None),
            Self::Other(engine) => REFERENCE_VERB.get(py)?.call1((engine, module, verb)).map(Some),
        }
    }
}

impl FromPyObject<'_, '_> for Engine {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        let is_rust = value.cast::<PyString>().is_ok_and(|name| *name == "rust");
        Ok(if is_rust { Self::Rust } else { Self::Other(value.to_owned().unbind()) })
    }
}

/// Kafka's test flag: use rack logic even if every partition is on every rack.
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
