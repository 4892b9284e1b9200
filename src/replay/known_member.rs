//! State of a group member between two group records.

use std::sync::Arc;

use super::classic::ParsedMember;
use super::events::Partition;
use super::fields::{int, optional_text, text, texts};
use crate::offsets::FieldValue;

/// Member of a group, with the fields of its last record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct KnownMember {
    pub(super) id: Arc<str>,
    pub(super) instance_id: Option<Arc<str>>,
    /// Name under which the member owns partitions: the member id, or `instance ` and the instance id of a static member. So a static
    /// member keeps its partitions when its member id changes.
    pub(super) owner_name: Arc<str>,
    pub(super) client_id: String,
    pub(super) client_host: String,
    /// The subscribed topics, sorted and without repeats; None if they cannot be read.
    pub(super) topics: Option<Vec<String>>,
    pub(super) pattern: Option<String>,
    /// The bytes of its subscription in a classic group.
    pub(super) metadata: Option<Arc<[u8]>>,
    /// The partitions that it had when it joined.
    pub(super) owned: Vec<Partition>,
    /// The partitions of the generation; None if they cannot be read.
    pub(super) assigned: Option<Vec<Partition>>,
    pub(super) session_timeout: Option<i32>,
    pub(super) rebalance_timeout: Option<i32>,
    /// True if a static member has left and may return.
    pub(super) has_paused: bool,
}

/// Prefix of the owner name of a static member.
pub(super) const INSTANCE: &str = "instance ";

/// Return the name under which a member owns partitions.
fn owner_name(id: &Arc<str>, instance_id: Option<&Arc<str>>) -> Arc<str> {
    instance_id.map_or_else(|| Arc::clone(id), |instance_id| format!("{INSTANCE}{instance_id}").into())
}

impl KnownMember {
    /// Return true if another state of the member has the same subscription.
    pub(super) fn subscribes_like(&self, other: &Self) -> bool {
        if std::ptr::eq(self, other) {
            return true;
        }
        if self.topics.is_none() || other.topics.is_none() {
            return self.metadata == other.metadata && self.pattern == other.pattern;
        }
        self.topics == other.topics && self.pattern == other.pattern
    }

    /// Return true if this member was made from the parsed member. Both must be of groups with the same protocol type.
    pub(super) fn is_of(&self, member: &ParsedMember) -> bool {
        // A parsed member does not share the bytes of its subscription with others.
        self.metadata.as_ref().is_some_and(|metadata| Arc::ptr_eq(metadata, &member.metadata))
    }

    /// Return a member in the record of a classic group; its topics and partitions are known only for consumers.
    pub(super) fn of_classic(member: &ParsedMember, is_consumer: bool) -> Self {
        let id: Arc<str> = member.id.as_str().into();
        let instance_id = member.instance_id.as_deref().map(Arc::from);
        let subscription = member.subscription.as_ref().ok().filter(|_| is_consumer);
        let assignment = member.assignment.as_ref().ok().filter(|_| is_consumer);
        let owned = subscription.into_iter().flat_map(|found| &found.owned);
        let mut owned: Vec<Partition> = owned.flat_map(|entry| with_topic(&entry.topic, &entry.partitions)).collect();
        owned.sort_unstable();
        owned.dedup();
        Self {
            owner_name: owner_name(&id, instance_id.as_ref()),
            id,
            instance_id,
            client_id: member.client_id.clone(),
            client_host: member.client_host.clone(),
            topics: subscription.map(|found| distinct_topics(found.topics.clone())),
            pattern: None,
            metadata: Some(Arc::clone(&member.metadata)),
            owned,
            assigned: assignment.map(|found| found.iter().flat_map(|(topic, ids)| with_topic(topic, ids)).collect()),
            session_timeout: Some(member.session_timeout),
            rebalance_timeout: member.rebalance_timeout,
            has_paused: false,
        }
    }

    /// Return a member of a group with an epoch, from its metadata record.
    pub(super) fn of_epoch(member_id: &str, value: FieldValue<'_>) -> Self {
        let id: Arc<str> = member_id.into();
        let instance_id = optional_text(value, "instanceId").map(Arc::from);
        let classic = value.get("classicMemberMetadata").filter(|found| found.fields().next().is_some());
        let timeout = value.get("rebalanceTimeoutMs").and_then(FieldValue::as_i64).map(|found| found as i32);
        Self {
            owner_name: owner_name(&id, instance_id.as_ref()),
            id,
            instance_id,
            client_id: text(value, "clientId"),
            client_host: text(value, "clientHost"),
            topics: value.get("subscribedTopicNames").map(|_| distinct_topics(texts(value, "subscribedTopicNames"))),
            pattern: optional_text(value, "subscribedTopicRegex").filter(|pattern| !pattern.is_empty()),
            metadata: None,
            owned: Vec::new(),
            assigned: None,
            session_timeout: classic.map(|found| int(found, "sessionTimeoutMs", 0)),
            rebalance_timeout: timeout,
            has_paused: false,
        }
    }
}

/// Return the partitions of a topic.
pub(super) fn with_topic(topic: &str, ids: &[i32]) -> impl Iterator<Item = Partition> {
    let topic: Arc<str> = topic.into();
    ids.iter().map(move |id| (Arc::clone(&topic), *id))
}

/// Return the topics of partitions with their largest ids. A topic may occur more than once.
pub(super) fn largest_ids(partitions: &[Partition]) -> impl Iterator<Item = (&Arc<str>, i32)> {
    let topics = partitions.chunk_by(|left, right| Arc::ptr_eq(&left.0, &right.0));
    topics.filter_map(|entries| Some((&entries.first()?.0, entries.iter().map(|(_, id)| *id).max()?)))
}

fn distinct_topics(mut topics: Vec<String>) -> Vec<String> {
    topics.sort_unstable();
    topics.dedup();
    topics
}
