//! The class `TopicPattern`: a pattern that is parsed once.

use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};

use crate::matching::dialect::Dialect;
use crate::matching::pattern::Pattern;
use crate::python::interrupt::with_signals;
use crate::python::read::patterns;
use crate::python::read::topic_names::check_topic_name;
use crate::python::read::values::with_name;

/// A pattern that is parsed once and matched against single names.
///
/// Args:
///     pattern: The pattern.
///     dialect: Dialect of the pattern: `"java"`, `"re2j"`, `"librdkafka"` or `"python"`.
///
/// Raises:
///     InvalidPatternError: The pattern is invalid in its dialect.
///     UnsupportedPatternError: The pattern is valid, but this package cannot match it exactly.
///
/// Example:
///     >>> TopicPattern("orders-.*").matches("orders-eu"), TopicPattern("orders-.*").matches("orders")
///     (True, False)
#[pyclass(frozen, eq, hash, weakref, name = "TopicPattern", module = "assignor.matching")]
pub(crate) struct PyTopicPattern(Pattern);

impl PartialEq for PyTopicPattern {
    fn eq(&self, other: &Self) -> bool {
        (self.0.text(), self.0.dialect()) == (other.0.text(), other.0.dialect())
    }
}

impl std::hash::Hash for PyTopicPattern {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        (self.0.text(), self.0.dialect()).hash(state);
    }
}

#[pymethods]
impl PyTopicPattern {
    #[new]
    #[pyo3(signature = (pattern, dialect = None), text_signature = "(pattern, dialect='java')")]
    fn new(pattern: &Bound<'_, PyAny>, dialect: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let java = PyString::new(pattern.py(), Dialect::Java.name()).into_any();
        patterns::pattern(pattern, dialect.unwrap_or(&java), true, None).map(Self)
    }

    /// Text of the pattern.
    #[getter]
    fn pattern(&self) -> &str {
        self.0.text()
    }

    /// Dialect of the pattern.
    #[getter]
    fn dialect(&self) -> &'static str {
        self.0.dialect().name()
    }

    /// Return True if the pattern matches a topic. Internal topics match like any other.
    ///
    /// Raises:
    ///     IllegalArgumentError: The name is longer than 249 characters or not printable ASCII.
    ///     UnsupportedPatternError: Matching the name takes too many steps.
    fn matches(&self, topic: &Bound<'_, PyAny>) -> PyResult<bool> {
        let py = topic.py();
        let name = with_name(topic, || "a topic".into(), str::to_owned)?;
        check_topic_name(py, &name)?;
        // Most matches take less time than releasing the interpreter lock.
        with_signals(py, |proceed| self.0.matches(&name, proceed))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let (pattern, dialect) = (PyString::new(py, self.0.text()), PyString::new(py, self.dialect()));
        Ok(format!("TopicPattern({}, {})", pattern.repr()?, dialect.repr()?))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let arguments = (slf.get().pattern(), slf.get().dialect()).into_pyobject(slf.py())?;
        PyTuple::new(slf.py(), [slf.get_type().into_any(), arguments.into_any()])
    }
}
