//! Decoder of structures: it reads bytes into a tree of values by the tables of `schema`.

use super::schema::{Field, FieldType};
use super::value::Value;
use crate::bytes::{Lengths, Reader, wrong};
use crate::error::WireError;

/// Size of the presence byte before a nullable structure.
const PRESENCE: usize = 1;

/// Format of a message: its version, and whether it is flexible.
#[derive(Debug, Clone, Copy)]
pub(super) struct Format {
    /// The version, which decides which fields the message has.
    pub(super) version: i16,
    /// True if lengths are compact and structures end with tagged fields.
    pub(super) flexible: bool,
}

impl Format {
    fn lengths(self) -> Lengths {
        if self.flexible { Lengths::Compact } else { Lengths::Fixed }
    }

    /// Return the minimum size in bytes of a value.
    fn min_size(self, kind: FieldType, nullable: bool) -> usize {
        match kind {
            FieldType::Int8 => 1,
            FieldType::Int16 | FieldType::Uint16 => 2,
            FieldType::Int32 => 4,
            FieldType::Int64 => 8,
            FieldType::Uuid => 16,
            FieldType::String | FieldType::Bytes | FieldType::Array(_) => match (self.flexible, kind) {
                (true, _) => 1,
                (false, FieldType::String) => 2,
                (false, _) => 4,
            },
            FieldType::Struct(_) if nullable => PRESENCE,
            FieldType::Struct(fields) => {
                let untagged = fields.iter().filter(|field| field.is_in(self.version) && field.tag.is_none());
                untagged.map(|field| self.min_size(field.kind, field.nullable)).sum::<usize>()
                    + usize::from(self.flexible)
            }
        }
    }
}

/// Read the fields of a structure, then its tagged fields if the format is flexible.
pub(super) fn read_struct(reader: &mut Reader<'_>, fields: &[Field], format: Format) -> Result<Value, WireError> {
    let mut values = Vec::with_capacity(fields.len());
    for field in fields.iter().filter(|field| field.tag.is_none() && field.is_in(format.version)) {
        let value = read_field(reader, field, format).map_err(|e| e.within(field.name))?;
        values.push((field.name, value));
    }
    if format.flexible {
        read_tagged(reader, fields, format, &mut values)?;
    }
    Ok(Value::Struct(values))
}

fn read_field(reader: &mut Reader<'_>, field: &Field, format: Format) -> Result<Value, WireError> {
    match field.kind {
        FieldType::String if field.nullable => {
            Ok(reader.nullable_string(format.lengths())?.map_or(Value::Null, Value::String))
        }
        FieldType::Struct(_) if field.nullable && reader.int8()? < 0 => Ok(Value::Null),
        kind => read(reader, kind, format),
    }
}

fn read(reader: &mut Reader<'_>, kind: FieldType, format: Format) -> Result<Value, WireError> {
    Ok(match kind {
        FieldType::Int8 => Value::Int(reader.int8()?.into()),
        FieldType::Int16 => Value::Int(reader.int16()?.into()),
        FieldType::Uint16 => Value::Int(reader.uint16()?.into()),
        FieldType::Int32 => Value::Int(reader.int32()?.into()),
        FieldType::Int64 => Value::Int(reader.int64()?),
        FieldType::Uuid => Value::Uuid(reader.uuid()?),
        FieldType::String => Value::String(reader.string(format.lengths())?),
        FieldType::Bytes => Value::Bytes(reader.bytes(format.lengths())?.to_vec()),
        FieldType::Struct(fields) => read_struct(reader, fields, format)?,
        FieldType::Array(element) => {
            let count = reader.count(format.lengths(), format.min_size(*element, false))?;
            read_elements(reader, *element, count, format)?
        }
    })
}

fn read_elements(
    reader: &mut Reader<'_>,
    element: FieldType,
    count: usize,
    format: Format,
) -> Result<Value, WireError> {
    let items = (0..count).map(|index| read(reader, element, format).map_err(|e| e.within_element(index)));
    items.collect::<Result<_, _>>().map(Value::Array)
}

/// Read the section of tagged fields.
///
/// As in Kafka's generated readers, unknown fields are skipped, the last of repeated fields counts, and the encoded size of a known
/// field is ignored.
fn read_tagged(
    reader: &mut Reader<'_>,
    fields: &[Field],
    format: Format,
    values: &mut Vec<(&'static str, Value)>,
) -> Result<(), WireError> {
    let unnamed = |e: WireError| e.within("taggedFields");
    let mut found: Vec<(&Field, Option<Value>)> = Vec::new();
    let sections = reader.varint().map_err(unnamed)?;
    for _ in 0..sections {
        let tag = reader.varint().map_err(unnamed)?;
        let start = reader.position();
        let size = reader.varint().map_err(unnamed)?;
        let known = fields.iter().find(|field| field.tag == Some(tag) && field.is_in(format.version));
        let Some(field) = known else {
            let Ok(size) = usize::try_from(size) else {
                return Err(unnamed(wrong(start, format!("a size of {size} is negative"))));
            };
            reader.take(size).map_err(unnamed)?;
            continue;
        };
        let value = read_tagged_field(reader, field, format).map_err(|e| e.within(field.name))?;
        found.retain(|(other, _)| other.tag != field.tag);
        found.push((field, value));
    }
    found.sort_by_key(|(field, _)| field.tag);
    values.extend(found.into_iter().filter_map(|(field, value)| Some((field.name, value?))));
    Ok(())
}

/// Read a tagged field; return None if its value is the default.
///
/// The presence of a nullable structure is a varint here, but an int8 in an untagged field (KIP-893).
fn read_tagged_field(reader: &mut Reader<'_>, field: &Field, format: Format) -> Result<Option<Value>, WireError> {
    let value = match field.kind {
        FieldType::Struct(_) if field.nullable => {
            if reader.varint()? <= 0 {
                return Ok(Some(Value::Null));
            }
            let start = reader.position();
            let value = read(reader, field.kind, format)?;
            // A structure with unknown tagged fields is longer, and differs from the default.
            if reader.position() - start > format.min_size(field.kind, false) {
                return Ok(Some(value));
            }
            value
        }
        FieldType::Array(element) if field.nullable => {
            let count = reader.nullable_count(format.lengths(), format.min_size(*element, false))?;
            count.map_or(Ok(Value::Null), |count| read_elements(reader, *element, count, format))?
        }
        kind => read(reader, kind, format)?,
    };
    Ok((!is_default(&value, field.default)).then_some(value))
}

/// Return true if the value of a tagged field is the default, which is not written.
///
/// The default of a nullable field is the empty array or structure, not null. Kafka's generator reads `"default": null` in this way,
/// and its JSON prints a null that was written.
pub(super) fn is_default(value: &Value, default: i64) -> bool {
    match value {
        Value::Null => false,
        Value::Int(number) => *number == default,
        Value::Uuid(uuid) => *uuid == [0; 16],
        Value::String(text) => text.is_empty(),
        Value::Bytes(bytes) => bytes.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Struct(fields) => fields.iter().all(|(_, value)| is_default(value, 0)),
    }
}
