//! Options of functions that both engines have: the engine, the assignor, its protocol, and the rack flag.

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBoolMethods, PyDict, PyString};

use crate::assign::{Assignor, GroupProtocol, Options};
use crate::python::error::{shown, wrong_type};
use crate::python::imports::{IllegalArgumentError, REFERENCE_VERB};

/// The engine that a caller chooses.
pub(crate) enum Engine {
    /// The Rust engine.
    Rust,
    /// Another engine, or an invalid value; `assignor._engine` checks it.
    Other(Py<PyAny>),
}

impl Engine {
    /// Return a function of another engine's module; None if the engine is Rust.
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
        flag(&value, "prefer_rack_aware").map(Self)
    }
}

/// Whether a subscription may have a body of an older version than its header.
pub(crate) struct Tolerant(pub(crate) bool);

impl FromPyObject<'_, '_> for Tolerant {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        flag(&value, "tolerant").map(Self)
    }
}

fn flag(value: &Bound<'_, PyAny>, name: &str) -> PyResult<bool> {
    value.cast::<PyBool>().map(PyBoolMethods::is_true).map_err(|_| wrong_type(name, "a bool", value))
}

impl FromPyObject<'_, '_> for GroupProtocol {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        let Ok(name) = value.cast::<PyString>() else { return Err(wrong_type("group_protocol", "a str", &value)) };
        Self::named(&name.to_string_lossy()).ok_or_else(|| {
            let names = quoted(Self::ALL.into_iter().map(Self::name));
            IllegalArgumentError::new_err(format!("group_protocol must be one of {names}, not {}", shown(&value)))
        })
    }
}

/// Return the options for an assignor; without a name, for the default assignor of the protocol.
pub(crate) fn options(
    assignor: Option<&Bound<'_, PyAny>>,
    protocol: GroupProtocol,
    prefer_rack_aware: PreferRackAware,
) -> PyResult<Options> {
    let assignor = assignor.map_or_else(|| Ok(protocol.default_assignor()), |name| assignor_named(protocol, name))?;
    Ok(Options { assignor, prefer_rack_aware: prefer_rack_aware.0 })
}

/// Return options as keyword arguments of a function of the reference.
pub(crate) fn keywords(py: Python<'_>, options: Options) -> PyResult<Bound<'_, PyDict>> {
    let keywords = PyDict::new(py);
    keywords.set_item("assignor", options.assignor.name())?;
    keywords.set_item("group_protocol", options.assignor.protocol().name())?;
    keywords.set_item("prefer_rack_aware", options.prefer_rack_aware)?;
    Ok(keywords)
}

/// Return the assignor of a protocol by its name.
pub(crate) fn assignor_named(protocol: GroupProtocol, given: &Bound<'_, PyAny>) -> PyResult<Assignor> {
    let Ok(name) = given.cast::<PyString>() else {
        return Err(wrong_type("assignor", "a name such as 'range', or None", given));
    };
    let name = name.to_string_lossy();
    Assignor::named(protocol, &name).ok_or_else(|| {
        let allowed = Assignor::ALL.into_iter().filter(|assignor| assignor.protocol() == protocol);
        let mut reason = format!(
            "assignor must be one of {} for group_protocol '{}', not {}",
            quoted(allowed.map(Assignor::name)),
            protocol.name(),
            shown(given)
        );
        for other in GroupProtocol::ALL {
            if other != protocol && Assignor::named(other, &name).is_some() {
                reason = format!("{reason}; '{name}' is an assignor of group_protocol '{}'", other.name());
            }
        }
        IllegalArgumentError::new_err(reason)
    })
}

/// Return names in quotes, separated by commas.
fn quoted<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.map(|name| format!("'{name}'")).collect::<Vec<_>>().join(", ")
}
