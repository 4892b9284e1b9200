//! Single columns: text and numbers of Arrow, numpy or Python, and Arrow's lists of text.

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_cast::cast;
use arrow_schema::{DataType, Field};
use numpy::{PyArray1, PyArrayDescrMethods, PyArrayMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3_arrow::input::AnyArray;

use super::super::error::{IllegalArgumentError, wrong_type};
use super::super::fast::lend;
use super::values::{int, is_text, iterate, with_name};
use crate::group::Names;

/// Whether an object speaks the Arrow PyCapsule interface.
fn speaks_arrow(given: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(given.hasattr("__arrow_c_stream__")? || given.hasattr("__arrow_c_array__")?)
}

/// The batches of an Arrow table; None for what is none.
pub(super) fn batches(given: &Bound<'_, PyAny>) -> PyResult<Option<Vec<RecordBatch>>> {
    if !speaks_arrow(given)? {
        return Ok(None);
    }
    let (chunks, _) = given.extract::<AnyArray>()?.into_chunked_array()?.into_inner();
    let batch = |chunk: &ArrayRef| match chunk.as_struct_opt() {
        // A null row has no place in a batch, which would show what is below it.
        Some(rows) if rows.null_count() == 0 => Ok(RecordBatch::from(rows)),
        Some(_) => Err(IllegalArgumentError::new_err("a table cannot have rows that are null")),
        None => Err(IllegalArgumentError::new_err(format!("a table is needed, not an array of {}", chunk.data_type()))),
    };
    chunks.iter().map(batch).collect::<PyResult<_>>().map(Some)
}

/// An Arrow array; None for what is none.
pub(super) fn arrow_array(given: &Bound<'_, PyAny>) -> PyResult<Option<ArrayRef>> {
    if !speaks_arrow(given)? {
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

/// Whether a column is of text; a cast would make text of anything.
fn is_text_column(kind: &DataType) -> bool {
    match kind {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View | DataType::Null => true,
        DataType::Dictionary(_, values) => is_text_column(values),
        _ => false,
    }
}

/// Whether a column is of lists of something.
fn is_list_column(kind: &DataType, of: impl Fn(&DataType) -> bool) -> bool {
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

fn check_column(array: &ArrayRef, column: &str, wanted: &str, is: impl Fn(&DataType) -> bool) -> PyResult<()> {
    let kind = array.data_type();
    if is(kind) {
        return Ok(());
    }
    Err(IllegalArgumentError::new_err(format!("column {column} must be of {wanted}, not {kind}")))
}

fn cast_to(array: &ArrayRef, wanted: &DataType, column: &str) -> PyResult<ArrayRef> {
    cast(array, wanted).map_err(|_| {
        IllegalArgumentError::new_err(format!("column {column} must be {wanted}, not {}", array.data_type()))
    })
}

fn one_dimension(array: &Bound<'_, PyUntypedArray>, column: &str) -> PyResult<()> {
    match array.ndim() {
        1 => Ok(()),
        found => Err(IllegalArgumentError::new_err(format!("column {column} must have one dimension, not {found}"))),
    }
}

/// Text by row: distinct or all names, and which of them a row has.
pub(super) struct Texts {
    names: Names,
    /// Per row the number of its name, None where there is none; where this is None each row has its own.
    rows: Option<Vec<Option<u32>>>,
}

impl Texts {
    /// A column in any of the forms.
    pub(super) fn read(given: &Bound<'_, PyAny>, column: &str) -> PyResult<Self> {
        if let Some(array) = arrow_array(given)? {
            return Self::of(&array, column);
        }
        if let Ok(array) = given.cast::<PyUntypedArray>()
            && array.dtype().kind() == b'U'
        {
            return Self::of_numpy(array, column);
        }
        let wrong = || wrong_type(&format!("column {column}"), "a column of text", given);
        if is_text(given) {
            return Err(wrong());
        }
        if let Some(Some(names)) = lend(given, |entries| {
            let mut names = Names::with_capacity(entries.len());
            entries.iter().try_for_each(|name| name.text().map(|name| names.push(name))).map(|()| names)
        }) {
            return Ok(Self { names, rows: None });
        }
        let (mut names, mut rows) = (Names::default(), Vec::new());
        for (row, name) in iterate(given, wrong)?.enumerate() {
            let name = name?;
            if name.is_none() {
                rows.push(None);
                continue;
            }
            rows.push(Some(names.len() as u32));
            with_name(&name, || format!("{column}[{row}]"), |name| names.push(name))?;
        }
        let rows = rows.contains(&None).then_some(rows);
        Ok(Self { names, rows })
    }

    /// A column of Arrow.
    pub(super) fn of(array: &ArrayRef, column: &str) -> PyResult<Self> {
        if let Some(dictionary) = array.as_any_dictionary_opt() {
            let values = Self::of(dictionary.values(), column)?;
            if values.rows.is_none() && !values.names.is_empty() {
                let keys = dictionary.normalized_keys();
                let row = |(row, key): (usize, usize)| dictionary.is_valid(row).then_some(key as u32);
                return Ok(Self { names: values.names, rows: Some(keys.into_iter().enumerate().map(row).collect()) });
            }
        }
        check_column(array, column, "text", is_text_column)?;
        let texts = cast_to(array, &DataType::LargeUtf8, column)?;
        let texts = texts.as_string::<i64>();
        let mut names = Names::with_capacity(texts.len());
        for text in texts {
            names.push(text.unwrap_or_default());
        }
        let rows = (texts.null_count() > 0)
            .then(|| (0..texts.len()).map(|row| texts.is_valid(row).then_some(row as u32)).collect());
        Ok(Self { names, rows })
    }

    /// A numpy column of fixed width: code points, filled up with zeros.
    fn of_numpy(array: &Bound<'_, PyUntypedArray>, column: &str) -> PyResult<Self> {
        one_dimension(array, column)?;
        let py = array.py();
        let width = array.dtype().itemsize() / 4;
        if width == 0 || array.len() == 0 {
            let names = (0..array.len()).map(|_| "").collect();
            return Ok(Self { names, rows: None });
        }
        let numpy = py.import("numpy")?;
        // The native byte order, in one piece.
        let plain = numpy.call_method1("ascontiguousarray", (array, format!("=U{width}")))?;
        let units = plain.call_method1("reshape", (-1,))?.call_method1("view", ("uint32",))?;
        let units = units.cast_into::<PyArray1<u32>>()?;
        let units = units.readonly();
        let mut names = Names::with_capacity(array.len());
        let mut name = String::new();
        for (row, units) in units.as_slice()?.chunks_exact(width).enumerate() {
            let length = units.iter().rposition(|unit| *unit != 0).map_or(0, |last| last + 1);
            name.clear();
            for unit in &units[..length] {
                name.push(char::from_u32(*unit).ok_or_else(|| {
                    IllegalArgumentError::new_err(format!(
                        "{column}[{row}] has a lone surrogate, which UTF-8 cannot carry"
                    ))
                })?);
            }
            names.push(&name);
        }
        Ok(Self { names, rows: None })
    }

    pub(super) fn len(&self) -> usize {
        self.rows.as_ref().map_or(self.names.len(), Vec::len)
    }

    pub(super) fn get(&self, row: usize) -> Option<&str> {
        let number = self.rows.as_ref().map_or(Some(row as u32), |rows| rows[row])?;
        Some(self.names.get(number as usize))
    }

    pub(super) fn required(&self, row: usize, column: &str) -> PyResult<&str> {
        self.get(row).ok_or_else(|| IllegalArgumentError::new_err(format!("{column}[{row}] is null")))
    }
}

/// Counts or indices by row, none negative.
pub(super) struct Numbers(pub(super) Vec<i32>);

impl Numbers {
    /// A column in any of the forms.
    pub(super) fn read(given: &Bound<'_, PyAny>, column: &str) -> PyResult<Self> {
        if let Ok(array) = given.cast::<PyUntypedArray>()
            && matches!(array.dtype().kind(), b'i' | b'u')
        {
            one_dimension(array, column)?;
            // A field of packed records is not aligned, or not a whole number of entries from the next: that is copied.
            if let Ok(numbers) = given.cast::<PyArray1<i32>>()
                && given.getattr("flags")?.getattr("aligned")?.extract()?
                && let Ok(plain) = numbers.readonly().as_slice()
                && plain.iter().all(|number| *number >= 0)
            {
                return Ok(Self(plain.to_vec()));
            }
            // What is above int64 turns negative, and is refused as what is negative.
            let numbers = given.call_method1("astype", ("int64",))?.cast_into::<PyArray1<i64>>()?;
            return Self::checked(numbers.readonly().as_array().iter().copied(), column);
        }
        if let Some(array) = arrow_array(given)? {
            return Self::of(&array, column);
        }
        let wrong = || wrong_type(&format!("column {column}"), "a column of integers", given);
        if is_text(given) {
            return Err(wrong());
        }
        let mut numbers = Vec::new();
        for (row, number) in iterate(given, wrong)?.enumerate() {
            numbers.push(int(&number?, || format!("{column}[{row}]"))?);
        }
        Ok(Self(numbers))
    }

    /// A column of Arrow.
    pub(super) fn of(array: &ArrayRef, column: &str) -> PyResult<Self> {
        if !array.data_type().is_integer() {
            let kind = array.data_type();
            return Err(IllegalArgumentError::new_err(format!("column {column} must be of integers, not {kind}")));
        }
        if let Some(row) = (0..array.len()).find(|row| array.is_null(*row)) {
            return Err(IllegalArgumentError::new_err(format!("{column}[{row}] is null")));
        }
        let numbers = cast_to(array, &DataType::Int64, column)?;
        // What int64 cannot hold is null after the cast.
        if let Some(row) = (0..numbers.len()).find(|row| numbers.is_null(*row)) {
            let most = i32::MAX;
            return Err(IllegalArgumentError::new_err(format!("{column}[{row}] must be from 0 to {most}")));
        }
        Self::checked(numbers.as_primitive::<Int64Type>().values().iter().copied(), column)
    }

    fn checked(numbers: impl ExactSizeIterator<Item = i64>, column: &str) -> PyResult<Self> {
        let mut found = Vec::with_capacity(numbers.len());
        for (row, number) in numbers.enumerate() {
            let Ok(number) = u32::try_from(number).and_then(i32::try_from) else {
                return Err(IllegalArgumentError::new_err(format!(
                    "{column}[{row}] must be from 0 to {}, not {number}",
                    i32::MAX
                )));
            };
            found.push(number);
        }
        Ok(Self(found))
    }
}

fn list_of(item: DataType) -> DataType {
    DataType::LargeList(Field::new("item", item, true).into())
}

/// What `read` makes of every list of names.
///
/// A row that may be null has the class of no names then.
pub(super) fn names_in_lists(
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
        let class = |(row, key): (usize, usize)| if is_null(row) { none } else { of_values[key] };
        if of_values.is_empty() {
            return Ok(vec![none; dictionary.len()]);
        }
        return Ok(dictionary.normalized_keys().into_iter().enumerate().map(class).collect());
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

/// Per topic and partition the racks of its replicas; None for a topic without. A null rack is none.
pub(super) fn racks_in_lists(array: &ArrayRef) -> PyResult<Vec<Option<Vec<Vec<String>>>>> {
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
