//! Generations of a group, as replay stores them until their event is complete.

use std::sync::Arc;

use super::classic::ParsedMember;
use super::model::GroupKind;
use super::problems::AssignmentProblems;
use super::streams_target::StreamsTarget;
use super::target::TargetAssignment;
use super::tasks::TaskChanges;

/// Generation of a classic group, or epoch of another group: one group record with a value.
#[derive(Debug, Clone)]
pub(super) struct Generation {
    /// Offset of the record.
    pub(super) offset: i64,
    /// Milliseconds since 1970.
    pub(super) timestamp: i64,
    /// True if its record has a valid timestamp.
    pub(super) has_time: bool,
    /// Kind of the group.
    pub(super) kind: GroupKind,
    /// Generation or group epoch.
    pub(super) number: i32,
    /// Protocol type of a classic group, such as `consumer` or `connect`.
    pub(super) protocol_type: Option<String>,
    /// Assignor of a classic group; None for an empty group and for other kinds of group.
    pub(super) protocol: Option<String>,
    /// Member id of the leader.
    pub(super) leader: Option<String>,
    /// Number of members.
    pub(super) members: usize,
    /// Number of distinct partitions of the members.
    pub(super) partitions: usize,
    /// True if membership is unchanged since the previous group record and the group is not empty.
    pub(super) same_members: bool,
    /// Subscriptions and assignments of the members; None if the engine does not have the assignor of the classic group.
    pub(super) parsed_members: Option<Arc<[Arc<ParsedMember>]>>,
    /// The target assignment that the broker computed for the epoch of a consumer group.
    pub(super) target: Option<TargetAssignment>,
    /// The target assignment that the broker computed for the epoch of a streams group.
    pub(super) streams_target: Option<StreamsTarget>,
    /// Tasks of a group that assigns tasks; None for other groups, and if the assignment is not known.
    pub(super) tasks: Option<TaskChanges>,
    /// Problems of the assignment; None if it is not known, or if the record repeats an earlier one.
    pub(super) problems: Option<AssignmentProblems>,
}

/// Kind of group, number and member count of a generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct GenerationNumber {
    pub(super) kind: GroupKind,
    pub(super) generation: i32,
    pub(super) members: usize,
}

impl GenerationNumber {
    pub(super) const fn of(generation: &Generation) -> Self {
        Self { kind: generation.kind, generation: generation.number, members: generation.members }
    }
}

/// Generation whose comparison waits for later topic metadata, and the group record before it.
#[derive(Debug, Clone)]
pub(super) struct HeldGeneration {
    pub(super) generation: Generation,
    pub(super) before: Option<GenerationNumber>,
    pub(super) duration: Option<i64>,
}
