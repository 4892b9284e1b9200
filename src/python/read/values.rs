//! Single values and mappings from Python. Errors name the value and its place.

use numpy::{PyUntypedArray, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyByteArray, PyBytes, PyDict, PyInt, PyIterator, PyList, PyMapping, PyString, PyType};
use rustc_hash::FxHashSet;

use crate::group::{NameTable, Names};
use crate::python::error::{is_failed_conversion, shown, wrong_type};
use crate::python::imports::{INDEX, IllegalArgumentError};
use crate::python::objects::entries::Entry;

/// Call `read` with every entry of a mapping. If reading changes the size of the mapping, that is an error.
pub(crate) fn each_item<'py>(
    mapping: &Bound<'py, PyAny>,
    what: &str,
    wanted: &str,
    mut read: impl FnMut(&Bound<'py, PyAny>, &Bound<'py, PyAny>) -> PyResult<()>,
) -> PyResult<()> {
    let Ok(mapping) = mapping.cast::<PyMapping>() else {
        return Err(wrong_type(what, &format!("a mapping of {wanted}"), mapping));
    };
    let plain = mapping.cast_exact::<PyDict>().ok();
    let count = || plain.map_or_else(|| length(mapping, what), |dict| Ok(dict.len()));
    let size = count()?;
    let items: Vec<(Bound<'py, PyAny>, Bound<'py, PyAny>)> = match plain {
        Some(dict) => dict.iter().collect(),
        None => pairs(mapping, what)?,
    };
    // Plain strings are unique in a dict. Keys of other classes, and items of other mappings, may repeat a name.
    let once = plain.is_some() && items.iter().all(|(key, _)| key.is_exact_instance_of::<PyString>());
    let mut names = FxHashSet::default();
    // `items` keeps all entries alive, so an address stays that of one object until all entries are read.
    for (key, value) in &items {
        if !once
            && let Ok(name) = key.cast::<PyString>()
            && !names.insert(name.to_string_lossy().into_owned())
        {
            return Err(IllegalArgumentError::new_err(format!("{what} has '{name}' twice")));
        }
        read(key, value)?;
    }
    same_size(what, size, count()?)
}

/// Return the number of entries of a mapping; the `__len__` of a class can return any number.
fn length(mapping: &Bound<'_, PyMapping>, what: &str) -> PyResult<usize> {
    mapping.len().map_err(|error| {
        if is_failed_conversion(mapping.py(), &error) {
            return IllegalArgumentError::new_err(format!("{what} has no valid length: {}", error.value(mapping.py())));
        }
        error
    })
}

/// Return the entries of a mapping.
pub(crate) fn pairs<'py>(
    mapping: &Bound<'py, PyMapping>,
    what: &str,
) -> PyResult<Vec<(Bound<'py, PyAny>, Bound<'py, PyAny>)>> {
    let items = mapping.items().map_err(|error| {
        if is_failed_conversion(mapping.py(), &error) {
            return wrong_type(&format!("{what}.items()"), "an iterable of pairs", mapping);
        }
        error
    })?;
    let pair = |item: Bound<'py, PyAny>| {
        item.extract().map_err(|_| wrong_type(&format!("an item of {what}"), "a pair of key and value", &item))
    };
    items.iter().map(pair).collect()
}

fn same_size(what: &str, size: usize, now: usize) -> PyResult<()> {
    if now == size {
        return Ok(());
    }
    let reason = format!("{what} changed size while it was read: {size} entries, then {now}");
    Err(IllegalArgumentError::new_err(reason))
}

/// Largest number of entries for which memory is reserved if `__len__` may be wrong.
const MOST_RESERVED: usize = 1 << 16;

/// Return the number of entries for which to reserve memory. The `__len__` of other classes can return any number.
pub(crate) fn expected_len(value: &Bound<'_, PyAny>) -> usize {
    let is_exact = value.is_exact_instance_of::<PyDict>() || value.is_exact_instance_of::<PyList>();
    value.len().unwrap_or(0).min(if is_exact { usize::MAX } else { MOST_RESERVED })
}

/// Entries of an iterable.
pub(crate) struct Entries<'py> {
    entries: Bound<'py, PyIterator>,
    read: u32,
}

/// Number of entries after which signals are handled: an iterable may have no end.
const UNTIL_SIGNALS: u32 = 1 << 16;

impl<'py> Iterator for Entries<'py> {
    type Item = PyResult<Bound<'py, PyAny>>;

    fn next(&mut self) -> Option<Self::Item> {
        self.read += 1;
        if self.read == UNTIL_SIGNALS {
            self.read = 0;
            if let Err(error) = self.entries.py().check_signals() {
                return Some(Err(error));
            }
        }
        self.entries.next()
    }
}

/// Iterate over a value; `type_error` makes the error if it is not iterable, or is text or bytes, which are never a list.
pub(crate) fn iterate<'py>(value: &Bound<'py, PyAny>, type_error: impl FnOnce() -> PyErr) -> PyResult<Entries<'py>> {
    match value.try_iter() {
        Ok(_) if is_text(value) => Err(type_error()),
        Ok(entries) => Ok(Entries { entries, read: 0 }),
        Err(error) if is_failed_conversion(value.py(), &error) => Err(type_error()),
        Err(error) => Err(error),
    }
}

/// Return true if a value is an integer, of Python or numpy, and no bool. A numpy array has `__index__`, but is iterable and not an integer.
pub(crate) fn is_int(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    if value.is_instance_of::<PyInt>() {
        return Ok(!value.is_instance_of::<PyBool>());
    }
    let kind = value.get_type();
    Ok(kind.hasattr("__index__")? && !kind.hasattr("__iter__")? && !is_numpy_bool(&kind)?)
}

/// Return true for numpy's bool, whose `__index__` numpy before 2.3 still allows, with a warning.
fn is_numpy_bool(kind: &Bound<'_, PyType>) -> PyResult<bool> {
    Ok(matches!(kind.name()?.to_str()?, "bool" | "bool_") && kind.module()?.to_str()? == "numpy")
}

/// Return a count or an id as int32.
pub(crate) fn int(value: &Bound<'_, PyAny>, what: impl Fn() -> String) -> PyResult<i32> {
    if let Some(number) = Entry::of(value).int().filter(|number| *number >= 0) {
        return Ok(number);
    }
    if !is_int(value)? {
        return Err(wrong_type(&what(), "an int", value));
    }
    let number = index(value, &what)?;
    let reason = match number.extract::<i32>() {
        Ok(number) if number >= 0 => return Ok(number),
        _ if number.lt(0)? => "cannot be negative".to_owned(),
        _ => format!("cannot be over {}", i32::MAX),
    };
    Err(IllegalArgumentError::new_err(format!("{} {reason}: {}", what(), shown(value))))
}

/// Return a value for which `is_int` is true as a plain Python `int`.
pub(crate) fn index<'py>(value: &Bound<'py, PyAny>, what: impl Fn() -> String) -> PyResult<Bound<'py, PyAny>> {
    if value.is_exact_instance_of::<PyInt>() {
        return Ok(value.clone());
    }
    INDEX.get(value.py())?.call1((value,)).map_err(|error| {
        if is_failed_conversion(value.py(), &error) { wrong_type(&what(), "an int", value) } else { error }
    })
}

/// Call `read` with the text of a `str`; the text must be encodable in UTF-8.
pub(crate) fn with_name<T>(
    value: &Bound<'_, PyAny>,
    what: impl Fn() -> String,
    read: impl FnOnce(&str) -> T,
) -> PyResult<T> {
    if !value.is_instance_of::<PyString>() {
        return Err(wrong_type(&what(), "a str", value));
    }
    match Entry::of(value).text() {
        Some(name) => Ok(read(name)),
        None => Err(IllegalArgumentError::new_err(format!(
            "{} has a lone surrogate, which UTF-8 cannot encode: {}",
            what(),
            shown(value)
        ))),
    }
}

/// Return true for text and bytes, which are iterable but never valid as a list.
fn is_text(value: &Bound<'_, PyAny>) -> bool {
    value.is_instance_of::<PyString>() || value.is_instance_of::<PyBytes>() || value.is_instance_of::<PyByteArray>()
}

/// Return a name as a plain `str`; most names are one already.
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

/// Raise an error if a name occurs twice; the message begins with `what`, the container of the names.
pub(crate) fn unique(what: &str, names: &Names) -> PyResult<()> {
    twice(what, names, NameTable::first_duplicate(names))
}

/// Raise an error for a name that occurs twice, given by number; the message begins with `what`, the container of the
/// names.
pub(crate) fn twice(what: &str, names: &Names, number: Option<usize>) -> PyResult<()> {
    match number {
        None => Ok(()),
        Some(number) => Err(IllegalArgumentError::new_err(format!("{what} has '{}' twice", names.get(number)))),
    }
}
