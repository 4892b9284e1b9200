//! Reader of Arrow columns of byte arrays.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BinaryArray, LargeBinaryArray};
use arrow_schema::DataType;
use pyo3::prelude::*;

use crate::python::imports::WrongTypeError;
use crate::python::objects::arrow_capsules::take_array;

/// Column of byte arrays with 32-bit or 64-bit offsets.
pub(crate) enum BinaryColumn {
    Narrow(BinaryArray),
    Wide(LargeBinaryArray),
}

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
            DataType::Binary => Ok(Self::Narrow(array.as_binary().clone())),
            DataType::LargeBinary => Ok(Self::Wide(array.as_binary().clone())),
            other => Err(WrongTypeError::new_err(format!("column {name} must be of binary, not {other}"))),
        }
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Narrow(array) => array.len(),
            Self::Wide(array) => array.len(),
        }
    }

    #[inline]
    pub(crate) fn get(&self, row: usize) -> Option<&[u8]> {
        match self {
            Self::Narrow(array) => array.is_valid(row).then(|| array.value(row)),
            Self::Wide(array) => array.is_valid(row).then(|| array.value(row)),
        }
    }
}
