//! Encoding of numbers, text and collections in a snapshot, and the error for a snapshot that cannot be read.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::hash::Hash;
use std::sync::Arc;

use rustc_hash::FxHashMap;

/// Error for a snapshot that cannot be restored.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SnapshotError(String);

impl SnapshotError {
    pub(super) fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    pub(super) fn damaged() -> Self {
        Self::new("the snapshot is damaged: its content is invalid")
    }
}

/// Value of a snapshot.
pub(super) trait Stored: Sized {
    /// Append the value.
    fn write(&self, out: &mut Vec<u8>);
    /// Read the value and remove its bytes.
    fn read(data: &mut &[u8]) -> Result<Self, SnapshotError>;
}

fn take<'a>(data: &mut &'a [u8], count: usize) -> Result<&'a [u8], SnapshotError> {
    let (found, rest) = data.split_at_checked(count).ok_or_else(SnapshotError::damaged)?;
    *data = rest;
    Ok(found)
}

/// Read the number of elements of a list; each has at least one byte.
fn count(data: &mut &[u8]) -> Result<usize, SnapshotError> {
    let count = usize::read(data)?;
    if count > data.len() { Err(SnapshotError::damaged()) } else { Ok(count) }
}

macro_rules! stored_numbers {
    ($($kind:ty),*) => {$(
        impl Stored for $kind {
            fn write(&self, out: &mut Vec<u8>) {
                out.extend(self.to_be_bytes());
            }

            fn read(data: &mut &[u8]) -> Result<Self, SnapshotError> {
                let bytes = take(data, size_of::<Self>())?;
                bytes.try_into().map(Self::from_be_bytes).map_err(|_| SnapshotError::damaged())
            }
        }
    )*};
}

stored_numbers!(u8, i16, i32, i64, u32);

/// A count of records, which stays below the limit of an i64.
impl Stored for u64 {
    fn write(&self, out: &mut Vec<u8>) {
        (*self as i64).write(out);
    }

    fn read(data: &mut &[u8]) -> Result<Self, SnapshotError> {
        i64::read(data)?.try_into().map_err(|_| SnapshotError::damaged())
    }
}

impl Stored for usize {
    fn write(&self, out: &mut Vec<u8>) {
        // Seven bits per byte, because most counts are small.
        let mut left = *self;
        while left >= 0x80 {
            out.push(left as u8 | 0x80);
            left >>= 7;
        }
        out.push(left as u8);
    }

    fn read(data: &mut &[u8]) -> Result<Self, SnapshotError> {
        let mut value = 0;
        for shift in (0..usize::BITS).step_by(7) {
            let byte = u8::read(data)?;
            value |= ((byte & 0x7f) as usize).checked_shl(shift).unwrap_or(0);
            if byte & 0x80 == 0 {
                // No count is higher: the next record can raise it.
                return if isize::try_from(value).is_ok() { Ok(value) } else { Err(SnapshotError::damaged()) };
            }
        }
        Err(SnapshotError::damaged())
    }
}

impl Stored for bool {
    fn write(&self, out: &mut Vec<u8>) {
        out.push(u8::from(*self));
    }

    fn read(data: &mut &[u8]) -> Result<Self, SnapshotError> {
        match u8::read(data)? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(SnapshotError::damaged()),
        }
    }
}

pub(super) fn write_text(text: &str, out: &mut Vec<u8>) {
    text.len().write(out);
    out.extend(text.as_bytes());
}

pub(super) fn read_text<'a>(data: &mut &'a [u8]) -> Result<&'a str, SnapshotError> {
    let length = usize::read(data)?;
    str::from_utf8(take(data, length)?).map_err(|_| SnapshotError::damaged())
}

impl Stored for String {
    fn write(&self, out: &mut Vec<u8>) {
        write_text(self, out);
    }

    fn read(data: &mut &[u8]) -> Result<Self, SnapshotError> {
        read_text(data).map(str::to_owned)
    }
}

impl Stored for Arc<str> {
    fn write(&self, out: &mut Vec<u8>) {
        write_text(self, out);
    }

    fn read(data: &mut &[u8]) -> Result<Self, SnapshotError> {
        read_text(data).map(Self::from)
    }
}

impl<T: Stored> Stored for Option<T> {
    fn write(&self, out: &mut Vec<u8>) {
        self.is_some().write(out);
        if let Some(value) = self {
            value.write(out);
        }
    }

    fn read(data: &mut &[u8]) -> Result<Self, SnapshotError> {
        bool::read(data)?.then(|| T::read(data)).transpose()
    }
}

impl<T: Stored, E: Stored> Stored for Result<T, E> {
    fn write(&self, out: &mut Vec<u8>) {
        self.is_ok().write(out);
        match self {
            Ok(value) => value.write(out),
            Err(error) => error.write(out),
        }
    }

    fn read(data: &mut &[u8]) -> Result<Self, SnapshotError> {
        Ok(if bool::read(data)? { Ok(T::read(data)?) } else { Err(E::read(data)?) })
    }
}

impl<A: Stored, B: Stored> Stored for (A, B) {
    fn write(&self, out: &mut Vec<u8>) {
        self.0.write(out);
        self.1.write(out);
    }

    fn read(data: &mut &[u8]) -> Result<Self, SnapshotError> {
        Ok((A::read(data)?, B::read(data)?))
    }
}

macro_rules! stored_lists {
    ($($kind:ty),*) => {$(
        impl<T: Stored> Stored for $kind {
            fn write(&self, out: &mut Vec<u8>) {
                self.len().write(out);
                for each in self.iter() {
                    each.write(out);
                }
            }

            fn read(data: &mut &[u8]) -> Result<Self, SnapshotError> {
                (0..count(data)?).map(|_| T::read(data)).collect()
            }
        }
    )*};
}

stored_lists!(Vec<T>, VecDeque<T>, Arc<[T]>);

impl<T: Stored + Ord> Stored for BTreeSet<T> {
    fn write(&self, out: &mut Vec<u8>) {
        self.len().write(out);
        for each in self {
            each.write(out);
        }
    }

    fn read(data: &mut &[u8]) -> Result<Self, SnapshotError> {
        (0..count(data)?).map(|_| T::read(data)).collect()
    }
}

impl<K: Stored + Ord, V: Stored> Stored for BTreeMap<K, V> {
    fn write(&self, out: &mut Vec<u8>) {
        self.len().write(out);
        for (key, value) in self {
            key.write(out);
            value.write(out);
        }
    }

    fn read(data: &mut &[u8]) -> Result<Self, SnapshotError> {
        (0..count(data)?).map(|_| <(K, V)>::read(data)).collect()
    }
}

impl<K: Stored + Ord + Hash + Clone, V: Stored> Stored for FxHashMap<K, V> {
    fn write(&self, out: &mut Vec<u8>) {
        // Sorted, so that equal states give equal bytes.
        let mut entries: Vec<(&K, &V)> = self.iter().collect();
        entries.sort_by(|left, right| left.0.cmp(right.0));
        entries.len().write(out);
        for (key, value) in entries {
            key.write(out);
            value.write(out);
        }
    }

    fn read(data: &mut &[u8]) -> Result<Self, SnapshotError> {
        (0..count(data)?).map(|_| <(K, V)>::read(data)).collect()
    }
}
