//! Names as Python objects.

use std::sync::OnceLock;

use pyo3::prelude::*;
use pyo3::sync::OnceLockExt;
use pyo3::types::PyString;

use crate::group::Names;

/// Names as `str` objects.
pub(crate) enum NameObjects {
    /// Those of the input.
    Given(Vec<Py<PyString>>),
    /// New ones, made when they are first read.
    Made(OnceLock<Vec<Py<PyString>>>),
}

impl Default for NameObjects {
    fn default() -> Self {
        Self::Made(OnceLock::new())
    }
}

impl From<Vec<Py<PyString>>> for NameObjects {
    fn from(objects: Vec<Py<PyString>>) -> Self {
        Self::Given(objects)
    }
}

impl NameObjects {
    /// Return the objects for the names.
    pub(crate) fn get(&self, py: Python<'_>, names: &Names) -> &[Py<PyString>] {
        match self {
            Self::Given(objects) => objects,
            Self::Made(objects) => {
                let make = || names.iter().map(|name| PyString::new(py, name).unbind()).collect();
                objects.get_or_init_py_attached(py, make)
            }
        }
    }

    /// Return the address of a name's object; None if the objects are not made yet.
    pub(crate) fn address(&self, number: u32) -> Option<usize> {
        let objects = match self {
            Self::Given(objects) => objects,
            Self::Made(objects) => objects.get()?,
        };
        Some(objects[number as usize].as_ptr() as usize)
    }

    /// Return the objects at the given places, in this order.
    pub(crate) fn permuted(self, places: &[u32]) -> Self {
        let given = match self {
            Self::Given(objects) => Some(objects),
            Self::Made(objects) => objects.into_inner(),
        };
        let Some(objects) = given else { return Self::default() };
        let mut objects: Vec<Option<Py<PyString>>> = objects.into_iter().map(Some).collect();
        places.iter().filter_map(|place| objects[*place as usize].take()).collect::<Vec<_>>().into()
    }
}
