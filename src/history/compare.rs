//! Comparison of recorded generations with the answer of the assignor that their group uses.
//!
//! A log has the time of each generation, and a recording has topic metadata for some times only: the metadata that the leader
//! used is not recorded. It may be that of the last snapshot at or before the generation, that of the first one after it, or
//! a mixture of both. A generation is *equal* if the assignor gives the recorded assignment for either snapshot.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::metadata::{Metadata, MetadataSnapshot};
use crate::assign::{Assignor, Options, assign};
use crate::group::{Group, Topics};
use crate::replay::{OwnedPartitions, ParsedMember, ParsedSubscription};

/// Outcome of the comparison of a generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ComparisonOutcome {
    /// The assignor gives exactly the recorded assignment.
    Equal,
    /// The assignor gives another assignment.
    Different,
    /// Not compared: the subscription or assignment of a member cannot be read.
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
    /// Assignor whose answer was compared.
    pub assignor: Assignor,
    /// Outcome of the comparison.
    pub outcome: ComparisonOutcome,
    /// Sentences: why the generation is not equal, and which subscriptions Kafka's reader refuses.
    pub remarks: Vec<String>,
}

/// Compare the assignment of a generation with the answer of an assignor. Return `Unknown` if a member cannot be read, and None
/// if there is no topic metadata otherwise.
#[must_use]
pub fn compare(assignor: Assignor, parsed: &[ParsedMember], time: i64, metadata: &Metadata) -> Option<Comparison> {
    let mut remarks = Vec::new();
    let mut members = Vec::with_capacity(parsed.len());
    for member in parsed {
        match (&member.subscription, &member.assignment) {
            (Ok(subscription), Ok(owned)) => {
                if let Some(reason) = &subscription.refused {
                    remarks.push(format!("Kafka's own reader refuses the subscription of {}: {reason}", member.id));
                }
                members.push((member, subscription, owned));
            }
            (subscription, assignment) => {
                for (what, error) in
                    [("subscription", subscription.as_ref().err()), ("assignment", assignment.as_ref().err())]
                {
                    remarks.extend(error.map(|error| format!("the {what} of {} cannot be read: {error}", member.id)));
                }
            }
        }
    }
    if members.len() < parsed.len() {
        return Some(Comparison { assignor, outcome: ComparisonOutcome::Unknown, remarks });
    }
    let snapshots: Vec<&MetadataSnapshot> = metadata.around(time).collect();
    let first = *snapshots.first()?;
    let generation = ReadableGeneration { assignor, members, metadata };
    if snapshots.iter().any(|snapshot| generation.is_explained_by(snapshot, |_| true)) {
        return Some(Comparison { assignor, outcome: ComparisonOutcome::Equal, remarks });
    }
    let missing = generation.missing_metadata(&snapshots);
    remarks.push(missing.unwrap_or_else(|| generation.difference(first)));
    Some(Comparison { assignor, outcome: ComparisonOutcome::Different, remarks })
}

/// Generation whose subscriptions and assignments can all be read.
struct ReadableGeneration<'a> {
    assignor: Assignor,
    members: Vec<(&'a ParsedMember, &'a ParsedSubscription, &'a OwnedPartitions)>,
    metadata: &'a Metadata,
}

impl<'a> ReadableGeneration<'a> {
    /// Return the recorded assignment.
    fn recorded(&self) -> impl Iterator<Item = &'a OwnedPartitions> {
        self.members.iter().map(|(_, _, owned)| *owned)
    }

    /// Return the names of the subscribed topics.
    fn subscribed_topics(&self) -> BTreeSet<&'a str> {
        self.members.iter().flat_map(|(_, subscription, _)| &subscription.topics).map(String::as_str).collect()
    }

    /// Return the partitions that the assignor gives each member, with the topics of a snapshot that `is_known` selects.
    fn answer(&self, snapshot: &MetadataSnapshot, is_known: impl Fn(&str) -> bool) -> Vec<OwnedPartitions> {
        let known = self.subscribed_topics().into_iter().filter(|topic| is_known(topic));
        let topics = known.filter_map(|topic| Some((topic, snapshot.topics.get(topic)?.clone())));
        let mut group = Group::new(Arc::new(Topics::new(topics, self.metadata.racks.clone())), self.members.len());
        for (member, subscription, _) in &self.members {
            let mut topics = subscription.topics.iter().map(|topic| group.topic_number(topic)).collect();
            let number = group.intern_subscription(&mut topics);
            group.push(&member.id, number, member.instance_id.as_deref(), subscription.rack.as_deref());
        }
        let plan = assign(&Arc::new(group), Options { assignor: self.assignor, ..Options::default() });
        let partitions_of = |member| {
            let mut partitions = OwnedPartitions::new();
            for span in plan.spans_of(member) {
                let ids = partitions.entry(plan.topics().get(span.topic as usize).to_owned()).or_default();
                ids.extend(span.ids());
            }
            partitions
        };
        (0..self.members.len()).map(partitions_of).collect()
    }

    fn is_explained_by(&self, snapshot: &MetadataSnapshot, is_known: impl Fn(&str) -> bool) -> bool {
        self.answer(snapshot, is_known).iter().eq(self.recorded())
    }

    /// Name the topics whose metadata the leader did not have yet, if that explains the recorded assignment.
    fn missing_metadata(&self, snapshots: &[&MetadataSnapshot]) -> Option<String> {
        let assigned: BTreeSet<&str> = self.recorded().flat_map(|owned| owned.keys()).map(String::as_str).collect();
        let is_known = |topic: &str| assigned.contains(topic);
        let snapshot = snapshots.iter().find(|snapshot| self.is_explained_by(snapshot, is_known))?;
        let is_missing = |topic: &&str| snapshot.topics.contains_key(*topic) && !is_known(topic);
        let missing: Vec<&str> = self.subscribed_topics().into_iter().filter(is_missing).collect();
        Some(format!("assigned before the metadata of {} had arrived", missing.join(", ")))
    }

    /// Describe how the recorded assignment differs from the answer of the assignor.
    fn difference(&self, snapshot: &MetadataSnapshot) -> String {
        let expected = self.answer(snapshot, |_| true);
        let differing = self.recorded().zip(&expected).filter(|(recorded, expected)| recorded != expected).count();
        let same_partitions = sorted(self.recorded()) == sorted(&expected);
        format!(
            "not the {} rules: {differing} of {} members have other partitions{}",
            self.assignor.name(),
            self.members.len(),
            if same_partitions { ", though every partition is handed out once" } else { "" }
        )
    }
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
    fn the_snapshot_before_or_after_may_explain_an_assignment() {
        let members = [parsed("a", &["t"], &[("t", &[0, 1])]), parsed("b", &["t"], &[("t", &[2])])];
        let known = metadata(&[(10, &[("t", 2)]), (20, &[("t", 3)]), (30, &[("t", 4)])]);

        let outcomes =
            [5, 10, 15, 20, 25, 30, 99].map(|time| compare(Assignor::Range, &members, time, &known).unwrap().outcome);

        let (equal, different) = (ComparisonOutcome::Equal, ComparisonOutcome::Different);
        assert_eq!([different, equal, equal, equal, equal, different, different], outcomes);
    }

    #[test]
    fn a_topic_that_the_leader_did_not_know_yet_is_named() {
        let members = [parsed("a", &["t", "u"], &[("t", &[0])]), parsed("b", &["t", "u"], &[("t", &[1])])];

        let comparison = compare(Assignor::Range, &members, 15, &metadata(&[(10, &[("t", 2), ("u", 2)])])).unwrap();

        assert_eq!(vec!["assigned before the metadata of u had arrived"], comparison.remarks);
        assert_eq!(ComparisonOutcome::Different, comparison.outcome);
    }

    #[test]
    fn another_assignor_under_the_name_of_range_is_noticed() {
        let members = [parsed("a", &["t"], &[("t", &[0, 2])]), parsed("b", &["t"], &[("t", &[1])])];

        let comparison = compare(Assignor::Range, &members, 15, &metadata(&[(10, &[("t", 3)])])).unwrap();

        let said =
            "not the range rules: 2 of 2 members have other partitions, though every partition is handed out once";
        assert_eq!(vec![said], comparison.remarks);
    }

    #[test]
    fn without_metadata_there_is_nothing_to_compare_with() {
        assert_eq!(None, compare(Assignor::Range, &[parsed("a", &["t"], &[("t", &[0])])], 15, &metadata(&[])));
    }

    #[test]
    fn what_cannot_be_read_is_unknown_and_says_whose_it_is() {
        let mut member = parsed("a", &["t"], &[]);
        member.subscription = Err("2 bytes are needed".into());

        let comparison = compare(Assignor::Range, &[member], 15, &metadata(&[])).unwrap();

        assert_eq!(ComparisonOutcome::Unknown, comparison.outcome);
        assert_eq!(vec!["the subscription of a cannot be read: 2 bytes are needed"], comparison.remarks);
    }
}
