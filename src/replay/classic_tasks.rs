//! Tasks of the groups of the classic protocol that assign tasks: those of Kafka Streams and of Kafka Connect.

use std::sync::Arc;

use super::classic::ParsedMember;
use super::classic_streams::{PROTOCOL, streams_tasks};
use super::connect::{PROTOCOL_TYPE, connect_tasks};
use super::difference::GroupRecord;
use super::tasks::{LastTasks, TaskAssignment, TaskChanges};
use crate::assign::{Assignor, GroupProtocol};
use crate::offsets::protocol::CONSUMER;

/// Return the tasks of a generation, and replace the last known ones; None for a group that assigns partitions.
///
/// A record that repeats a generation replaces nothing: `is_rebalance` is false.
pub(super) fn classic_tasks(
    last: &mut LastTasks,
    members: &[Arc<ParsedMember>],
    record: &GroupRecord,
    (is_partial, is_rebalance): (bool, bool),
) -> Option<TaskChanges> {
    if !is_rebalance {
        let mut copy = last.clone();
        let assignment = TaskAssignment { expected: None, ..assignment(&mut copy, members, record)? };
        return Some(copy.replace(&assignment, is_partial));
    }
    let assignment = assignment(last, members, record)?;
    Some(last.replace(&assignment, is_partial))
}

fn assignment(last: &mut LastTasks, members: &[Arc<ParsedMember>], record: &GroupRecord) -> Option<TaskAssignment> {
    match (record.protocol_type.as_deref()?, record.protocol.as_deref()) {
        // The record of a group without members has no protocol.
        (PROTOCOL_TYPE | CONSUMER, None) if members.is_empty() && !last.places.is_empty() => {
            Some(TaskAssignment::default())
        }
        (PROTOCOL_TYPE, Some(name)) if Assignor::named(GroupProtocol::Classic, name).is_none() => {
            Some(connect_tasks(members, last))
        }
        (CONSUMER, Some(PROTOCOL)) => Some(streams_tasks(members, last)),
        _ => None,
    }
}
