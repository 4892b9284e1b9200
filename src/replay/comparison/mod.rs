//! Comparison of recorded generations and epochs with the answers of their assignors.
//!
//! The metadata that the leader or the broker used is not recorded: a recording has snapshots of topic metadata at some times only.
//! A generation is *equal* if the assignor gives the recorded assignment for the metadata around its time.

use std::sync::Arc;

use super::classic::ParsedMember;
use super::generation::Generation;
use super::metadata::{Metadata, MetadataSnapshot};
use super::target::TargetAssignment;
use crate::assign::{Assignor, GroupProtocol};

mod assignment;
mod explanation;
mod leader;

use assignment::{AssignedMember, RecordedAssignment};
use explanation::{Explanation, explain};
use leader::other_client;

/// Outcome of the comparison of a generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ComparisonOutcome {
    /// The assignor gives exactly the recorded assignment.
    Equal,
    /// The assignor gives another assignment.
    Different,
    /// Not compared: the subscription or assignment of a member cannot be parsed.
    Unknown,
}

impl ComparisonOutcome {
    /// Return the name in tables and in Python.
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
    /// The assignor whose answer was compared.
    pub assignor: Assignor,
    /// The outcome.
    pub outcome: ComparisonOutcome,
    /// Reasons why the generation is not equal, and subscriptions that Kafka rejects.
    pub remarks: Vec<String>,
}

/// Compare a generation or epoch with the answer of its assignor; `before` is the generation of the group record before it.
pub(super) fn compare_generation(
    generation: &Generation,
    before: Option<i32>,
    metadata: &Metadata,
) -> Option<Comparison> {
    if let Some(target) = &generation.target {
        return compare_target(target, metadata);
    }
    let assignor = Assignor::named(GroupProtocol::Classic, generation.protocol.as_ref()?)?;
    // A record that repeats a generation also repeats its assignment, which was computed for the earlier record. Only range
    // is compared again.
    if assignor != Assignor::Range && before == Some(generation.number) {
        return None;
    }
    let members = generation.parsed_members.as_ref()?;
    compare(assignor, members, generation.leader.as_deref(), generation.timestamp, metadata)
}

/// Compare the assignment of a generation with the answer of a classic assignor.
///
/// The outcome is `Unknown` if a member cannot be parsed. Return None if all members can be parsed but there is no topic metadata.
fn compare(
    assignor: Assignor,
    parsed: &[Arc<ParsedMember>],
    leader: Option<&str>,
    time: i64,
    metadata: &Metadata,
) -> Option<Comparison> {
    let mut remarks = Vec::new();
    let mut members = Vec::with_capacity(parsed.len());
    for member in parsed {
        match (&member.subscription, &member.assignment) {
            (Ok(subscription), Ok(assigned)) => {
                if let Some(reason) = &subscription.strict_error {
                    remarks.push(format!("Kafka cannot parse the subscription of {}: {reason}", member.id));
                }
                members.push(AssignedMember::of_generation(member, subscription, assigned));
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
    let recorded = RecordedAssignment { assignor, members, metadata };
    let explanation = explain_at(&recorded, time)?;
    let leader = leader.filter(|_| matches!(explanation, Explanation::Unexplained(_)));
    let mut comparison = Comparison::of(assignor, explanation, remarks);
    comparison.remarks.extend(leader.and_then(|leader| other_client(assignor, parsed, leader)));
    Some(comparison)
}

/// Compare a target assignment with the answer of the broker's assignor.
///
/// If several assignors have the most votes, one equal answer is enough. Return None if an assignor is not one of Kafka's, if
/// there is no topic metadata or, except for range, if the log lacks the previous target assignment.
fn compare_target(target: &TargetAssignment, metadata: &Metadata) -> Option<Comparison> {
    let compare = |name: &String| {
        let assignor = Assignor::named(GroupProtocol::Consumer, name)?;
        if assignor != Assignor::ServerRange && !target.has_predecessor {
            return None;
        }
        let recorded = RecordedAssignment { assignor, members: AssignedMember::of_target(target), metadata };
        Some(Comparison::of(assignor, explain_at(&recorded, target.timestamp)?, Vec::new()))
    };
    let comparisons = target.assignors.iter().map(compare).collect::<Option<Vec<_>>>()?;
    let equal = comparisons.iter().position(|found| found.outcome == ComparisonOutcome::Equal);
    comparisons.into_iter().nth(equal.unwrap_or(0))
}

/// Explain an assignment; return None if there is no topic metadata.
fn explain_at(recorded: &RecordedAssignment<'_>, time: i64) -> Option<Explanation> {
    let around: Vec<&MetadataSnapshot> = recorded.metadata.around(time).collect();
    let (first, last) = (*around.first()?, *around.last()?);
    let older = recorded.metadata.snapshots.iter().rev().filter(|snapshot| snapshot.time < first.time);
    Some(explain(recorded, first, last, older, first.time > time))
}

impl Comparison {
    fn of(assignor: Assignor, explanation: Explanation, mut remarks: Vec<String>) -> Self {
        let outcome = match explanation {
            Explanation::Metadata => ComparisonOutcome::Equal,
            Explanation::OtherMetadata(remark) | Explanation::Unexplained(remark) => {
                remarks.push(remark);
                ComparisonOutcome::Different
            }
        };
        Self { assignor, outcome, remarks }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::group::Partitions;
    use crate::replay::classic::ParsedSubscription;

    fn parsed(id: &str, topics: &[&str], assigned: &[(&str, &[i32])]) -> Arc<ParsedMember> {
        Arc::new(ParsedMember {
            id: id.into(),
            instance_id: None,
            client_id: String::new(),
            client_host: String::new(),
            session_timeout: 0,
            rebalance_timeout: None,
            metadata: [].into(),
            subscription: Ok(ParsedSubscription {
                version: 3,
                topics: topics.iter().map(ToString::to_string).collect(),
                rack: None,
                owned: Vec::new(),
                generation: None,
                user_data: None,
                strict_error: None,
            }),
            assignment: Ok(assigned.iter().map(|(topic, ids)| ((*topic).to_string(), ids.to_vec())).collect()),
            assigned: None,
        })
    }

    fn metadata(snapshots: &[(i64, &[(&str, u32)])]) -> Metadata {
        let snapshot = |(time, topics): &(i64, &[(&str, u32)])| MetadataSnapshot {
            time: *time,
            topics: topics.iter().map(|(name, count)| ((*name).into(), Partitions::counted(*count))).collect(),
            ..MetadataSnapshot::default()
        };
        Metadata { snapshots: snapshots.iter().map(snapshot).collect(), ..Metadata::default() }
    }

    #[test]
    fn the_snapshot_before_or_after_a_generation_may_explain_it() {
        let members = [parsed("a", &["t"], &[("t", &[0, 1])]), parsed("b", &["t"], &[("t", &[2])])];
        let known = metadata(&[(10, &[("t", 2)]), (20, &[("t", 3)]), (30, &[("t", 4)])]);

        let outcomes = [5, 10, 15, 20, 25, 30, 99]
            .map(|time| compare(Assignor::Range, &members, None, time, &known).unwrap().outcome);

        let (equal, different) = (ComparisonOutcome::Equal, ComparisonOutcome::Different);
        assert_eq!([different, equal, equal, equal, equal, different, different], outcomes);
    }

    #[test]
    fn a_topic_that_the_leader_did_not_know_yet_is_named() {
        let members = [parsed("a", &["t", "u"], &[("t", &[0])]), parsed("b", &["t", "u"], &[("t", &[1])])];

        let comparison =
            compare(Assignor::Range, &members, None, 15, &metadata(&[(10, &[("t", 2), ("u", 2)])])).unwrap();

        assert_eq!(vec!["the assignor did not have the metadata of u yet"], comparison.remarks);
        assert_eq!(ComparisonOutcome::Different, comparison.outcome);
    }

    #[test]
    fn an_assignment_that_range_does_not_give_is_described() {
        let members = [parsed("a", &["t"], &[("t", &[0, 2])]), parsed("b", &["t"], &[("t", &[1])])];

        let comparison = compare(Assignor::Range, &members, None, 15, &metadata(&[(10, &[("t", 3)])])).unwrap();

        let text = "2 of 2 members own other partitions than Kafka's range assignor gives them; \
                    in total the same partitions are assigned";
        assert_eq!(vec![text], comparison.remarks);
    }

    #[test]
    fn assignments_are_not_compared_without_metadata() {
        assert_eq!(None, compare(Assignor::Range, &[parsed("a", &["t"], &[("t", &[0])])], None, 15, &metadata(&[])));
    }

    #[test]
    fn a_member_that_cannot_be_parsed_makes_the_outcome_unknown() {
        let mut member = parsed("a", &["t"], &[]);
        Arc::make_mut(&mut member).subscription = Err("2 bytes are needed".into());

        let comparison = compare(Assignor::Range, &[member], None, 15, &metadata(&[])).unwrap();

        assert_eq!(ComparisonOutcome::Unknown, comparison.outcome);
        assert_eq!(vec!["the subscription of a cannot be read: 2 bytes are needed"], comparison.remarks);
    }
}
