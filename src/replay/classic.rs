//! A classic group as its last type 2 record has it: members with the bytes that they and their leader sent.

use std::collections::BTreeSet;

use crate::offsets::Value;
use crate::offsets::protocol::{self, CONSUMER};

use super::member::{distinct, merged};
use super::{Member, Partitions, int, optional_text, text};

/// A classic group between two of its records.
#[derive(Debug, Clone)]
pub(super) struct Classic {
    pub(super) protocol_type: String,
    pub(super) generation: i32,
    pub(super) protocol: Option<String>,
    pub(super) leader: Option<String>,
    members: Vec<Value>,
}

/// What a member's subscription says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading {
    /// The topics it wants.
    pub topics: Vec<String>,
    /// Its rack; None where the version has none or it is empty.
    pub rack: Option<String>,
    /// Why Kafka's own reader refuses the bytes, where only the tolerant one could read them.
    pub refused: Option<String>,
}

/// What a member of a generation wanted and what its leader gave it.
#[derive(Debug, Clone)]
pub struct Joined {
    /// The member id.
    pub id: String,
    /// Set for static members.
    pub instance_id: Option<String>,
    /// What it subscribed to, or why that cannot be read even by the tolerant reader.
    pub subscription: Result<Reading, String>,
    /// What it was given, or why that cannot be read.
    pub assignment: Result<Partitions, String>,
}

impl Classic {
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

    /// The distinct ids of the members.
    pub(super) fn ids(&self) -> BTreeSet<String> {
        self.members.iter().map(|member| text(member, "memberId")).collect()
    }

    /// How many distinct partitions the members have; `joined` is what was read of them already.
    pub(super) fn partitions(&self, joined: Option<&[Joined]>) -> usize {
        if self.protocol_type != CONSUMER {
            return 0;
        }
        if let Some(joined) = joined {
            return distinct(joined.iter().filter_map(|member| member.assignment.as_ref().ok())).len();
        }
        let assignments = self.members.iter().filter_map(|member| read_assignment(blob(member, "assignment")).ok());
        distinct(&assignments.collect::<Vec<_>>()).len()
    }

    pub(super) fn members(&self) -> Vec<Member> {
        let readable = self.protocol_type == CONSUMER;
        let member = |member: &Value| {
            let reading = if readable { read_subscription(blob(member, "subscription")).ok() } else { None };
            let (topics, rack) = reading.map(|reading| (reading.topics, reading.rack)).unzip();
            Member {
                id: text(member, "memberId"),
                instance_id: optional_text(member, "groupInstanceId"),
                client_id: text(member, "clientId"),
                client_host: text(member, "clientHost"),
                rack: rack.flatten(),
                topics,
                // Clients match patterns themselves, and send what they found.
                pattern: None,
                partitions: if readable { read_assignment(blob(member, "assignment")).ok() } else { None },
            }
        };
        self.members.iter().map(member).collect()
    }

    /// What the members wanted and got; None unless the assignor is `range` and there are members.
    pub(super) fn joined_under_range(&self) -> Option<Vec<Joined>> {
        if self.protocol.as_deref() != Some("range") || self.members.is_empty() {
            return None;
        }
        let joined = |member: &Value| Joined {
            id: text(member, "memberId"),
            instance_id: optional_text(member, "groupInstanceId"),
            subscription: read_subscription(blob(member, "subscription")),
            assignment: read_assignment(blob(member, "assignment")),
        };
        Some(self.members.iter().map(joined).collect())
    }
}

fn blob<'a>(member: &'a Value, field: &str) -> &'a [u8] {
    member.get(field).and_then(Value::as_bytes).unwrap_or_default()
}

fn read_subscription(data: &[u8]) -> Result<Reading, String> {
    let (subscription, refusal) = protocol::read_subscription(data).map_err(|error| error.to_string())?;
    let refused = refusal.map(|error| error.to_string());
    let rack = subscription.rack().map(str::to_owned);
    Ok(Reading { topics: subscription.topics, rack, refused })
}

fn read_assignment(data: &[u8]) -> Result<Partitions, String> {
    let assignment = protocol::read_assignment(data).map_err(|error| error.to_string())?;
    let entries = assignment.into_iter().flat_map(|assignment| assignment.assigned_partitions);
    Ok(merged(entries.map(|entry| (entry.topic, entry.partitions))))
}
