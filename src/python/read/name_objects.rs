//! Names as Python objects.

use std::sync::OnceLock;

use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::group::Names;

/// Names as `str` objects: those of the input, or, for columns, new ones made when they are first read.
#[derive(Default)]
pub(crate) struct NameObjects(OnceLock<Vec<Py<PyString>>>);

impl From<Vec<Py<PyString>>> for NameObjects {
    fn from(objects: Vec<Py<PyString>>) -> Self {
        Self(OnceLock::from(objects))
    }
}

impl NameObjects {
    /// Return the objects for the names.
    pub(crate) fn get(&self, py: Python<'_>, names: &Names) -> &[Py<PyString>] {
        self.0.get_or_init(|| names.iter().map(|name| PyString::new(py, name).unbind()).collect())
    }

    /// Return the address of a name's object; None if the objects are not made yet.
    pub(crate) fn address(&self, number: u32) -> Option<usize> {
        self.0.get().map(|objects| objects[number as usize].as_ptr() as usize)
    }

    /// Return the objects at the given places, in this order.
    pub(crate) fn permuted(self, places: &[u32]) -> Self {
        let Some(objects) = self.0.into_inner() else { return Self::default() };
        let mut objects: Vec<Option<Py<PyString>>> = objects.into_iter().map(Some).collect();
        places.iter().filter_map(|place| objects[*place as usize].take()).collect::<Vec<_>>().into()
    }
}
