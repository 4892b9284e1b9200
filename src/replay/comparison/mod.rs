//! Comparison of recorded generations and epochs with the answers of their assignors.
//!
//! The metadata that the leader or the broker used is not recorded: a recording has snapshots of topic metadata at some times only.
//! A generation is *equal* if the assignor gives the recorded assignment for the metadata around its time. A generation that is not
//! equal has a class, which says why.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::classic::ParsedMember;
use super::generation::Generation;
use super::metadata::{Metadata, MetadataSnapshot};
use super::model::GroupKind;
use super::name_list::listed;
use super::target::TargetAssignment;
use crate::assign::{Assignor, GroupProtocol};

mod assignment;
mod explanation;
mod leader;
mod streams;

use assignment::{AssignedMember, RecordedAssignment, SharePartitions};
use explanation::{Explanation, explain};
use leader::other_client;
pub use streams::BrokerVersion;
use streams::compare_streams;

/// Reason why the assignments of Kafka Streams on the classic protocol and of Kafka Connect are not compared.
const MEMORY_OF_LEADER: &str = "the log does not determine the assignment: it depends on the memory of the leader";

/// Remark on a target assignment of a share group without a record of type 15.
const UNINITIALIZED: &str = "not compared: the log does not have the partitions of the share group whose share state is initialized \
                             (ShareGroupStatePartitionMetadata), and only these are assigned";

/// Highest number of topics that a remark names.
const TOPICS_SHOWN: usize = 10;

/// Outcome of the comparison of a generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ComparisonOutcome {
    /// The assignor gives exactly the recorded assignment.
    Equal,
    /// The assignor gives another assignment.
    Different,
    /// Not compared: the subscription or assignment of a member cannot be parsed, the metadata lacks a topic, or the log does not
    /// determine the assignment.
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

/// Class of a generation that is not equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ComparisonClass {
    /// Different, for all known topic metadata.
    Unexplained,
    /// Different, but the answer of the assignor for other topic metadata: earlier metadata, or metadata without some topics.
    Explained,
    /// Different, but a generation that follows within seconds is equal.
    Healed,
    /// Not compared: the subscription or assignment of a member cannot be parsed.
    Unreadable,
    /// Not compared: the topic metadata lacks a topic.
    UnknownTopics,
    /// Not compared: the log does not have all that the assignment depends on.
    NotDetermined,
}

impl ComparisonClass {
    /// Return the name in tables and in Python.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Unexplained => "unexplained",
            Self::Explained => "explained",
            Self::Healed => "healed",
            Self::Unreadable => "unreadable",
            Self::UnknownTopics => "unknown_topics",
            Self::NotDetermined => "not_determined",
        }
    }
}

/// Assignor whose answer was compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ComparedAssignor {
    /// An assignor of partitions.
    Partitions(Assignor),
    /// The assignor of tasks of streams groups.
    StreamsSticky,
}

impl ComparedAssignor {
    /// Return Kafka's name of the assignor.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Partitions(assignor) => assignor.name(),
            Self::StreamsSticky => "sticky",
        }
    }
}

/// Result of the comparison of a generation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comparison {
    /// The assignor whose answer was compared; None if no assignor's answer is determined by the log.
    pub assignor: Option<ComparedAssignor>,
    /// The class; None if the generation is equal. It is never `Healed`, which depends on later generations.
    pub class: Option<ComparisonClass>,
    /// Reasons why the generation is not equal, and subscriptions that Kafka rejects.
    pub remarks: Vec<String>,
}

/// Return why the assignment of a classic group that assigns tasks is not compared; None for other groups, and for a group without members.
fn not_compared(generation: &Generation) -> Option<Comparison> {
    let has_tasks = generation.kind == GroupKind::Classic && generation.tasks.is_some() && generation.members > 0;
    has_tasks.then(|| Comparison::not_determined(None, MEMORY_OF_LEADER.to_owned()))
}

/// Compare a generation or epoch with the answer of its assignor; `before` is the generation of the group record before it.
pub(super) fn compare_generation(
    generation: &Generation,
    before: Option<i32>,
    metadata: &Metadata,
    broker_version: Option<BrokerVersion>,
) -> Option<Comparison> {
    if let Some(target) = &generation.streams_target {
        return compare_streams(target, metadata, broker_version);
    }
    if let Some(target) = &generation.target {
        return compare_target(target, metadata);
    }
    if let Some(comparison) = not_compared(generation) {
        return Some(comparison);
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
/// The class is `Unreadable` if a member cannot be parsed. Return None if all members can be parsed but there is no topic metadata.
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
        let assignor = Some(ComparedAssignor::Partitions(assignor));
        return Some(Comparison { assignor, class: Some(ComparisonClass::Unreadable), remarks });
    }
    let recorded = RecordedAssignment { assignor, members, metadata, shared: None };
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
///
/// The members of a share group get only partitions whose share state is initialized. If the log does not have these partitions, the
/// assignment is not determined.
fn compare_target(target: &TargetAssignment, metadata: &Metadata) -> Option<Comparison> {
    let shared = (target.kind == GroupKind::Share).then(|| SharePartitions::of(target));
    let compare = |name: &String| {
        let protocol = if shared.is_some() { GroupProtocol::Share } else { GroupProtocol::Consumer };
        let assignor = Assignor::named(protocol, name)?;
        if assignor != Assignor::ServerRange && !target.has_predecessor {
            return None;
        }
        let is_assigned = || target.members.iter().any(|member| !member.assigned.is_empty());
        if shared.is_some() && target.initialized.is_none() && is_assigned() {
            let assignor = Some(ComparedAssignor::Partitions(assignor));
            return Some(Comparison::not_determined(assignor, UNINITIALIZED.to_owned()));
        }
        let members = AssignedMember::of_target(target);
        let recorded = RecordedAssignment { assignor, members, metadata, shared: shared.as_ref() };
        Some(Comparison::of(assignor, explain_at(&recorded, target.timestamp)?, Vec::new()))
    };
    let comparisons = target.assignors.iter().map(compare).collect::<Option<Vec<_>>>()?;
    let equal = comparisons.iter().position(|found| found.class.is_none());
    comparisons.into_iter().nth(equal.unwrap_or(0))
}

/// Explain an assignment; return None if there is no topic metadata.
fn explain_at(recorded: &RecordedAssignment<'_>, time: i64) -> Option<Explanation> {
    let around: Vec<&MetadataSnapshot> = recorded.metadata.around(time).collect();
    let (first, last) = (*around.first()?, *around.last()?);
    let is_share = recorded.shared.is_some();
    let unknown =
        recorded.unknown_topics(if is_share { AssignedMember::new_topics } else { AssignedMember::assigned_topics });
    if !unknown.is_empty() {
        return Some(Explanation::UnknownTopics(missing_topics(&unknown)));
    }
    let older = recorded.metadata.snapshots.iter().rev().filter(|snapshot| snapshot.time < first.time);
    let explanation = explain(recorded, first, last, older, first.time > time);
    if matches!(explanation, Explanation::Unexplained(_)) {
        // A topic exists if a member owned its partitions before, so it may be the reason for the difference.
        let unknown = recorded.unknown_topics(AssignedMember::owned_topics);
        if !unknown.is_empty() {
            return Some(Explanation::UnknownTopics(missing_topics(&unknown)));
        }
    }
    Some(explanation)
}

/// Return the remark that names topics that the metadata lacks.
fn missing_topics(topics: &BTreeSet<&str>) -> String {
    let topics: Vec<&str> = topics.iter().copied().collect();
    let what = if topics.len() == 1 { "topic" } else { "topics" };
    format!("not compared: the topic metadata lacks the {what} {}", listed(&topics, TOPICS_SHOWN))
}

impl Comparison {
    fn of(assignor: Assignor, explanation: Explanation, mut remarks: Vec<String>) -> Self {
        let found = match explanation {
            Explanation::Metadata => None,
            Explanation::OtherMetadata(remark) => Some((ComparisonClass::Explained, remark)),
            Explanation::Unexplained(remark) => Some((ComparisonClass::Unexplained, remark)),
            Explanation::UnknownTopics(remark) => Some((ComparisonClass::UnknownTopics, remark)),
            Explanation::NotDetermined(remark) => Some((ComparisonClass::NotDetermined, remark)),
        };
        let (class, remark) = found.unzip();
        remarks.extend(remark);
        Self { assignor: Some(ComparedAssignor::Partitions(assignor)), class, remarks }
    }

    /// Return the comparison of an assignment that the log does not determine. `assignor` is the one that computed it, if it is known.
    pub(super) fn not_determined(assignor: Option<ComparedAssignor>, reason: String) -> Self {
        Self { assignor, class: Some(ComparisonClass::NotDetermined), remarks: vec![reason] }
    }

    /// Return Kafka's name of the assignor.
    #[must_use]
    pub fn assignor_name(&self) -> Option<&'static str> {
        self.assignor.map(ComparedAssignor::name)
    }

    /// Return true if the assignor is range of the classic protocol.
    #[must_use]
    pub fn is_of_range(&self) -> bool {
        self.assignor == Some(ComparedAssignor::Partitions(Assignor::Range))
    }

    /// Return the outcome.
    #[must_use]
    pub const fn outcome(&self) -> ComparisonOutcome {
        match self.class {
            None => ComparisonOutcome::Equal,
            Some(ComparisonClass::Unreadable | ComparisonClass::UnknownTopics | ComparisonClass::NotDetermined) => {
                ComparisonOutcome::Unknown
            }
            Some(_) => ComparisonOutcome::Different,
        }
    }
}
