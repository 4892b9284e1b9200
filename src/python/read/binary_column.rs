//! Reader of Arrow columns of byte arrays.

use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use pyo3::prelude::*;

use super::arrow_types::bytes;
use crate::python::imports::WrongTypeError;
use crate::python::objects::arrow_capsules::take_array;

/// Column of byte arrays with 32-bit or 64-bit offsets.
pub(crate) struct BinaryColumn(ArrayRef);

impl BinaryColumn {
    pub(crate) fn read(name: &str, given: &Bound<'_, PyAny>) -> PyResult<Self> {
        if !given.hasattr("__arrow_c_array__")? {
            let message = format!("{name} must be an Arrow array, not {}", given.get_type().name()?);
            return Err(WrongTypeError::new_err(message));
        }
        Self::from_array(name, take_array(given)?)
    }

    pub(crate) fn from_array(name: &str, array: ArrayRef) -> PyResult<Self> {
        match array.data_type() {
            DataType::Binary | DataType::LargeBinary => Ok(Self(array)),
            other => Err(WrongTypeError::new_err(format!("column {name} must be of binary, not {other}"))),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn get(&self, row: usize) -> Option<&[u8]> {
        bytes(&self.0, row)
    }
}
