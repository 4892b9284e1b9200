//! Connectors and tasks of the workers of Kafka Connect, from the messages of the members.
//!
//! The leader assigns the connectors and tasks that are configured in its own topic, and remembers what it assigned before: the log of the
//! group does not determine its answer. The log has the answer itself. In an incremental protocol a worker keeps what it had when it
//! joined, without what is revoked.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::classic::ParsedMember;
use super::tasks::{LastTasks, MemberTasks, Task, TaskAssignment};
use crate::wire::connect::{self, ConnectAssignment, ConnectSubscription, ConnectorsAndTasks};

/// Protocol type of the workers.
pub(super) const PROTOCOL_TYPE: &str = "connect";

/// Return the connectors and tasks of a generation. Revoked tasks are marked in the last known places: the leader took them on purpose.
pub(super) fn connect_tasks(members: &[Arc<ParsedMember>], last: &mut LastTasks) -> TaskAssignment {
    let mut remarks = Vec::new();
    let (mut delay, mut is_readable, mut errors) = (0, true, BTreeSet::new());
    let mut shown = Vec::with_capacity(members.len());
    for member in members {
        let subscription = connect::decode_subscription(&member.metadata);
        let assigned = &*member.assigned;
        let assignment = (!assigned.is_empty()).then(|| connect::decode_assignment(assigned)).transpose();
        for (what, error) in [("subscription", subscription.as_ref().err()), ("assignment", assignment.as_ref().err())]
        {
            if let Some(error) = error {
                is_readable = false;
                remarks.push(format!("the {what} of {} cannot be read: {error}", member.id));
            }
        }
        let (subscription, assignment) = (subscription.ok(), assignment.ok().flatten());
        if let Some(found) = &assignment {
            delay = delay.max(found.delay_ms);
            errors.extend(Some(found.error).filter(|error| *error != 0));
            for name in names(&found.revoked) {
                if let Some(place) = last.places.get_mut(&*name) {
                    place.is_revoked = true;
                }
            }
        }
        shown.push(MemberTasks {
            member: member.id.as_str().into(),
            process: subscription.as_ref().map(|found| found.url.as_str().into()),
            active: after_rebalance(subscription.as_ref(), assignment.as_ref()),
            standby: Vec::new(),
            warmup: Vec::new(),
        });
    }
    shown.sort_by(|left, right| (&left.process, &left.member).cmp(&(&right.process, &right.member)));
    for error in errors {
        let meaning = if error == 1 { ": workers know different configurations" } else { "" };
        remarks.push(format!("the leader assigned nothing, with error {error}{meaning}"));
    }
    let expected = (is_readable && delay > 0).then(|| lost_tasks(last));
    if delay > 0 {
        remarks.push(format!("the leader delays the next rebalance by {delay} ms"));
    }
    TaskAssignment { members: shown, expected, remarks }
}

/// Return what a worker runs after the rebalance.
fn after_rebalance(subscription: Option<&ConnectSubscription>, assignment: Option<&ConnectAssignment>) -> Vec<Task> {
    let Some(assignment) = assignment else { return Vec::new() };
    let mut found: BTreeSet<String> = BTreeSet::new();
    if assignment.version >= 1
        && let Some(owned) = subscription.and_then(|subscription| subscription.owned.as_ref())
    {
        found.extend(names(&owned.assigned));
        names(&assignment.revoked).for_each(|name| _ = found.remove(&name));
    }
    found.extend(names(&assignment.assigned));
    found.into_iter().map(|name| Task { name: name.into(), has_state: false }).collect()
}

/// Return the names of connectors and tasks. A connector whose name is like that of a task, such as `orders-0`, is marked as connector.
fn names(found: &ConnectorsAndTasks) -> impl Iterator<Item = String> {
    let connector = |name: &Arc<str>| {
        let is_like_task = name.rsplit_once('-').is_some_and(|(_, number)| number.parse::<u32>().is_ok());
        if is_like_task { format!("connector {name}") } else { name.to_string() }
    };
    found.connectors.iter().map(connector).chain(found.tasks.iter().map(ToString::to_string))
}

/// Return the tasks of earlier generations that were not revoked. Those that no worker runs belonged to workers that are gone.
///
/// While the leader delays a rebalance, it waits for these workers. Without a delay it assigns every task that is configured, so a task that
/// it does not assign then was deleted.
fn lost_tasks(last: &LastTasks) -> Vec<Task> {
    let known = last.places.iter().filter(|(_, place)| !place.active.is_empty() && !place.is_revoked);
    known.map(|(name, _)| Task { name: Arc::clone(name), has_state: false }).collect()
}
