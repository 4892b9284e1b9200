//! Conversion of engine errors to Python exceptions, and messages for invalid values.

use pyo3::exceptions::{PyMemoryError, PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;

use crate::error::{GroupError, MatchError, NoAnswer, StreamsError, WireError as CoreWireError};
use crate::memory::OutOfMemory;
use crate::python::imports::{
    IllegalArgumentError, IllegalStateError, NotDeterminedError, NullArgumentError, OutOfMemoryError,
    UnsupportedPatternError, WireError, WrongTypeError,
};

impl From<GroupError> for PyErr {
    fn from(error: GroupError) -> Self {
        group_error(error, "")
    }
}

/// Return the exception for an invalid group; the message begins with `prefix`.
pub(crate) fn group_error(error: GroupError, prefix: &str) -> PyErr {
    match error {
        GroupError::OutOfMemory(error) => out_of_memory(&error, prefix),
        error => IllegalArgumentError::new_err(format!("{prefix}{error}")),
    }
}

impl From<StreamsError> for PyErr {
    fn from(error: StreamsError) -> Self {
        match error {
            StreamsError::OutOfMemory(error) => error.into(),
            error => IllegalArgumentError::new_err(error.to_string()),
        }
    }
}

impl From<NoAnswer> for PyErr {
    fn from(error: NoAnswer) -> Self {
        match error {
            NoAnswer::NoMemberLeft { .. } => IllegalStateError::new_err(error.to_string()),
            NoAnswer::NotDetermined => NotDeterminedError::new_err(error.to_string()),
        }
    }
}

impl From<OutOfMemory> for PyErr {
    fn from(error: OutOfMemory) -> Self {
        out_of_memory(&error, "")
    }
}

fn out_of_memory(error: &OutOfMemory, prefix: &str) -> PyErr {
    OutOfMemoryError::new_err((format!("{prefix}{error}"), error.count, error.bytes))
}

/// Return the error that names a result if Python had no memory for it; else the same error.
pub(crate) fn name_result(py: Python<'_>, error: PyErr, result: &OutOfMemory) -> PyErr {
    if error.is_instance_of::<PyMemoryError>(py) { out_of_memory(result, "") } else { error }
}

/// Return true for a TypeError, ValueError or OverflowError that no Python code raised, but the conversion of a value.
///
/// Python code leaves a traceback, and its exceptions are not changed.
pub(crate) fn is_failed_conversion(py: Python<'_>, error: &PyErr) -> bool {
    let is_of_conversion = error.is_instance_of::<PyTypeError>(py)
        || error.is_instance_of::<PyValueError>(py)
        || error.is_instance_of::<PyOverflowError>(py);
    is_of_conversion && error.traceback(py).is_none()
}

impl From<MatchError> for PyErr {
    fn from(error: MatchError) -> Self {
        match_error(error, None)
    }
}

/// Return the exception for a failed match; `owner` is the owner of the pattern, if it has one.
pub(crate) fn match_error(error: MatchError, owner: Option<String>) -> PyErr {
    match error {
        MatchError::Interrupted => pyo3::exceptions::PyKeyboardInterrupt::new_err(()),
        MatchError::TooManySteps { pattern, dialect, topic, steps } => {
            let construct = format!("matching the topic '{topic}' takes more than {steps} steps");
            UnsupportedPatternError::new_err((construct, pattern, dialect, 0, owner))
        }
    }
}

impl From<CoreWireError> for PyErr {
    fn from(error: CoreWireError) -> Self {
        WireError::new_err((error.reason, error.offset, error.field))
    }
}

/// Return the `repr` of a value for an error message, cut to 80 characters.
pub(crate) fn shown(value: &Bound<'_, PyAny>) -> String {
    const LONGEST: usize = 80;
    let text = match value.repr() {
        Ok(text) => text.to_string_lossy().into_owned(),
        Err(_) => format!("<{}>", type_name(value)),
    };
    if text.chars().count() <= LONGEST {
        return text;
    }
    text.chars().take(LONGEST - 1).chain(['…']).collect()
}

/// Return the error for a value of the wrong type: `NullArgumentError` for None, as in Java, else `WrongTypeError`.
pub(crate) fn wrong_type(what: &str, wanted: &str, value: &Bound<'_, PyAny>) -> PyErr {
    if value.is_none() {
        return NullArgumentError::new_err(format!("{what} must be {wanted}, not None"));
    }
    WrongTypeError::new_err(format!("{what} must be {wanted}, not {}: {}", type_name(value), shown(value)))
}

fn type_name(value: &Bound<'_, PyAny>) -> String {
    value.get_type().name().map_or_else(|_| "object".into(), |name| name.to_string_lossy().into_owned())
}
