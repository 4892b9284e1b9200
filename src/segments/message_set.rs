//! Message sets of versions 0 and 1, which brokers before 0.11 wrote. A compressed message contains the set that it stands for.

use super::Unread;
use super::batch::wrong_checksum;
use super::compression::{Codec, decompress};
use super::records::{Records, Shared};
use crate::bytes::{Lengths, Reader};

/// Size in bytes of the offset and the size before each message.
pub(super) const ENTRY_HEADER: usize = 12;

/// Smallest size in bytes of a message of version 0: checksum, version, attributes, and the lengths of key and value.
pub(super) const SMALLEST: usize = 14;

/// Start of the bytes that the checksum is for, behind offset, size and checksum.
const CHECKED: usize = 16;

const LOG_APPEND_TIME: i8 = 1 << 3;

/// Fields of these versions: there are no leader epochs, producers and transactions.
const SHARED: Shared = Shared { leader_epoch: -1, producer_id: -1, is_transactional: false };

/// Timestamp of a message of version 0, which has none.
const NO_TIMESTAMP: i64 = -1;

struct Message<'a> {
    offset: i64,
    version: i8,
    codec: Option<Codec>,
    timestamp: i64,
    is_appended: bool,
    key: Option<&'a [u8]>,
    value: Option<&'a [u8]>,
}

/// Add a message, whose size is right, or the messages inside it, and return its offset.
///
/// # Errors
/// The message is damaged, or the columns are full.
pub(super) fn read(entry: &[u8], buffer: &mut Vec<u8>, records: &mut Records) -> Result<i64, Unread> {
    let message = read_message(entry)?;
    if message.offset < 0 {
        return Err(format!("the offset {} is negative", message.offset).into());
    }
    match message.codec {
        None => records.push(message.offset, message.timestamp, message.key, message.value)?,
        Some(codec) => read_inner(&message, codec, buffer, records)?,
    }
    records.finish_batch(SHARED);
    Ok(message.offset)
}

/// Add the messages of a compressed message.
fn read_inner(wrapper: &Message<'_>, codec: Codec, buffer: &mut Vec<u8>, records: &mut Records) -> Result<(), Unread> {
    if codec == Codec::Zstd {
        return Err("message sets cannot have the compression zstd".to_owned().into());
    }
    let value = wrapper.value.ok_or_else(|| "a compressed message has no value".to_owned())?;
    decompress(codec, value, wrapper.version == 0, buffer)?;
    let (start, mut rest) = (records.len(), buffer.as_slice());
    // Kafka ignores an incomplete message at the end.
    while let Some(size) = inner_size(rest)? {
        let Some((entry, behind)) = rest.split_at_checked(size) else { break };
        let index = records.len() - start;
        let inner = read_message(entry).map_err(|unread| within(unread, index))?;
        if inner.codec.is_some() || inner.version != wrapper.version {
            return Err(format!("inner message {index} is compressed or has another version").into());
        }
        let timestamp = if wrapper.is_appended { wrapper.timestamp } else { inner.timestamp };
        records.push(inner.offset, timestamp, inner.key, inner.value)?;
        rest = behind;
    }
    let inner = &mut records.offset[start..];
    let Some(last) = inner.last().copied() else {
        return Err("a compressed message has no inner messages".to_owned().into());
    };
    // Inner offsets of version 1 are relative. A wrapper with the offset 0 was not assigned one: some clients leave it out.
    if wrapper.version == 1 && wrapper.offset != 0 {
        if wrapper.offset < last {
            return Err(format!("the last inner offset {last} exceeds the offset {}", wrapper.offset).into());
        }
        let base = wrapper.offset.wrapping_sub(last);
        for offset in inner {
            *offset = base.wrapping_add(*offset);
        }
    }
    Ok(())
}

/// Return the size of an entry from its header; None if the header is incomplete.
fn inner_size(rest: &[u8]) -> Result<Option<usize>, String> {
    let Some(header) = rest.first_chunk::<ENTRY_HEADER>() else { return Ok(None) };
    let [.., a, b, c, d] = *header;
    let size = i32::from_be_bytes([a, b, c, d]);
    match usize::try_from(size) {
        Ok(size) if size >= SMALLEST => Ok(Some(ENTRY_HEADER + size)),
        _ => Err(format!("an inner message has the size {size}")),
    }
}

#[cold]
fn within(unread: Unread, index: usize) -> Unread {
    match unread {
        Unread::Damaged(reason) => Unread::Damaged(format!("inner message {index}: {reason}")),
        full @ Unread::Full(_) => full,
    }
}

fn read_message(entry: &[u8]) -> Result<Message<'_>, Unread> {
    let mut reader = Reader::new(entry);
    let offset = reader.int64()?;
    reader.int32()?;
    let checksum = reader.int32()? as u32;
    let found = crc32fast::hash(entry.get(CHECKED..).unwrap_or_default());
    if checksum != found {
        return Err(wrong_checksum(checksum, found));
    }
    let (version, attributes) = (reader.int8()?, reader.int8()?);
    let timestamp = match version {
        0 => NO_TIMESTAMP,
        1 => reader.int64().map_err(|error| error.within("timestamp"))?,
        _ => return Err(format!("the version of a message is {version}").into()),
    };
    let key = reader.nullable_bytes(Lengths::Fixed).map_err(|error| error.within("key"))?;
    let value = reader.nullable_bytes(Lengths::Fixed).map_err(|error| error.within("value"))?;
    Ok(Message {
        offset,
        version,
        codec: Codec::of(attributes.into())?,
        timestamp,
        is_appended: version == 1 && attributes & LOG_APPEND_TIME != 0,
        key,
        value,
    })
}
