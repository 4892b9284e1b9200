//! Less work for the garbage collector: a pause while many objects are built, and tuples that it does not visit.

use std::marker::PhantomData;

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

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

/// Exclude a tuple from the garbage collector, which would only visit it to find cycles.
pub(crate) fn untrack(tuple: &Bound<'_, PyTuple>) {
    // SAFETY: a tuple, also of a subclass, is an object with garbage collection support. The call accepts an untracked one.
    unsafe { ffi::PyObject_GC_UnTrack(tuple.as_ptr().cast()) };
}
