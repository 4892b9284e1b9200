//! Reader of the bytes of Kafka's log segments: record batches of version 2, and message sets of versions 0 and 1.
//!
//! [`SegmentReader`] takes the bytes of one `.log` file in pieces and appends the records to [`Records`]. It does no I/O, accepts
//! any bytes, and reserves no memory because of a count or length in a header: memory grows with the bytes that are there.

mod batch;
pub mod cluster_metadata;
mod compression;
mod message_set;
mod reader;
mod records;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod written;

pub use compression::MAX_DECOMPRESSED;
pub use reader::{Damage, MAX_DAMAGE, SegmentEnd, SegmentReader, Tail};
pub use records::{ColumnsFull, Records, Values};

use crate::error::WireError;

/// Reason why the records of a batch were not added.
#[derive(Debug)]
enum Unread {
    /// The batch cannot be read.
    Damaged(String),
    /// The columns are full.
    Full(ColumnsFull),
}

impl From<WireError> for Unread {
    fn from(error: WireError) -> Self {
        Self::Damaged(error.to_string())
    }
}

impl From<String> for Unread {
    fn from(reason: String) -> Self {
        Self::Damaged(reason)
    }
}

impl From<ColumnsFull> for Unread {
    fn from(full: ColumnsFull) -> Self {
        Self::Full(full)
    }
}
