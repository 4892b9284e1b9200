//! Reader of Arrow columns of lists of text.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, Field};
use pyo3::prelude::*;

use super::arrow::{cast_to, check_column, is_list_column, is_text_column};
use crate::python::imports::IllegalArgumentError;

fn list_of(item: DataType) -> DataType {
    DataType::LargeList(Field::new("item", item, true).into())
}

/// Call `read` with every list of names and return the answers; a row that may be null counts as no names.
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
    let rows = array.len();
    let array = cast_to(array, &list_of(DataType::LargeUtf8), "topics")?;
    let lists = array.as_list::<i64>();
    let texts = lists.values().as_string::<i64>();
    if lists.len() != rows {
        return Err(IllegalArgumentError::new_err("column topics has lists that cannot be read"));
    }
    let mut found = Vec::with_capacity(lists.len());
    let mut names = Vec::new();
    for row in 0..lists.len() {
        let bounds = lists.value_offsets()[row] as usize..lists.value_offsets()[row + 1] as usize;
        if lists.is_null(row) && may_be_null(row) {
            found.push(read(&[]));
            continue;
        }
        if lists.is_null(row) || bounds.clone().any(|place| texts.is_null(place)) {
            let what = if lists.is_null(row) { "is null" } else { "has a null" };
            return Err(IllegalArgumentError::new_err(format!("topics[{row}] {what}")));
        }
        names.clear();
        names.extend(bounds.map(|place| texts.value(place)));
        found.push(read(&names));
    }
    Ok(found)
}

/// Read the racks of replicas by topic and partition; None for a topic without racks. A null rack adds nothing.
pub(crate) fn racks_in_lists(array: &ArrayRef) -> PyResult<Vec<Option<Vec<Vec<String>>>>> {
    check_column(array, "racks", "lists of lists of text", |kind| {
        is_list_column(kind, |kind| is_list_column(kind, is_text_column))
    })?;
    let array = cast_to(array, &list_of(list_of(DataType::LargeUtf8)), "racks")?;
    let topics = array.as_list::<i64>();
    let of_partition = |racks: Option<ArrayRef>| -> Vec<String> {
        let texts = racks.iter().flat_map(|racks| racks.as_string::<i64>().iter().flatten().map(str::to_owned));
        texts.collect()
    };
    let of_topic = |partitions: ArrayRef| partitions.as_list::<i64>().iter().map(of_partition).collect();
    Ok(topics.iter().map(|partitions| partitions.map(of_topic)).collect())
}
