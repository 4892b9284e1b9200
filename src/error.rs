//! Errors of the engine.

use thiserror::Error;

use crate::memory::OutOfMemory;

/// Error for bytes that violate their format, or for a value that the format cannot represent.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{reason} {}", place(*.offset, .field))]
pub struct WireError {
    /// Offset of the invalid item from the start of the buffer; None for an error while writing.
    pub offset: Option<usize>,
    /// Dotted path of the field, such as `members[2].subscription`.
    pub field: String,
    /// The reason.
    pub reason: String,
}

impl WireError {
    /// Prefix the path with the name of the field that contains it.
    pub(crate) fn within(mut self, name: &str) -> Self {
        let separator = if self.field.is_empty() || self.field.starts_with('[') { "" } else { "." };
        self.field = format!("{name}{separator}{}", self.field);
        self
    }
    /// Prefix the path with the index of the array element that contains it.
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

/// Invalid group input.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum GroupError {
    /// A topic lists a partition id more than once.
    #[error("topic '{topic}': partition {partition} is given twice")]
    DuplicatePartition {
        /// The topic.
        topic: String,
        /// The id.
        partition: i32,
    },
    /// The group has more partitions than the assignor supports.
    #[error(
        "the topics have {partitions} partitions; the limit of assignor '{assignor}' of group_protocol '{protocol}' is {limit}"
    )]
    TooManyPartitions {
        /// The number of partitions of all topics.
        partitions: u64,
        /// The name of the assignor.
        assignor: &'static str,
        /// The name of the assignor's protocol.
        protocol: &'static str,
        /// The largest supported number of partitions.
        limit: u64,
    },
    /// The group has more partitions than owners can be listed for.
    #[error("the topics have {partitions} partitions; the limit without a computed assignment is {limit}")]
    TooManyOwners {
        /// The number of partitions of all topics.
        partitions: u64,
        /// The largest supported number of partitions.
        limit: u64,
    },
    /// The partitions do not fit into memory.
    #[error(transparent)]
    OutOfMemory(#[from] OutOfMemory),
}

/// Invalid streams group.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum StreamsError {
    /// The group has this number of tasks and no members.
    #[error("the group has {0} tasks and no members: no member can get a task")]
    NoMembers(u32),
    /// A topology has a subtopology more than once.
    #[error("the topology has the subtopology '{0}' twice")]
    DuplicateSubtopology(String),
    /// The topology has more tasks than the assignor supports.
    #[error("the topology has {tasks} tasks; the limit is {limit}")]
    TooManyTasks {
        /// The number of tasks.
        tasks: u64,
        /// The largest supported number of tasks.
        limit: u64,
    },
    /// The assignment does not fit into memory.
    #[error(transparent)]
    OutOfMemory(#[from] OutOfMemory),
}

/// Reason why an assignor has no answer for a group.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum NoAnswer {
    /// Kafka's class fails, and the group keeps its assignment. This needs previous targets with partitions that do not exist.
    #[error(
        "topic '{topic}', partition {partition}: no member is left for a further owner; Kafka's class fails with \
         NoSuchElementException, because members had partitions that do not exist or are not assignable"
    )]
    NoMemberLeft {
        /// The topic.
        topic: String,
        /// The id of the partition.
        partition: i32,
    },
    /// The answer of Kafka's class depends on identity hash codes, which differ between processes.
    #[error(
        "the assignment is not determined: eight or more partitions have hash codes with the same bucket, among them equal ones, and \
         Kafka's class orders them by identity hash codes"
    )]
    NotDetermined,
}

/// Error for spans that do not form a plan.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("span {row}: {reason}")]
pub struct PlanError {
    /// Index of the span.
    pub row: usize,
    /// The reason.
    pub reason: String,
}

/// Invalid or unsupported topic pattern.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("position {position}: {reason}")]
pub struct PatternError {
    /// True if the pattern is invalid in its dialect; false if the engine does not support it.
    pub invalid: bool,
    /// Index of the character that causes the error.
    pub position: usize,
    /// The reason, or the construct that is not supported.
    pub reason: String,
}

/// Reason why matching stopped before all names were tried.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum MatchError {
    /// Matching a name takes too many steps. This can happen with backreferences and deeply nested loops.
    #[error("{dialect} pattern '{pattern}': matching the topic '{topic}' takes more than {steps} steps")]
    TooManySteps {
        /// The pattern.
        pattern: String,
        /// Its dialect.
        dialect: &'static str,
        /// The topic name.
        topic: String,
        /// The largest number of steps per name.
        steps: usize,
    },
    /// The caller interrupted the matching.
    #[error("interrupted")]
    Interrupted,
}
