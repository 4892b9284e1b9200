//! Nested Arrow columns: fields of structs, lists, and the two kinds of text that Spark uses.

use std::borrow::Cow;
use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{
    Array, ArrayRef, GenericStringArray, Int32Array, ListArray, OffsetSizeTrait, StringArray, StructArray, make_array,
};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::DataType;
use pyo3::prelude::*;

use crate::python::imports::{IllegalArgumentError, WrongTypeError};

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
pub(crate) fn texts(given: &ArrayRef, what: &str) -> PyResult<StringArray> {
    match given.data_type() {
        DataType::Utf8 => {
            check(given.as_string::<i32>(), what)?;
            Ok(given.as_string().clone())
        }
        DataType::LargeUtf8 => {
            let wide = given.as_string::<i64>();
            check(wide, what)?;
            let (first, last) = (wide.value_offsets()[0], wide.value_offsets()[wide.len()]);
            let too_long = |_| IllegalArgumentError::new_err(format!("{what}: a batch has more than 2 GiB of text"));
            i32::try_from(last - first).map_err(too_long)?;
            Ok(wide.iter().collect())
        }
        DataType::Null => Ok(StringArray::new_null(given.len())),
        _ => Err(type_error(given, what, "text")),
    }
}

/// Raise an error for text that is not UTF-8. Spark's strings may hold any bytes, and are not checked before this.
fn check<O: OffsetSizeTrait>(given: &GenericStringArray<O>, what: &str) -> PyResult<()> {
    let (offsets, data) = (given.value_offsets(), given.values().as_slice());
    let all = &data[offsets[0].as_usize()..offsets[given.len()].as_usize()];
    let is_whole = |all: &str| offsets.iter().all(|offset| all.is_char_boundary((*offset - offsets[0]).as_usize()));
    if std::str::from_utf8(all).is_ok_and(is_whole) {
        return Ok(());
    }
    let bytes = |row: usize| &data[offsets[row].as_usize()..offsets[row + 1].as_usize()];
    // Bytes of null rows need not be UTF-8.
    match (0..given.len()).find(|row| given.is_valid(*row) && std::str::from_utf8(bytes(*row)).is_err()) {
        Some(row) => {
            let found = String::from_utf8_lossy(bytes(row));
            Err(IllegalArgumentError::new_err(format!("{what}: text that is not UTF-8: '{found}'")))
        }
        None => Ok(()),
    }
}

/// Return a column as lists.
pub(crate) fn lists(given: &ArrayRef, what: &str) -> PyResult<ListArray> {
    match given.data_type() {
        DataType::List(_) => Ok(given.as_list().clone()),
        DataType::LargeList(item) => {
            let wide = given.as_list::<i64>();
            let offsets =
                wide.value_offsets().iter().map(|offset| i32::try_from(*offset)).collect::<Result<Vec<_>, _>>();
            let too_many = |_| {
                IllegalArgumentError::new_err(format!(
                    "{what}: the lists of a batch have more than {} entries",
                    i32::MAX
                ))
            };
            let offsets = OffsetBuffer::new(offsets.map_err(too_many)?.into());
            Ok(ListArray::new(item.clone(), offsets, wide.values().clone(), wide.nulls().cloned()))
        }
        _ => Err(type_error(given, what, "lists")),
    }
}

/// Read a field of structs; return None if there is no such field.
pub(crate) fn optional<T>(
    rows: &StructArray,
    name: &str,
    read: impl Fn(&ArrayRef, &str) -> PyResult<T>,
) -> PyResult<Option<T>> {
    known_field(rows, name).map(|column| read(&column, name)).transpose()
}

/// Lists of text; rows with the same list may share it in a dictionary.
pub(crate) struct TextLists {
    /// Place of the list of each row; None if each row has its own list.
    keys: Option<Int32Array>,
    lists: ListArray,
    texts: StringArray,
}

impl TextLists {
    pub(crate) fn read(given: &ArrayRef, what: &str) -> PyResult<Self> {
        let (keys, values) = match given.as_dictionary_opt::<Int32Type>() {
            Some(shared) => (Some(shared.keys().clone()), shared.values()),
            None => (None, given),
        };
        let lists = lists(values, what)?;
        let texts = texts(lists.values(), what)?;
        Ok(Self { keys, lists, texts })
    }

    /// Return the place of a row's list; None for null.
    pub(crate) fn place(&self, row: usize) -> Option<usize> {
        let place = match &self.keys {
            Some(keys) if keys.is_null(row) => return None,
            Some(keys) => keys.value(row) as usize,
            None => row,
        };
        self.lists.is_valid(place).then_some(place)
    }

    fn bounds(&self, place: usize) -> (usize, usize) {
        (self.lists.value_offsets()[place] as usize, self.lists.value_offsets()[place + 1] as usize)
    }

    pub(crate) fn is_empty(&self, place: usize) -> bool {
        let (first, end) = self.bounds(place);
        first == end
    }

    /// Return true if two lists have the same texts.
    pub(crate) fn same(&self, left: usize, right: usize) -> bool {
        if left == right {
            return true;
        }
        let ((first, end), (other, other_end)) = (self.bounds(left), self.bounds(right));
        let offsets = self.texts.value_offsets();
        let bytes = |first: usize, end: usize| &self.texts.value_data()[offsets[first] as usize..offsets[end] as usize];
        let ends = |first: usize, end: usize| offsets[first..=end].iter().map(move |offset| offset - offsets[first]);
        end - first == other_end - other
            && (self.texts.null_count() == 0 || (other..other_end).all(|place| self.texts.is_valid(place)))
            && ends(first, end).eq(ends(other, other_end))
            && bytes(first, end) == bytes(other, other_end)
    }

    pub(crate) fn get(&self, place: usize, wrong: impl Fn(&str) -> PyErr) -> PyResult<Vec<Cow<'_, str>>> {
        let (first, end) = self.bounds(place);
        if (first..end).any(|place| self.texts.is_null(place)) {
            return Err(wrong("a subscribed topic is null"));
        }
        Ok((first..end).map(|place| Cow::Borrowed(self.texts.value(place))).collect())
    }
}

/// Return the range of a list's items; empty for null.
pub(crate) fn bounds(lists: &ListArray, row: usize) -> Range<usize> {
    if lists.is_null(row) { 0..0 } else { lists.value_offsets()[row] as usize..lists.value_offsets()[row + 1] as usize }
}
