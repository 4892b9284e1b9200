//! Pause of the garbage collector while many objects are built.

use std::marker::PhantomData;

use pyo3::ffi;
use pyo3::prelude::*;

/// A pause of the garbage collector, until dropped.
///
/// Each new tuple counts towards the next collection, although tuples of a str and an int cannot be part of a cycle.
/// The collections would take several times as long as building the tuples.
pub(crate) struct CollectorPause<'py> {
    was_enabled: bool,
    attached: PhantomData<Python<'py>>,
}

impl<'py> CollectorPause<'py> {
    /// Pause the collector.
    pub(crate) fn new(_py: Python<'py>) -> Self {
        // SAFETY: the interpreter is attached, as `_py` shows; the call changes a flag and returns its previous value.
        let was_enabled = unsafe { ffi::PyGC_Disable() } == 1;
        Self { was_enabled, attached: PhantomData }
    }
}

impl Drop for CollectorPause<'_> {
    fn drop(&mut self) {
        if self.was_enabled {
            // SAFETY: the interpreter is attached, since `self` cannot outlive the `Python` token that it was created with.
            unsafe { ffi::PyGC_Enable() };
        }
    }
}
