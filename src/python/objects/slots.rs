//! Slots of a Python class, read through their descriptors without a look-up by name.

use pyo3::exceptions::PyTypeError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyType;

use crate::python::imports::MEMBER_DESCRIPTOR;

/// Checked slots of a class: every descriptor is a `member_descriptor`, which Python makes for an entry of `__slots__`.
pub(crate) struct Slots<const N: usize> {
    class: Py<PyType>,
    descriptors: [Py<PyAny>; N],
    /// Offsets in bytes of the values in instances of the class itself; None if Python's own functions have to read them.
    offsets: [Option<usize>; N],
    get: ffi::descrgetfunc,
}

impl<const N: usize> Slots<N> {
    /// Find the slots of these names.
    ///
    /// # Errors
    /// The class has no such attribute, or the attribute is not a slot.
    pub(crate) fn new(class: &Bound<'_, PyType>, names: [&str; N]) -> PyResult<Self> {
        let kind = MEMBER_DESCRIPTOR.get(class.py())?;
        let (mut descriptors, mut offsets) = (Vec::with_capacity(N), Vec::with_capacity(N));
        for name in names {
            let descriptor = class.getattr(name)?;
            if !descriptor.get_type().is(kind) {
                return Err(PyTypeError::new_err(format!("{name} of {class} is not a slot")));
            }
            offsets.push(access::offset(&descriptor, class));
            descriptors.push(descriptor.unbind());
        }
        // SAFETY: the slot `tp_descr_get` of a type holds a `descrgetfunc` or nothing.
        let get: Option<ffi::descrgetfunc> =
            unsafe { std::mem::transmute(ffi::PyType_GetSlot(kind.as_type_ptr(), ffi::Py_tp_descr_get)) };
        let get = get.ok_or_else(|| PyTypeError::new_err("member descriptors cannot be read"))?;
        let missing = || PyTypeError::new_err("a slot is missing");
        let descriptors = descriptors.try_into().map_err(|_| missing())?;
        let offsets = offsets.try_into().map_err(|_| missing())?;
        Ok(Self { class: class.clone().unbind(), descriptors, offsets, get })
    }

    /// Return the value of a slot, by its place among the names.
    ///
    /// # Errors
    /// The object is not an instance of the class, or the slot is unset.
    #[inline]
    pub(crate) fn get<'py>(&self, slot: usize, object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = object.py();
        if let Some(offset) = self.offsets[slot]
            && object.get_type_ptr() == self.class.as_ptr().cast()
        {
            // SAFETY: the object is an instance of the class itself, so at that offset it holds a reference or null. The reference
            // that is returned is a new one.
            let value = unsafe {
                let value = object.as_ptr().byte_add(offset).cast::<*mut ffi::PyObject>().read();
                Bound::from_borrowed_ptr_or_opt(py, value)
            };
            if let Some(value) = value {
                return Ok(value);
            }
        }
        let class = object.get_type_ptr().cast();
        // SAFETY: `get` is the function of the descriptor's own type, and all three are alive. It checks the class of the
        // object itself, and returns a new reference, or null with an error set.
        unsafe { Bound::from_owned_ptr_or_err(py, (self.get)(self.descriptors[slot].as_ptr(), object.as_ptr(), class)) }
    }
}

/// Offsets of slots, as CPython's headers describe them.
#[cfg(not(any(Py_LIMITED_API, Py_GIL_DISABLED)))]
mod access {
    use super::{Bound, PyAny, PyType, ffi};

    /// `PyMemberDescrObject` of CPython's `descrobject.h`.
    #[repr(C)]
    struct MemberDescriptor {
        head: ffi::PyObject,
        class: *mut ffi::PyTypeObject,
        name: *mut ffi::PyObject,
        qualified_name: *mut ffi::PyObject,
        member: *mut ffi::PyMemberDef,
    }

    /// Return the offset of a member descriptor's value in instances of a class; None if it does not describe a slot of that class.
    pub(super) fn offset(descriptor: &Bound<'_, PyAny>, class: &Bound<'_, PyType>) -> Option<usize> {
        // SAFETY: the caller checked that the object is a `member_descriptor`; its class keeps the description of the member.
        unsafe {
            let descriptor = descriptor.as_ptr().cast::<MemberDescriptor>();
            let member = (*descriptor).member;
            let is_slot = (*descriptor).class == class.as_ptr().cast() && (*member).type_code == ffi::Py_T_OBJECT_EX;
            if is_slot { usize::try_from((*member).offset).ok() } else { None }
        }
    }
}

/// Without those headers there are no offsets.
#[cfg(any(Py_LIMITED_API, Py_GIL_DISABLED))]
mod access {
    use super::{Bound, PyAny, PyType};

    pub(super) fn offset(_: &Bound<'_, PyAny>, _: &Bound<'_, PyType>) -> Option<usize> {
        None
    }
}
