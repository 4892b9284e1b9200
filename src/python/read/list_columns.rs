//! Reader of Arrow columns of lists of text.

use arrow_array::ArrayRef;
use arrow_array::cast::AsArray;
use pyo3::prelude::*;

use super::arrow::{check_column, is_list_column, is_text_column};
use super::arrow_types::{Lists, Texts};
use crate::python::imports::IllegalArgumentError;

fn unreadable(column: &str) -> PyErr {
    IllegalArgumentError::new_err(format!("column {column} has lists that cannot be read"))
}

/// Call `read` with the names in each row, and return its results. A null row counts as an empty list if `may_be_null` is true for
/// it; otherwise it is an error.
pub(crate) fn names_in_lists(
    array: &ArrayRef,
    may_be_null: &dyn Fn(usize) -> bool,
    read: &mut dyn FnMut(&[&str]) -> u32,
) -> PyResult<Vec<u32>> {
    if let Some(dictionary) = array.as_any_dictionary_opt() {
        let is_null = |row: usize| dictionary.is_null(row);
        if let Some(row) = (0..dictionary.len()).find(|row| is_null(*row) && !may_be_null(*row)) {
            return Err(IllegalArgumentError::new_err(format!("topics[{row}] is null")));
        }
        let of_values = names_in_lists(dictionary.values(), &|_| false, read)?;
        let none = read(&[]);
        let answer = |(row, key): (usize, usize)| if is_null(row) { none } else { of_values[key] };
        if of_values.is_empty() {
            return Ok(vec![none; dictionary.len()]);
        }
        return Ok(dictionary.normalized_keys().into_iter().enumerate().map(answer).collect());
    }
    check_column(array, "topics", "lists of text", |kind| is_list_column(kind, is_text_column))?;
    let lists = Lists::of(array).ok_or_else(|| unreadable("topics"))?;
    let texts = Texts::of(&lists.items).ok_or_else(|| unreadable("topics"))?;
    let mut found = Vec::with_capacity(lists.len());
    let mut names = Vec::new();
    for row in 0..lists.len() {
        names.clear();
        match lists.get(row) {
            Some(places) => {
                for place in places {
                    let name = texts.get(place);
                    names.push(name.ok_or_else(|| IllegalArgumentError::new_err(format!("topics[{row}] has a null")))?);
                }
            }
            None if may_be_null(row) => {}
            None => return Err(IllegalArgumentError::new_err(format!("topics[{row}] is null"))),
        }
        found.push(read(&names));
    }
    Ok(found)
}

/// Read the racks of replicas by topic and partition; None for a topic without racks. A null rack adds nothing.
pub(crate) fn racks_in_lists(array: &ArrayRef) -> PyResult<Vec<Option<Vec<Vec<String>>>>> {
    check_column(array, "racks", "lists of lists of text", |kind| {
        is_list_column(kind, |kind| is_list_column(kind, is_text_column))
    })?;
    let topics = Lists::of(array).ok_or_else(|| unreadable("racks"))?;
    let partitions = Lists::of(&topics.items).ok_or_else(|| unreadable("racks"))?;
    let racks = Texts::of(&partitions.items).ok_or_else(|| unreadable("racks"))?;
    let of_partition = |place: usize| -> Vec<String> {
        partitions.get(place).into_iter().flatten().filter_map(|place| racks.get(place)).map(str::to_owned).collect()
    };
    Ok((0..topics.len()).map(|row| topics.get(row).map(|places| places.map(of_partition).collect())).collect())
}
