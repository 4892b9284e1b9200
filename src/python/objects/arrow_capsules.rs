//! Arrow PyCapsule interface: arrays that other libraries lend to this package, and arrays that it returns.

use std::ffi::CStr;
use std::ptr::NonNull;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi, from_ffi_and_data_type};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{
    Array, ArrayRef, GenericBinaryArray, OffsetSizeTrait, RecordBatch, RecordBatchIterator, StructArray, make_array,
};
use arrow_data::ArrayData;
use arrow_schema::{ArrowError, DataType, Field, Schema};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::python::error::{is_failed_conversion, wrong_type};
use crate::python::imports::{IllegalArgumentError, WrongTypeError};

const SCHEMA: &CStr = c"arrow_schema";
const ARRAY: &CStr = c"arrow_array";
const STREAM: &CStr = c"arrow_array_stream";

/// Array that any library with the Arrow PyCapsule interface reads without copying it.
///
/// A record batch is an array of structs. A requested schema is ignored, as the interface allows.
#[pyclass(frozen, skip_from_py_object, name = "ArrowArray", module = "assignor._core")]
pub(crate) struct ArrowArray(ArrayRef);

impl ArrowArray {
    pub(crate) fn new(array: ArrayRef) -> Self {
        Self(array)
    }

    pub(crate) fn array(&self) -> &ArrayRef {
        &self.0
    }
}

impl From<RecordBatch> for ArrowArray {
    fn from(batch: RecordBatch) -> Self {
        Self(Arc::new(StructArray::from(batch)))
    }
}

impl FromPyObject<'_, '_> for ArrowArray {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        take_array(&given).map(Self)
    }
}

#[pymethods]
impl ArrowArray {
    /// Return capsules of the type and of the data.
    #[pyo3(signature = (requested_schema = None))]
    pub(crate) fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        drop(requested_schema);
        let schema = self.__arrow_c_schema__(py)?;
        Ok((schema, PyCapsule::new_with_value(py, FFI_ArrowArray::new(&self.0.to_data()), ARRAY)?))
    }

    /// Return a capsule of the type.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let field = Field::new("", self.0.data_type().clone(), true);
        PyCapsule::new_with_value(py, FFI_ArrowSchema::try_from(&field).map_err(invalid)?, SCHEMA)
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }
}

/// Return a capsule of a schema.
pub(crate) fn schema_capsule<'py>(py: Python<'py>, schema: &Schema) -> PyResult<Bound<'py, PyCapsule>> {
    PyCapsule::new_with_value(py, FFI_ArrowSchema::try_from(schema).map_err(invalid)?, SCHEMA)
}

/// Return a capsule of a stream with one batch.
pub(crate) fn stream_capsule(py: Python<'_>, batch: RecordBatch) -> PyResult<Bound<'_, PyCapsule>> {
    let schema = batch.schema();
    let stream = FFI_ArrowArrayStream::new(Box::new(RecordBatchIterator::new([Ok(batch)], schema)));
    PyCapsule::new_with_value(py, stream, STREAM)
}

/// Return the error for data that has no Arrow form; an exception of Python code is not changed.
fn not_exported(given: &Bound<'_, PyAny>, error: PyErr) -> PyErr {
    if is_failed_conversion(given.py(), &error) {
        wrong_type("the data", "an Arrow array or table", given)
    } else {
        error
    }
}

/// Take the array of an object with `__arrow_c_array__`.
pub(crate) fn take_array(given: &Bound<'_, PyAny>) -> PyResult<ArrayRef> {
    if !given.hasattr("__arrow_c_array__")? {
        let kind = given.get_type().name()?;
        return Err(WrongTypeError::new_err(format!("an Arrow array with __arrow_c_array__ is needed, not {kind}")));
    }
    let capsules = given.call_method0("__arrow_c_array__").map_err(|error| not_exported(given, error))?;
    let Ok((schema, array)) = capsules.extract::<(Bound<'_, PyCapsule>, Bound<'_, PyCapsule>)>() else {
        return Err(wrong_type("the result of __arrow_c_array__", "a pair of capsules", &capsules));
    };
    let schema = pointer::<FFI_ArrowSchema>(&schema, SCHEMA)?;
    let array = pointer::<FFI_ArrowArray>(&array, ARRAY)?;
    // SAFETY: capsules of those names hold an initialised schema and array that belong together, and live as long as the
    // capsules. `from_raw` marks the array in the capsule as released, so nothing else frees it.
    let data = unsafe {
        let array = FFI_ArrowArray::from_raw(array.as_ptr());
        if array.is_released() {
            return Err(IllegalArgumentError::new_err("the Arrow array has already been consumed"));
        }
        from_ffi(array, schema.as_ref())
    };
    checked(data.map_err(invalid)?)
}

/// Return an array after checking its contents: lenders do not check text that they read from a file, and this crate relies on valid
/// UTF-8 and offsets.
fn checked(data: ArrayData) -> PyResult<ArrayRef> {
    check_contents(&data, "the data").map_err(IllegalArgumentError::new_err)?;
    Ok(make_array(data))
}

/// Check an array and its children; the error names the innermost field.
fn check_contents(data: &ArrayData, name: &str) -> Result<(), String> {
    if let Err(error) = data.validate_data() {
        match data.data_type() {
            DataType::Utf8 => check_text(data, DataType::Binary, name)?,
            DataType::LargeUtf8 => check_text(data, DataType::LargeBinary, name)?,
            _ => return Err(format!("{name}: invalid Arrow data: {error}")),
        }
    }
    let names: Vec<&str> = match data.data_type() {
        DataType::Struct(fields) => fields.iter().map(|field| field.name().as_str()).collect(),
        _ => vec![name; data.child_data().len()],
    };
    names.into_iter().zip(data.child_data()).try_for_each(|(name, child)| check_contents(child, name))
}

/// Check text, given as an array whose offsets or bytes are invalid. Bytes of null rows need not be UTF-8.
fn check_text(data: &ArrayData, bytes: DataType, name: &str) -> Result<(), String> {
    let is_large = bytes == DataType::LargeBinary;
    let built = data.clone().into_builder().data_type(bytes).build();
    let array = make_array(built.map_err(|error| format!("{name}: invalid Arrow data: {error}"))?);
    let wrong = if is_large { first_wrong(array.as_binary::<i64>()) } else { first_wrong(array.as_binary::<i32>()) };
    wrong.map_or(Ok(()), |found| Err(format!("{name}: text that is not UTF-8: '{}'", String::from_utf8_lossy(found))))
}

/// Return the first value that is not UTF-8.
fn first_wrong<O: OffsetSizeTrait>(values: &GenericBinaryArray<O>) -> Option<&[u8]> {
    values.iter().flatten().find(|value| std::str::from_utf8(value).is_err())
}

/// Take the arrays of an object with `__arrow_c_stream__`, and their type.
pub(crate) fn take_stream(given: &Bound<'_, PyAny>) -> PyResult<(DataType, Vec<ArrayRef>)> {
    let capsule = given.call_method0("__arrow_c_stream__").map_err(|error| not_exported(given, error))?;
    let capsule = capsule
        .cast_into::<PyCapsule>()
        .map_err(|error| wrong_type("the result of __arrow_c_stream__", "a capsule", &error.into_inner()))?;
    let stream = pointer::<FFI_ArrowArrayStream>(&capsule, STREAM)?;
    // SAFETY: a capsule of that name holds an initialised stream. `from_raw` marks it as released in the capsule.
    let mut stream = unsafe { FFI_ArrowArrayStream::from_raw(stream.as_ptr()) };
    let (Some(get_schema), Some(get_next)) = (stream.get_schema, stream.get_next) else {
        return Err(IllegalArgumentError::new_err("the Arrow stream has already been consumed"));
    };
    let mut schema = FFI_ArrowSchema::empty();
    // SAFETY: the stream has not been released, and the schema is empty, as the interface demands.
    let code = unsafe { get_schema(&raw mut stream, &raw mut schema) };
    check(code, &mut stream)?;
    let kind = DataType::try_from(&schema).map_err(invalid)?;
    let mut arrays = Vec::new();
    loop {
        let mut array = FFI_ArrowArray::empty();
        // SAFETY: as above.
        let code = unsafe { get_next(&raw mut stream, &raw mut array) };
        check(code, &mut stream)?;
        if array.is_released() {
            return Ok((kind, arrays));
        }
        // SAFETY: arrays of a stream have its type.
        let data = unsafe { from_ffi_and_data_type(array, kind.clone()) };
        arrays.push(checked(data.map_err(invalid)?)?);
    }
}

/// Raise the error that a stream reports.
fn check(code: i32, stream: &mut FFI_ArrowArrayStream) -> PyResult<()> {
    if code == 0 {
        return Ok(());
    }
    // SAFETY: the stream has not been released; the text is valid until the next call, and is copied before it.
    let message = stream.get_last_error.and_then(|last_error| unsafe {
        let message = last_error(&raw mut *stream);
        (!message.is_null()).then(|| CStr::from_ptr(message).to_string_lossy().into_owned())
    });
    Err(IllegalArgumentError::new_err(message.unwrap_or_else(|| format!("the Arrow stream failed with code {code}"))))
}

fn pointer<T>(capsule: &Bound<'_, PyCapsule>, name: &CStr) -> PyResult<NonNull<T>> {
    let named = capsule.pointer_checked(Some(name));
    Ok(named.map_err(|error| IllegalArgumentError::new_err(error.value(capsule.py()).to_string()))?.cast())
}

fn invalid(error: ArrowError) -> PyErr {
    IllegalArgumentError::new_err(error.to_string())
}
