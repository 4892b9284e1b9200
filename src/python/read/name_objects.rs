//! Names as Python objects.

use std::sync::OnceLock;

use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::group::Names;

/// Names as `str` objects: those that came, or, where names came as columns, new ones once somebody asks.
#[derive(Default)]
pub(crate) struct NameObjects(OnceLock<Vec<Py<PyString>>>);

impl From<Vec<Py<PyString>>> for NameObjects {
    fn from(objects: Vec<Py<PyString>>) -> Self {
        Self(OnceLock::from(objects))
    }
}

impl NameObjects {
    /// The objects for these names.
    pub(crate) fn get(&self, py: Python<'_>, names: &Names) -> &[Py<PyString>] {
        self.0.get_or_init(|| names.iter().map(|name| PyString::new(py, name).unbind()).collect())
    }

    /// The address of the object of a name, if there is one.
    pub(crate) fn address(&self, number: u32) -> Option<usize> {
        self.0.get().map(|objects| objects[number as usize].as_ptr() as usize)
    }

    /// The objects that stood at these places, in this order.
    pub(crate) fn permuted(self, places: &[u32]) -> Self {
        let Some(objects) = self.0.into_inner() else { return Self::default() };
        let mut objects: Vec<Option<Py<PyString>>> = objects.into_iter().map(Some).collect();
        places.iter().filter_map(|place| objects[*place as usize].take()).collect::<Vec<_>>().into()
    }
}
