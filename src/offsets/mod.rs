//! Records of `__consumer_offsets`: what a group coordinator writes down, type by type.
//!
//! A key is an int16 type and that type's key fields; a value is an int16 version and the fields of that version; a null
//! value is a tombstone. The tables in [`schema`] hold the layouts, [`decode_record`] reads a record by them and
//! [`encode_record`] writes one, [`json`] tells it as Kafka's own JSON converters do, and [`protocol`] opens the blobs
//! inside a classic group's record.
//!
//! Types that are not in the tables are not errors: the numbers grow with every release, and a reader has to pass over
//! what it does not know.

use std::num::NonZeroU32;

use crate::bytes::{Reader, wrong};
use crate::error::WireError;
use crate::group::string_hash;

mod decode;
mod encode;
pub mod json;
pub mod protocol;
pub mod schema;
mod value;

use decode::{Format, read_struct};
pub use encode::{encode_record, layout_of};
pub use value::Value;

/// Whether the tables know a record's type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// They do, and the record was read.
    Decoded,
    /// They do not; only the type's number is known, and perhaps its name.
    UnknownType,
}

impl Status {
    /// The name under which tables and Python show it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Decoded => "decoded",
            Self::UnknownType => "unknown_type",
        }
    }
}

/// A record, read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// The int16 at the head of the key.
    pub record_type: i16,
    /// Kafka's name for it (`CoordinatorRecordType`), such as `GROUP_METADATA`.
    pub name: Option<&'static str>,
    /// Whether key and value were read; both stay empty otherwise.
    pub status: Status,
    /// The key's fields: always a structure.
    pub key: Value,
    /// The value's version; None for a tombstone.
    pub version: Option<i16>,
    /// The value's fields; None for a tombstone.
    pub value: Option<Value>,
}

impl Record {
    /// The group that the record is about: the first field of every key that the tables know.
    #[must_use]
    pub fn group(&self) -> Option<&str> {
        self.key.fields().first().and_then(|(_, value)| value.as_str())
    }
}

/// Reads a record.
///
/// # Errors
/// No key, a key or value that ends before its last field or holds an impossible length, a value of a version that is not
/// in the table of its type. The field's name begins with `key` or `value`. Bytes after the last field are ignored.
pub fn decode_record(key: Option<&[u8]>, value: Option<&[u8]>) -> Result<Record, WireError> {
    let mut record = decode_key(key)?;
    let layout = schema::record_type(record.record_type).and_then(|found| found.layout);
    if let (Some(layout), Some(value)) = (layout, value) {
        let (version, value) = decode_value(&layout, value).map_err(|e| e.within("value"))?;
        record.version = Some(version);
        record.value = Some(value);
    }
    Ok(record)
}

/// The type number of a key, if it is long enough to have one.
#[must_use]
pub fn type_of(key: &[u8]) -> Option<i16> {
    Reader::new(key).int16().ok()
}

/// Reads a key alone, as a record without a value.
///
/// # Errors
/// As [`decode_record`].
pub fn decode_key(key: Option<&[u8]>) -> Result<Record, WireError> {
    let Some(key) = key else {
        return Err(wrong(0, "null is not allowed".to_owned()).within("key"));
    };
    let mut reader = Reader::new(key);
    let record_type = reader.int16().map_err(|e| e.within("type").within("key"))?;
    let found = schema::record_type(record_type);
    let (status, key) = match found.and_then(|found| found.layout) {
        Some(layout) => {
            let format = Format { version: 0, flexible: false };
            let key = read_struct(&mut reader, layout.key, format).map_err(|e| e.within("key"))?;
            (Status::Decoded, key)
        }
        None => (Status::UnknownType, Value::Struct(Vec::new())),
    };
    Ok(Record { record_type, name: found.map(|found| found.name), status, key, version: None, value: None })
}

fn decode_value(layout: &schema::RecordLayout, value: &[u8]) -> Result<(i16, Value), WireError> {
    let mut reader = Reader::new(value);
    let version = reader.int16().map_err(|e| e.within("version"))?;
    if version < 0 {
        return Err(wrong(0, format!("version {version} is negative")).within("version"));
    }
    if version > layout.newest {
        let reason = format!("version {version} is newer than {}, the newest known", layout.newest);
        return Err(wrong(0, reason).within("version"));
    }
    let format = Format { version, flexible: version >= layout.flexible };
    Ok((version, read_struct(&mut reader, layout.value, format)?))
}

/// The partition of `__consumer_offsets` that holds a group, and so which broker coordinates it: the absolute value of
/// Java's `String.hashCode`, modulo the number of partitions.
///
/// As in Kafka's `Utils.abs`, the one hash code without an absolute value counts as 0.
#[must_use]
pub fn coordinator_partition(group: &str, partitions: NonZeroU32) -> u32 {
    string_hash(group).checked_abs().map_or(0, i32::unsigned_abs) % partitions
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMMIT_KEY: &[u8] = b"\0\x01\0\x01g\0\x01t\0\0\0\x03";

    #[test]
    fn an_offset_commit_of_every_version() {
        let bodies: [&[u8]; 5] = [
            b"\0\0\0\0\0\0\0\0\0\x05\0\x01m\0\0\0\0\0\0\0\x07",
            b"\0\x01\0\0\0\0\0\0\0\x05\0\x01m\0\0\0\0\0\0\0\x07\0\0\0\0\0\0\0\x09",
            b"\0\x02\0\0\0\0\0\0\0\x05\0\x01m\0\0\0\0\0\0\0\x07",
            b"\0\x03\0\0\0\0\0\0\0\x05\0\0\0\x02\0\x01m\0\0\0\0\0\0\0\x07",
            b"\0\x04\0\0\0\0\0\0\0\x05\0\0\0\x02\x02m\0\0\0\0\0\0\0\x07\x01\x09\x02xy",
        ];
        for (version, body) in bodies.into_iter().enumerate() {
            let record = decode_record(Some(COMMIT_KEY), Some(body)).unwrap();
            let value = record.value.as_ref().unwrap();
            assert_eq!(record.version.map(usize::try_from), Some(Ok(version)));
            assert_eq!(record.group(), Some("g"));
            assert_eq!(value.get("offset").and_then(Value::as_i64), Some(5));
            assert_eq!(value.get("metadata").and_then(Value::as_str), Some("m"));
            assert_eq!(value.get("leaderEpoch").is_some(), version >= 3);
            assert_eq!(value.get("expireTimestamp").is_some(), version == 1);
            for cut in 0..body.len() {
                let error = decode_record(Some(COMMIT_KEY), Some(&body[..cut])).unwrap_err();
                assert!(error.field.starts_with("value."), "{error}");
            }
        }
    }

    #[test]
    fn an_unknown_type_is_not_an_error() {
        let record = decode_record(Some(b"\0\x09\0\x01g"), Some(b"anything")).unwrap();
        assert_eq!((record.name, record.status), (Some("SHARE_GROUP_PARTITION_METADATA"), Status::UnknownType));
        let record = decode_record(Some(b"\x7f\xff"), None).unwrap();
        assert_eq!((record.name, record.group()), (None, None));
    }

    #[test]
    fn what_is_refused_says_where() {
        let message = |key, value| decode_record(key, value).unwrap_err().to_string();
        assert_eq!(message(None, None), "null is not allowed at offset 0 while reading key");
        assert_eq!(message(Some(b"\0"), None), "2 bytes are needed and 1 remain at offset 0 while reading key.type");
        assert_eq!(
            message(Some(COMMIT_KEY), Some(b"\0\x05")),
            "version 5 is newer than 4, the newest known at offset 0 while reading value.version"
        );
        assert_eq!(
            message(Some(b"\0\x02\0\x01g"), Some(b"\0\0\0\0\0\0\0\0\xff\xff\xff\xff\0\0\0\x63\0")),
            "99 elements of at least 18 bytes do not fit in the 1 that remain at offset 12 while reading value.members"
        );
    }

    #[test]
    fn a_group_has_one_coordinator_partition() {
        let fifty = NonZeroU32::new(50).unwrap();
        assert_eq!(coordinator_partition("", fifty), 0);
        assert_eq!(coordinator_partition("a", fifty), 47);
        // The hash code of this one is Integer.MIN_VALUE.
        assert_eq!(coordinator_partition("polygenelubricants", fifty), 0);
    }
}
