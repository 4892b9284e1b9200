//! Slots of a Python class, read through their descriptors without a look-up by name.

use pyo3::exceptions::PyTypeError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyType;

use crate::python::imports::MEMBER_DESCRIPTOR;

/// Checked slots of a class: every descriptor is a `member_descriptor`, which Python makes for an entry of `__slots__`.
pub(crate) struct Slots<const N: usize> {
    descriptors: [Py<PyAny>; N],
    get: ffi::descrgetfunc,
}

impl<const N: usize> Slots<N> {
    /// Find the slots of these names.
    ///
    /// # Errors
    /// The class has no such attribute, or the attribute is not a slot.
    pub(crate) fn new(class: &Bound<'_, PyType>, names: [&str; N]) -> PyResult<Self> {
        let kind = MEMBER_DESCRIPTOR.get(class.py())?;
        let mut descriptors = Vec::with_capacity(N);
        for name in names {
            let descriptor = class.getattr(name)?;
            if !descriptor.get_type().is(kind) {
                return Err(PyTypeError::new_err(format!("{name} of {class} is not a slot")));
            }
            descriptors.push(descriptor.unbind());
        }
        // SAFETY: the slot `tp_descr_get` of a type holds a `descrgetfunc` or nothing.
        let get: Option<ffi::descrgetfunc> =
            unsafe { std::mem::transmute(ffi::PyType_GetSlot(kind.as_type_ptr(), ffi::Py_tp_descr_get)) };
        let get = get.ok_or_else(|| PyTypeError::new_err("member descriptors cannot be read"))?;
        let descriptors = descriptors.try_into().map_err(|_| PyTypeError::new_err("a slot is missing"))?;
        Ok(Self { descriptors, get })
    }

    /// Return the value of a slot, by its place among the names.
    ///
    /// # Errors
    /// The object is not an instance of the class, or the slot is unset.
    #[inline]
    pub(crate) fn get<'py>(&self, slot: usize, object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = object.py();
        let class = object.get_type_ptr().cast();
        // SAFETY: `get` is the function of the descriptor's own type, and all three are alive. It checks the class of the
        // object itself, and returns a new reference, or null with an error set.
        unsafe { Bound::from_owned_ptr_or_err(py, (self.get)(self.descriptors[slot].as_ptr(), object.as_ptr(), class)) }
    }
}
