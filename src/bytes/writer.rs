//! Kafka's primitive types, written into a buffer of exactly the right size.

use super::LONGEST_STRING;
use crate::error::WireError;

/// Writes lengths in the way of [`Lengths::Fixed`](super::Lengths::Fixed), and in that of
/// [`Lengths::Compact`](super::Lengths::Compact) where a method says so.
#[derive(Debug)]
pub struct Writer {
    /// None while the bytes are only counted.
    data: Option<Vec<u8>>,
    size: usize,
}

impl Writer {
    /// What `write` writes, in a buffer of exactly that size: it is called once to count and once to fill.
    ///
    /// # Errors
    /// Those of `write`.
    pub fn exactly(write: impl Fn(&mut Self) -> Result<(), WireError>) -> Result<Vec<u8>, WireError> {
        let size = Self::counted(&write)?;
        let mut filled = Self { data: Some(Vec::with_capacity(size)), size: 0 };
        write(&mut filled)?;
        Ok(filled.data.unwrap_or_default())
    }

    /// How many bytes `write` writes.
    ///
    /// # Errors
    /// Those of `write`.
    pub fn counted(write: impl Fn(&mut Self) -> Result<(), WireError>) -> Result<usize, WireError> {
        let mut counted = Self { data: None, size: 0 };
        write(&mut counted)?;
        Ok(counted.size)
    }

    /// One signed byte.
    pub fn int8(&mut self, number: i8) {
        self.put(&number.to_be_bytes());
    }

    /// A signed 16-bit integer.
    pub fn int16(&mut self, number: i16) {
        self.put(&number.to_be_bytes());
    }

    /// An unsigned 16-bit integer.
    pub fn uint16(&mut self, number: u16) {
        self.put(&number.to_be_bytes());
    }

    /// A signed 32-bit integer.
    pub fn int32(&mut self, number: i32) {
        self.put(&number.to_be_bytes());
    }

    /// A signed 64-bit integer.
    pub fn int64(&mut self, number: i64) {
        self.put(&number.to_be_bytes());
    }

    /// The 16 bytes of a uuid.
    pub fn uuid(&mut self, uuid: &[u8; 16]) {
        self.put(uuid);
    }

    /// An unsigned varint.
    pub fn varint(&mut self, mut number: u32) {
        while number >= 0x80 {
            self.put(&[number as u8 | 0x80]);
            number >>= 7;
        }
        self.put(&[number as u8]);
    }

    /// A string.
    ///
    /// # Errors
    /// It is longer than 32,767 bytes.
    pub fn string(&mut self, text: &str) -> Result<(), WireError> {
        let length = string_length(text)?;
        self.int16(length as i16);
        self.put(text.as_bytes());
        Ok(())
    }

    /// A string, or null for None.
    ///
    /// # Errors
    /// As [`string`](Self::string).
    pub fn nullable_string(&mut self, text: Option<&str>) -> Result<(), WireError> {
        match text {
            Some(text) => self.string(text)?,
            None => self.int16(-1),
        }
        Ok(())
    }

    /// A byte array, or null for None.
    ///
    /// # Errors
    /// It is longer than an int32 says.
    pub fn nullable_bytes(&mut self, bytes: Option<&[u8]>) -> Result<(), WireError> {
        match bytes {
            Some(bytes) => {
                self.count(bytes.len())?;
                self.put(bytes);
            }
            None => self.int32(-1),
        }
        Ok(())
    }

    /// How many elements an array has, or bytes a byte array.
    ///
    /// # Errors
    /// They are more than an int32 says.
    pub fn count(&mut self, count: usize) -> Result<(), WireError> {
        self.int32(int32_length(count)?);
        Ok(())
    }

    /// A string in the compact encoding, or null for None.
    ///
    /// # Errors
    /// As [`string`](Self::string).
    pub fn compact_string(&mut self, text: Option<&str>) -> Result<(), WireError> {
        let Some(text) = text else {
            self.varint(0);
            return Ok(());
        };
        self.varint(string_length(text)? as u32 + 1);
        self.put(text.as_bytes());
        Ok(())
    }

    /// A byte array in the compact encoding.
    ///
    /// # Errors
    /// It is longer than an int32 says.
    pub fn compact_bytes(&mut self, bytes: &[u8]) -> Result<(), WireError> {
        self.compact_count(Some(bytes.len()))?;
        self.put(bytes);
        Ok(())
    }

    /// How many elements an array has, or bytes a byte array, in the compact encoding; None is null.
    ///
    /// # Errors
    /// They are more than an int32 says.
    pub fn compact_count(&mut self, count: Option<usize>) -> Result<(), WireError> {
        self.varint(count.map_or(Ok(0), |count| int32_length(count).map(|count| count as u32 + 1))?);
        Ok(())
    }

    fn put(&mut self, bytes: &[u8]) {
        match &mut self.data {
            Some(data) => data.extend_from_slice(bytes),
            None => self.size += bytes.len(),
        }
    }
}

fn string_length(text: &str) -> Result<usize, WireError> {
    let length = text.len();
    if length > LONGEST_STRING as usize {
        const SHOWN: usize = 20;
        let head: String = text.chars().take(SHOWN).collect();
        return Err(unwritable(format!("'{head}…' has {length} bytes of UTF-8, and {LONGEST_STRING} can be written")));
    }
    Ok(length)
}

fn int32_length(length: usize) -> Result<i32, WireError> {
    i32::try_from(length)
        .map_err(|_| unwritable(format!("a length of {length} is more than {}, which can be written", i32::MAX)))
}

/// An error of something that was to be written, whose field is still to be named.
pub(crate) fn unwritable(reason: String) -> WireError {
    WireError { offset: None, field: String::new(), reason }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_is_of_exactly_the_size_of_what_is_written() {
        let data = Writer::exactly(|writer| {
            writer.nullable_bytes(Some(b"abc"))?;
            writer.nullable_string(None)?;
            writer.string("é")
        });
        let data = data.unwrap();
        assert_eq!(data, [0, 0, 0, 3, b'a', b'b', b'c', 0xff, 0xff, 0, 2, 0xc3, 0xa9]);
        assert_eq!(data.capacity(), data.len());
    }

    #[test]
    fn a_string_of_32767_bytes_is_the_longest() {
        let write = |length: usize| Writer::exactly(|writer| writer.string(&"x".repeat(length)));
        assert_eq!(write(32_767).unwrap().len(), 32_769);
        let error = write(32_768).unwrap_err();
        assert_eq!(error.reason, "'xxxxxxxxxxxxxxxxxxxx…' has 32768 bytes of UTF-8, and 32767 can be written");
        assert_eq!(error.offset, None);
    }

    #[test]
    fn a_count_that_an_int32_cannot_say_is_refused() {
        let error = Writer::exactly(|writer| writer.count(1 << 31)).unwrap_err();
        assert_eq!(error.reason, "a length of 2147483648 is more than 2147483647, which can be written");
        let compact = Writer::exactly(|writer| writer.compact_count(Some(1 << 31)));
        assert_eq!(compact.unwrap_err(), error);
    }

    #[test]
    fn a_compact_length_is_one_more_and_null_is_zero() {
        let data = Writer::exactly(|writer| {
            writer.compact_string(None)?;
            writer.compact_string(Some("é"))?;
            writer.compact_bytes(&[7; 127])?;
            writer.compact_count(None)?;
            writer.compact_count(Some(i32::MAX as usize))
        });
        let expected: &[&[u8]] = &[&[0, 3, 0xc3, 0xa9], &[0x80, 1], &[7; 127], &[0, 0x80, 0x80, 0x80, 0x80, 8]];
        assert_eq!(data.unwrap(), expected.concat());
    }
}
