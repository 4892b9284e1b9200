//! The garbage collector, paused while many objects are built.

use std::marker::PhantomData;

use pyo3::ffi;
use pyo3::prelude::*;

/// A pause of the garbage collector, until dropped.
///
/// Building tuples of a str and an int makes no garbage, but each of them counts towards the next collection, and the
/// collections would cost several times what the building does.
pub(crate) struct CollectorPause<'py> {
    was_enabled: bool,
    attached: PhantomData<Python<'py>>,
}

impl<'py> CollectorPause<'py> {
    /// Pause the collector.
    pub(crate) fn new(_py: Python<'py>) -> Self {
        // SAFETY: the interpreter is attached, as `_py` shows; the call changes a flag and gives the one before.
        let was_enabled = unsafe { ffi::PyGC_Disable() } == 1;
        Self { was_enabled, attached: PhantomData }
    }
}

impl Drop for CollectorPause<'_> {
    fn drop(&mut self) {
        if self.was_enabled {
            // SAFETY: the interpreter is attached, since this cannot outlive the `Python` it was made with.
            unsafe { ffi::PyGC_Enable() };
        }
    }
}
