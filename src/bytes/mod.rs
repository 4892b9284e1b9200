//! Reader and writer of Kafka's primitive types, in big-endian order.
//!
//! The reader compares each length with the remaining bytes before it uses it, so it neither reads past the end nor allocates more
//! memory than the input justifies. The writer fills a buffer of exactly the right size. Errors of the reader have the offset
//! of the invalid item; callers add the name of the field.

mod writer;

pub use writer::Writer;
pub(crate) use writer::write_error;

use std::borrow::Cow;

use crate::error::WireError;

/// Largest size in bytes of a string that Kafka writes, or reads in the compact encoding (`Short.MAX_VALUE`).
const MAX_STRING_BYTES: i32 = 32_767;

/// Encoding of the lengths of strings, byte arrays and arrays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lengths {
    /// int16 for strings, int32 for arrays and byte arrays; negative means null.
    Fixed,
    /// Unsigned varint of the length plus one; zero means null (KIP-482).
    Compact,
}

/// Reader of a buffer, with the position of the next byte.
#[derive(Debug, Clone)]
pub struct Reader<'a> {
    data: &'a [u8],
    position: usize,
}

impl<'a> Reader<'a> {
    /// Create a reader at the first byte.
    #[must_use]
    pub fn new(data: &'a [u8]) -> Self {
        Self { data, position: 0 }
    }

    /// Return the index of the next byte.
    #[must_use]
    pub fn position(&self) -> usize {
        self.position
    }

    /// Return the number of bytes that are left.
    #[must_use]
    pub fn remaining(&self) -> usize {
        self.data.len() - self.position
    }

    /// Return the bytes that were read since a position.
    #[must_use]
    pub fn since(&self, position: usize) -> &'a [u8] {
        &self.data[position..self.position]
    }

    /// Read the next `count` bytes.
    ///
    /// # Errors
    /// Fewer bytes remain.
    pub fn take(&mut self, count: usize) -> Result<&'a [u8], WireError> {
        self.take_after(self.position, count)
    }

    /// Read a signed byte.
    ///
    /// # Errors
    /// Too few bytes remain.
    pub fn int8(&mut self) -> Result<i8, WireError> {
        self.fixed().map(i8::from_be_bytes)
    }

    /// Read a signed 16-bit integer.
    ///
    /// # Errors
    /// Too few bytes remain.
    pub fn int16(&mut self) -> Result<i16, WireError> {
        self.fixed().map(i16::from_be_bytes)
    }

    /// Read an unsigned 16-bit integer.
    ///
    /// # Errors
    /// Too few bytes remain.
    pub fn uint16(&mut self) -> Result<u16, WireError> {
        self.fixed().map(u16::from_be_bytes)
    }

    /// Read a signed 32-bit integer.
    ///
    /// # Errors
    /// Too few bytes remain.
    pub fn int32(&mut self) -> Result<i32, WireError> {
        self.fixed().map(i32::from_be_bytes)
    }

    /// Read a signed 64-bit integer.
    ///
    /// # Errors
    /// Too few bytes remain.
    pub fn int64(&mut self) -> Result<i64, WireError> {
        self.fixed().map(i64::from_be_bytes)
    }

    /// Read the 16 bytes of a uuid.
    ///
    /// # Errors
    /// Too few bytes remain.
    pub fn uuid(&mut self) -> Result<[u8; 16], WireError> {
        self.fixed()
    }

    /// Read an unsigned varint of at most five bytes, as Kafka's `ByteUtils.readUnsignedVarint` does. Bits above the 32nd are
    /// dropped, so the result can be negative.
    ///
    /// # Errors
    /// Too few bytes remain, or the varint has more than five bytes.
    pub fn varint(&mut self) -> Result<i32, WireError> {
        let start = self.position;
        let mut value: u32 = 0;
        for shift in [0, 7, 14, 21, 28] {
            let [byte] = self.fixed()?;
            value |= u32::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value as i32);
            }
        }
        Err(read_error(start, "an unsigned varint is longer than five bytes".to_owned()))
    }

    /// Read a signed varint in zigzag encoding, as Kafka's `ByteUtils.readVarint` does.
    ///
    /// # Errors
    /// As [`varint`](Self::varint).
    #[inline]
    pub fn signed_varint(&mut self) -> Result<i32, WireError> {
        let value = match self.data.get(self.position) {
            Some(byte) if byte & 0x80 == 0 => {
                self.position += 1;
                u32::from(*byte)
            }
            _ => self.varint()? as u32,
        };
        Ok((value >> 1) as i32 ^ -((value & 1) as i32))
    }

    /// Read a signed varint of at most ten bytes in zigzag encoding, as Kafka's `ByteUtils.readVarlong` does.
    ///
    /// # Errors
    /// Too few bytes remain, or the varint has more than ten bytes.
    #[inline]
    pub fn signed_varlong(&mut self) -> Result<i64, WireError> {
        let start = self.position;
        let mut value: u64 = 0;
        for shift in (0..64).step_by(7) {
            let [byte] = self.fixed()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok((value >> 1) as i64 ^ -((value & 1) as i64));
            }
        }
        Err(read_error(start, "a varint is longer than ten bytes".to_owned()))
    }

    /// Read the bytes of a string that cannot be null. [`java_text`] decodes them.
    ///
    /// # Errors
    /// As [`nullable_string_bytes`](Self::nullable_string_bytes), and for null.
    pub fn string_bytes(&mut self, lengths: Lengths) -> Result<&'a [u8], WireError> {
        let start = self.position;
        self.nullable_string_bytes(lengths)?.ok_or_else(|| null_error(start))
    }

    /// Read the bytes of a string, or None if its length means null. [`java_text`] decodes them.
    ///
    /// # Errors
    /// The length exceeds the remaining bytes or, in the compact encoding, 32,767.
    pub fn nullable_string_bytes(&mut self, lengths: Lengths) -> Result<Option<&'a [u8]>, WireError> {
        let start = self.position;
        let length = match lengths {
            Lengths::Fixed => i32::from(self.int16()?),
            Lengths::Compact => self.varint()?.wrapping_sub(1),
        };
        if length < 0 {
            return Ok(None);
        }
        if length > MAX_STRING_BYTES {
            return Err(read_error(start, format!("a string of {length} bytes is longer than {MAX_STRING_BYTES}")));
        }
        self.take_after(start, length as usize).map(Some)
    }

    /// Read a byte array, or None if its length means null.
    ///
    /// # Errors
    /// The length exceeds the remaining bytes.
    pub fn nullable_bytes(&mut self, lengths: Lengths) -> Result<Option<&'a [u8]>, WireError> {
        let start = self.position;
        let length = self.length(lengths)?;
        if length < 0 { Ok(None) } else { self.take_after(start, length as usize).map(Some) }
    }

    /// Read a byte array that cannot be null.
    ///
    /// # Errors
    /// As [`nullable_bytes`](Self::nullable_bytes), and for null.
    pub fn bytes(&mut self, lengths: Lengths) -> Result<&'a [u8], WireError> {
        let start = self.position;
        self.nullable_bytes(lengths)?.ok_or_else(|| null_error(start))
    }

    /// Read the number of elements of an array, or None for null. Each element has at least `least` bytes, so a caller can allocate
    /// memory for all elements.
    ///
    /// # Errors
    /// The elements do not fit in the remaining bytes.
    pub fn nullable_count(&mut self, lengths: Lengths, least: usize) -> Result<Option<usize>, WireError> {
        let start = self.position;
        let count = self.length(lengths)?;
        if count < 0 {
            return Ok(None);
        }
        let left = self.remaining();
        if count as usize > left / least {
            let reason = format!("{count} elements of at least {least} bytes do not fit in the {left} that remain");
            return Err(read_error(start, reason));
        }
        Ok(Some(count as usize))
    }

    /// Read the number of elements of an array that cannot be null.
    ///
    /// # Errors
    /// As [`nullable_count`](Self::nullable_count), and for null.
    pub fn count(&mut self, lengths: Lengths, least: usize) -> Result<usize, WireError> {
        let start = self.position;
        self.nullable_count(lengths, least)?.ok_or_else(|| null_error(start))
    }

    /// Read an array of int32 that cannot be null.
    ///
    /// # Errors
    /// As [`count`](Self::count).
    pub fn int32s(&mut self, lengths: Lengths) -> Result<Int32s<'a>, WireError> {
        let count = self.count(lengths, size_of::<i32>())?;
        self.take(count * size_of::<i32>()).map(Int32s)
    }

    fn length(&mut self, lengths: Lengths) -> Result<i32, WireError> {
        match lengths {
            Lengths::Fixed => self.int32(),
            Lengths::Compact => Ok(self.varint()?.wrapping_sub(1)),
        }
    }

    #[inline]
    fn fixed<const N: usize>(&mut self) -> Result<[u8; N], WireError> {
        let Some(bytes) = self.data[self.position..].first_chunk() else {
            return Err(self.too_short(self.position, N));
        };
        self.position += N;
        Ok(*bytes)
    }

    /// Read the next `count` bytes of an item that began at `start`.
    #[inline]
    fn take_after(&mut self, start: usize, count: usize) -> Result<&'a [u8], WireError> {
        let Some((bytes, _)) = self.data[self.position..].split_at_checked(count) else {
            return Err(self.too_short(start, count));
        };
        self.position += count;
        Ok(bytes)
    }

    #[cold]
    fn too_short(&self, start: usize, count: usize) -> WireError {
        read_error(start, format!("{count} bytes are needed and {} remain", self.remaining()))
    }
}

/// Array of int32, as its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Int32s<'a>(&'a [u8]);

impl<'a> Int32s<'a> {
    /// Return true if the array has no elements.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    /// Iterate over the elements.
    #[must_use]
    pub fn iter(self) -> impl ExactSizeIterator<Item = i32> + use<'a> {
        self.0.as_chunks().0.iter().map(|bytes| i32::from_be_bytes(*bytes))
    }
}

/// Create an error; the caller adds the name of the field.
pub(crate) fn read_error(offset: usize, reason: String) -> WireError {
    WireError { offset: Some(offset), field: String::new(), reason }
}

fn null_error(offset: usize) -> WireError {
    read_error(offset, "null is not allowed".to_owned())
}

/// Decode text as [`java_string`] does, without a copy if it is well-formed.
#[must_use]
pub fn java_text(bytes: &[u8]) -> Cow<'_, str> {
    str::from_utf8(bytes).map_or_else(|_| java_string(bytes).into(), Cow::Borrowed)
}

/// Decode text as Java's `new String(bytes, UTF_8)` does: each ill-formed sequence becomes one U+FFFD.
///
/// An ill-formed sequence is, as the Unicode standard recommends, the longest beginning of a well-formed sequence, or
/// one byte if no well-formed sequence begins with it. The exception is an encoded surrogate (`ED A0..BF` and perhaps a
/// continuation byte), which Java replaces by one U+FFFD. The standard replaces it by two or three.
#[must_use]
pub fn java_string(mut bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    loop {
        let error = match std::str::from_utf8(bytes) {
            Ok(rest) => {
                text.push_str(rest);
                return text;
            }
            Err(error) => error,
        };
        let (valid, rest) = bytes.split_at(error.valid_up_to());
        text.push_str(&String::from_utf8_lossy(valid));
        text.push('\u{fffd}');
        let piece = match rest {
            [0xed, 0xa0..=0xbf, 0x80..=0xbf, ..] => 3,
            [0xed, 0xa0..=0xbf, ..] => 2,
            _ => error.error_len().unwrap_or(rest.len()),
        };
        bytes = &rest[piece..];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_varint_drops_the_bits_above_the_32nd() {
        assert_eq!(Reader::new(&[0xff, 0xff, 0xff, 0xff, 0x7f]).varint(), Ok(-1));
        assert_eq!(Reader::new(&[0x80, 0x01]).varint(), Ok(128));
        assert!(Reader::new(&[0x80, 0x80, 0x80, 0x80, 0x80, 0x00]).varint().is_err());
    }

    #[test]
    fn signed_varints_are_in_zigzag_encoding() {
        for (bytes, value) in [(&[0][..], 0), (&[1], -1), (&[2], 1), (&[0x7f], -64), (&[0x80, 0x01], 64)] {
            assert_eq!(Reader::new(bytes).signed_varint(), Ok(value));
            assert_eq!(Reader::new(bytes).signed_varlong(), Ok(i64::from(value)));
        }
        let ends = [[0xff; 4].as_slice(), &[0x0f]].concat();
        assert_eq!(Reader::new(&ends).signed_varint(), Ok(i32::MIN));
        let ends = [[0xff; 9].as_slice(), &[0x01]].concat();
        assert_eq!(Reader::new(&ends).signed_varlong(), Ok(i64::MIN));
        assert!(Reader::new(&[0x80; 10]).signed_varlong().is_err());
        assert!(Reader::new(&[]).signed_varint().is_err());
    }
}
