//! The one error of the engine: what was wrong, where, in words a user can act on.

use thiserror::Error;

/// Bytes that are not what their format says, or a value that their format cannot say.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{reason} {}", place(*.offset, .field))]
pub struct WireError {
    /// Index of the byte at which reading stopped, from the start of the buffer; None where a value was to be written.
    pub offset: Option<usize>,
    /// Dotted path of the field that was being read or written, such as `members[2].subscription`.
    pub field: String,
    /// What was wrong.
    pub reason: String,
}

impl WireError {
    /// The same error, seen from the structure whose field of that name it happened in.
    pub(crate) fn within(mut self, name: &str) -> Self {
        let separator = if self.field.is_empty() || self.field.starts_with('[') { "" } else { "." };
        self.field = format!("{name}{separator}{}", self.field);
        self
    }
    /// The same error, seen from the array whose element of that index holds its field.
    pub(crate) fn within_element(mut self, index: usize) -> Self {
        let separator = if self.field.is_empty() || self.field.starts_with('[') { "" } else { "." };
        self.field = format!("[{index}]{separator}{}", self.field);
        self
    }
}

fn place(offset: Option<usize>, field: &str) -> String {
    offset
        .map_or_else(|| format!("while writing {field}"), |offset| format!("at offset {offset} while reading {field}"))
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
    /// The group has more partitions than the assignor can assign.
    #[error(
        "the topics have {partitions} partitions; the limit of assignor '{assignor}' of group_protocol '{protocol}' is {limit}"
    )]
    TooManyPartitions {
        /// The number of partitions of all topics.
        partitions: u64,
        /// The name of the assignor.
        assignor: &'static str,
        /// The name of its protocol.
        protocol: &'static str,
        /// The largest number of partitions.
        limit: u64,
    },
}

/// Spans that are no plan.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("span {row}: {reason}")]
pub struct PlanError {
    /// Which of the spans.
    pub row: usize,
    /// What was wrong.
    pub reason: String,
}

/// A topic pattern that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("position {position}: {reason}")]
pub struct PatternError {
    /// Whether the dialect itself refuses the pattern; else it is the engine that cannot match it exactly.
    pub invalid: bool,
    /// Index of the character at which the reason lies.
    pub position: usize,
    /// What was wrong, or the construct that is not supported.
    pub reason: String,
}

/// A pattern that was not tried on all names.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum MatchError {
    /// One name takes too long: with back-references it may, and with loops many deep.
    #[error("{dialect} pattern '{pattern}': a search of over {steps} steps on the topic '{topic}'")]
    TooManySteps {
        /// The pattern.
        pattern: String,
        /// Its dialect.
        dialect: &'static str,
        /// The name.
        topic: String,
        /// How many steps a name may take.
        steps: usize,
    },
    /// Whoever asked does not want to know any more.
    #[error("interrupted")]
    Interrupted,
}
