//! Comparison of recorded generations with the answer of the assignor that their group uses.
//!
//! A log has the time of each generation, and a recording has topic metadata for some times only. The metadata that the
//! leader used is that of the last snapshot before the generation, that of the first snapshot after it, or a mixture of
//! both. A generation is *equal* if the assignor gives the recorded assignment for either snapshot.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::metadata::{Metadata, MetadataSnapshot};
use crate::assign::{Options, assign};
use crate::group::{Group, Topics};
use crate::replay::{OwnedPartitions, ParsedMember, ParsedSubscription};

/// Outcome of the comparison of a generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ComparisonOutcome {
    /// The assignor gives exactly the recorded assignment.
    Equal,
    /// The assignor gives another assignment.
    Different,
    /// Not compared: the bytes of a member cannot be read.
    Unknown,
}

impl ComparisonOutcome {
    /// Return the name that tables and Python use.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Equal => "equal",
            Self::Different => "different",
            Self::Unknown => "unknown",
        }
    }
}

/// Result of the comparison of a generation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comparison {
    /// Whether the assignments are equal.
    pub outcome: ComparisonOutcome,
    /// Reasons why the generation is not equal, and blobs that Kafka refuses; in sentences.
    pub remarks: Vec<String>,
}

/// Compare the assignment of a generation with the answer of its assignor. None if all members can be read and there is no
/// topic metadata.
#[must_use]
pub fn compare(parsed: &[ParsedMember], time: i64, metadata: &Metadata) -> Option<Comparison> {
    let mut remarks = Vec::new();
    let mut members = Vec::with_capacity(parsed.len());
    let mut unreadable = false;
    for member in parsed {
        match (&member.subscription, &member.assignment) {
            (Ok(read), Ok(owned)) => {
                if let Some(reason) = &read.refused {
                    remarks.push(format!("Kafka's own reader refuses the subscription of {}: {reason}", member.id));
                }
                members.push((member, read, owned));
            }
            (subscription, assignment) => {
                unreadable = true;
                for (what, error) in
                    [("subscription", subscription.as_ref().err()), ("assignment", assignment.as_ref().err())]
                {
                    remarks.extend(error.map(|error| format!("the {what} of {} cannot be read: {error}", member.id)));
                }
            }
        }
    }
    if unreadable {
        return Some(Comparison { outcome: ComparisonOutcome::Unknown, remarks });
    }
    let snapshots: Vec<&MetadataSnapshot> = metadata.around(time).collect();
    let first = *snapshots.first()?;
    let recorded: Vec<&OwnedPartitions> = members.iter().map(|(_, _, owned)| *owned).collect();
    if snapshots.iter().any(|snapshot| same(&answer(&members, snapshot, metadata, |_| true), &recorded)) {
        return Some(Comparison { outcome: ComparisonOutcome::Equal, remarks });
    }
    let reason = missing_metadata(&members, &recorded, &snapshots, metadata);
    remarks.push(reason.unwrap_or_else(|| difference(&members, &recorded, first, metadata)));
    Some(Comparison { outcome: ComparisonOutcome::Different, remarks })
}

type ReadableMember<'a> = (&'a ParsedMember, &'a ParsedSubscription, &'a OwnedPartitions);

/// Return the partitions that the assignor gives each member, with the topics of a snapshot that `known` selects.
fn answer(
    members: &[ReadableMember<'_>],
    snapshot: &MetadataSnapshot,
    metadata: &Metadata,
    known: impl Fn(&str) -> bool,
) -> Vec<OwnedPartitions> {
    let wanted: BTreeSet<&str> =
        members.iter().flat_map(|(_, subscription, _)| &subscription.topics).map(String::as_str).collect();
    let known = wanted.into_iter().filter(|topic| known(topic));
    let topics = known.filter_map(|topic| Some((topic, snapshot.topics.get(topic)?.clone())));
    let mut group = Group::new(Arc::new(Topics::new(topics, metadata.racks.clone())), members.len());
    for (member, subscription, _) in members {
        let mut wanted = subscription.topics.iter().map(|topic| group.topic_number(topic)).collect();
        let class = group.intern_subscription(&mut wanted);
        group.push(&member.id, class, member.instance_id.as_deref(), subscription.rack.as_deref());
    }
    let plan = assign(&Arc::new(group), Options::default());
    (0..members.len())
        .map(|member| {
            let mut partitions = OwnedPartitions::new();
            for span in plan.spans_of(member) {
                let ids = partitions.entry(plan.topics().get(span.topic as usize).to_owned()).or_default();
                ids.extend(span.ids());
            }
            partitions
        })
        .collect()
}

/// Name the topics whose metadata the leader did not have yet, if that explains the recorded assignment.
fn missing_metadata(
    members: &[ReadableMember<'_>],
    recorded: &[&OwnedPartitions],
    snapshots: &[&MetadataSnapshot],
    metadata: &Metadata,
) -> Option<String> {
    let assigned: BTreeSet<&str> = recorded.iter().flat_map(|owned| owned.keys()).map(String::as_str).collect();
    let known = |topic: &str| assigned.contains(topic);
    let snapshot = snapshots.iter().find(|snapshot| same(&answer(members, snapshot, metadata, known), recorded))?;
    let missing: BTreeSet<&str> = members
        .iter()
        .flat_map(|(_, subscription, _)| &subscription.topics)
        .map(String::as_str)
        .filter(|topic| snapshot.topics.contains_key(*topic) && !known(topic))
        .collect();
    let missing: Vec<&str> = missing.into_iter().collect();
    Some(format!("assigned before the metadata of {} had arrived", missing.join(", ")))
}

/// Describe how an assignment differs from the answer of the assignor.
fn difference(
    members: &[ReadableMember<'_>],
    recorded: &[&OwnedPartitions],
    snapshot: &MetadataSnapshot,
    metadata: &Metadata,
) -> String {
    let expected = answer(members, snapshot, metadata, |_| true);
    let differing = recorded.iter().zip(&expected).filter(|(recorded, expected)| **recorded != *expected).count();
    let same_partitions = sorted(recorded.iter().copied()) == sorted(&expected);
    format!(
        "not the range rules: {differing} of {} members have other partitions{}",
        members.len(),
        if same_partitions { ", though every partition is handed out once" } else { "" }
    )
}

fn same(expected: &[OwnedPartitions], recorded: &[&OwnedPartitions]) -> bool {
    expected.iter().eq(recorded.iter().copied())
}

/// Return all assigned partitions in order.
fn sorted<'a>(assignments: impl IntoIterator<Item = &'a OwnedPartitions>) -> Vec<(&'a str, i32)> {
    let flat = assignments.into_iter().flatten().flat_map(|(topic, ids)| ids.iter().map(|id| (topic.as_str(), *id)));
    let mut all: Vec<_> = flat.collect();
    all.sort_unstable();
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::group::Partitions;

    fn parsed(id: &str, topics: &[&str], assigned: &[(&str, &[i32])]) -> ParsedMember {
        ParsedMember {
            id: id.into(),
            instance_id: None,
            subscription: Ok(ParsedSubscription {
                topics: topics.iter().map(ToString::to_string).collect(),
                rack: None,
                refused: None,
            }),
            assignment: Ok(assigned.iter().map(|(topic, ids)| ((*topic).to_string(), ids.to_vec())).collect()),
        }
    }

    fn metadata(snapshots: &[(i64, &[(&str, u32)])]) -> Metadata {
        let snapshot = |(time, topics): &(i64, &[(&str, u32)])| MetadataSnapshot {
            time: *time,
            topics: topics.iter().map(|(name, count)| ((*name).into(), Partitions::counted(*count))).collect(),
        };
        Metadata { snapshots: snapshots.iter().map(snapshot).collect(), ..Metadata::default() }
    }

    #[test]
    fn the_moment_before_or_the_one_after_may_explain_an_assignment() {
        let members = [parsed("a", &["t"], &[("t", &[0, 1])]), parsed("b", &["t"], &[("t", &[2])])];
        let known = metadata(&[(10, &[("t", 2)]), (20, &[("t", 3)]), (30, &[("t", 4)])]);

        let outcomes = [5, 10, 15, 20, 25, 30, 99].map(|time| compare(&members, time, &known).unwrap().outcome);

        let (equal, different) = (ComparisonOutcome::Equal, ComparisonOutcome::Different);
        assert_eq!([different, equal, equal, equal, equal, different, different], outcomes);
    }

    #[test]
    fn a_topic_that_the_leader_did_not_know_yet_is_named() {
        let members = [parsed("a", &["t", "u"], &[("t", &[0])]), parsed("b", &["t", "u"], &[("t", &[1])])];

        let comparison = compare(&members, 15, &metadata(&[(10, &[("t", 2), ("u", 2)])])).unwrap();

        assert_eq!(vec!["assigned before the metadata of u had arrived"], comparison.remarks);
        assert_eq!(ComparisonOutcome::Different, comparison.outcome);
    }

    #[test]
    fn another_assignor_under_the_name_of_range_is_noticed() {
        let members = [parsed("a", &["t"], &[("t", &[0, 2])]), parsed("b", &["t"], &[("t", &[1])])];

        let comparison = compare(&members, 15, &metadata(&[(10, &[("t", 3)])])).unwrap();

        let said =
            "not the range rules: 2 of 2 members have other partitions, though every partition is handed out once";
        assert_eq!(vec![said], comparison.remarks);
    }

    #[test]
    fn without_metadata_there_is_nothing_to_compare_with() {
        assert_eq!(None, compare(&[parsed("a", &["t"], &[("t", &[0])])], 15, &metadata(&[])));
    }

    #[test]
    fn what_cannot_be_read_is_unknown_and_says_whose_it_is() {
        let mut member = parsed("a", &["t"], &[]);
        member.subscription = Err("2 bytes are needed".into());

        let comparison = compare(&[member], 15, &metadata(&[])).unwrap();

        assert_eq!(ComparisonOutcome::Unknown, comparison.outcome);
        assert_eq!(vec!["the subscription of a cannot be read: 2 bytes are needed"], comparison.remarks);
    }
}
