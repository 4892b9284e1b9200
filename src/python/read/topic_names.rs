//! Names of topics that patterns are matched against.

use pyo3::prelude::*;
use pyo3::types::PyString;

use super::values::{expected_len, iterate, with_name};
use crate::matching::catalog;
use crate::python::error::{shown, wrong_type};
use crate::python::imports::IllegalArgumentError;

/// Return the names in an iterable.
pub(crate) fn topics<'py>(given: &Bound<'py, PyAny>) -> PyResult<Vec<Bound<'py, PyString>>> {
    let type_error = || wrong_type("topics", "an iterable of topic names", given);
    let py = given.py();
    let mut found = Vec::with_capacity(expected_len(given));
    for topic in iterate(given, type_error)? {
        let topic = topic?;
        with_name(&topic, || "a topic".into(), |name| check_topic_name(py, name))??;
        found.push(topic.cast_into::<PyString>()?);
    }
    Ok(found)
}

/// Return the texts of names.
pub(crate) fn texts<'a>(topics: &'a [Bound<'_, PyString>]) -> PyResult<Vec<&'a str>> {
    topics.iter().map(|topic| topic.to_str()).collect()
}

/// Raise an error for a name that patterns are not matched against: too long, or not printable ASCII.
pub(crate) fn check_topic_name(py: Python<'_>, name: &str) -> PyResult<()> {
    if catalog::is_matchable(name) {
        return Ok(());
    }
    let (name, kafka) = (shown(&PyString::new(py, name)), "a topic name has 1 to 249 characters of [a-zA-Z0-9._-]");
    Err(IllegalArgumentError::new_err(format!("cannot match a pattern against topic {name}: {kafka}")))
}
