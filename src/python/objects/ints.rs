//! Values of Python's `int`, read from its digits without a call.

use pyo3::prelude::*;

pub(super) use access::digits;

/// Return the value of a plain `int` in 128 bits; None for a negative or larger number, for any other object, and if this Python
/// stores ints in another way.
#[inline]
pub(crate) fn unsigned(object: &Bound<'_, PyAny>) -> Option<u128> {
    access::check(object.py());
    // SAFETY: the object is alive while it is borrowed.
    let digits = unsafe { digits(object.as_ptr()) }?;
    let mut value: u128 = 0;
    for digit in digits.iter().rev() {
        if value >> (u128::BITS - access::BITS) != 0 {
            return None;
        }
        value = value << access::BITS | u128::from(*digit);
    }
    Some(value)
}

/// Check how this Python stores ints. Until this check, ints are read through API calls.
pub(crate) fn check(py: Python<'_>) {
    access::check(py);
}

/// Digits of ints, as CPython's header `longintrepr.h` describes them.
#[cfg(all(target_pointer_width = "64", not(any(Py_LIMITED_API, Py_GIL_DISABLED, Py_3_15))))]
mod access {
    use std::sync::OnceLock;

    use pyo3::ffi;
    use pyo3::prelude::*;

    /// Bits of a digit.
    pub(super) const BITS: u32 = 30;

    /// True if digits have 30 bits in 4 bytes each.
    static IS_KNOWN: OnceLock<bool> = OnceLock::new();

    /// `PyLongObject`. The size is the number of digits, negative for a negative number; from Python 3.12 on it is a tag.
    #[repr(C)]
    struct Int {
        head: ffi::PyObject,
        size: isize,
        digits: [u32; 1],
    }

    pub(super) fn check(py: Python<'_>) {
        if IS_KNOWN.get().is_none() {
            let _ = IS_KNOWN.set(has_known_digits(py).unwrap_or(false)); // another thread may have set the same value
        }
    }

    /// Return the digits of a plain `int` that is not negative, the lowest first; None for any other object.
    ///
    /// # Safety
    /// The object is alive as long as the digits are used.
    #[inline]
    pub(in super::super) unsafe fn digits<'a>(object: *mut ffi::PyObject) -> Option<&'a [u32]> {
        // SAFETY: the object is alive and an int, and ints do not change. Its digits have 30 bits in 4 bytes each, and
        // `count` is their number.
        unsafe {
            if IS_KNOWN.get() != Some(&true) || ffi::PyLong_CheckExact(object) == 0 {
                return None;
            }
            let int = object.cast::<Int>();
            let size = (*int).size;
            #[cfg(Py_3_12)]
            let (count, is_negative) = (size >> 3, size & 3 == 2);
            #[cfg(not(Py_3_12))]
            let (count, is_negative) = (size, size < 0);
            if is_negative {
                return None;
            }
            Some(std::slice::from_raw_parts((&raw const (*int).digits).cast(), count as usize))
        }
    }

    fn has_known_digits(py: Python<'_>) -> PyResult<bool> {
        let info = py.import("sys")?.getattr("int_info")?;
        let attribute = |name| info.getattr(name)?.extract::<u32>();
        Ok(attribute("bits_per_digit")? == BITS && attribute("sizeof_digit")? == 4)
    }
}

/// Replacement for other builds of Python, which reads no digits.
#[cfg(not(all(target_pointer_width = "64", not(any(Py_LIMITED_API, Py_GIL_DISABLED, Py_3_15)))))]
mod access {
    use pyo3::ffi;
    use pyo3::prelude::*;

    pub(super) const BITS: u32 = 30;

    pub(super) fn check(_: Python<'_>) {}

    pub(in super::super) unsafe fn digits<'a>(_: *mut ffi::PyObject) -> Option<&'a [u32]> {
        None
    }
}
