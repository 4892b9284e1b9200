//! Classic group, from its last record of type 2.

use std::collections::BTreeSet;

use crate::assign::{Assignor, GroupProtocol};
use crate::offsets::Value;
use crate::offsets::protocol::{self, CONSUMER};
use crate::wire::TopicPartitions;

use super::member::{distinct, merged};
use super::{OwnedPartitions, RecordedMember, int, optional_text, text};

/// Classic group after a record of type 2.
#[derive(Debug, Clone)]
pub(super) struct ClassicGroup {
    pub(super) protocol_type: String,
    pub(super) generation: i32,
    pub(super) protocol: Option<String>,
    pub(super) leader: Option<String>,
    members: Vec<Value>,
}

/// Parsed subscription of a member of a generation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParsedSubscription {
    /// The version of the body.
    pub version: i16,
    /// The topics.
    pub topics: Vec<String>,
    /// The rack; None if it is missing or empty.
    pub rack: Option<String>,
    /// The owned partitions, in wire order.
    pub owned: Vec<TopicPartitions>,
    /// The generation in which the member got them; None if it is missing or negative.
    pub generation: Option<i32>,
    /// The user data; empty and absent user data differ.
    pub user_data: Option<Vec<u8>>,
    /// The error of Kafka's reader, if only the tolerant reader can read the bytes.
    pub refused: Option<String>,
}

/// Member of a generation: its subscription and the partitions that the leader assigned to it.
#[derive(Debug, Clone)]
pub struct ParsedMember {
    /// The member id.
    pub id: String,
    /// The group instance id of a static member.
    pub instance_id: Option<String>,
    /// The subscription, or the error of the tolerant reader.
    pub subscription: Result<ParsedSubscription, String>,
    /// The assignment, or the error.
    pub assignment: Result<OwnedPartitions, String>,
}

impl ClassicGroup {
    pub(super) fn read(value: &Value) -> Self {
        Self {
            protocol_type: text(value, "protocolType"),
            generation: int(value, "generation", 0),
            protocol: optional_text(value, "protocol"),
            leader: optional_text(value, "leader"),
            members: value.get("members").map(Value::items).unwrap_or_default().to_vec(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Return the distinct ids of the members.
    pub(super) fn ids(&self) -> BTreeSet<String> {
        self.members.iter().map(|member| text(member, "memberId")).collect()
    }

    /// Count the distinct partitions of the members; `parsed` has the members if they are already parsed.
    pub(super) fn partitions(&self, parsed: Option<&[ParsedMember]>) -> usize {
        if self.protocol_type != CONSUMER {
            return 0;
        }
        if let Some(parsed) = parsed {
            return distinct(parsed.iter().filter_map(|member| member.assignment.as_ref().ok())).len();
        }
        let assignments = self.members.iter().filter_map(|member| read_assignment(blob(member, "assignment")).ok());
        distinct(&assignments.collect::<Vec<_>>()).len()
    }

    pub(super) fn members(&self) -> Vec<RecordedMember> {
        let readable = self.protocol_type == CONSUMER;
        let member = |member: &Value| {
            let subscription = if readable { read_subscription(blob(member, "subscription")).ok() } else { None };
            let (topics, rack) = subscription.map(|found| (found.topics, found.rack)).unzip();
            RecordedMember {
                id: text(member, "memberId"),
                instance_id: optional_text(member, "groupInstanceId"),
                client_id: text(member, "clientId"),
                client_host: text(member, "clientHost"),
                rack: rack.flatten(),
                topics,
                // Clients of the classic protocol match patterns themselves and send the topics.
                pattern: None,
                partitions: if readable { read_assignment(blob(member, "assignment")).ok() } else { None },
            }
        };
        self.members.iter().map(member).collect()
    }

    /// Parse the members; return None if there are none or the engine does not have the group's assignor.
    pub(super) fn parsed_members(&self) -> Option<Vec<ParsedMember>> {
        Assignor::named(GroupProtocol::Classic, self.protocol.as_ref()?)?;
        if self.members.is_empty() {
            return None;
        }
        let parsed = |member: &Value| ParsedMember {
            id: text(member, "memberId"),
            instance_id: optional_text(member, "groupInstanceId"),
            subscription: read_subscription(blob(member, "subscription")),
            assignment: read_assignment(blob(member, "assignment")),
        };
        Some(self.members.iter().map(parsed).collect())
    }
}

fn blob<'a>(member: &'a Value, field: &str) -> &'a [u8] {
    member.get(field).and_then(Value::as_bytes).unwrap_or_default()
}

fn read_subscription(data: &[u8]) -> Result<ParsedSubscription, String> {
    let (subscription, refusal) = protocol::read_subscription(data).map_err(|error| error.to_string())?;
    let refused = refusal.map(|error| error.to_string());
    let rack = subscription.rack().map(str::to_owned);
    Ok(ParsedSubscription {
        version: subscription.body_version(),
        topics: subscription.topics,
        rack,
        owned: subscription.owned_partitions,
        generation: Some(subscription.generation_id).filter(|generation| *generation >= 0),
        user_data: subscription.user_data,
        refused,
    })
}

fn read_assignment(data: &[u8]) -> Result<OwnedPartitions, String> {
    let assignment = protocol::read_assignment(data).map_err(|error| error.to_string())?;
    let entries = assignment.into_iter().flat_map(|assignment| assignment.assigned_partitions);
    Ok(merged(entries.map(|entry| (entry.topic, entry.partitions))))
}
