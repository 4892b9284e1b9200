//! Parser of the fields of a record to encode, in the form that `decode_record` returns.
//!
//! The entries of a dict, list or tuple are copied before any of them is read, because user code such as `__index__` may change the
//! container in between. Subclasses of these types are read by the methods of the built-in type; overridden methods are not
//! called. The schema of the record type limits the depth of the recursion.

use std::fmt::{self, Display, Formatter};

use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};
use pyo3::types::{PyByteArray, PyBytes, PyDict, PyInt, PyList, PyMemoryView, PyString, PyTuple};

use super::values::{index, is_int};
use crate::offsets::encode::index_from;
use crate::offsets::json::uuid_from_text;
use crate::offsets::schema::{Field, FieldType};
use crate::offsets::{self, layout_of};
use crate::python::error::{shown, wrong_type};
use crate::python::imports::WireError;

/// Value that shares its texts and byte arrays with Python objects.
type Value = offsets::Value<PyBackedStr, PyBackedBytes>;
/// Record that shares its texts and byte arrays with Python objects.
pub(crate) type Record = offsets::Record<PyBackedStr, PyBackedBytes>;

/// Path of a value in a record, for error messages.
#[derive(Clone, Copy)]
enum Path<'a> {
    /// The key or the value of the record.
    Root(&'a str),
    /// A field of a structure.
    Field(&'a Path<'a>, &'a str),
    /// An element of an array.
    Element(&'a Path<'a>, usize),
}

impl Display for Path<'_> {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root(name) => out.write_str(name),
            Self::Field(owner, name) => write!(out, "{owner}.{name}"),
            Self::Element(owner, index) => write!(out, "{owner}[{index}]"),
        }
    }
}

impl Path<'_> {
    fn error(self, reason: String) -> PyErr {
        WireError::new_err((reason, None::<usize>, self.to_string()))
    }

    fn wrong_type(self, wanted: &str, given: &Bound<'_, PyAny>) -> PyErr {
        wrong_type(&self.to_string(), wanted, given)
    }
}

/// Parse a record to encode. The version is ignored if the value is None (a tombstone).
pub(crate) fn read(
    record_type: &Bound<'_, PyAny>,
    key: &Bound<'_, PyAny>,
    version: &Bound<'_, PyAny>,
    value: &Bound<'_, PyAny>,
) -> PyResult<Record> {
    const KEY: Path<'_> = Path::Root("key");
    const VALUE: Path<'_> = Path::Root("value");
    let record_type = int16(record_type, Path::Field(&KEY, "type"))?;
    let layout = layout_of(record_type)?;
    let key = structure(key, layout.key, KEY)?;
    let (version, value) = if value.is_none() {
        (None, None)
    } else {
        (Some(int16(version, Path::Field(&VALUE, "version"))?), Some(structure(value, layout.value, VALUE)?))
    };
    Ok(Record { record_type, key, version, value })
}

/// Parse a record as `read` does, with one more field in its value: an array of structures, each a tuple of all its fields in the
/// order of the layout. Tuples need neither a dict per structure nor lookups of names.
pub(crate) fn read_with_rows(
    record_type: &Bound<'_, PyAny>,
    key: &Bound<'_, PyAny>,
    version: &Bound<'_, PyAny>,
    value: &Bound<'_, PyAny>,
    array: &str,
    rows: &Bound<'_, PyList>,
) -> PyResult<Record> {
    const VALUE: Path<'_> = Path::Root("value");
    let mut record = read(record_type, key, version, value)?;
    let layout = layout_of(record.record_type)?;
    let known = layout.value.iter().find(|field| field.name == array);
    let (Some(Field { name, kind: FieldType::Array(FieldType::Struct(fields)), .. }), Some(Value::Struct(given))) =
        (known, &mut record.value)
    else {
        return Err(VALUE.error(format!("'{array}' is not an array of structures")));
    };
    let path = Path::Field(&VALUE, name);
    let rows: Vec<Bound<'_, PyAny>> = rows.iter().collect();
    let read = |(index, item)| row(item, fields, Path::Element(&path, index));
    given.push((name, Value::Array(rows.iter().enumerate().map(read).collect::<PyResult<_>>()?)));
    Ok(record)
}

/// Parse a tuple of all fields of a structure.
fn row(given: &Bound<'_, PyAny>, fields: &'static [Field], path: Path<'_>) -> PyResult<Value> {
    let Ok(tuple) = given.cast::<PyTuple>() else { return Err(path.wrong_type("a tuple", given)) };
    if tuple.len() != fields.len() {
        return Err(path.error(format!("{} fields instead of {}", tuple.len(), fields.len())));
    }
    let mut found = Vec::with_capacity(fields.len());
    for (known, content) in fields.iter().zip(tuple.iter_borrowed()) {
        found.push((known.name, field(&content, known, Path::Field(&path, known.name))?));
    }
    Ok(Value::Struct(found))
}

/// Parse the fields of a dict, in the order of `fields`; missing fields are allowed.
fn structure(given: &Bound<'_, PyAny>, fields: &'static [Field], path: Path<'_>) -> PyResult<Value> {
    let Ok(dict) = given.cast::<PyDict>() else { return Err(path.wrong_type("a dict", given)) };
    let entries: Vec<_> = dict.iter().collect();
    let mut found: Vec<(&'static str, Value)> = Vec::with_capacity(entries.len());
    let mut next = 0;
    for (name, content) in &entries {
        let index = place(name, fields, next, path)?;
        let known = &fields[index];
        // A field that comes after all earlier ones in the order of the layout cannot be a duplicate.
        if index < next && found.iter().any(|(earlier, _)| *earlier == known.name) {
            return Err(path.error(format!("the field {} occurs twice", shown(name))));
        }
        found.push((known.name, field(content, known, Path::Field(&path, known.name))?));
        next = next.max(index + 1);
    }
    Ok(Value::Struct(found))
}

/// Return the index of the field with the given name; it is probably `next`.
fn place(name: &Bound<'_, PyAny>, fields: &[Field], next: usize, path: Path<'_>) -> PyResult<usize> {
    let Ok(text) = name.cast::<PyString>() else {
        return Err(wrong_type(&format!("{path}: a field's name"), "a str", name));
    };
    let text = text.to_cow().ok();
    let found = text.and_then(|text| index_from(fields, next, |field| field.name == text));
    found.ok_or_else(|| path.error(format!("unknown field {}", shown(name))))
}

/// Parse the value of a field, or null if the field is nullable.
fn field(given: &Bound<'_, PyAny>, field: &Field, path: Path<'_>) -> PyResult<Value> {
    if field.nullable && given.is_none() { Ok(Value::Null) } else { value(given, field.kind, path) }
}

/// Parse a value that cannot be null.
fn value(given: &Bound<'_, PyAny>, kind: FieldType, path: Path<'_>) -> PyResult<Value> {
    Ok(match kind {
        FieldType::Int8 => Value::Int(integer(given, i8::MIN.into(), i8::MAX.into(), path)?),
        FieldType::Int16 => Value::Int(int16(given, path)?.into()),
        FieldType::Uint16 => Value::Int(integer(given, u16::MIN.into(), u16::MAX.into(), path)?),
        FieldType::Int32 => Value::Int(integer(given, i32::MIN.into(), i32::MAX.into(), path)?),
        FieldType::Int64 => Value::Int(integer(given, i64::MIN, i64::MAX, path)?),
        FieldType::String => Value::String(text(given, path)?),
        FieldType::Bytes => Value::Bytes(bytes(given, path)?),
        FieldType::Uuid => Value::Uuid(uuid_from_text(&text(given, path)?).ok_or_else(|| {
            path.error(format!("{} is not a uuid in Kafka's form, 22 characters of URL-safe base64", shown(given)))
        })?),
        FieldType::Struct(fields) => structure(given, fields, path)?,
        FieldType::Array(element) => {
            let items: Vec<Bound<'_, PyAny>> = if let Ok(list) = given.cast::<PyList>() {
                list.iter().collect()
            } else if let Ok(tuple) = given.cast::<PyTuple>() {
                tuple.iter().collect()
            } else {
                return Err(path.wrong_type("a list", given));
            };
            let read = |(index, item)| value(item, *element, Path::Element(&path, index));
            Value::Array(items.iter().enumerate().map(read).collect::<PyResult<_>>()?)
        }
    })
}

fn int16(given: &Bound<'_, PyAny>, path: Path<'_>) -> PyResult<i16> {
    Ok(integer(given, i16::MIN.into(), i16::MAX.into(), path)? as i16)
}

fn integer(given: &Bound<'_, PyAny>, least: i64, most: i64, path: Path<'_>) -> PyResult<i64> {
    let number = if given.is_exact_instance_of::<PyInt>() {
        given.extract::<i64>()
    } else if is_int(given)? {
        index(given, || path.to_string())?.extract::<i64>()
    } else {
        return Err(path.wrong_type("an int", given));
    };
    match number {
        Ok(number) if least <= number && number <= most => Ok(number),
        _ => Err(path.error(format!("{} is not between {least} and {most}", shown(given)))),
    }
}

fn text(given: &Bound<'_, PyAny>, path: Path<'_>) -> PyResult<PyBackedStr> {
    let Ok(text) = given.cast::<PyString>() else { return Err(path.wrong_type("a str", given)) };
    match PyBackedStr::try_from(text.clone()) {
        Ok(text) => Ok(text),
        Err(_) => Err(path.error(format!("{} has a lone surrogate, which UTF-8 cannot encode", shown(given)))),
    }
}

fn bytes(given: &Bound<'_, PyAny>, path: Path<'_>) -> PyResult<PyBackedBytes> {
    if let Ok(bytes) = given.cast::<PyBytes>() {
        return Ok(bytes.clone().into());
    }
    if given.is_instance_of::<PyByteArray>() || given.is_instance_of::<PyMemoryView>() {
        return Ok(given.py().get_type::<PyBytes>().call1((given,))?.cast_into::<PyBytes>()?.into());
    }
    Err(path.wrong_type("bytes", given))
}
