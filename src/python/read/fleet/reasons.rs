//! Reasons why a group is invalid: the first one is an error, or all of them are listed.

use std::collections::BTreeSet;

use pyo3::prelude::*;

use crate::python::imports::{AssignorError, OutOfMemoryError};

/// Reasons why a group is invalid.
pub(crate) struct Reasons {
    lists_errors: bool,
    texts: BTreeSet<String>,
}

impl Reasons {
    /// Return reasons whose first one is an error.
    pub(crate) fn failing() -> Self {
        Self { lists_errors: false, texts: BTreeSet::new() }
    }

    /// Return reasons that are listed.
    pub(crate) fn listed() -> Self {
        Self { lists_errors: true, texts: BTreeSet::new() }
    }

    /// List an error. Return it if it ends the job.
    pub(crate) fn report(&mut self, error: PyErr) -> PyResult<()> {
        if !self.lists_errors || !is_of_input(&error) {
            return Err(error);
        }
        self.add(Python::try_attach(|py| error.value(py).to_string()).unwrap_or_default());
        Ok(())
    }

    /// List a reason that is no error.
    pub(crate) fn add(&mut self, reason: String) {
        self.texts.insert(reason);
    }

    /// Return true if nothing is listed.
    pub(crate) fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    /// Return the reasons in the order of their texts.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &String> {
        self.texts.iter()
    }
}

/// Return true for an error about the input, which is not one of memory or of a signal.
pub(crate) fn is_of_input(error: &PyErr) -> bool {
    let is_of_input =
        |py: Python<'_>| error.is_instance_of::<AssignorError>(py) && !error.is_instance_of::<OutOfMemoryError>(py);
    Python::try_attach(is_of_input).unwrap_or(false)
}
