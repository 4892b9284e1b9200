//! Reader of Arrow columns of lists of text.

use arrow_array::cast::AsArray;
use arrow_array::{AnyDictionaryArray, ArrayRef};
use pyo3::prelude::*;

use super::arrow::{check_column, is_list_column, is_text_column};
use super::arrow_types::{Lists, RackLists, TextLists, Texts};
use crate::python::imports::IllegalArgumentError;
use crate::python::interrupt::Steps;

fn lists_of(column: &str) -> impl Fn(&ArrayRef) -> PyResult<Lists> {
    move |array| Lists::of(array).ok_or_else(|| unreadable(column))
}

fn texts_of(column: &str) -> impl Fn(&ArrayRef) -> PyResult<Texts> {
    move |array| Texts::of(array).ok_or_else(|| unreadable(column))
}

fn unreadable(column: &str) -> PyErr {
    IllegalArgumentError::new_err(format!("column {column} has lists that cannot be read"))
}

/// Read lists of text, which may be in a dictionary.
pub(crate) fn text_lists(array: &ArrayRef, column: &str) -> PyResult<TextLists> {
    let shared = array.as_any_dictionary_opt().map(AnyDictionaryArray::values);
    check_column(shared.unwrap_or(array), column, "lists of text", |kind| is_list_column(kind, is_text_column))?;
    TextLists::read(array, lists_of(column), texts_of(column))
}

/// Return the names in the list of a row; None for null.
pub(crate) fn names_in_row(lists: &TextLists, row: usize) -> PyResult<Option<Vec<&str>>> {
    let Some(place) = lists.place(row) else { return Ok(None) };
    let names: Option<Vec<&str>> = lists.texts(place).collect();
    names.map(Some).ok_or_else(|| IllegalArgumentError::new_err(format!("topics[{row}] has a null")))
}

/// Call `read` with the names in each row, and return its results. Rows with the same list in a dictionary share a result. A row
/// for which `is_left_out` is true is not read, and has the result 0.
pub(crate) fn names_in_lists(
    py: Python<'_>,
    array: &ArrayRef,
    is_left_out: &dyn Fn(usize) -> bool,
    read: &mut dyn FnMut(&[&str]) -> u32,
) -> PyResult<Vec<u32>> {
    let shared = array.as_any_dictionary_opt().map(AnyDictionaryArray::values);
    let lists = text_lists(array, "topics")?;
    let mut known: Vec<Option<u32>> = vec![None; shared.map_or(0, |lists| lists.len())];
    let mut found = Vec::with_capacity(lists.len());
    let mut names = Vec::new();
    let mut steps = Steps::default();
    for row in 0..lists.len() {
        steps.count(py)?; // the names are not objects
        names.clear();
        if is_left_out(row) {
            found.push(0);
            continue;
        }
        let place = lists.place(row);
        if place.is_none() {
            return Err(IllegalArgumentError::new_err(format!("topics[{row}] is null")));
        }
        let shared = place.and_then(|place| known.get_mut(place));
        if let Some(Some(number)) = shared {
            found.push(*number);
            continue;
        }
        for name in place.into_iter().flat_map(|place| lists.texts(place)) {
            names.push(name.ok_or_else(|| IllegalArgumentError::new_err(format!("topics[{row}] has a null")))?);
        }
        let number = read(&names);
        if let Some(shared) = shared {
            *shared = Some(number);
        }
        found.push(number);
    }
    Ok(found)
}

/// Read the racks of replicas by topic and partition.
pub(crate) fn racks_in_lists(array: &ArrayRef) -> PyResult<RackLists> {
    check_column(array, "racks", "lists of lists of text", |kind| {
        is_list_column(kind, |kind| is_list_column(kind, is_text_column))
    })?;
    RackLists::read(array, lists_of("racks"), texts_of("racks"))
}
