//! Classic group, from its last record of type 2.

use std::collections::BTreeSet;
use std::sync::Arc;

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
    pub(super) members: Arc<[ParsedMember]>,
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
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParsedMember {
    /// The member id.
    pub id: String,
    /// The group instance id of a static member.
    pub instance_id: Option<String>,
    /// The client id.
    pub client_id: String,
    /// The client host.
    pub client_host: String,
    /// The session timeout in milliseconds.
    pub session_timeout: i32,
    /// The rebalance timeout in milliseconds, if the version of the record has it.
    pub rebalance_timeout: Option<i32>,
    /// The bytes of the subscription.
    pub metadata: Arc<[u8]>,
    /// The subscription, or the error of the tolerant reader.
    pub subscription: Result<ParsedSubscription, String>,
    /// The assignment, or the error.
    pub assignment: Result<OwnedPartitions, String>,
}

impl ClassicGroup {
    pub(super) fn read(value: &Value) -> Self {
        let members = value.get("members").map(Value::items).unwrap_or_default();
        Self {
            protocol_type: text(value, "protocolType"),
            generation: int(value, "generation", 0),
            protocol: optional_text(value, "protocol"),
            leader: optional_text(value, "leader"),
            members: members.iter().map(ParsedMember::read).collect(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Return true if the members subscribe with `ConsumerProtocol`.
    pub(super) fn is_consumer(&self) -> bool {
        self.protocol_type == CONSUMER
    }

    /// Return the distinct ids of the members.
    pub(super) fn ids(&self) -> BTreeSet<String> {
        self.members.iter().map(|member| member.id.clone()).collect()
    }

    /// Count the distinct partitions of the members.
    pub(super) fn partitions(&self) -> usize {
        if !self.is_consumer() {
            return 0;
        }
        distinct(self.members.iter().filter_map(|member| member.assignment.as_ref().ok())).len()
    }

    pub(super) fn members(&self) -> Vec<RecordedMember> {
        let member = |member: &ParsedMember| {
            let subscription = member.subscription.as_ref().ok().filter(|_| self.is_consumer());
            RecordedMember {
                id: member.id.clone(),
                instance_id: member.instance_id.clone(),
                client_id: member.client_id.clone(),
                client_host: member.client_host.clone(),
                rack: subscription.and_then(|found| found.rack.clone()),
                topics: subscription.map(|found| found.topics.clone()),
                // Clients of the classic protocol match patterns themselves and send the topics.
                pattern: None,
                partitions: member.assignment.as_ref().ok().filter(|_| self.is_consumer()).cloned(),
            }
        };
        self.members.iter().map(member).collect()
    }

    /// Return the members; None if there are none or the engine does not have the group's assignor.
    pub(super) fn parsed_members(&self) -> Option<Arc<[ParsedMember]>> {
        Assignor::named(GroupProtocol::Classic, self.protocol.as_ref()?)?;
        (!self.members.is_empty()).then(|| Arc::clone(&self.members))
    }
}

impl ParsedMember {
    fn read(member: &Value) -> Self {
        Self {
            id: text(member, "memberId"),
            instance_id: optional_text(member, "groupInstanceId"),
            client_id: text(member, "clientId"),
            client_host: text(member, "clientHost"),
            session_timeout: int(member, "sessionTimeout", 0),
            rebalance_timeout: member.get("rebalanceTimeout").and_then(Value::as_i64).map(|found| found as i32),
            metadata: blob(member, "subscription").into(),
            subscription: read_subscription(blob(member, "subscription")),
            assignment: read_assignment(blob(member, "assignment")),
        }
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
