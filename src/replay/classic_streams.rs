//! Tasks of Kafka Streams on the classic protocol, from the user data of the members.
//!
//! The assignor of Streams runs in the leader, and reads offsets that no record has: the log does not determine its answer. The log has the
//! answer itself.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;

use super::classic::ParsedMember;
use super::tasks::{LastTasks, MemberTasks, Task, TaskAssignment};
use crate::wire::decode_assignment;
use crate::wire::streams::{self, StreamsAssignment, StreamsSubscription, TaskId};

/// Name of the protocol.
pub(super) const PROTOCOL: &str = "stream";

/// Member with its user data.
struct StreamsMember<'a> {
    id: &'a str,
    process: Option<Arc<str>>,
    subscription: Option<StreamsSubscription>,
    assignment: Option<StreamsAssignment>,
}

/// Return the tasks of a generation. Processes that have the state of a task on their disks are added to the last known places of the task.
pub(super) fn streams_tasks(members: &[Arc<ParsedMember>], last: &mut LastTasks) -> TaskAssignment {
    let mut remarks = Vec::new();
    let members: Vec<StreamsMember<'_>> = members.iter().map(|member| read_member(member, &mut remarks)).collect();
    let stateful = stateful_subtopologies(&members);
    let task = |id: &TaskId| Task { name: id.to_string().into(), has_state: stateful.contains(&subtopology(id)) };
    for member in &members {
        let (Some(process), Some(subscription)) = (&member.process, &member.subscription) else { continue };
        for (id, _) in &subscription.offset_sums {
            last.places.entry(id.to_string().into()).or_default().copies.insert(Arc::clone(process));
        }
    }
    let mut shown: Vec<MemberTasks> = members
        .iter()
        .map(|member| {
            let assignment = member.assignment.as_ref();
            let active: BTreeSet<&TaskId> = assignment.iter().flat_map(|found| &found.active_tasks).collect();
            let standby: BTreeSet<&TaskId> =
                assignment.iter().flat_map(|found| &found.standby_tasks).map(|(id, _)| id).collect();
            MemberTasks {
                member: member.id.into(),
                process: member.process.clone(),
                active: active.into_iter().map(task).collect(),
                standby: standby.into_iter().map(task).collect(),
                warmup: Vec::new(),
            }
        })
        .collect();
    shown.sort_by(|left, right| (&left.process, &left.member).cmp(&(&right.process, &right.member)));
    let expected = Some(expected_tasks(&shown, last));
    TaskAssignment { members: shown, expected, remarks }
}

fn read_member<'a>(member: &'a ParsedMember, remarks: &mut Vec<String>) -> StreamsMember<'a> {
    let id = member.id.as_str();
    let mut found = StreamsMember { id, process: None, subscription: None, assignment: None };
    match member.subscription.as_ref().map(|subscription| subscription.user_data.as_deref()) {
        Ok(Some(data)) => match streams::decode_subscription(data) {
            Ok(subscription) => {
                found.process = Some(process_name(&subscription.process_id));
                found.subscription = Some(subscription);
            }
            Err(error) => remarks.push(format!("the user data of the subscription of {id} cannot be read: {error}")),
        },
        Ok(None) => remarks.push(format!("the subscription of {id} has no user data")),
        Err(error) => remarks.push(format!("the subscription of {id} cannot be read: {error}")),
    }
    let assigned = &*member.assigned;
    if assigned.is_empty() {
        return found;
    }
    match decode_assignment(assigned) {
        Ok(assignment) => match assignment.user_data.map(streams::decode_assignment) {
            Some(Ok(tasks)) => {
                let partitions = assignment.assigned_partitions.topic_partitions();
                let partitions: usize = partitions.map(|(_, ids)| ids.iter().len()).sum();
                remarks.extend(assignment_remarks(id, &tasks, partitions));
                found.assignment = Some(tasks);
            }
            Some(Err(error)) => {
                remarks.push(format!("the user data of the assignment of {id} cannot be read: {error}"));
            }
            None => remarks.push(format!("the assignment of {id} has no user data")),
        },
        Err(error) => remarks.push(format!("the assignment of {id} cannot be read: {error}")),
    }
    found
}

/// Return what is wrong with the assignment of a member.
fn assignment_remarks(id: &str, tasks: &StreamsAssignment, partitions: usize) -> Vec<String> {
    let mut remarks = Vec::new();
    if tasks.error_code != 0 {
        let meaning = match tasks.error_code {
            1 => ": a source topic is missing",
            3 => ": the assignor failed",
            4 => ": a process asked all processes to shut down",
            _ => "",
        };
        remarks.push(format!("the leader gave error {} to {id}{meaning}", tasks.error_code));
    } else if tasks.active_tasks.len() != partitions {
        let count = tasks.active_tasks.len();
        remarks.push(format!("{id} has {partitions} partitions, but {count} of its partitions have a task"));
    }
    remarks
}

/// Subtopology of a task, and the name of its topology.
fn subtopology(task: &TaskId) -> (Option<&str>, i32) {
    (task.topology.as_deref(), task.subtopology)
}

/// Return the subtopologies whose tasks have state: those with standby tasks, or whose state is on the disk of a member.
fn stateful_subtopologies<'a>(members: &'a [StreamsMember<'_>]) -> BTreeSet<(Option<&'a str>, i32)> {
    let assignments = members.iter().filter_map(|member| member.assignment.as_ref());
    let standby = assignments.flat_map(|found| &found.standby_tasks).map(|(id, _)| id);
    let subscriptions = members.iter().filter_map(|member| member.subscription.as_ref());
    let stored = subscriptions.flat_map(|found| {
        let tasks = found.offset_sums.iter().map(|(id, _)| id);
        // Before version 7, the list of active tasks has those without state, too.
        tasks.chain(found.previous_standby.iter().filter(|_| found.offset_sums.is_empty()))
    });
    standby.chain(stored).map(subtopology).collect()
}

/// Return the tasks of earlier generations that had no owner in the generation before and should have one.
///
/// A task that moves has no owner in one generation: its member gives it up, and the next generation gives it to another member. If no task
/// of a subtopology has an owner, the topology may have changed.
fn expected_tasks(members: &[MemberTasks], last: &LastTasks) -> Vec<Task> {
    let present: BTreeSet<&str> =
        members.iter().flat_map(|member| &member.active).map(|task| subtopology_name(&task.name)).collect();
    let missing = last.places.iter().filter(|(name, place)| {
        place.missing > 0 && !place.active.is_empty() && present.contains(subtopology_name(name))
    });
    missing.map(|(name, _)| Task { name: Arc::clone(name), has_state: false }).collect()
}

/// Return the part of a task's name before the partition.
fn subtopology_name(task: &str) -> &str {
    task.rsplit_once('_').map_or(task, |(name, _)| name)
}

/// Return the id of a process as Java prints it.
fn process_name(id: &[u8; 16]) -> Arc<str> {
    let mut text = String::with_capacity(36);
    for (index, byte) in id.iter().enumerate() {
        if let 4 | 6 | 8 | 10 = index {
            text.push('-');
        }
        _ = write!(text, "{byte:02x}");
    }
    text.into()
}
