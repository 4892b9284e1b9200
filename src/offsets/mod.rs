//! Decoder and encoder of the records that group coordinators write to `__consumer_offsets`.
//!
//! A key has an int16 type and the key fields of that type. A value has an int16 version and the fields of that version; a null
//! value is a tombstone. [`schema`] has the layouts, [`decode_record`] and [`encode_record`] convert records by them, [`json`]
//! prints them like Kafka's own JSON converters, and [`protocol`] decodes the blobs in a classic group's record.
//!
//! An unknown type is not an error, because newer releases add types.

use std::borrow::Cow;
use std::num::NonZeroU32;

use crate::bytes::{Reader, read_error};
use crate::error::WireError;
use crate::group::string_hash;

pub mod commit;
mod decode;
pub(crate) mod encode;
mod fields;
pub mod json;
pub mod protocol;
mod redpanda;
pub mod schema;
mod value;

use decode::{Decoder, Format};
pub use encode::{encode_record, layout_of};
use fields::Node;
pub use fields::{Content, FieldValue};
pub use value::Value;

/// Type of the record of a classic group.
const GROUP_METADATA: i16 = 2;

/// Number of nodes of the largest key.
const MAX_KEY_NODES: usize = 4;

/// Status of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// The type is known and the record was decoded.
    Decoded,
    /// The layout of the type is not known. The record has only the type, and its name if Kafka has one.
    UnknownType,
}

impl Status {
    /// Return the name in tables and in Python.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Decoded => "decoded",
            Self::UnknownType => "unknown_type",
        }
    }
}

/// Record of `__consumer_offsets` to encode, with texts of type `S` and byte arrays of type `B`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record<S = String, B = Vec<u8>> {
    /// The int16 at the start of the key.
    pub record_type: i16,
    /// The fields of the key, which are a structure.
    pub key: Value<S, B>,
    /// The version of the value; None for a tombstone.
    pub version: Option<i16>,
    /// The fields of the value; None for a tombstone.
    pub value: Option<Value<S, B>>,
}

/// Decoded record of `__consumer_offsets`, whose fields borrow from its bytes.
#[derive(Debug, Clone)]
pub struct DecodedRecord<'a> {
    /// The int16 at the start of the key.
    pub record_type: i16,
    /// Kafka's name of the type (`CoordinatorRecordType`), such as `GROUP_METADATA`.
    pub name: Option<&'static str>,
    /// The status. If the type is unknown, the key has no fields, and version and value are None.
    pub status: Status,
    /// The version of the value; None for a tombstone or an unknown type, and if only the key is decoded.
    pub version: Option<i16>,
    /// The nodes of the key, then those of the value.
    nodes: Vec<Node<'a>>,
    /// Number of nodes of the key.
    key_size: usize,
}

impl DecodedRecord<'_> {
    /// Return the fields of the key, which are a structure.
    #[must_use]
    pub fn key(&self) -> FieldValue<'_> {
        FieldValue::new(&self.nodes[..self.key_size])
    }

    /// Return the fields of the value; None if there is no version.
    #[must_use]
    pub fn value(&self) -> Option<FieldValue<'_>> {
        self.version.map(|_| FieldValue::new(&self.nodes[self.key_size..]))
    }

    /// Return the group id, which is the first field of all known keys.
    #[must_use]
    pub fn group(&self) -> Option<Cow<'_, str>> {
        self.key().fields().next().and_then(|(_, value)| value.as_text())
    }
}

/// Decode a record. Bytes after the last field are ignored.
///
/// # Errors
/// The key is None, the key or the value is truncated or has an invalid length, or the version of the value is not known. The path
/// of the field begins with `key` or `value`.
pub fn decode_record<'a>(key: Option<&'a [u8]>, value: Option<&'a [u8]>) -> Result<DecodedRecord<'a>, WireError> {
    // Enough for most values: large values have fields of 32 bytes or more.
    let value_nodes = value.map_or(0, |value| 8 + value.len() / 32);
    let mut record = read_key(key, value_nodes)?;
    let layout = schema::record_type(record.record_type).and_then(|found| found.layout);
    if let (Some(layout), Some(value)) = (layout, value) {
        let version = decode_value(&layout, value, &mut record.nodes);
        let version = version.map_err(|error| match record.record_type {
            GROUP_METADATA => redpanda::redpanda_error(value).unwrap_or(error).within("value"),
            _ => error.within("value"),
        });
        record.version = Some(version?);
    }
    Ok(record)
}

/// Return the type in a key, if the key is long enough.
#[must_use]
pub fn type_of(key: &[u8]) -> Option<i16> {
    Reader::new(key).int16().ok()
}

/// Decode a key, as a record without a value.
///
/// # Errors
/// As [`decode_record`].
pub fn decode_key(key: Option<&[u8]>) -> Result<DecodedRecord<'_>, WireError> {
    read_key(key, 0)
}

/// Decode a key, and allocate memory for more nodes.
fn read_key(key: Option<&[u8]>, value_nodes: usize) -> Result<DecodedRecord<'_>, WireError> {
    let Some(key) = key else {
        return Err(read_error(0, "null is not allowed".to_owned()).within("key"));
    };
    let mut reader = Reader::new(key);
    let record_type = reader.int16().map_err(|e| e.within("type").within("key"))?;
    let found = schema::record_type(record_type);
    let mut nodes = Vec::with_capacity(MAX_KEY_NODES + value_nodes);
    let (status, fields) = match found.and_then(|found| found.layout) {
        Some(layout) => (Status::Decoded, layout.key),
        None => (Status::UnknownType, [].as_slice()),
    };
    let format = Format { version: 0, flexible: false };
    Decoder { reader, format, nodes: &mut nodes }.structure(None, fields).map_err(|e| e.within("key"))?;
    let key_size = nodes.len();
    Ok(DecodedRecord { record_type, name: found.map(|found| found.name), status, version: None, nodes, key_size })
}

/// Decode a value, add its nodes, and return its version.
fn decode_value<'a>(
    layout: &schema::RecordLayout,
    value: &'a [u8],
    nodes: &mut Vec<Node<'a>>,
) -> Result<i16, WireError> {
    let mut reader = Reader::new(value);
    let version = reader.int16().map_err(|e| e.within("version"))?;
    if version < 0 {
        return Err(read_error(0, format!("version {version} is negative")).within("version"));
    }
    if version > layout.newest {
        let reason = format!("unknown version {version} (the newest known version is {})", layout.newest);
        return Err(read_error(0, reason).within("version"));
    }
    let format = Format { version, flexible: version >= layout.flexible };
    Decoder { reader, format, nodes }.structure(None, layout.value)?;
    Ok(version)
}

/// Return the partition of `__consumer_offsets` for a group: the absolute value of Java's `String.hashCode`, modulo the number of
/// partitions. The partition's leader is the group's coordinator.
///
/// As in Kafka's `Utils.abs`, the absolute value of `Integer.MIN_VALUE` is 0.
#[must_use]
pub fn coordinator_partition(group: &str, partitions: NonZeroU32) -> u32 {
    string_hash(group).checked_abs().map_or(0, i32::unsigned_abs) % partitions
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMMIT_KEY: &[u8] = b"\0\x01\0\x01g\0\x01t\0\0\0\x03";

    #[test]
    fn the_fast_reader_of_commits_agrees_with_the_decoder() {
        let value = b"\0\x03\0\0\0\0\0\0\0\x05\0\0\0\x02\0\x01m\0\0\0\0\0\0\0\x07".as_slice();
        let expected = commit::Commit { group: "g", topic: "t", partition: 3, offset: Some(5), expires: None };
        assert_eq!(Some(expected), commit::read_commit(Some(COMMIT_KEY), Some(value)));
        let deleted = commit::Commit { offset: None, ..expected };
        assert_eq!(Some(deleted), commit::read_commit(Some(COMMIT_KEY), None));
        for cut in 0..value.len() {
            assert_eq!(None, commit::read_commit(Some(COMMIT_KEY), Some(&value[..cut])));
        }
        for cut in 0..COMMIT_KEY.len() {
            assert_eq!(None, commit::read_commit(Some(&COMMIT_KEY[..cut]), Some(value)));
        }
        assert_eq!(None, commit::read_commit(Some(b"\0\x02\0\x01g"), None));
        assert_eq!(None, commit::read_commit(Some(b"\0\x01\0\x01\xff\0\x01t\0\0\0\x03"), None));
        assert_eq!(None, commit::read_commit(None, None));
    }
}
