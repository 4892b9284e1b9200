//! Single values and mappings from Python. Errors name the value and its place.

use numpy::{PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyByteArray, PyBytes, PyDict, PyInt, PyIterator, PyMapping, PyString};
use rustc_hash::FxHashSet;

use crate::group::{NameTable, Names};
use crate::python::error::{shown, wrong_type};
use crate::python::imports::{INDEX, IllegalArgumentError};

/// Calls `read` with every entry of a mapping, and fails if its size changes meanwhile.
pub(crate) fn each_item<'py>(
    mapping: &Bound<'py, PyAny>,
    what: &str,
    wanted: &str,
    mut read: impl FnMut(&Bound<'py, PyAny>, &Bound<'py, PyAny>) -> PyResult<()>,
) -> PyResult<()> {
    let Ok(mapping) = mapping.cast::<PyMapping>() else {
        return Err(wrong_type(what, &format!("a mapping of {wanted}"), mapping));
    };
    let size = mapping.len()?;
    let plain = mapping.cast_exact::<PyDict>().ok();
    let items: Vec<(Bound<'py, PyAny>, Bound<'py, PyAny>)> = match plain {
        Some(dict) => dict.iter().collect(),
        None => mapping.items()?.extract()?,
    };
    // A dict whose keys are all plain strings has each of them once; anything else may say a name twice.
    let once = plain.is_some() && items.iter().all(|(key, _)| key.is_exact_instance_of::<PyString>());
    let mut names = FxHashSet::default();
    // What was read stays alive until all is read: what is known by its address stays what it is.
    for (key, value) in &items {
        if !once
            && let Ok(name) = key.cast::<PyString>()
            && !names.insert(name.to_string_lossy().into_owned())
        {
            return Err(IllegalArgumentError::new_err(format!("{what} has '{name}' twice")));
        }
        read(key, value)?;
        if let Some(dict) = plain {
            same_size(what, size, dict.len())?;
        }
    }
    if plain.is_none() {
        same_size(what, size, mapping.len()?)?; // user code, perhaps, which may not run between entries
    }
    Ok(())
}

fn same_size(what: &str, size: usize, now: usize) -> PyResult<()> {
    if now == size {
        return Ok(());
    }
    let reason = format!("{what} changed size while it was read: {size} entries, then {now}");
    Err(IllegalArgumentError::new_err(reason))
}

/// Iterates, with an error of our own for what is no iterable.
pub(crate) fn iterate<'py>(
    value: &Bound<'py, PyAny>,
    refused: impl FnOnce() -> PyErr,
) -> PyResult<Bound<'py, PyIterator>> {
    match value.try_iter() {
        Ok(entries) => Ok(entries),
        Err(error) if error.is_instance_of::<PyTypeError>(value.py()) && !value.hasattr("__iter__")? => Err(refused()),
        Err(error) => Err(error),
    }
}

/// Whether it is an integer, of numpy perhaps; an array has `__index__` as well, but is there to be iterated.
pub(crate) fn is_int(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    if value.is_instance_of::<PyInt>() {
        return Ok(!value.is_instance_of::<PyBool>());
    }
    let kind = value.get_type();
    Ok(kind.hasattr("__index__")? && !kind.hasattr("__iter__")?)
}

/// A count or an id.
pub(crate) fn int(value: &Bound<'_, PyAny>, what: impl Fn() -> String) -> PyResult<i32> {
    if value.is_exact_instance_of::<PyInt>()
        && let Ok(number) = value.extract::<i32>()
        && number >= 0
    {
        return Ok(number);
    }
    if !is_int(value)? {
        return Err(wrong_type(&what(), "an int", value));
    }
    let number = index(value)?;
    let reason = match number.extract::<i32>() {
        Ok(number) if number >= 0 => return Ok(number),
        _ if number.lt(0)? => "cannot be negative".to_owned(),
        _ => format!("cannot be over {}", i32::MAX),
    };
    Err(IllegalArgumentError::new_err(format!("{} {reason}: {}", what(), shown(value))))
}

/// Return a value for which `is_int` is true as a Python `int`.
pub(crate) fn index<'py>(value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    if value.is_instance_of::<PyInt>() { Ok(value.clone()) } else { INDEX.get(value.py())?.call1((value,)) }
}

/// What `read` makes of a `str` that UTF-8 can carry.
pub(crate) fn with_name<T>(
    value: &Bound<'_, PyAny>,
    what: impl Fn() -> String,
    read: impl FnOnce(&str) -> T,
) -> PyResult<T> {
    let Ok(name) = value.cast::<PyString>() else {
        return Err(wrong_type(&what(), "a str", value));
    };
    match name.to_str() {
        Ok(name) => Ok(read(name)),
        Err(_) => Err(IllegalArgumentError::new_err(format!(
            "{} has a lone surrogate, which UTF-8 cannot carry: {}",
            what(),
            shown(value)
        ))),
    }
}

/// Whether it is text or bytes, which can be iterated but is never meant to be.
pub(crate) fn is_text(value: &Bound<'_, PyAny>) -> bool {
    value.is_instance_of::<PyString>() || value.is_instance_of::<PyBytes>() || value.is_instance_of::<PyByteArray>()
}

/// A name as a plain `str`, which it mostly is already.
pub(crate) fn plain<'py>(value: &Bound<'py, PyAny>, what: impl Fn() -> String) -> PyResult<Bound<'py, PyString>> {
    match value.cast_exact::<PyString>() {
        Ok(name) => Ok(name.clone()),
        Err(_) => with_name(value, what, |name| PyString::new(value.py(), name)),
    }
}

pub(crate) fn one_dimension(array: &Bound<'_, PyUntypedArray>, column: &str) -> PyResult<()> {
    match array.ndim() {
        1 => Ok(()),
        found => Err(IllegalArgumentError::new_err(format!("column {column} must have one dimension, not {found}"))),
    }
}

/// Refuses names of which one is there twice; `what` they are the names of.
pub(crate) fn unique(what: &str, names: &Names) -> PyResult<()> {
    match NameTable::twice(names) {
        None => Ok(()),
        Some(number) => Err(IllegalArgumentError::new_err(format!("{what} has '{}' twice", names.get(number)))),
    }
}
