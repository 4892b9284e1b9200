//! Encoder of structures, the inverse of `decode`: it writes the same bytes as Kafka's generated writers.
//!
//! Fields that the version lacks are left out, because all of these fields are *ignorable* in Kafka. Tagged fields at their default
//! are left out too.

use super::decode::Format;
use super::schema::{self, Field, FieldType, RecordLayout};
use super::{Record, Value};
use crate::bytes::{Writer, write_error};
use crate::error::WireError;

/// Encode the key and the value of a record; None is the value of a tombstone, whose version is ignored.
///
/// Only type, key, version and value of the record are used.
///
/// # Errors
/// The layout of the type or the version is not known, a field is missing, unknown or of the wrong kind, or a value is out of range
/// for its field. The path of the field begins with `key` or `value`.
pub fn encode_record<S, B>(record: &Record<S, B>) -> Result<(Vec<u8>, Option<Vec<u8>>), WireError>
where
    S: AsRef<str>,
    B: AsRef<[u8]>,
{
    let layout = layout_of(record.record_type)?;
    let format = Format { version: 0, flexible: false };
    let key = Writer::encode(|writer| {
        writer.int16(record.record_type);
        write_struct(writer, &record.key, layout.key, format).map_err(|e| e.within("key"))
    })?;
    let Some(value) = &record.value else { return Ok((key, None)) };
    let format = format_of(&layout, record.version).map_err(|e| e.within("version").within("value"))?;
    let value = Writer::encode(|writer| {
        writer.int16(format.version);
        write_struct(writer, value, layout.value, format).map_err(|e| e.within("value"))
    })?;
    Ok((key, Some(value)))
}

/// Return the layout of a record type.
///
/// # Errors
/// The layout of the type is not known.
pub fn layout_of(record_type: i16) -> Result<RecordLayout, WireError> {
    let found = schema::record_type(record_type);
    found.and_then(|found| found.layout).ok_or_else(|| {
        let name = found.map(|found| format!(" ({})", found.name)).unwrap_or_default();
        write_error(format!("the layout of type {record_type}{name} is not known")).within("type").within("key")
    })
}

fn format_of(layout: &RecordLayout, version: Option<i16>) -> Result<Format, WireError> {
    match version {
        None => Err(write_error("a record with a value requires a version".to_owned())),
        Some(version) if version < 0 => Err(write_error(format!("version {version} is negative"))),
        Some(version) if version > layout.newest => {
            Err(write_error(format!("unknown version {version} (the newest known version is {})", layout.newest)))
        }
        Some(version) => Ok(Format { version, flexible: version >= layout.flexible }),
    }
}

/// Write the fields of a structure, then its tagged fields if the format is flexible.
fn write_struct<S, B>(
    writer: &mut Writer,
    value: &Value<S, B>,
    fields: &[Field],
    format: Format,
) -> Result<(), WireError>
where
    S: AsRef<str>,
    B: AsRef<[u8]>,
{
    let Value::Struct(given) = value else { return Err(kind_error("a structure", value)) };
    let mut next = 0;
    for (name, _) in given {
        let found = index_from(fields, next, |field| field.name == *name);
        next = 1 + found.ok_or_else(|| write_error(format!("unknown field '{name}'")))?;
    }
    next = 0;
    for field in fields.iter().filter(|field| field.tag.is_none() && field.is_in(format.version)) {
        let found = index_from(given, next, |(name, _)| *name == field.name).ok_or_else(|| missing(field, format))?;
        write_field(writer, &given[found].1, field, format).map_err(|e| e.within(field.name))?;
        next = found + 1;
    }
    if format.flexible { write_tagged(writer, given, fields, format) } else { Ok(()) }
}

/// Return the index of the first item for which `is_wanted` is true. Test the item at `expected` first, because fields are
/// usually given in the order of their layout; names are unique, so the order of the tests does not change the result.
pub(crate) fn index_from<T>(items: &[T], expected: usize, is_wanted: impl Fn(&T) -> bool) -> Option<usize> {
    if items.get(expected).is_some_and(&is_wanted) { Some(expected) } else { items.iter().position(is_wanted) }
}

fn missing(field: &Field, format: Format) -> WireError {
    write_error(format!("a field that version {} requires is missing", format.version)).within(field.name)
}

fn write_field<S, B>(writer: &mut Writer, value: &Value<S, B>, field: &Field, format: Format) -> Result<(), WireError>
where
    S: AsRef<str>,
    B: AsRef<[u8]>,
{
    match (field.kind, value) {
        (FieldType::String, Value::Null) if field.nullable && format.flexible => writer.compact_string(None),
        (FieldType::String, Value::Null) if field.nullable => writer.nullable_string(None),
        (FieldType::Struct(_), _) if field.nullable => {
            let absent = matches!(value, Value::Null);
            writer.int8(if absent { -1 } else { 1 });
            if absent { Ok(()) } else { write(writer, value, field.kind, format) }
        }
        (kind, value) => write(writer, value, kind, format),
    }
}

fn write<S, B>(writer: &mut Writer, value: &Value<S, B>, kind: FieldType, format: Format) -> Result<(), WireError>
where
    S: AsRef<str>,
    B: AsRef<[u8]>,
{
    match (kind, value) {
        (FieldType::Int8, Value::Int(number)) => writer.int8(in_range(*number, i8::MIN, i8::MAX)?),
        (FieldType::Int16, Value::Int(number)) => writer.int16(in_range(*number, i16::MIN, i16::MAX)?),
        (FieldType::Uint16, Value::Int(number)) => writer.uint16(in_range(*number, u16::MIN, u16::MAX)?),
        (FieldType::Int32, Value::Int(number)) => writer.int32(in_range(*number, i32::MIN, i32::MAX)?),
        (FieldType::Int64, Value::Int(number)) => writer.int64(*number),
        (FieldType::Uuid, Value::Uuid(uuid)) => writer.uuid(uuid),
        (FieldType::String, Value::String(text)) if format.flexible => writer.compact_string(Some(text.as_ref()))?,
        (FieldType::String, Value::String(text)) => writer.string(text.as_ref())?,
        (FieldType::Bytes, Value::Bytes(bytes)) if format.flexible => writer.compact_bytes(bytes.as_ref())?,
        (FieldType::Bytes, Value::Bytes(bytes)) => writer.nullable_bytes(Some(bytes.as_ref()))?,
        (FieldType::Struct(fields), value) => write_struct(writer, value, fields, format)?,
        (FieldType::Array(element), Value::Array(items)) => {
            if format.flexible { writer.compact_count(Some(items.len())) } else { writer.count(items.len()) }?;
            for (index, item) in items.iter().enumerate() {
                write(writer, item, *element, format).map_err(|e| e.within_element(index))?;
            }
        }
        (kind, value) => return Err(kind_error(kind_name(kind), value)),
    }
    Ok(())
}

fn in_range<T>(number: i64, least: T, most: T) -> Result<T, WireError>
where
    T: Copy + TryFrom<i64> + std::fmt::Display,
{
    number.try_into().map_err(|_| write_error(format!("{number} is not between {least} and {most}")))
}

fn kind_name(kind: FieldType) -> &'static str {
    match kind {
        FieldType::Int8 | FieldType::Int16 | FieldType::Uint16 | FieldType::Int32 | FieldType::Int64 => "an integer",
        FieldType::String => "text",
        FieldType::Bytes => "a byte array",
        FieldType::Uuid => "a uuid",
        FieldType::Struct(_) => "a structure",
        FieldType::Array(_) => "an array",
    }
}

fn kind_error<S, B>(wanted: &str, value: &Value<S, B>) -> WireError {
    write_error(match value {
        Value::Null => "null is not allowed".to_owned(),
        _ => format!("the value is not {wanted}"),
    })
}

/// Write the section of tagged fields, in the order of their tags, without fields at their default.
fn write_tagged<S, B>(
    writer: &mut Writer,
    given: &[(&'static str, Value<S, B>)],
    fields: &[Field],
    format: Format,
) -> Result<(), WireError>
where
    S: AsRef<str>,
    B: AsRef<[u8]>,
{
    let mut sections = Vec::new();
    for field in fields.iter().filter(|field| field.is_in(format.version)) {
        let content = given.iter().find(|(name, _)| *name == field.name);
        if let (Some(tag), Some((_, content))) = (field.tag, content) {
            // Compute the size before the comparison with the default, so that a structure that lacks a field is an
            // error and does not count as the default.
            let size = Writer::encoded_size(|writer| write_tagged_field(writer, content, field, format));
            let size = size.map_err(|e| e.within(field.name))?;
            if !content.is_default(field.default) {
                sections.push((tag, size, field, content));
            }
        }
    }
    writer.varint(sections.len() as u32);
    for (tag, size, field, content) in sections {
        writer.varint(tag as u32);
        let size = u32::try_from(size).map_err(|_| write_error(format!("a tagged field of {size} bytes is too long")));
        writer.varint(size.map_err(|e| e.within(field.name))?);
        write_tagged_field(writer, content, field, format).map_err(|e| e.within(field.name))?;
    }
    Ok(())
}

/// Write the content of a tagged field; the presence of a nullable structure is a varint here (KIP-893).
fn write_tagged_field<S, B>(
    writer: &mut Writer,
    value: &Value<S, B>,
    field: &Field,
    format: Format,
) -> Result<(), WireError>
where
    S: AsRef<str>,
    B: AsRef<[u8]>,
{
    match (field.kind, value) {
        (FieldType::Struct(_) | FieldType::Array(_), Value::Null) if field.nullable => writer.varint(0),
        (FieldType::Struct(_), _) if field.nullable => {
            writer.varint(1);
            write(writer, value, field.kind, format)?;
        }
        (kind, value) => write(writer, value, kind, format)?,
    }
    Ok(())
}
