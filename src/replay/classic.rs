//! Classic group, from its last record of type 2 (`GROUP_METADATA`).

use std::borrow::Cow;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::assign::{Assignor, GroupProtocol};
use crate::bytes::java_text;
use crate::offsets::FieldValue;
use crate::offsets::protocol::{self, CONSUMER};
use crate::wire::{Client, TopicPartitions, Unconvertible};

use super::fields::{int, optional_text, text};
use super::member::{OwnedPartitions, RecordedMember, distinct, merged};

/// Classic group after a record of type 2.
#[derive(Debug, Clone)]
pub(super) struct ClassicGroup {
    pub(super) protocol_type: String,
    pub(super) generation: i32,
    pub(super) protocol: Option<String>,
    pub(super) leader: Option<String>,
    pub(super) members: Arc<[Arc<ParsedMember>]>,
}

/// Parsed subscription of a member of a generation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ParsedSubscription {
    /// The version of the body.
    pub(super) version: i16,
    /// The topics.
    pub(super) topics: Vec<String>,
    /// The rack; None if it is missing or empty.
    pub(super) rack: Option<String>,
    /// The owned partitions, in wire order.
    pub(super) owned: Vec<TopicPartitions>,
    /// The generation in which the member got them; None if it is missing or negative.
    pub(super) generation: Option<i32>,
    /// The user data; empty and absent user data differ.
    pub(super) user_data: Option<Vec<u8>>,
    /// The error of Kafka's reader, if only the tolerant reader can read the bytes.
    pub(super) strict_error: Option<String>,
}

/// Member of a generation: its subscription and the partitions that the leader assigned to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ParsedMember {
    /// The member id.
    pub(super) id: String,
    /// The group instance id of a static member.
    pub(super) instance_id: Option<String>,
    /// The client id.
    pub(super) client_id: String,
    /// The client host.
    pub(super) client_host: String,
    /// The session timeout in milliseconds.
    pub(super) session_timeout: i32,
    /// The rebalance timeout in milliseconds, if the version of the record has it.
    pub(super) rebalance_timeout: Option<i32>,
    /// The bytes of the subscription.
    pub(super) metadata: Arc<[u8]>,
    /// The subscription, or the error of the tolerant reader.
    pub(super) subscription: Result<ParsedSubscription, String>,
    /// The assignment, or the error.
    pub(super) assignment: Result<OwnedPartitions, String>,
    /// The bytes of the assignment.
    pub(super) assigned: Arc<[u8]>,
}

impl ClassicGroup {
    /// Parse a record. Members with the same bytes as in the previous record are shared with it.
    pub(super) fn read(value: FieldValue<'_>, before: Option<&Self>) -> Self {
        let known = before.map(|before| &*before.members).unwrap_or_default();
        let mut by_id = None;
        let members = value.get("members").into_iter().flat_map(FieldValue::items).enumerate();
        let members = members.map(|(index, member)| {
            let bytes = MemberBytes::read(member);
            let found = known.get(index).filter(|found| bytes.are_of(found)).or_else(|| {
                let by_id: &FxHashMap<&str, &Arc<ParsedMember>> =
                    by_id.get_or_insert_with(|| known.iter().map(|known| (known.id.as_str(), known)).collect());
                by_id.get(&*bytes.id).copied().filter(|found| bytes.are_of(found))
            });
            found.map_or_else(|| Arc::new(bytes.parse()), Arc::clone)
        });
        Self {
            protocol_type: text(value, "protocolType"),
            generation: int(value, "generation", 0),
            protocol: optional_text(value, "protocol"),
            leader: optional_text(value, "leader"),
            members: members.collect(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Return true if the members subscribe with `ConsumerProtocol`.
    pub(super) fn is_consumer(&self) -> bool {
        self.protocol_type == CONSUMER
    }

    /// Count the distinct partitions of the members.
    pub(super) fn partitions(&self) -> usize {
        if !self.is_consumer() {
            return 0;
        }
        distinct(self.members.iter().filter_map(|member| member.assignment.as_ref().ok())).len()
    }

    /// Return the members of the group with this id.
    pub(super) fn members(&self, group_id: &str) -> Vec<RecordedMember> {
        let assignor = self.protocol.as_deref().unwrap_or_default();
        let member = |member: &Arc<ParsedMember>| {
            let assigned = Some(&*member.assigned).filter(|_| self.is_consumer());
            let metadata: &[u8] = if self.is_consumer() { &member.metadata } else { &[] };
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
                client: Client::of_member(&member.client_id, group_id, assignor, metadata),
                unconvertible: assigned.and_then(|assigned| Unconvertible::of(&member.metadata, assigned)),
            }
        };
        self.members.iter().map(member).collect()
    }

    /// Return the members; None if there are none or the engine does not have the group's assignor.
    pub(super) fn parsed_members(&self) -> Option<Arc<[Arc<ParsedMember>]>> {
        Assignor::named(GroupProtocol::Classic, self.protocol.as_ref()?)?;
        (!self.members.is_empty()).then(|| Arc::clone(&self.members))
    }
}

/// Fields of a member in a record, whose blobs are not parsed.
#[derive(Default)]
struct MemberBytes<'a> {
    id: Cow<'a, str>,
    instance_id: Option<Cow<'a, str>>,
    client_id: Cow<'a, str>,
    client_host: Cow<'a, str>,
    session_timeout: i32,
    rebalance_timeout: Option<i32>,
    metadata: &'a [u8],
    assigned: &'a [u8],
}

impl<'a> MemberBytes<'a> {
    fn read(member: FieldValue<'a>) -> Self {
        let mut found = Self::default();
        for (name, value) in member.fields() {
            let text = || value.as_text().unwrap_or_default();
            let number = || value.as_i64().map(|number| number as i32);
            let blob = || value.as_bytes().unwrap_or_default();
            match name {
                "memberId" => found.id = text(),
                "groupInstanceId" => found.instance_id = value.as_text(),
                "clientId" => found.client_id = text(),
                "clientHost" => found.client_host = text(),
                "sessionTimeout" => found.session_timeout = number().unwrap_or(0),
                "rebalanceTimeout" => found.rebalance_timeout = number(),
                "subscription" => found.metadata = blob(),
                "assignment" => found.assigned = blob(),
                _ => {}
            }
        }
        found
    }

    /// Return true if a parsed member has these bytes.
    fn are_of(&self, member: &ParsedMember) -> bool {
        self.id == member.id
            && *self.metadata == *member.metadata
            && *member.assigned == *self.assigned
            && self.instance_id.as_deref() == member.instance_id.as_deref()
            && self.client_id == member.client_id
            && self.client_host == member.client_host
            && self.session_timeout == member.session_timeout
            && self.rebalance_timeout == member.rebalance_timeout
    }

    fn parse(self) -> ParsedMember {
        ParsedMember {
            id: self.id.into_owned(),
            instance_id: self.instance_id.map(Cow::into_owned),
            client_id: self.client_id.into_owned(),
            client_host: self.client_host.into_owned(),
            session_timeout: self.session_timeout,
            rebalance_timeout: self.rebalance_timeout,
            metadata: self.metadata.into(),
            subscription: read_subscription(self.metadata),
            assignment: read_assignment(self.assigned),
            assigned: self.assigned.into(),
        }
    }
}

fn read_subscription(data: &[u8]) -> Result<ParsedSubscription, String> {
    let (subscription, strict_error) = protocol::read_subscription(data).map_err(|error| error.to_string())?;
    let strict_error = strict_error.map(|error| error.to_string());
    let version = subscription.body_version();
    let found = subscription.to_subscription();
    Ok(ParsedSubscription {
        version,
        topics: found.topics,
        rack: found.rack_id.filter(|rack| !rack.is_empty()),
        owned: found.owned_partitions,
        generation: Some(found.generation_id).filter(|generation| *generation >= 0),
        user_data: found.user_data,
        strict_error,
    })
}

fn read_assignment(data: &[u8]) -> Result<OwnedPartitions, String> {
    let assignment = protocol::read_assignment(data).map_err(|error| error.to_string())?;
    let entries = assignment.into_iter().flat_map(|assignment| assignment.assigned_partitions.topic_partitions());
    Ok(merged(entries.map(|(topic, ids)| (java_text(topic), ids.iter()))))
}
