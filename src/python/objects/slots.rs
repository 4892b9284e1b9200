//! Slots of a Python class, read through their descriptors without attribute lookup by name.

use pyo3::exceptions::PyTypeError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyType;

use crate::python::imports::MEMBER_DESCRIPTOR;

/// Checked slots of a class. Every descriptor is a `member_descriptor`, the type for entries of `__slots__`.
pub(crate) struct Slots<const N: usize> {
    class: Py<PyType>,
    descriptors: [Py<PyAny>; N],
    /// Byte offset of each slot in instances of exactly this class; None if only its descriptor can read it.
    offsets: Option<[usize; N]>,
    get: ffi::descrgetfunc,
}

impl<const N: usize> Slots<N> {
    /// Look up slots by name.
    ///
    /// # Errors
    /// The class has no attribute of a name, or the attribute is not a slot.
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
        let offsets: Option<Vec<usize>> = offsets.into_iter().collect();
        let offsets = offsets.and_then(|offsets| offsets.try_into().ok());
        Ok(Self { class: class.clone().unbind(), descriptors, offsets, get })
    }

    /// Return the addresses of the values of all slots, 0 for a slot that is unset; None if they have to be read one by one.
    #[inline]
    pub(crate) fn addresses(&self, object: &Bound<'_, PyAny>) -> Option<[usize; N]> {
        // SAFETY: an instance of exactly this class extends beyond the offsets of its slots, which hold references or null.
        let value = |offset| unsafe { object.as_ptr().byte_add(offset).cast::<*mut ffi::PyObject>().read() };
        self.offsets(object).map(|offsets| offsets.map(|offset| value(offset) as usize))
    }

    /// Return the offsets of the slots in an object; None if it is not an instance of exactly this class.
    #[inline]
    fn offsets(&self, object: &Bound<'_, PyAny>) -> Option<&[usize; N]> {
        self.offsets.as_ref().filter(|_| object.get_type_ptr() == self.class.as_ptr().cast())
    }

    /// Return the value of a slot by its index in the names.
    ///
    /// # Errors
    /// The object is not an instance of the class, or the slot is unset.
    #[inline]
    pub(crate) fn get<'py>(&self, slot: usize, object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = object.py();
        if let Some(offsets) = self.offsets(object) {
            // SAFETY: as in `addresses`, the slot holds a reference or null. The reference that is returned is a new one.
            let value = unsafe {
                let value = object.as_ptr().byte_add(offsets[slot]).cast::<*mut ffi::PyObject>().read();
                Bound::from_borrowed_ptr_or_opt(py, value)
            };
            if let Some(value) = value {
                return Ok(value);
            }
        }
        let class = object.get_type_ptr().cast();
        // SAFETY: `get` is the getter of the descriptor's type, and all three objects are alive. It checks the class of the
        // object, and returns a new reference, or null with an error set.
        unsafe { Bound::from_owned_ptr_or_err(py, (self.get)(self.descriptors[slot].as_ptr(), object.as_ptr(), class)) }
    }
}

/// Offsets of slots, by CPython's headers.
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

    /// Return the byte offset of a slot in instances of a class; None if the descriptor is not a slot of the class.
    pub(super) fn offset(descriptor: &Bound<'_, PyAny>, class: &Bound<'_, PyType>) -> Option<usize> {
        // SAFETY: the caller checked that the object is a `member_descriptor`; its class keeps the member definition alive.
        unsafe {
            let descriptor = descriptor.as_ptr().cast::<MemberDescriptor>();
            let member = (*descriptor).member;
            let is_slot = (*descriptor).class == class.as_ptr().cast() && (*member).type_code == ffi::Py_T_OBJECT_EX;
            if is_slot { usize::try_from((*member).offset).ok() } else { None }
        }
    }
}

/// Without CPython's headers, offsets are unknown.
#[cfg(any(Py_LIMITED_API, Py_GIL_DISABLED))]
mod access {
    use super::{Bound, PyAny, PyType};

    pub(super) fn offset(_: &Bound<'_, PyAny>, _: &Bound<'_, PyType>) -> Option<usize> {
        None
    }
}
