//! Reader of Arrow tables and arrays; errors name the column.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch, new_empty_array};
use arrow_schema::DataType;
use pyo3::prelude::*;

use super::arrow_types::joined;
use crate::python::imports::IllegalArgumentError;
use crate::python::objects::arrow_capsules::{ArrowArray, take_array, take_stream};

/// Return the type and the chunks of an object with the Arrow PyCapsule interface; None for any other object.
fn chunks(given: &Bound<'_, PyAny>) -> PyResult<Option<(DataType, Vec<ArrayRef>)>> {
    if given.hasattr("__arrow_c_array__")? {
        let array = take_array(given)?;
        return Ok(Some((array.data_type().clone(), vec![array])));
    }
    if given.hasattr("__arrow_c_stream__")? {
        return take_stream(given).map(Some);
    }
    Ok(None)
}

/// Return the batches of an Arrow table; None for any other object. Errors call it `what`.
pub(crate) fn batches(given: &Bound<'_, PyAny>, what: &str) -> PyResult<Option<Vec<RecordBatch>>> {
    let Some((_, chunks)) = chunks(given)? else { return Ok(None) };
    chunks.iter().map(|chunk| of_structs(chunk, what)).collect::<PyResult<_>>().map(Some)
}

/// Return an array of structs as a record batch.
pub(crate) fn batch(given: &ArrowArray) -> PyResult<RecordBatch> {
    of_structs(given.array(), "the data")
}

fn of_structs(array: &ArrayRef, what: &str) -> PyResult<RecordBatch> {
    match array.as_struct_opt() {
        // A record batch cannot have null rows; it would expose the values that the null rows hide.
        Some(rows) if rows.null_count() == 0 => Ok(RecordBatch::from(rows)),
        Some(_) => Err(IllegalArgumentError::new_err(format!("{what}: an Arrow table cannot have rows that are null"))),
        None => {
            let reason = format!("{what} must be an Arrow table, not an array of {}", array.data_type());
            Err(IllegalArgumentError::new_err(reason))
        }
    }
}

/// Return an Arrow array; None for any other object.
pub(crate) fn arrow_array(given: &Bound<'_, PyAny>) -> PyResult<Option<ArrayRef>> {
    let Some((kind, chunks)) = chunks(given)? else { return Ok(None) };
    if chunks.is_empty() {
        return Ok(Some(new_empty_array(&kind)));
    }
    joined(&chunks).map(Some).map_err(|error| IllegalArgumentError::new_err(error.to_string()))
}

/// Return true for a type of text.
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
    if is(array.data_type()) { Ok(()) } else { Err(not_of(wanted, array, column)) }
}

/// Return the error for a column of another type.
pub(crate) fn not_of(wanted: &str, array: &ArrayRef, column: &str) -> PyErr {
    IllegalArgumentError::new_err(format!("column {column} must be of {wanted}, not {}", array.data_type()))
}

/// Return the error for a table that lacks a column.
pub(crate) fn missing_columns(batch: &RecordBatch, needed: &str) -> PyErr {
    let columns: Vec<String> = batch.schema().fields().iter().map(|field| field.name().clone()).collect();
    IllegalArgumentError::new_err(format!("{needed}; found {}", columns.join(", ")))
}

pub(crate) fn same_length(column: &str, length: usize, wanted: usize, each: &str) -> PyResult<()> {
    if length == wanted {
        return Ok(());
    }
    let reason = format!("{column} needs one entry per {each}, {wanted} in total, but has {length}");
    Err(IllegalArgumentError::new_err(reason))
}
