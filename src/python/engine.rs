//! The switch between this engine and the pure Python reference.

use pyo3::prelude::*;
use pyo3::types::PyString;

use super::error::{IllegalArgumentError, shown};

/// The engine asked for: this one, or the pure Python reference.
pub(super) enum Engine {
    Rust,
    Reference,
}

impl FromPyObject<'_, '_> for Engine {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        match value.cast::<PyString>().map(|name| name.to_string_lossy().into_owned()).as_deref() {
            Ok("rust") => Ok(Self::Rust),
            Ok("reference") => Ok(Self::Reference),
            _ => Err(IllegalArgumentError::new_err(format!(
                "engine must be 'rust' or 'reference', not {}",
                shown(&value)
            ))),
        }
    }
}
