//! Nested Arrow columns of a fleet: fields of structs, and the types that Spark gives.

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type};
use arrow_array::{Array, ArrayRef, Float64Array, Int32Array, StructArray, make_array};
use arrow_buffer::NullBuffer;
use arrow_schema::DataType;
use pyo3::prelude::*;

use crate::python::imports::WrongTypeError;
use crate::python::read::arrow_types::{Lists, TextLists, Texts};

/// Return a field of structs; it is null where the struct is null.
pub(crate) fn field(rows: &StructArray, name: &str, of: &str) -> PyResult<ArrayRef> {
    known_field(rows, name).ok_or_else(|| WrongTypeError::new_err(format!("{of} must have a field {name}")))
}

/// Return a field of structs; None if there is no such field.
pub(crate) fn known_field(rows: &StructArray, name: &str) -> Option<ArrayRef> {
    let column = rows.column_by_name(name)?;
    if rows.null_count() == 0 || matches!(column.data_type(), DataType::Null) {
        return Some(column.clone());
    }
    let nulls = NullBuffer::union(rows.nulls(), column.nulls());
    column.to_data().into_builder().nulls(nulls).build().map(make_array).ok()
}

pub(crate) fn type_error(found: &ArrayRef, what: &str, wanted: &str) -> PyErr {
    WrongTypeError::new_err(format!("{what} must be {wanted}, not {}", found.data_type()))
}

/// Return a column as structs.
pub(crate) fn rows(given: &ArrayRef, what: &str) -> PyResult<StructArray> {
    given.as_struct_opt().cloned().ok_or_else(|| type_error(given, what, "structs"))
}

/// Return a column as text; Spark uses two kinds.
pub(crate) fn texts(given: &ArrayRef, what: &str) -> PyResult<Texts> {
    let is_text = matches!(given.data_type(), DataType::Utf8 | DataType::LargeUtf8 | DataType::Null);
    Texts::of(given).filter(|_| is_text).ok_or_else(|| type_error(given, what, "text"))
}

/// Return a column as lists; Spark uses two kinds.
pub(crate) fn lists(given: &ArrayRef, what: &str) -> PyResult<Lists> {
    let is_list = matches!(given.data_type(), DataType::List(_) | DataType::LargeList(_));
    Lists::of(given).filter(|_| is_list).ok_or_else(|| type_error(given, what, "lists"))
}

/// Return a column as lists of text, which may be in a dictionary.
pub(crate) fn text_lists(given: &ArrayRef, what: &str) -> PyResult<TextLists> {
    TextLists::read(given, |given| lists(given, what), |items| texts(items, what))
}

/// Return a column as numbers.
pub(crate) fn numbers(given: &ArrayRef, what: &str) -> PyResult<Int32Array> {
    given.as_primitive_opt::<Int32Type>().cloned().ok_or_else(|| type_error(given, what, "int"))
}

/// Return a column as floating-point numbers.
pub(crate) fn floats(given: &ArrayRef, what: &str) -> PyResult<Float64Array> {
    given.as_primitive_opt::<Float64Type>().cloned().ok_or_else(|| type_error(given, what, "double"))
}

/// Read a field of structs; return None if there is no such field.
pub(crate) fn optional<T>(
    rows: &StructArray,
    name: &str,
    read: impl Fn(&ArrayRef, &str) -> PyResult<T>,
) -> PyResult<Option<T>> {
    known_field(rows, name).map(|column| read(&column, name)).transpose()
}
