//! Reader of Arrow tables and arrays; errors name the column.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_cast::cast;
use arrow_schema::DataType;
use pyo3::prelude::*;
use pyo3_arrow::input::AnyArray;

use crate::python::imports::IllegalArgumentError;

/// Return true if an object implements the Arrow PyCapsule interface.
fn has_arrow_interface(given: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(given.hasattr("__arrow_c_stream__")? || given.hasattr("__arrow_c_array__")?)
}

/// Return the batches of an Arrow table; None for any other object.
pub(crate) fn batches(given: &Bound<'_, PyAny>) -> PyResult<Option<Vec<RecordBatch>>> {
    if !has_arrow_interface(given)? {
        return Ok(None);
    }
    let (chunks, _) = given.extract::<AnyArray>()?.into_chunked_array()?.into_inner();
    let batch = |chunk: &ArrayRef| match chunk.as_struct_opt() {
        // A batch has no null rows: it would show the values below the null.
        Some(rows) if rows.null_count() == 0 => Ok(RecordBatch::from(rows)),
        Some(_) => Err(IllegalArgumentError::new_err("a table cannot have rows that are null")),
        None => Err(IllegalArgumentError::new_err(format!("a table is needed, not an array of {}", chunk.data_type()))),
    };
    chunks.iter().map(batch).collect::<PyResult<_>>().map(Some)
}

/// Return an Arrow array; None for any other object.
pub(crate) fn arrow_array(given: &Bound<'_, PyAny>) -> PyResult<Option<ArrayRef>> {
    if !has_arrow_interface(given)? {
        return Ok(None);
    }
    let (chunks, field) = given.extract::<AnyArray>()?.into_chunked_array()?.into_inner();
    let chunks: Vec<&dyn Array> = chunks.iter().map(AsRef::as_ref).collect();
    match chunks[..] {
        [] => Ok(Some(arrow_array::new_empty_array(field.data_type()))),
        _ => Ok(Some(arrow_select::concat::concat(&chunks).map_err(refused)?)),
    }
}

fn refused(error: arrow_schema::ArrowError) -> PyErr {
    IllegalArgumentError::new_err(error.to_string())
}

/// Return true for a type of text. Casts are not tried, because they would convert any type to text.
pub(crate) fn is_text_column(kind: &DataType) -> bool {
    match kind {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View | DataType::Null => true,
        DataType::Dictionary(_, values) => is_text_column(values),
        _ => false,
    }
}

/// Return true for a type of lists whose items satisfy `of`.
pub(crate) fn is_list_column(kind: &DataType, of: impl Fn(&DataType) -> bool) -> bool {
    match kind {
        DataType::Null => true,
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::ListView(item)
        | DataType::LargeListView(item)
        | DataType::FixedSizeList(item, _) => of(item.data_type()),
        _ => false,
    }
}

pub(crate) fn check_column(
    array: &ArrayRef,
    column: &str,
    wanted: &str,
    is: impl Fn(&DataType) -> bool,
) -> PyResult<()> {
    let kind = array.data_type();
    if is(kind) {
        return Ok(());
    }
    Err(IllegalArgumentError::new_err(format!("column {column} must be of {wanted}, not {kind}")))
}

pub(crate) fn cast_to(array: &ArrayRef, wanted: &DataType, column: &str) -> PyResult<ArrayRef> {
    cast(array, wanted).map_err(|_| {
        IllegalArgumentError::new_err(format!("column {column} must be {wanted}, not {}", array.data_type()))
    })
}

/// Return the error for a table that lacks a column.
pub(crate) fn missing_columns(batch: &RecordBatch, needed: &str) -> PyErr {
    let columns: Vec<String> = batch.schema().fields().iter().map(|field| field.name().clone()).collect();
    IllegalArgumentError::new_err(format!("{needed}; found {}", columns.join(", ")))
}

pub(crate) fn same_length(column: &str, length: usize, other: &str, wanted: usize) -> PyResult<()> {
    if length == wanted {
        return Ok(());
    }
    Err(IllegalArgumentError::new_err(format!("{column} has {length} entries, and {other} has {wanted}")))
}
