//! Numpy arrays and Arrow buffers that share the memory of an object.
//!
//! The array or buffer keeps a reference to the object. The functions that select the memory are generic over the lifetime
//! of the borrow, so the memory is valid and unchanged as long as the object lives.

use std::ptr::NonNull;
use std::sync::Arc;

use arrow_buffer::alloc::Allocation;
use arrow_buffer::{Buffer, ScalarBuffer};
use numpy::ndarray::ArrayView1;
use numpy::npyffi::NPY_ARRAY_WRITEABLE;
use numpy::{PyArray1, PyUntypedArrayMethods};
use pyo3::PyClass;
use pyo3::prelude::*;
use pyo3::pyclass::boolean_struct::True;

use crate::python::numpy_api;

/// Return numbers of a frozen object as a read-only numpy array whose base is the object.
pub(crate) fn numpy_column<'py, T: PyClass<Frozen = True> + Sync>(
    owner: &Bound<'py, T>,
    numbers: impl for<'a> Fn(&'a T) -> &'a [i32],
) -> PyResult<Bound<'py, PyArray1<i32>>> {
    numpy_api::load(owner.py())?;
    let values = ArrayView1::from(numbers(owner.get()));
    // SAFETY: the array holds a reference to the owner, which is frozen, so the memory that `numbers` borrows stays valid and
    // unchanged for the life of the array. The array is read-only.
    let array = unsafe { PyArray1::borrow_from_array(&values, owner.clone().into_any()) };
    // A guard of rust-numpy would fail if another thread makes an array of the same memory read-only at the same time.
    // SAFETY: the array is new, so no other thread has a reference to it.
    unsafe { (*array.as_array_ptr()).flags &= !NPY_ARRAY_WRITEABLE };
    Ok(array)
}

/// Return numbers of a shared value as an Arrow buffer.
pub(crate) fn arrow_column<T: Allocation + 'static>(
    owner: &Arc<T>,
    numbers: impl for<'a> Fn(&'a T) -> &'a [i32],
) -> ScalarBuffer<i32> {
    let values = numbers(owner);
    let Some(start) = NonNull::new(values.as_ptr().cast_mut()).filter(|_| !values.is_empty()) else {
        return ScalarBuffer::from(Vec::new());
    };
    // SAFETY: the buffer holds a reference to the owner, which is shared and immutable, so the memory that `numbers` borrows
    // stays valid and unchanged for the life of the buffer. A slice of i32 has the alignment that the buffer needs.
    let buffer = unsafe {
        Buffer::from_custom_allocation(start.cast(), size_of_val(values), Arc::clone(owner) as Arc<dyn Allocation>)
    };
    ScalarBuffer::from(buffer)
}
