//! Fast reader of offset commits, which are most records of a log. It does not allocate.

use crate::bytes::{Lengths, Reader};
use crate::error::WireError;

/// Offset commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Commit<'a> {
    /// The group id.
    pub group: &'a str,
    /// The topic.
    pub topic: &'a str,
    /// The partition id.
    pub partition: i32,
    /// The committed offset; None for a tombstone.
    pub offset: Option<i64>,
    /// The time at which the offset expires, if the record has one.
    pub expires: Option<i64>,
}

/// Read an offset commit; return None for other and for invalid records, which `decode_record` reads.
#[must_use]
pub fn read_commit<'a>(key: Option<&'a [u8]>, value: Option<&[u8]>) -> Option<Commit<'a>> {
    let key = key.filter(|key| key.first() == Some(&0) && key.get(1).is_some_and(|number| *number <= 1))?;
    let legacy = key[1] == 0;
    let mut reader = Reader::new(&key[2..]);
    let (group, topic) = (text(&mut reader)?, text(&mut reader)?);
    let partition = reader.int32().ok()?;
    let (offset, expires) = match value {
        Some(value) => {
            let (offset, expires) = read_offset(value, legacy).ok()??;
            (Some(offset), expires)
        }
        None => (None, None),
    };
    Some(Commit { group, topic, partition, offset, expires })
}

/// Read text; None if the field is invalid or not well-formed UTF-8, which Java decodes to other text.
fn text<'a>(reader: &mut Reader<'a>) -> Option<&'a str> {
    str::from_utf8(reader.string_bytes(Lengths::Fixed).ok()?).ok()
}

/// Read the offset and the time of expiry in a value after checking all its fields; None if the fast reader does not know the version.
fn read_offset(value: &[u8], legacy: bool) -> Result<Option<(i64, Option<i64>)>, WireError> {
    let mut reader = Reader::new(value);
    let version = reader.int16()?;
    if !(0..=if legacy { 0 } else { 3 }).contains(&version) {
        return Ok(None);
    }
    let offset = reader.int64()?;
    if version >= 3 {
        reader.int32()?;
    }
    reader.string_bytes(Lengths::Fixed)?;
    reader.int64()?;
    let expires = if version == 1 { Some(reader.int64()?).filter(|time| *time > 0) } else { None };
    Ok(Some((offset, expires)))
}
