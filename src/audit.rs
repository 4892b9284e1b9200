//! Compares what a leader assigned with what the range rules give.
//!
//! A log says when a generation began, and metadata is known for some moments only. The leader's own metadata was that of
//! the last moment before the generation or of the first one after it, or something in between; an assignment is *equal*
//! when either moment explains it.

use std::collections::BTreeSet;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::group::{Group, Partitions as TopicPartitions, Racks, Topics};
use crate::range;
use crate::replay::{Joined, Partitions, Reading};

/// The topics of a cluster at one moment.
#[derive(Debug, Clone)]
pub struct Moment {
    /// Milliseconds since 1970.
    pub time: i64,
    /// The topics by name.
    pub topics: FxHashMap<String, TopicPartitions>,
}

/// What is known of a cluster's topics over time.
#[derive(Debug, Clone, Default)]
pub struct Metadata {
    /// The moments, by time.
    pub moments: Vec<Moment>,
    /// The racks of all of them.
    pub racks: Racks,
    /// Topic ids, as Kafka writes them, to names.
    pub names: FxHashMap<String, String>,
}

impl Metadata {
    /// The last moment before a time (or at it) and the first one after it.
    pub fn around(&self, time: i64) -> impl Iterator<Item = &Moment> {
        let after = self.moments.partition_point(|moment| moment.time <= time);
        self.moments[after.saturating_sub(1)..self.moments.len().min(after + 1)].iter()
    }
}

/// How a generation compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The range rules give exactly what the leader gave.
    Equal,
    /// They give something else.
    Different,
    /// It cannot be said: a member's bytes cannot be read.
    Unknown,
}

impl Outcome {
    /// The name under which tables and Python show it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Equal => "equal",
            Self::Different => "different",
            Self::Unknown => "unknown",
        }
    }
}

/// What was found about a generation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// How it compares.
    pub outcome: Outcome,
    /// Why it is not equal, and what else there is to know; in sentences.
    pub remarks: Vec<String>,
}

/// Says whether the range rules explain what the members of a generation were given; None where everything can be read and
/// there is no topic metadata to compare with.
#[must_use]
pub fn judge(joined: &[Joined], time: i64, metadata: &Metadata) -> Option<Verdict> {
    let mut remarks = Vec::new();
    let mut members = Vec::with_capacity(joined.len());
    let mut unreadable = false;
    for member in joined {
        match (&member.subscription, &member.assignment) {
            (Ok(reading), Ok(given)) => {
                if let Some(reason) = &reading.refused {
                    remarks.push(format!("Kafka's own reader refuses the subscription of {}: {reason}", member.id));
                }
                members.push((member, reading, given));
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
        return Some(Verdict { outcome: Outcome::Unknown, remarks });
    }
    let moments: Vec<&Moment> = metadata.around(time).collect();
    let first = *moments.first()?;
    let given: Vec<&Partitions> = members.iter().map(|(_, _, given)| *given).collect();
    if moments.iter().any(|moment| same(&range_of(&members, moment, metadata, |_| true), &given)) {
        return Some(Verdict { outcome: Outcome::Equal, remarks });
    }
    let reason = too_early(&members, &given, &moments, metadata);
    remarks.push(reason.unwrap_or_else(|| not_range(&members, &given, first, metadata)));
    Some(Verdict { outcome: Outcome::Different, remarks })
}

type Readable<'a> = (&'a Joined, &'a Reading, &'a Partitions);

/// What the range rules give each member, with the topics of a moment that `known` lets through.
fn range_of(
    members: &[Readable<'_>],
    moment: &Moment,
    metadata: &Metadata,
    known: impl Fn(&str) -> bool,
) -> Vec<Partitions> {
    let wanted: BTreeSet<&str> =
        members.iter().flat_map(|(_, reading, _)| &reading.topics).map(String::as_str).collect();
    let known = wanted.into_iter().filter(|topic| known(topic));
    let topics = known.filter_map(|topic| Some((topic, moment.topics.get(topic)?.clone())));
    let mut group = Group::new(Arc::new(Topics::new(topics, metadata.racks.clone())), members.len());
    for (joined, reading, _) in members {
        let mut wanted = reading.topics.iter().map(|topic| group.topic_number(topic)).collect();
        let class = group.class(&mut wanted);
        group.push(&joined.id, class, joined.instance_id.as_deref(), reading.rack.as_deref());
    }
    let plan = range::assign(&Arc::new(group), false);
    (0..members.len())
        .map(|member| {
            let mut partitions = Partitions::new();
            for span in plan.spans_of(member) {
                let ids = partitions.entry(plan.topics().get(span.topic as usize).to_owned()).or_default();
                ids.extend(span.ids());
            }
            partitions
        })
        .collect()
}

/// Which topics the leader did not know yet, if that explains what it assigned.
fn too_early(
    members: &[Readable<'_>],
    given: &[&Partitions],
    moments: &[&Moment],
    metadata: &Metadata,
) -> Option<String> {
    let assigned: BTreeSet<&str> = given.iter().flat_map(|given| given.keys()).map(String::as_str).collect();
    let known = |topic: &str| assigned.contains(topic);
    let moment = moments.iter().find(|moment| same(&range_of(members, moment, metadata, known), given))?;
    let missing: BTreeSet<&str> = members
        .iter()
        .flat_map(|(_, reading, _)| &reading.topics)
        .map(String::as_str)
        .filter(|topic| moment.topics.contains_key(*topic) && !known(topic))
        .collect();
    let missing: Vec<&str> = missing.into_iter().collect();
    Some(format!("assigned before the metadata of {} had arrived", missing.join(", ")))
}

/// How an assignment differs from what the range rules give.
fn not_range(members: &[Readable<'_>], given: &[&Partitions], moment: &Moment, metadata: &Metadata) -> String {
    let expected = range_of(members, moment, metadata, |_| true);
    let differing = given.iter().zip(&expected).filter(|(given, expected)| **given != *expected).count();
    let same_partitions = sorted(given.iter().copied()) == sorted(&expected);
    format!(
        "not the range rules: {differing} of {} members have other partitions{}",
        members.len(),
        if same_partitions { ", though every partition is handed out once" } else { "" }
    )
}

fn same(expected: &[Partitions], given: &[&Partitions]) -> bool {
    expected.iter().eq(given.iter().copied())
}

/// All partitions handed out, in order.
fn sorted<'a>(given: impl IntoIterator<Item = &'a Partitions>) -> Vec<(&'a str, i32)> {
    let flat = given.into_iter().flatten().flat_map(|(topic, ids)| ids.iter().map(|id| (topic.as_str(), *id)));
    let mut all: Vec<_> = flat.collect();
    all.sort_unstable();
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(id: &str, topics: &[&str], given: &[(&str, &[i32])]) -> Joined {
        Joined {
            id: id.into(),
            instance_id: None,
            subscription: Ok(Reading {
                topics: topics.iter().map(ToString::to_string).collect(),
                rack: None,
                refused: None,
            }),
            assignment: Ok(given.iter().map(|(topic, ids)| ((*topic).to_string(), ids.to_vec())).collect()),
        }
    }

    fn metadata(moments: &[(i64, &[(&str, u32)])]) -> Metadata {
        let moment = |(time, topics): &(i64, &[(&str, u32)])| Moment {
            time: *time,
            topics: topics.iter().map(|(name, count)| ((*name).into(), TopicPartitions::counted(*count))).collect(),
        };
        Metadata { moments: moments.iter().map(moment).collect(), ..Metadata::default() }
    }

    #[test]
    fn the_moment_before_or_the_one_after_may_explain_an_assignment() {
        let members = [joined("a", &["t"], &[("t", &[0, 1])]), joined("b", &["t"], &[("t", &[2])])];
        let known = metadata(&[(10, &[("t", 2)]), (20, &[("t", 3)]), (30, &[("t", 4)])]);

        let outcomes = [5, 10, 15, 20, 25, 30, 99].map(|time| judge(&members, time, &known).unwrap().outcome);

        let (equal, different) = (Outcome::Equal, Outcome::Different);
        assert_eq!([different, equal, equal, equal, equal, different, different], outcomes);
    }

    #[test]
    fn a_topic_that_the_leader_did_not_know_yet_is_named() {
        let members = [joined("a", &["t", "u"], &[("t", &[0])]), joined("b", &["t", "u"], &[("t", &[1])])];

        let verdict = judge(&members, 15, &metadata(&[(10, &[("t", 2), ("u", 2)])])).unwrap();

        assert_eq!(vec!["assigned before the metadata of u had arrived"], verdict.remarks);
        assert_eq!(Outcome::Different, verdict.outcome);
    }

    #[test]
    fn another_assignor_under_the_name_of_range_is_noticed() {
        let members = [joined("a", &["t"], &[("t", &[0, 2])]), joined("b", &["t"], &[("t", &[1])])];

        let verdict = judge(&members, 15, &metadata(&[(10, &[("t", 3)])])).unwrap();

        let said =
            "not the range rules: 2 of 2 members have other partitions, though every partition is handed out once";
        assert_eq!(vec![said], verdict.remarks);
    }

    #[test]
    fn without_metadata_there_is_nothing_to_compare_with() {
        assert_eq!(None, judge(&[joined("a", &["t"], &[("t", &[0])])], 15, &metadata(&[])));
    }

    #[test]
    fn what_cannot_be_read_is_unknown_and_says_whose_it_is() {
        let mut member = joined("a", &["t"], &[]);
        member.subscription = Err("2 bytes are needed".into());

        let verdict = judge(&[member], 15, &metadata(&[])).unwrap();

        assert_eq!(Outcome::Unknown, verdict.outcome);
        assert_eq!(vec!["the subscription of a cannot be read: 2 bytes are needed"], verdict.remarks);
    }
}
