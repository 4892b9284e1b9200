//! Comparison of recorded generations and epochs with the answer of the assignor that their group uses.
//!
//! A log has the time of each generation, but a recording has topic metadata for some times only. So the metadata that the leader or the
//! broker used is not recorded. A generation is *equal* if the assignor gives the recorded assignment for the metadata around its time.

use super::assignment::{AssignedMember, RecordedAssignment};
use super::explanation::{Explanation, explain};
use super::leader::other_client;
use super::metadata::{Metadata, MetadataSnapshot};
use crate::assign::{Assignor, GroupProtocol};
use crate::replay::{ParsedMember, TargetAssignment};

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

/// Compare the assignment of a generation with the answer of a classic assignor. Return `Unknown` if a member cannot be read;
/// otherwise return None if there is no topic metadata.
#[must_use]
pub fn compare(
    assignor: Assignor,
    parsed: &[ParsedMember],
    leader: Option<&str>,
    time: i64,
    metadata: &Metadata,
) -> Option<Comparison> {
    let mut remarks = Vec::new();
    let mut members = Vec::with_capacity(parsed.len());
    for member in parsed {
        match (&member.subscription, &member.assignment) {
            (Ok(subscription), Ok(assigned)) => {
                if let Some(reason) = &subscription.refused {
                    remarks.push(format!("Kafka's own reader refuses the subscription of {}: {reason}", member.id));
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

/// Compare a target assignment with the answer of the broker's assignor. If several assignors have the most votes, any of them may
/// explain it.
/// Return None if an assignor is not one of Kafka's, if the log lacks what it starts from, or if there is no topic metadata.
#[must_use]
pub fn compare_target(target: &TargetAssignment, metadata: &Metadata) -> Option<Comparison> {
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

/// Explain an assignment; None if there is no topic metadata.
fn explain_at(recorded: &RecordedAssignment<'_>, time: i64) -> Option<Explanation> {
    let around: Vec<&MetadataSnapshot> = recorded.metadata.around(time).collect();
    let (first, last) = (*around.first()?, *around.last()?);
    let older = recorded.metadata.snapshots.iter().rev().filter(|snapshot| snapshot.time < first.time);
    Some(explain(recorded, first, last, older))
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
    use crate::replay::ParsedSubscription;

    fn parsed(id: &str, topics: &[&str], assigned: &[(&str, &[i32])]) -> ParsedMember {
        ParsedMember {
            id: id.into(),
            instance_id: None,
            subscription: Ok(ParsedSubscription {
                version: 3,
                topics: topics.iter().map(ToString::to_string).collect(),
                rack: None,
                owned: Vec::new(),
                generation: None,
                user_data: None,
                refused: None,
            }),
            assignment: Ok(assigned.iter().map(|(topic, ids)| ((*topic).to_string(), ids.to_vec())).collect()),
        }
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
    fn the_snapshot_before_or_after_may_explain_an_assignment() {
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

        assert_eq!(vec!["assigned before the metadata of u had arrived"], comparison.remarks);
        assert_eq!(ComparisonOutcome::Different, comparison.outcome);
    }

    #[test]
    fn another_assignor_under_the_name_of_range_is_noticed() {
        let members = [parsed("a", &["t"], &[("t", &[0, 2])]), parsed("b", &["t"], &[("t", &[1])])];

        let comparison = compare(Assignor::Range, &members, None, 15, &metadata(&[(10, &[("t", 3)])])).unwrap();

        let said =
            "not the range rules: 2 of 2 members have other partitions, though every partition is handed out once";
        assert_eq!(vec![said], comparison.remarks);
    }

    #[test]
    fn without_metadata_there_is_nothing_to_compare_with() {
        assert_eq!(None, compare(Assignor::Range, &[parsed("a", &["t"], &[("t", &[0])])], None, 15, &metadata(&[])));
    }

    #[test]
    fn what_cannot_be_read_is_unknown_and_says_whose_it_is() {
        let mut member = parsed("a", &["t"], &[]);
        member.subscription = Err("2 bytes are needed".into());

        let comparison = compare(Assignor::Range, &[member], None, 15, &metadata(&[])).unwrap();

        assert_eq!(ComparisonOutcome::Unknown, comparison.outcome);
        assert_eq!(vec!["the subscription of a cannot be read: 2 bytes are needed"], comparison.remarks);
    }
}
