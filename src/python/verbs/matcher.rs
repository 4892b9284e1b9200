//! The class `Matcher`: the incremental matcher behind Python's `TopicMatcher`. Patterns have numbers.

use std::sync::{Mutex, MutexGuard};

use pyo3::prelude::*;
use pyo3::types::{PyList, PyString};

use crate::matching::dialect::Dialect;
use crate::matching::matcher::{Changes, Matcher};
use crate::python::imports::IllegalStateError;
use crate::python::interrupt::interruptible;
use crate::python::read::patterns;
use crate::python::read::topic_names;
use crate::python::read::values::with_name;

/// Numbers of patterns, each with the topics that it gained or lost.
type TopicChanges<'py> = Vec<(u32, Bound<'py, PyList>)>;

/// Topics that each of many patterns matches, kept up to date while topics and patterns change.
#[pyclass(frozen, name = "Matcher", module = "assignor._core")]
pub(crate) struct PyMatcher {
    dialect: Dialect,
    include_internal: bool,
    state: Mutex<MatcherState>,
}

#[derive(Default)]
struct MatcherState {
    matcher: Matcher,
    /// Topic names as Python objects, by number.
    topics: Vec<Option<Py<PyString>>>,
}

#[pymethods]
impl PyMatcher {
    #[new]
    fn new(dialect: &Bound<'_, PyAny>, include_internal: bool) -> PyResult<Self> {
        Ok(Self { dialect: patterns::dialect(dialect)?, include_internal, state: Mutex::default() })
    }

    /// Add topics; return the topics that patterns gained.
    fn add_topics<'py>(&self, topics: &Bound<'py, PyAny>) -> PyResult<TopicChanges<'py>> {
        let py = topics.py();
        let given = topic_names::topics(topics)?;
        let names = topic_names::texts(&given)?;
        let state = &mut *self.state()?;
        let matcher = &mut state.matcher;
        let (new, gained) = interruptible(py, |proceed| matcher.add_topics(&names, proceed))?;
        let mut new = new.into_iter().peekable();
        for (topic, name) in given.iter().zip(names) {
            if new.next_if(|number| state.matcher.topics().bytes(*number) == name.as_bytes()).is_some() {
                state.topics.push(Some(topic.clone().unbind()));
            }
        }
        state.changes(py, gained)
    }

    /// Remove topics; return the topics that patterns lost.
    fn remove_topics<'py>(&self, topics: &Bound<'py, PyAny>) -> PyResult<TopicChanges<'py>> {
        let py = topics.py();
        let given = topic_names::topics(topics)?;
        let names = topic_names::texts(&given)?;
        let state = &mut *self.state()?;
        let (numbers, lost) = state.matcher.remove_topics(&names);
        let changes = state.changes(py, lost);
        for number in numbers {
            state.topics[number as usize] = None;
        }
        if let Some(standing) = state.matcher.renumber() {
            let old = &mut state.topics;
            state.topics = standing.into_iter().map(|number| old[number as usize].take()).collect();
        }
        changes
    }

    /// Return the topics in the order in which they were added.
    fn topics<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        PyList::new(py, self.state()?.topics.iter().flatten())
    }

    /// Add a pattern; return its number and the topics that it matches. Errors name the `owner`.
    fn add_pattern<'py>(&self, pattern: &Bound<'py, PyAny>, owner: String) -> PyResult<(u32, Bound<'py, PyList>)> {
        let py = pattern.py();
        let what = || format!("{owner}: pattern");
        let pattern =
            with_name(pattern, what, |text| patterns::parse(text, self.dialect, self.include_internal, Some(&owner)))??;
        let state = &mut *self.state()?;
        let matcher = &mut state.matcher;
        let number = interruptible(py, |proceed| matcher.add_pattern(pattern, proceed))?;
        Ok((number, state.names(py, state.matcher.found(number))?))
    }

    /// Remove a pattern by number; return the topics that it matched.
    fn remove_pattern<'py>(&self, py: Python<'py>, number: u32) -> PyResult<Bound<'py, PyList>> {
        let state = &mut *self.state()?;
        let found = state.matcher.remove_pattern(number);
        state.names(py, &found)
    }

    /// Return the topics that a pattern matches, in the order in which they were added.
    fn matches<'py>(&self, py: Python<'py>, number: u32) -> PyResult<Bound<'py, PyList>> {
        let state = &*self.state()?;
        state.names(py, state.matcher.found(number))
    }
}

impl PyMatcher {
    fn state(&self) -> PyResult<MutexGuard<'_, MatcherState>> {
        // Waiting could deadlock: a signal handler runs inside a call of the thread that it interrupts.
        self.state.try_lock().map_err(|_| IllegalStateError::new_err("the matcher is in use by another call"))
    }
}

impl MatcherState {
    fn changes<'py>(&self, py: Python<'py>, changes: Changes) -> PyResult<TopicChanges<'py>> {
        changes.into_iter().map(|(pattern, topics)| Ok((pattern, self.names(py, &topics)?))).collect()
    }

    fn names<'py>(&self, py: Python<'py>, numbers: &[u32]) -> PyResult<Bound<'py, PyList>> {
        PyList::new(py, numbers.iter().map(|&number| self.topics.get(number as usize).and_then(Option::as_ref)))
    }
}
