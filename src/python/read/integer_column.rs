//! Reader of columns of counts or indices: Arrow, numpy or Python.

use std::fmt::Display;

use arrow_array::{Array, ArrayRef};
use numpy::{PyArray1, PyArrayDescrMethods, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::prelude::*;

use super::arrow::{arrow_array, not_of};
use super::arrow_types::integers;
use super::values::{int, iterate, one_dimension};
use crate::memory;
use crate::python::error::wrong_type;
use crate::python::imports::IllegalArgumentError;
use crate::python::numpy_api::as_array;

/// Counts or indices by row, none of them negative.
pub(crate) struct IntegerColumn(pub(crate) Vec<i32>);

impl IntegerColumn {
    /// Read a column of Arrow, numpy or Python.
    pub(crate) fn read(given: &Bound<'_, PyAny>, column: &str) -> PyResult<Self> {
        if let Some(array) = as_array(given)?
            && matches!(array.dtype().kind(), b'i' | b'u')
        {
            one_dimension(array, column)?;
            // A field of packed records may be unaligned, or have a stride that is not a multiple of its size: it is copied.
            if let Ok(numbers) = given.cast::<PyArray1<i32>>()
                && given.getattr("flags")?.getattr("aligned")?.extract()?
                && let Ok(plain) = numbers.readonly().as_slice()
                && plain.iter().fold(0, |bits, number| bits | number) >= 0
            {
                return Ok(Self(plain.to_vec()));
            }
            if array.dtype().kind() == b'u' {
                let numbers = given.call_method1("astype", ("uint64",))?.cast_into::<PyArray1<u64>>()?;
                return Self::checked(numbers.readonly().as_array().iter().copied(), column);
            }
            let numbers = given.call_method1("astype", ("int64",))?.cast_into::<PyArray1<i64>>()?;
            return Self::checked(numbers.readonly().as_array().iter().copied(), column);
        }
        if let Some(array) = arrow_array(given)? {
            return Self::of(&array, column);
        }
        let wrong = || wrong_type(&format!("column {column}"), "a column of integers", given);
        let mut numbers = Vec::new();
        for (row, number) in iterate(given, wrong)?.enumerate() {
            memory::push(&mut numbers, int(&number?, || format!("{column}[{row}]"))?, "a column", "integers")?;
        }
        Ok(Self(numbers))
    }

    /// Read a column of Arrow.
    pub(crate) fn of(array: &ArrayRef, column: &str) -> PyResult<Self> {
        let numbers = array
            .data_type()
            .is_integer()
            .then(|| integers(array))
            .flatten()
            .ok_or_else(|| not_of("integers", array, column))?;
        if let Some(row) = (0..array.len()).find(|row| array.is_null(*row)) {
            return Err(IllegalArgumentError::new_err(format!("{column}[{row}] is null")));
        }
        if let Some(row) = (0..numbers.len()).find(|row| numbers.is_null(*row)) {
            let most = i32::MAX;
            return Err(IllegalArgumentError::new_err(format!("{column}[{row}] must be from 0 to {most}")));
        }
        Self::checked(numbers.values().iter().copied(), column)
    }

    fn checked<T: Copy + Display + TryInto<i32>>(
        numbers: impl ExactSizeIterator<Item = T>,
        column: &str,
    ) -> PyResult<Self> {
        let mut found = Vec::with_capacity(numbers.len());
        for (row, number) in numbers.enumerate() {
            let Some(number) = number.try_into().ok().filter(|number| *number >= 0) else {
                return Err(IllegalArgumentError::new_err(format!(
                    "{column}[{row}] must be from 0 to {}, not {number}",
                    i32::MAX
                )));
            };
            found.push(number);
        }
        Ok(Self(found))
    }
}
