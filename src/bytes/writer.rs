//! Writer of Kafka's primitive types into a buffer of exactly the right size.

use super::MAX_STRING_BYTES;
use crate::error::WireError;

/// Writer with lengths of [`Lengths::Fixed`](super::Lengths::Fixed); methods named `compact_...` write lengths of
/// [`Lengths::Compact`](super::Lengths::Compact).
#[derive(Debug)]
pub struct Writer {
    /// The buffer; None while the bytes are only counted.
    data: Option<Vec<u8>>,
    size: usize,
}

impl Writer {
    /// Return the bytes that `write` writes, in a buffer of exactly that size. `write` is called twice: to count, and to fill.
    ///
    /// # Errors
    /// The errors of `write`.
    pub fn encode(write: impl Fn(&mut Self) -> Result<(), WireError>) -> Result<Vec<u8>, WireError> {
        let size = Self::encoded_size(&write)?;
        let mut filled = Self { data: Some(Vec::with_capacity(size)), size: 0 };
        write(&mut filled)?;
        Ok(filled.data.unwrap_or_default())
    }

    /// Return the number of bytes that `write` writes.
    ///
    /// # Errors
    /// The errors of `write`.
    pub fn encoded_size(write: impl Fn(&mut Self) -> Result<(), WireError>) -> Result<usize, WireError> {
        let mut counted = Self { data: None, size: 0 };
        write(&mut counted)?;
        Ok(counted.size)
    }

    /// Write a signed byte.
    pub fn int8(&mut self, number: i8) {
        self.put(&number.to_be_bytes());
    }

    /// Write a signed 16-bit integer.
    pub fn int16(&mut self, number: i16) {
        self.put(&number.to_be_bytes());
    }

    /// Write an unsigned 16-bit integer.
    pub fn uint16(&mut self, number: u16) {
        self.put(&number.to_be_bytes());
    }

    /// Write a signed 32-bit integer.
    pub fn int32(&mut self, number: i32) {
        self.put(&number.to_be_bytes());
    }

    /// Write a signed 64-bit integer.
    pub fn int64(&mut self, number: i64) {
        self.put(&number.to_be_bytes());
    }

    /// Write the 16 bytes of a uuid.
    pub fn uuid(&mut self, uuid: &[u8; 16]) {
        self.put(uuid);
    }

    /// Write an unsigned varint.
    pub fn varint(&mut self, mut number: u32) {
        while number >= 0x80 {
            self.put(&[number as u8 | 0x80]);
            number >>= 7;
        }
        self.put(&[number as u8]);
    }

    /// Write a string.
    ///
    /// # Errors
    /// It is longer than 32,767 bytes.
    pub fn string(&mut self, text: &str) -> Result<(), WireError> {
        let length = string_length(text)?;
        self.int16(length as i16);
        self.put(text.as_bytes());
        Ok(())
    }

    /// Write a string, or null for None.
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

    /// Write a byte array, or null for None.
    ///
    /// # Errors
    /// The length does not fit into an int32.
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

    /// Write the length of an array or a byte array.
    ///
    /// # Errors
    /// The length does not fit into an int32.
    pub fn count(&mut self, count: usize) -> Result<(), WireError> {
        self.int32(int32_length(count)?);
        Ok(())
    }

    /// Write a string in the compact encoding, or null for None.
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

    /// Write a byte array in the compact encoding.
    ///
    /// # Errors
    /// The length does not fit into an int32.
    pub fn compact_bytes(&mut self, bytes: &[u8]) -> Result<(), WireError> {
        self.compact_count(Some(bytes.len()))?;
        self.put(bytes);
        Ok(())
    }

    /// Write the length of an array or a byte array in the compact encoding; None becomes null.
    ///
    /// # Errors
    /// The length does not fit into an int32.
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
    if length > MAX_STRING_BYTES as usize {
        const SHOWN: usize = 20;
        let head: String = text.chars().take(SHOWN).collect();
        return Err(write_error(format!("'{head}…' has {length} bytes of UTF-8; the limit is {MAX_STRING_BYTES}")));
    }
    Ok(length)
}

fn int32_length(length: usize) -> Result<i32, WireError> {
    i32::try_from(length).map_err(|_| write_error(format!("length {length} exceeds the limit of {}", i32::MAX)))
}

/// Create an error of writing; the caller adds the name of the field.
pub(crate) fn write_error(reason: String) -> WireError {
    WireError { offset: None, field: String::new(), reason }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_must_fit_into_an_int32() {
        let error = Writer::encode(|writer| writer.count(1 << 31)).unwrap_err();
        assert_eq!(error.reason, "length 2147483648 exceeds the limit of 2147483647");
        let compact = Writer::encode(|writer| writer.compact_count(Some(1 << 31)));
        assert_eq!(compact.unwrap_err(), error);
    }
}
