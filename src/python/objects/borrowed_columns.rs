//! Numpy arrays and Arrow buffers over memory that an object owns, without a copy.
//!
//! The functions that choose the memory are of every lifetime: what they give for an object that is held for as long as the
//! array or buffer lives is valid as long, and does not change, being borrowed.

use std::ptr::NonNull;
use std::sync::Arc;

use arrow_buffer::alloc::Allocation;
use arrow_buffer::{Buffer, ScalarBuffer};
use numpy::ndarray::ArrayView1;
use numpy::{PyArray1, PyArrayMethods};
use pyo3::PyClass;
use pyo3::prelude::*;
use pyo3::pyclass::boolean_struct::True;

/// Return numbers that a frozen object owns as a read-only numpy array, whose base is the object.
pub(crate) fn numpy_column<'py, T: PyClass<Frozen = True> + Sync>(
    owner: &Bound<'py, T>,
    numbers: impl for<'a> Fn(&'a T) -> &'a [i32],
) -> Bound<'py, PyArray1<i32>> {
    let values = ArrayView1::from(numbers(owner.get()));
    // SAFETY: the array holds the owner, which is frozen: `numbers` borrows from it for any time that it is held, and so for
    // the life of the array. Nothing can write through the array.
    let array = unsafe { PyArray1::borrow_from_array(&values, owner.clone().into_any()) };
    array.readwrite().make_nonwriteable();
    array
}

/// Return numbers that a shared value owns as an Arrow buffer.
pub(crate) fn arrow_column<T: Allocation + 'static>(
    owner: &Arc<T>,
    numbers: impl for<'a> Fn(&'a T) -> &'a [i32],
) -> ScalarBuffer<i32> {
    let values = numbers(owner);
    let Some(start) = NonNull::new(values.as_ptr().cast_mut()).filter(|_| !values.is_empty()) else {
        return ScalarBuffer::from(Vec::new());
    };
    // SAFETY: the buffer holds the owner, which is shared and so never changes: `numbers` borrows from it for any time that it
    // is held, and so for the life of the buffer. A slice of i32 is aligned as the buffer needs it.
    let buffer = unsafe {
        Buffer::from_custom_allocation(start.cast(), size_of_val(values), Arc::clone(owner) as Arc<dyn Allocation>)
    };
    ScalarBuffer::from(buffer)
}
