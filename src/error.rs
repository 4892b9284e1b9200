//! The one error of the engine: what was wrong, where, in words a user can act on.

use thiserror::Error;

/// Bytes that are not what their format says.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{reason} at offset {offset} while reading {field}")]
pub struct WireError {
    /// Index of the byte at which reading stopped, from the start of the buffer.
    pub offset: usize,
    /// Dotted path of the field that was being read, such as `members[2].subscription`.
    pub field: String,
    /// What was wrong.
    pub reason: String,
}

/// A group that cannot be meant.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum GroupError {
    /// A partition id that a topic lists more than once.
    #[error("topic '{topic}': partition {partition} is given twice")]
    DuplicatePartition {
        /// The topic.
        topic: String,
        /// The id.
        partition: i32,
    },
}
