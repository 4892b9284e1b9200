//! The function `untrack`: it excludes a tuple from the garbage collector.

use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::python::objects::collector;

/// Exclude a tuple that cannot be part of a cycle from the garbage collector, and return it.
#[pyfunction]
#[pyo3(signature = (value, /))]
pub(crate) fn untrack(value: Bound<'_, PyTuple>) -> Bound<'_, PyTuple> {
    collector::untrack(&value);
    value
}
