//! Deletions of groups and of committed offsets: the events, and why they were deleted as far as the log shows.

use std::sync::Arc;

use super::durations::duration;
use super::events::{Event, EventDetails};
use super::metadata::Metadata;
use super::model::GroupKind;
use super::state::{GroupState, PendingDeletion};

/// Kafka's default for `offsets.retention.minutes`, in milliseconds.
const RETENTION: i64 = 7 * 24 * 3_600_000;

const EXPIRED: &str = "expired";
const DELETED: &str = "deleted";

/// Return the time at which a committed offset expires: that of its record, or else Kafka's default.
pub(super) fn expiry(at: i64, of_record: Option<i64>) -> i64 {
    of_record.unwrap_or_else(|| at.saturating_add(RETENTION))
}

/// Return the event of a deleted offset.
pub(super) fn offset_deleted(
    metadata: &Metadata,
    state: &mut GroupState,
    (at, offset): (i64, i64),
    (topic, id): (&str, i32),
    expires: i64,
) -> Event {
    let is_gone = metadata.around(at).last().is_some_and(|last| last.time > at && !last.topics.contains_key(topic));
    let (causes, evidence) = if is_gone {
        (vec!["topic_deleted", EXPIRED, DELETED], format!("Topic '{topic}' does not exist any more."))
    } else if at >= expires {
        (vec![EXPIRED, DELETED], format!("{} was over.", retention()))
    } else {
        let text = "was not over: it was deleted, its topic was, or the broker's retention time is shorter.";
        (vec![DELETED, EXPIRED, "topic_deleted"], format!("{} {text}", retention()))
    };
    state.offsets_deleted = Some((at, causes[0] == EXPIRED));
    let topic_partitions = vec![(Arc::from(topic), id)];
    state.event(at, offset, None, EventDetails::OffsetsDeleted { partitions: topic_partitions, causes, evidence })
}

fn retention() -> String {
    format!("Its retention time ({} after the commit, unless the commit has its own)", duration(RETENTION))
}

/// Note the deletion of a group record. Another record of the same time can still show that the group was converted.
pub(super) fn delete_group(state: &mut GroupState, (at, offset): (i64, i64), kind: GroupKind) {
    let deadline = state.now().saturating_add(1);
    let generation = state.generation_of(kind);
    state.deletion = Some(PendingDeletion { at, deadline, offset, kind, generation });
    state.lower_deadline(Some(deadline));
}

/// Forget a noted deletion if a group record of another kind at the same time shows that the group was converted.
pub(super) fn note_conversion(state: &mut GroupState, at: i64, kind: GroupKind) {
    if state.deletion.is_some_and(|deletion| deletion.at == at && deletion.kind != kind) {
        state.deletion = None;
    }
}

/// Return the event of a noted deletion, and forget it.
pub(super) fn flush_deletion(state: &mut GroupState) -> Option<Event> {
    let PendingDeletion { at, offset, kind, generation, .. } = state.deletion.take()?;
    let (causes, evidence) = match state.offsets_deleted {
        Some((time, true)) if time == at => {
            (vec![EXPIRED, DELETED], "Its last committed offsets expired at this time.")
        }
        Some((time, false)) if time == at => {
            (vec![DELETED, EXPIRED], "Its committed offsets were deleted at the same time.")
        }
        _ if state.committed.offsets == 0 => (
            vec![EXPIRED, DELETED],
            "It had no committed offsets: a broker deletes such a group when it has no members.",
        ),
        _ => (vec![DELETED], "It still has committed offsets."),
    };
    let details = EventDetails::GroupDeleted { generation, causes, evidence: evidence.to_owned() };
    Some(state.event(at, offset, Some(kind), details))
}
