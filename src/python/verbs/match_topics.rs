//! The functions `match_topics` and `match_each`: the topics that patterns match.

use pyo3::prelude::*;
use pyo3::types::{PyList, PyString};

use crate::error::MatchError;
use crate::matching::catalog::Catalog;
use crate::matching::pattern::Pattern;
use crate::python::interrupt::interruptible;
use crate::python::read::patterns;
use crate::python::read::topic_names::{self, texts};

/// Return the topics that a pattern matches, in the order of `topics`.
#[pyfunction]
pub(crate) fn match_topics<'py>(
    pattern: &Bound<'py, PyAny>,
    topics: &Bound<'py, PyAny>,
    dialect: &Bound<'py, PyAny>,
    include_internal: bool,
) -> PyResult<Bound<'py, PyList>> {
    let pattern = patterns::pattern(pattern, dialect, include_internal, None)?;
    matching(topics.py(), &pattern, &topic_names::topics(topics)?)
}

/// Return the topics that a pattern matches, matching one topic after the other.
fn matching<'py>(py: Python<'py>, pattern: &Pattern, topics: &[Bound<'py, PyString>]) -> PyResult<Bound<'py, PyList>> {
    let names = texts(topics)?;
    let found = interruptible(py, |proceed| {
        let mut found = Vec::new();
        for (row, name) in names.iter().enumerate() {
            if row % 16 == 15 && !proceed() {
                return Err(MatchError::Interrupted);
            }
            if pattern.matches(name, proceed)? {
                found.push(row);
            }
        }
        Ok(found)
    })?;
    PyList::new(py, found.into_iter().map(|row| &topics[row]))
}

/// Highest number of patterns that are matched name by name; building a catalog of the names would take longer.
const FEW: usize = 3;

/// Return the topics that each pattern matches. `patterns` has (pattern, dialect, owner); `topics` are distinct.
#[pyfunction]
pub(crate) fn match_each<'py>(
    patterns: Vec<(Bound<'py, PyAny>, Bound<'py, PyAny>, String)>,
    topics: &Bound<'py, PyAny>,
    include_internal: bool,
) -> PyResult<Vec<Bound<'py, PyList>>> {
    let py = topics.py();
    let topics = topic_names::topics(topics)?;
    let patterns = patterns.into_iter().map(|(pattern, dialect, owner)| {
        py.check_signals()?;
        patterns::pattern(&pattern, &dialect, include_internal, Some(&owner))
    });
    let patterns = patterns.collect::<PyResult<Vec<_>>>()?;
    if patterns.len() <= FEW {
        return patterns.iter().map(|pattern| matching(py, pattern, &topics)).collect();
    }
    let names = texts(&topics)?;
    let found = interruptible(py, |proceed| {
        let catalog = Catalog::new(names);
        patterns.iter().map(|pattern| pattern.select(&catalog, proceed)).collect::<Result<Vec<_>, _>>()
    })?;
    let list = |numbers: Vec<u32>| PyList::new(py, numbers.into_iter().map(|number| &topics[number as usize]));
    found.into_iter().map(list).collect()
}
