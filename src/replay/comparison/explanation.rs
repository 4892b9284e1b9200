//! Topic metadata that explains a recorded assignment.
//!
//! The metadata that the leader or the broker used is not recorded. It may be the last snapshot at or before the time of the
//! generation, the first snapshot after it, or a mixture of both. A leader may also lack topics, or have metadata that is older than
//! the last snapshot. For the classic range assignor, neither a mixture nor older metadata is tried. If all snapshots are later than
//! the assignment, a topic may have had only the assigned partitions at that time.

use std::collections::{BTreeMap, BTreeSet};

use super::assignment::{KnownTopics, RecordedAssignment};
use crate::assign::Assignor;
use crate::error::NoAnswer;
use crate::group::{Ids, Partitions};
use crate::replay::member::OwnedPartitions;
use crate::replay::metadata::MetadataSnapshot;

/// Explanation of a recorded assignment.
pub(super) enum Explanation {
    /// The assignor gives the recorded assignment for the metadata around its time.
    Metadata,
    /// The assignor gives the recorded assignment for other metadata, which the text describes.
    OtherMetadata(String),
    /// The assignor does not give the recorded assignment for any known metadata. The text describes the difference.
    Unexplained(String),
    /// The metadata lacks topics that the assignor had. The text names them.
    UnknownTopics(String),
    /// The answer of the assignor is not determined. The text has the reason.
    NotDetermined(String),
}

/// Explain an assignment by the metadata around its time. `older` are the earlier snapshots, the latest one first.
/// `has_only_later` is true if all snapshots are later than the assignment.
pub(super) fn explain<'a>(
    recorded: &RecordedAssignment<'a>,
    first: &'a MetadataSnapshot,
    last: &'a MetadataSnapshot,
    older: impl Iterator<Item = &'a MetadataSnapshot>,
    has_only_later: bool,
) -> Explanation {
    let (before, after) = (recorded.known_topics(first), recorded.known_topics(last));
    let expected = recorded.answer(&before);
    if let Err(error @ NoAnswer::NotDetermined) = &expected {
        return Explanation::NotDetermined(format!("not compared: {error}"));
    }
    let mut trials = Trials { recorded, tried: Vec::new() };
    if trials.is_recorded(&expected) {
        return Explanation::Metadata;
    }
    trials.tried.push(before.clone());
    if trials.explains(&after) {
        return Explanation::Metadata;
    }
    let has_more = recorded.assignor != Assignor::Range;
    let assigned = AssignedPartitions::of(recorded);
    if has_more && trials.explains(&assigned.mixture(&before, &after)) {
        return Explanation::Metadata;
    }
    for known in [&before, &after] {
        let (with, without): (KnownTopics<'_>, KnownTopics<'_>) =
            known.iter().partition(|(topic, (_, id))| assigned.has_topic(recorded.key(topic, id)));
        if !without.is_empty() && trials.explains(&with) {
            let missing: Vec<&str> = without.into_keys().collect();
            let text = format!("the assignor did not have the metadata of {} yet", missing.join(", "));
            return Explanation::OtherMetadata(text);
        }
    }
    for snapshot in older.filter(|_| has_more) {
        if trials.explains(&recorded.known_topics(snapshot)) {
            let age = i128::from(first.time) - i128::from(snapshot.time);
            let text = format!("the assignor used topic metadata that was {age} ms older than the latest");
            return Explanation::OtherMetadata(text);
        }
    }
    let has_counts = recorded.shared.is_none();
    if has_only_later
        && has_counts
        && let Some(counts) = trials.describe_counts(&assigned, &before)
    {
        let text = format!(
            "the recorded assignment equals the answer of Kafka's assignor if {counts} at that time; all topic \
             metadata is later than the assignment"
        );
        return Explanation::OtherMetadata(text);
    }
    Explanation::Unexplained(match expected {
        Ok(expected) => recorded.difference(&expected),
        Err(error) => error.to_string(),
    })
}

/// Topic metadata that was already compared with a recorded assignment, so that each is compared only once.
struct Trials<'a, 'b> {
    recorded: &'b RecordedAssignment<'a>,
    tried: Vec<KnownTopics<'a>>,
}

impl<'a> Trials<'a, '_> {
    /// Return true if the assignor gives the recorded assignment for topics that were not tried before.
    fn explains(&mut self, known: &KnownTopics<'a>) -> bool {
        if self.tried.iter().any(|tried| is_same(tried, known)) {
            return false;
        }
        self.tried.push(known.clone());
        self.is_recorded(&self.recorded.answer(known))
    }

    /// Return the numbers of partitions with which the assignor gives the recorded assignment, as text.
    ///
    /// Each topic has the partitions up to the highest assigned one. Return None if the assignor gives another assignment for these
    /// numbers, or if they are those of `first`, the topics of the first snapshot.
    fn describe_counts(&self, assigned: &AssignedPartitions<'a, '_>, first: &KnownTopics<'a>) -> Option<String> {
        let mut counted = BTreeMap::new();
        let mut named = Vec::new();
        for topic in self.recorded.subscribed_topics() {
            let (known, id) = first.get(topic).map_or((None, ""), |(known, id)| (Some(*known), *id));
            let ids: Vec<i32> = assigned.ids(self.recorded.key(topic, id)).collect();
            let Some(last) = ids.last() else { continue };
            let count = usize::try_from(*last).ok()? + 1;
            let partitions = match known {
                Some(known) if matches!(known.ids, Ids::Count(_)) && known.ids.len() >= count => Partitions {
                    ids: Ids::Count(count as u32),
                    racks: known.racks.as_ref().map(|racks| racks[..count].to_vec()),
                },
                // An id in a record can be any number, so it counts only if all lower ones are assigned, too.
                _ if ids.len() == count => Partitions::counted(count as u32),
                _ => return None,
            };
            if known.is_none_or(|known| known.ids.len() != count) {
                named.push(format!("topic {topic} had {count} partition{}", if count == 1 { "" } else { "s" }));
            }
            counted.insert(topic, (partitions, id));
        }
        let known = counted.iter().map(|(topic, (partitions, id))| (*topic, (partitions, *id))).collect();
        (!named.is_empty() && self.is_recorded(&self.recorded.answer(&known))).then(|| named.join(" and "))
    }

    fn is_recorded(&self, expected: &Result<Vec<OwnedPartitions>, NoAnswer>) -> bool {
        expected.as_ref().is_ok_and(|expected| expected.iter().eq(self.recorded.recorded()))
    }
}

fn is_same(left: &KnownTopics<'_>, right: &KnownTopics<'_>) -> bool {
    let is_same = |(left, right): (&Partitions, &Partitions)| left.ids == right.ids && left.racks == right.racks;
    left.len() == right.len()
        && left
            .iter()
            .zip(right)
            .all(|(left, right)| (left.0, left.1.1) == (right.0, right.1.1) && is_same((left.1.0, right.1.0)))
}

/// Partitions of a recorded assignment, by key of the topic.
struct AssignedPartitions<'a, 'b> {
    recorded: &'b RecordedAssignment<'a>,
    partitions: BTreeSet<(&'a str, i32)>,
}

impl<'a, 'b> AssignedPartitions<'a, 'b> {
    fn of(recorded: &'b RecordedAssignment<'a>) -> Self {
        let entries = recorded.recorded().flatten();
        let partitions = entries.flat_map(|(key, ids)| ids.iter().map(|id| (key.as_str(), *id))).collect();
        Self { recorded, partitions }
    }

    fn has_topic(&self, key: &str) -> bool {
        self.ids(key).next().is_some()
    }

    fn ids<'c>(&'c self, key: &'c str) -> impl Iterator<Item = i32> + 'c {
        self.partitions.range((key, i32::MIN)..=(key, i32::MAX)).map(|(_, id)| *id)
    }

    /// Choose the metadata of each topic from one of two snapshots.
    ///
    /// The first snapshot is used if it has all assigned partitions of the topic. If the topic's ids in the two snapshots differ, and none
    /// of its partitions is assigned under the first id, the second snapshot is used. A topic that is in one snapshot only is included
    /// if some of its partitions are assigned.
    fn mixture(&self, before: &KnownTopics<'a>, after: &KnownTopics<'a>) -> KnownTopics<'a> {
        let topics: BTreeSet<&'a str> = before.keys().chain(after.keys()).copied().collect();
        let choose = |topic: &'a str| match (before.get(topic), after.get(topic)) {
            (Some(first), Some(last)) => {
                let key = self.recorded.key(topic, first.1);
                let has_all = self.ids(key).all(|id| first.0.ids.position(id).is_some());
                let is_of_first = has_all && (first.1 == last.1 || self.has_topic(key));
                Some((topic, if is_of_first { *first } else { *last }))
            }
            (one, other) => {
                let known = one.or(other)?;
                self.has_topic(self.recorded.key(topic, known.1)).then_some((topic, *known))
            }
        };
        topics.into_iter().filter_map(choose).collect()
    }
}
