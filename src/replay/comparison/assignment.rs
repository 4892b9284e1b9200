//! Recorded assignment, and the answer of its assignor for the same members.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rustc_hash::FxHashSet;

use crate::assign::{Assignor, GroupProtocol, Options, assign};
use crate::error::NoAnswer;
use crate::group::{Group, Partitions, Racks, Topics};
use crate::offsets::json::uuid_from_text;
use crate::replay::classic::{ParsedMember, ParsedSubscription};
use crate::replay::member::OwnedPartitions;
use crate::replay::metadata::{Metadata, MetadataSnapshot};
use crate::replay::target::{TargetAssignment, TargetMember};

/// Name of a topic that makes the subscription of one member differ from the others. It is an invalid name, so no cluster has such a
/// topic.
const NO_TOPIC: &str = "/";

/// Recorded assignment of members that could all be parsed.
pub(super) struct RecordedAssignment<'a> {
    pub(super) assignor: Assignor,
    pub(super) members: Vec<AssignedMember<'a>>,
    pub(super) metadata: &'a Metadata,
    /// Partitions that members of a share group can have; None for other groups.
    pub(super) shared: Option<&'a SharePartitions>,
}

/// Partitions of a share group whose share state is initialized. An assignor takes them in place of all partitions of a topic.
pub(super) struct SharePartitions {
    by_id: BTreeMap<String, Partitions>,
    none: Partitions,
}

impl SharePartitions {
    /// Return the partitions of a target assignment.
    pub(super) fn of(target: &TargetAssignment) -> Self {
        let partitions = |(topic, ids): (&String, &Vec<i32>)| {
            let listed = ids.iter().map(|id| (*id, 0)).collect();
            Some((topic.clone(), Partitions::listed(topic, listed, &Racks::default()).ok()?))
        };
        let by_id = target.initialized.iter().flatten().filter_map(partitions).collect();
        Self { by_id, none: Partitions::counted(0) }
    }

    fn of_topic(&self, id: &str) -> &Partitions {
        self.by_id.get(id).unwrap_or(&self.none)
    }
}

/// Member of a recorded assignment. In a group of the consumer protocol, `owned` and `assigned` name topics by id.
pub(super) struct AssignedMember<'a> {
    id: &'a str,
    instance_id: Option<&'a str>,
    rack: Option<&'a str>,
    topics: Vec<&'a str>,
    owned: Vec<(&'a str, &'a [i32])>,
    generation: Option<i32>,
    user_data: Option<&'a [u8]>,
    assigned: &'a OwnedPartitions,
}

impl<'a> AssignedMember<'a> {
    /// Return a member of a classic group, with the owned partitions of its subscription.
    pub(super) fn of_generation(
        member: &'a ParsedMember,
        subscription: &'a ParsedSubscription,
        assigned: &'a OwnedPartitions,
    ) -> Self {
        Self {
            id: &member.id,
            instance_id: member.instance_id.as_deref(),
            rack: subscription.rack.as_deref(),
            topics: subscription.topics.iter().map(String::as_str).collect(),
            owned: subscription.owned.iter().map(|entry| (entry.topic.as_str(), entry.partitions.as_slice())).collect(),
            generation: subscription.generation,
            user_data: subscription.user_data.as_deref(),
            assigned,
        }
    }

    /// Return the members of a consumer group, with their target of the previous epoch as owned partitions.
    pub(super) fn of_target(target: &'a TargetAssignment) -> Vec<Self> {
        let member = |member: &'a TargetMember| Self {
            id: &member.id,
            instance_id: member.instance_id.as_deref(),
            rack: member.rack.as_deref(),
            topics: member.topics.iter().map(String::as_str).collect(),
            owned: member.owned.iter().map(|(topic, ids)| (topic.as_str(), ids.as_slice())).collect(),
            generation: None,
            user_data: None,
            assigned: &member.assigned,
        };
        let mut members: Vec<Self> = target.members.iter().map(member).collect();
        if !target.is_homogeneous
            && let Some(first) = members.first_mut()
        {
            // A broker treats two patterns as different subscriptions even if they match the same topics. With one more topic, the
            // subscriptions differ for the assignor, too.
            first.topics.push(NO_TOPIC);
        }
        members
    }

    /// Return the keys of the topics with assigned partitions.
    pub(super) fn assigned_topics(&self) -> Vec<&'a str> {
        self.assigned.keys().map(String::as_str).collect()
    }

    /// Return the keys of the topics with assigned partitions, and without partitions that the member owned before.
    ///
    /// A member of a share group keeps partitions of topics that are deleted, or that no member subscribes to.
    pub(super) fn new_topics(&self) -> Vec<&'a str> {
        let is_new = |key: &&str| !self.owned.iter().any(|(owned, _)| owned == key);
        self.assigned_topics().into_iter().filter(is_new).collect()
    }

    /// Return the keys of the topics with partitions that the member owned before.
    pub(super) fn owned_topics(&self) -> Vec<&'a str> {
        self.owned.iter().map(|(key, _)| *key).collect()
    }
}

/// Topics known to a leader or a broker: partitions and id by name. The id is empty if the snapshot lacks it.
pub(super) type KnownTopics<'a> = BTreeMap<&'a str, (&'a Partitions, &'a str)>;

impl<'a> RecordedAssignment<'a> {
    /// Return the recorded assignment.
    pub(super) fn recorded(&self) -> impl Iterator<Item = &'a OwnedPartitions> {
        self.members.iter().map(|member| member.assigned)
    }

    /// Return the names of the subscribed topics.
    pub(super) fn subscribed_topics(&self) -> BTreeSet<&'a str> {
        self.members.iter().flat_map(|member| &member.topics).copied().collect()
    }

    /// Return those of the chosen keys of topics that no snapshot has.
    ///
    /// In a classic group, only topics that the member subscribes to count: an assignor gives it no other ones.
    pub(super) fn unknown_topics(&self, choose: impl Fn(&AssignedMember<'a>) -> Vec<&'a str>) -> BTreeSet<&'a str> {
        let mut found = BTreeSet::new();
        let mut known = FxHashSet::default();
        for member in &self.members {
            for key in choose(member) {
                if known.contains(key) || found.contains(key) {
                    continue;
                }
                match self.assignor.protocol() {
                    GroupProtocol::Consumer | GroupProtocol::Share if self.metadata.names.contains_key(key) => {
                        _ = known.insert(key);
                    }
                    GroupProtocol::Classic if self.metadata.has_topic(key) => _ = known.insert(key),
                    GroupProtocol::Classic if !member.topics.contains(&key) => {}
                    _ => _ = found.insert(key),
                }
            }
        }
        found
    }

    /// Return the subscribed topics in a snapshot. Those of a share group have the partitions that members can have.
    pub(super) fn known_topics(&self, snapshot: &'a MetadataSnapshot) -> KnownTopics<'a> {
        let known = |topic| {
            let id = snapshot.topic_ids.get(topic).map(String::as_str).unwrap_or_default();
            let partitions = snapshot.topics.get(topic)?;
            Some((topic, (self.shared.map_or(partitions, |shared| shared.of_topic(id)), id)))
        };
        self.subscribed_topics().into_iter().filter_map(known).collect()
    }

    /// Return the key of a topic in assignments: the id in a consumer group, the name in a classic group.
    pub(super) fn key<'b>(&self, topic: &'b str, id: &'b str) -> &'b str {
        match self.assignor.protocol() {
            GroupProtocol::Consumer | GroupProtocol::Share if !id.is_empty() => id,
            _ => topic,
        }
    }

    /// Return the name of the topic with a key, or the key itself if it is unknown.
    fn topic_of_key<'b>(&'b self, known: &KnownTopics<'_>, key: &'b str) -> &'b str {
        if self.assignor.protocol() == GroupProtocol::Classic {
            return key;
        }
        let name = self.metadata.names.get(key).map_or(key, String::as_str);
        if known.get(name).is_some_and(|(_, id)| *id == key) { name } else { key }
    }

    /// Return the partitions that the assignor gives each member.
    ///
    /// # Errors
    /// The assignor of share groups has no answer, or several.
    pub(super) fn answer(&self, known: &KnownTopics<'_>) -> Result<Vec<OwnedPartitions>, NoAnswer> {
        let topics = known.iter().map(|(topic, (partitions, _))| (*topic, (*partitions).clone()));
        let mut group = Group::new(Arc::new(Topics::new(topics, self.metadata.racks.clone())), self.members.len());
        match self.assignor.protocol() {
            GroupProtocol::Classic => group.set_from_wire(),
            GroupProtocol::Consumer | GroupProtocol::Share => {
                for (topic, (_, id)) in known {
                    if let (Some(number), Some(id)) = (group.topics().number(topic), uuid_from_text(id)) {
                        group.set_topic_id(number, u128::from_be_bytes(id));
                    }
                }
            }
        }
        for member in &self.members {
            let topics: Vec<u32> = member.topics.iter().map(|topic| group.topic_number(topic)).collect();
            let number = group.intern_subscription(&topics);
            group.push(member.id, number, member.instance_id, member.rack);
            for (key, ids) in &member.owned {
                let topic = group.owned_topic_number(self.topic_of_key(known, key));
                group.push_owned(topic, ids.iter().copied());
                // The order of a table of topic ids depends on deleted topics, too; their key is their id.
                let is_by_id = self.assignor.protocol() != GroupProtocol::Classic;
                if let (true, true, Some(id)) = (is_by_id, topic as usize >= group.topics().len(), uuid_from_text(key))
                {
                    group.set_topic_id(topic, u128::from_be_bytes(id));
                }
            }
            group.set_member_data(member.user_data, member.generation);
        }
        let plan = assign(&Arc::new(group), Options { assignor: self.assignor, ..Options::default() })?;
        let partitions_of = |member| {
            let mut partitions = OwnedPartitions::new();
            for span in plan.spans_of(member) {
                let topic = plan.topics().get(span.topic as usize);
                let id = known.get(topic).map(|(_, id)| *id).unwrap_or_default();
                partitions.entry(self.key(topic, id).to_owned()).or_default().extend(span.ids());
            }
            partitions
        };
        Ok((0..self.members.len()).map(partitions_of).collect())
    }

    /// Describe how the recorded assignment differs from the answer of the assignor.
    pub(super) fn difference(&self, expected: &[OwnedPartitions]) -> String {
        let differing = self.recorded().zip(expected).filter(|(recorded, expected)| recorded != expected).count();
        let same_partitions = sorted(self.recorded()) == sorted(expected);
        format!(
            "{differing} of {} members own other partitions than Kafka's {} assignor gives them{}",
            self.members.len(),
            self.assignor.name(),
            if same_partitions { "; in total the same partitions are assigned" } else { "" }
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
