//! Columns of text: Arrow, numpy or Python.

use arrow_array::ArrayRef;
use arrow_array::cast::AsArray;
use numpy::{PyArray1, PyArrayDescrMethods, PyArrayMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::prelude::*;

use super::arrow::{arrow_array, not_of};
use super::arrow_types::Texts;
use super::values::{iterate, one_dimension, with_name};
use crate::group::Names;
use crate::python::error::wrong_type;
use crate::python::imports::{AS_CONTIGUOUS_ARRAY, IllegalArgumentError};
use crate::python::numpy_api::as_array;
use crate::python::objects::entries::lend;

/// Text by row: names, and the name of each row.
pub(crate) struct TextColumn {
    names: Names,
    /// Number of each row's name, None for a row without one. If this is None as a whole, row n has name n.
    rows: Option<Vec<Option<u32>>>,
}

impl TextColumn {
    /// Read a column of Arrow, numpy or Python.
    pub(crate) fn read(given: &Bound<'_, PyAny>, column: &str) -> PyResult<Self> {
        // Built-in containers come first: a look-up of an attribute that they lack takes as long as reading dozens of names.
        if let Some(Some(names)) = lend(given, |entries| {
            let mut names = Names::with_capacity(entries.len());
            entries.iter().try_for_each(|name| name.text().map(|name| names.push(name))).map(|()| names)
        }) {
            return Ok(Self { names, rows: None });
        }
        if let Some(array) = arrow_array(given)? {
            return Self::of(&array, column);
        }
        if let Some(array) = as_array(given)?
            && array.dtype().kind() == b'U'
        {
            return Self::of_numpy(array, column);
        }
        let wrong = || wrong_type(&format!("column {column}"), "a column of text", given);
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

    /// Read a column of Arrow.
    pub(crate) fn of(array: &ArrayRef, column: &str) -> PyResult<Self> {
        if let Some(dictionary) = array.as_any_dictionary_opt() {
            let values = Self::of(dictionary.values(), column)?;
            if values.rows.is_none() && !values.names.is_empty() {
                let keys = dictionary.normalized_keys();
                let row = |(row, key): (usize, usize)| dictionary.is_valid(row).then_some(key as u32);
                return Ok(Self { names: values.names, rows: Some(keys.into_iter().enumerate().map(row).collect()) });
            }
        }
        let texts = Texts::of(array).ok_or_else(|| not_of("text", array, column))?;
        let mut names = Names::with_capacity(texts.len());
        let mut has_nulls = false;
        for row in 0..texts.len() {
            let text = texts.get(row);
            has_nulls |= text.is_none();
            names.push(text.unwrap_or_default());
        }
        let number = |row: usize| texts.get(row).map(|_| row as u32);
        Ok(Self { names, rows: has_nulls.then(|| (0..texts.len()).map(number).collect()) })
    }

    /// Read a numpy column of fixed width: code points, padded with zeros.
    fn of_numpy(array: &Bound<'_, PyUntypedArray>, column: &str) -> PyResult<Self> {
        one_dimension(array, column)?;
        let py = array.py();
        let width = array.dtype().itemsize() / 4;
        if width == 0 || array.len() == 0 {
            let names = (0..array.len()).map(|_| "").collect();
            return Ok(Self { names, rows: None });
        }
        // Contiguous, in native byte order.
        let plain = AS_CONTIGUOUS_ARRAY.get(py)?.call1((array, format!("=U{width}")))?;
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
                        "{column}[{row}] has a lone surrogate, which UTF-8 cannot encode"
                    ))
                })?);
            }
            names.push(&name);
        }
        Ok(Self { names, rows: None })
    }

    pub(crate) fn len(&self) -> usize {
        self.rows.as_ref().map_or(self.names.len(), Vec::len)
    }

    pub(crate) fn get(&self, row: usize) -> Option<&str> {
        let number = self.rows.as_ref().map_or(Some(row as u32), |rows| rows[row])?;
        Some(self.names.get(number as usize))
    }

    /// Return the texts of all rows if they are stored row by row, else the column.
    pub(crate) fn into_names(self) -> Result<Names, Self> {
        if self.rows.is_none() { Ok(self.names) } else { Err(self) }
    }

    pub(crate) fn required(&self, row: usize, column: &str) -> PyResult<&str> {
        self.get(row).ok_or_else(|| IllegalArgumentError::new_err(format!("{column}[{row}] is null")))
    }
}
