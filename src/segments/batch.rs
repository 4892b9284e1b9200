//! Record batches of version 2.

use super::Unread;
use super::compression::{Codec, decompress};
use super::records::{Records, Shared};
use crate::bytes::Reader;
use crate::error::WireError;

/// Size in bytes of the header, with the base offset and the length of the batch.
pub(super) const HEADER: usize = 61;

/// Start of the bytes that the checksum is for.
const CHECKED: usize = 21;

const LOG_APPEND_TIME: i16 = 1 << 3;
const TRANSACTIONAL: i16 = 1 << 4;
const CONTROL: i16 = 1 << 5;

/// Times of the records of a batch.
#[derive(Clone, Copy)]
enum Times {
    /// Each record has a difference from this time. In a batch with a delete horizon, it is the horizon.
    Since(i64),
    /// All records have the time at which the broker appended the batch.
    Appended(i64),
}

/// Add the records of a batch, whose length is right, and return its last offset.
///
/// # Errors
/// The batch is damaged, or the columns are full.
pub(super) fn read(batch: &[u8], buffer: &mut Vec<u8>, records: &mut Records) -> Result<i64, Unread> {
    let mut header = Reader::new(batch);
    let base_offset = header.int64()?;
    header.int32()?;
    let leader_epoch = header.int32()?;
    header.int8()?;
    let checksum = header.int32()? as u32;
    let checked = batch.get(CHECKED..).unwrap_or_default();
    let found = crc32c::crc32c(checked);
    if checksum != found {
        return Err(wrong_checksum(checksum, found));
    }
    let attributes = header.int16()?;
    let last_offset_delta = header.int32()?;
    let (base_timestamp, max_timestamp) = (header.int64()?, header.int64()?);
    let producer_id = header.int64()?;
    header.int16()?;
    header.int32()?;
    let count = header.int32()?;
    if base_offset < 0 || last_offset_delta < 0 {
        return Err(
            format!("the base offset {base_offset} or the last offset delta {last_offset_delta} is negative").into()
        );
    }
    if count < 0 {
        return Err(format!("the number of records is {count}").into());
    }
    let last_offset = base_offset.saturating_add(last_offset_delta.into());
    if count == 0 {
        // Compaction keeps an empty batch for its last offset and producer.
        return Ok(last_offset);
    }
    let is_appended = attributes & LOG_APPEND_TIME != 0;
    let times = if is_appended { Times::Appended(max_timestamp) } else { Times::Since(base_timestamp) };
    let content = match Codec::of(attributes)? {
        None => &batch[HEADER..],
        Some(codec) => {
            decompress(codec, &batch[HEADER..], false, buffer)?;
            buffer
        }
    };
    let mut reader = Reader::new(content);
    let is_control = attributes & CONTROL != 0;
    for index in 0..count as usize {
        read_record(&mut reader, base_offset, times, is_control, records).map_err(|unread| in_record(unread, index))?;
    }
    if reader.remaining() > 0 {
        return Err(format!("{} bytes follow the last of {count} records", reader.remaining()).into());
    }
    let is_transactional = attributes & TRANSACTIONAL != 0;
    records.finish_batch(Shared { leader_epoch, producer_id, is_transactional });
    Ok(last_offset)
}

#[cold]
pub(super) fn wrong_checksum(expected: u32, found: u32) -> Unread {
    Unread::Damaged(format!("the checksum is {expected:#010x}, and that of the bytes is {found:#010x}"))
}

#[cold]
fn in_record(unread: Unread, index: usize) -> Unread {
    match unread {
        Unread::Damaged(reason) => Unread::Damaged(format!("record {index} of the batch: {reason}")),
        full @ Unread::Full(_) => full,
    }
}

/// Return a function that names the field of an error.
fn of(name: &'static str) -> impl Fn(WireError) -> WireError {
    move |error| error.within(name)
}

#[inline]
fn read_record(
    reader: &mut Reader<'_>,
    base_offset: i64,
    times: Times,
    is_control: bool,
    records: &mut Records,
) -> Result<(), Unread> {
    let size = reader.signed_varint().map_err(of("length"))?;
    let size = usize::try_from(size).map_err(|_| format!("its length is {size}"))?;
    let mut record = Reader::new(reader.take(size).map_err(of("length"))?);
    record.int8().map_err(of("attributes"))?;
    let timestamp_delta = record.signed_varlong().map_err(of("timestamp"))?;
    let offset_delta = record.signed_varint().map_err(of("offset"))?;
    let key = read_bytes(&mut record).map_err(of("key"))?;
    let value = read_bytes(&mut record).map_err(of("value"))?;
    let headers = record.signed_varint().map_err(of("headers"))?;
    if headers < 0 {
        return Err(format!("the number of headers is {headers}").into());
    }
    for _ in 0..headers {
        let key = record.signed_varint().map_err(of("headers"))?;
        let key = usize::try_from(key).map_err(|_| format!("the key of a header has the length {key}"))?;
        record.take(key).map_err(of("headers"))?;
        read_bytes(&mut record).map_err(of("headers"))?;
    }
    if record.remaining() > 0 {
        return Err(format!("{} bytes follow its headers", record.remaining()).into());
    }
    let timestamp = match times {
        Times::Since(base) => base.wrapping_add(timestamp_delta),
        Times::Appended(time) => time,
    };
    records.push(base_offset.wrapping_add(offset_delta.into()), timestamp, key, value)?;
    if is_control {
        records.push_control(control_type(key)?);
    }
    Ok(())
}

/// Read bytes after their length; None if it is negative.
#[inline]
fn read_bytes<'a>(reader: &mut Reader<'a>) -> Result<Option<&'a [u8]>, WireError> {
    usize::try_from(reader.signed_varint()?).ok().map(|size| reader.take(size)).transpose()
}

/// Return the type in the key of a control record, which follows its version.
fn control_type(key: Option<&[u8]>) -> Result<i16, String> {
    let Some([version @ .., high, low]) = key.and_then(|key| key.first_chunk::<4>()) else {
        return Err("the key of a control record is shorter than 4 bytes".to_owned());
    };
    let version = i16::from_be_bytes(*version);
    if version < 0 {
        return Err(format!("the key of a control record has the version {version}"));
    }
    Ok(i16::from_be_bytes([*high, *low]))
}
