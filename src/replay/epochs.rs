//! Groups with an epoch (consumer, share and streams groups), from their records: epochs, members and current assignments.

use std::collections::{BTreeMap, BTreeSet};
use std::slice;
use std::sync::Arc;

use crate::offsets::json::uuid_text;
use crate::offsets::{DecodedRecord, FieldValue};
use crate::wire::Client;

use super::fields::{int, ints, optional_text, text, texts};
use super::member::{OwnedPartitions, OwnerCounts, RecordedMember, merged};
use super::model::GroupKind;
use super::streams_topology::Topology;

/// Assignor that the broker uses if no member names one: the first of `group.consumer.assignors`.
const DEFAULT_ASSIGNOR: &str = "uniform";

/// Return the state code of a member that has no partitions to give up or to wait for. Codes of streams groups start at 1.
const fn settled_code(kind: GroupKind) -> i32 {
    if matches!(kind, GroupKind::Streams) { 1 } else { 0 }
}

/// Group with an epoch, during replay.
#[derive(Debug, Clone, Default)]
pub(super) struct EpochGroup {
    /// The group epoch; None if there is no current group record.
    pub(super) epoch: Option<i32>,
    pub(super) target_epoch: i32,
    pub(super) validated_topology: i32,
    pub(super) topology: Option<Arc<Topology>>,
    pub(super) members: BTreeMap<String, MemberMetadata>,
    pub(super) current: BTreeMap<String, CurrentMemberAssignment>,
    /// The topics that the broker found for each pattern.
    pub(super) resolved: BTreeMap<String, Vec<String>>,
    /// Number of owners of each partition.
    pub(super) owner_counts: OwnerCounts,
}

#[derive(Debug, Clone)]
pub(super) struct MemberMetadata {
    pub(super) instance_id: Option<String>,
    pub(super) client_id: String,
    pub(super) client_host: String,
    pub(super) rack: Option<String>,
    pub(super) assignor: Option<String>,
    pub(super) topics: Option<Vec<String>>,
    pub(super) pattern: Option<String>,
    /// Process of a member of a streams group.
    pub(super) process: Option<String>,
    /// Topology epoch of a member of a streams group.
    pub(super) topology_epoch: Option<i32>,
}

#[derive(Debug, Clone)]
pub(super) struct CurrentMemberAssignment {
    pub(super) epoch: i32,
    pub(super) state: i32,
    /// By topic id, or by subtopology for streams.
    pub(super) partitions: OwnedPartitions,
}

impl EpochGroup {
    /// Apply a record of this group's kind; the three kinds have different record types.
    pub(super) fn apply(&mut self, record: &DecodedRecord<'_>) {
        let value = record.value();
        let member = || text(record.key(), "memberId");
        match record.record_type {
            3 | 11 | 17 => {
                self.epoch = value.map(|value| int(value, "epoch", 0));
                self.validated_topology = value.map_or(-1, |value| int(value, "validatedTopologyEpoch", -1));
            }
            6 | 12 | 20 => self.target_epoch = value.map_or(0, |value| int(value, "assignmentEpoch", 0)),
            5 | 10 | 19 => self.put_member(member(), value.map(MemberMetadata::read)),
            8 | 14 | 22 => self.put_current(member(), value.map(CurrentMemberAssignment::read)),
            16 => put(
                &mut self.resolved,
                text(record.key(), "regularExpression"),
                value.map(|value| texts(value, "topics")),
            ),
            23 => self.put_topology(value.map(Topology::of_record).map(Arc::new)),
            _ => {}
        }
    }

    fn put_member(&mut self, id: String, metadata: Option<MemberMetadata>) {
        let joins = metadata.is_some();
        if joins != self.members.contains_key(&id)
            && let Some(now) = self.current.get(&id)
        {
            count_owners(&mut self.owner_counts, self.topology.as_deref(), &now.partitions, joins);
        }
        put(&mut self.members, id, metadata);
    }

    fn put_current(&mut self, id: String, current: Option<CurrentMemberAssignment>) {
        if self.members.contains_key(&id) {
            let topology = self.topology.as_deref();
            if let Some(before) = self.current.get(&id) {
                count_owners(&mut self.owner_counts, topology, &before.partitions, false);
            }
            if let Some(now) = &current {
                count_owners(&mut self.owner_counts, topology, &now.partitions, true);
            }
        }
        put(&mut self.current, id, current);
    }

    fn put_topology(&mut self, topology: Option<Arc<Topology>>) {
        let before = self.topology.as_ref().map(|found| &found.subtopologies);
        let same = before == topology.as_ref().map(|found| &found.subtopologies);
        self.topology = topology;
        if !same {
            self.count_all_owners();
        }
    }

    /// Count the owners of all partitions again.
    pub(super) fn count_all_owners(&mut self) {
        self.owner_counts = OwnerCounts::default();
        for now in self.members.keys().filter_map(|id| self.current.get(id)) {
            count_owners(&mut self.owner_counts, self.topology.as_deref(), &now.partitions, true);
        }
    }

    /// Return the sorted topics that the broker found for each pattern.
    pub(super) fn resolved_topics(&self) -> BTreeMap<String, Vec<String>> {
        let mut found = self.resolved.clone();
        for topics in found.values_mut() {
            topics.sort_unstable();
        }
        found
    }

    /// Return the topics that the tasks of a streams topology read.
    pub(super) fn source_topics(&self) -> Vec<String> {
        let subtopologies = self.topology.iter().flat_map(|topology| topology.subtopologies.values());
        subtopologies.flat_map(|found| &found.sources).collect::<BTreeSet<_>>().into_iter().cloned().collect()
    }

    /// Return the number of distinct partitions of the members.
    pub(super) fn partitions(&self) -> usize {
        self.owner_counts.distinct()
    }

    /// Return Kafka's name for the group's state, derived as Kafka derives it from the same records.
    pub(super) fn state(&self, kind: GroupKind) -> &'static str {
        let validated = self.topology.as_ref().is_some_and(|topology| topology.epoch == self.validated_topology);
        let settled = |id| {
            self.current.get(id).is_some_and(|now| now.state == settled_code(kind) && now.epoch == self.target_epoch)
        };
        if self.members.is_empty() {
            "Empty"
        } else if kind == GroupKind::Share {
            "Stable"
        } else if kind == GroupKind::Streams && !validated {
            "NotReady"
        } else if self.epoch.unwrap_or(0) > self.target_epoch {
            "Assigning"
        } else if self.members.keys().all(settled) {
            "Stable"
        } else {
            "Reconciling"
        }
    }

    /// Return the assignor that most members name; the broker's default if no member names one.
    ///
    /// In a tie, return the default if it is one of the tied assignors, else the first of them by name. A broker chooses by the order
    /// of its hash table, in which `uniform` comes before `range`.
    pub(super) fn assignor(&self) -> String {
        let mut preferred = self.preferred_assignors();
        let default = preferred.iter().position(|assignor| assignor == DEFAULT_ASSIGNOR);
        preferred.swap_remove(default.unwrap_or(0))
    }

    /// Return the assignors with the most votes, by name; the broker's default if no member names an assignor.
    pub(super) fn preferred_assignors(&self) -> Vec<String> {
        let mut votes: BTreeMap<&str, usize> = BTreeMap::new();
        for assignor in self.members.values().filter_map(|member| member.assignor.as_deref()) {
            *votes.entry(assignor).or_default() += 1;
        }
        let Some(most) = votes.values().max().copied() else { return vec![DEFAULT_ASSIGNOR.to_owned()] };
        votes.into_iter().filter(|(_, count)| *count == most).map(|(assignor, _)| assignor.to_owned()).collect()
    }

    /// Return true if a broker treats all subscriptions as equal. This is the case if all members name the same topics and have no
    /// pattern, or if all have the same pattern, no member names topics, and no topic is resolved for two patterns.
    pub(super) fn is_homogeneous(&self) -> bool {
        let patterns = || self.members.values().map(|member| &member.pattern);
        let Some(pattern) = self.members.values().next().map(|member| &member.pattern) else { return true };
        if patterns().all(Option::is_none) {
            let names = |member: &MemberMetadata| member.topics.iter().flatten().cloned().collect::<BTreeSet<_>>();
            let mut subscriptions = self.members.values().map(names);
            let first = subscriptions.next();
            return subscriptions.all(|names| Some(&names) == first.as_ref());
        }
        let mut found = BTreeSet::new();
        patterns().all(|other| other == pattern)
            && self.members.values().all(|member| member.topics.iter().flatten().next().is_none())
            && self.resolved.values().flatten().all(|topic| found.insert(topic))
    }

    /// Return true if the log has the topics of the member's pattern, or the member has no pattern.
    pub(super) fn has_resolved(&self, id: &str) -> bool {
        let pattern = self.members.get(id).and_then(|member| member.pattern.as_ref());
        pattern.is_none_or(|pattern| self.resolved.contains_key(pattern))
    }

    /// Return the instance id, rack and topics of a member; topics of its pattern follow those that it names.
    pub(super) fn assigned_member(&self, id: &str) -> (Option<String>, Option<String>, Vec<String>) {
        let Some(member) = self.members.get(id) else { return (None, None, Vec::new()) };
        let mut topics = member.topics.clone().unwrap_or_default();
        let found = member.pattern.as_ref().and_then(|pattern| self.resolved.get(pattern));
        for topic in found.into_iter().flatten() {
            if !topics.contains(topic) {
                topics.push(topic.clone());
            }
        }
        (member.instance_id.clone(), member.rack.clone(), topics)
    }

    pub(super) fn members(&self) -> Vec<RecordedMember> {
        let member = |(id, metadata): (&String, &MemberMetadata)| {
            let (topics, pattern) = self.subscription(metadata);
            RecordedMember {
                id: id.clone(),
                instance_id: metadata.instance_id.clone(),
                client_id: metadata.client_id.clone(),
                client_host: metadata.client_host.clone(),
                rack: metadata.rack.clone(),
                topics,
                pattern,
                partitions: Some(self.current.get(id).map(|now| self.by_source(&now.partitions)).unwrap_or_default()),
                client: Client::default(),
                unconvertible: None,
            }
        };
        self.members.iter().map(member).collect()
    }

    /// Return the topics of a member and its pattern.
    ///
    /// A broker subscribes the member to the topics that it names and to those that the broker found for its pattern. If the member
    /// names topics and the pattern is resolved, the result has the topics of both and no pattern.
    fn subscription(&self, metadata: &MemberMetadata) -> (Option<Vec<String>>, Option<String>) {
        let Some(pattern) = &metadata.pattern else { return (metadata.topics.clone(), None) };
        let Some(names) = metadata.topics.as_ref().filter(|names| !names.is_empty()) else {
            return (None, Some(pattern.clone()));
        };
        let Some(found) = self.resolved.get(pattern) else { return (Some(names.clone()), Some(pattern.clone())) };
        let new = found.iter().filter(|topic| !names.contains(topic));
        (Some(names.iter().chain(new).cloned().collect()), None)
    }

    /// Convert the tasks of a streams group to partitions of the topics that they read; return the partitions of other groups unchanged.
    pub(super) fn by_source(&self, partitions: &OwnedPartitions) -> OwnedPartitions {
        let topology = self.topology.as_deref();
        let read = partitions.iter().flat_map(|(owner, ids)| {
            topics(topology, owner).iter().map(move |topic| (topic.as_str(), ids.iter().copied()))
        });
        merged(read)
    }
}

/// Return the topics that the tasks of the subtopology `owner` read. Without a topology, return `owner` itself: a topic id, or the id of
/// a subtopology whose topics are not known.
fn topics<'a>(topology: Option<&'a Topology>, owner: &'a String) -> &'a [String] {
    match topology {
        Some(topology) => topology.sources(owner),
        None => slice::from_ref(owner),
    }
}

/// Add the partitions of a joining member to the owner counts, or remove those of a leaving member.
fn count_owners(
    owner_counts: &mut OwnerCounts,
    topology: Option<&Topology>,
    partitions: &OwnedPartitions,
    joins: bool,
) {
    for (owner, ids) in partitions {
        for topic in topics(topology, owner) {
            if joins { owner_counts.add(topic, ids) } else { owner_counts.remove(topic, ids) }
        }
    }
}

fn put<T>(entries: &mut BTreeMap<String, T>, member: String, value: Option<T>) {
    match value {
        Some(value) => _ = entries.insert(member, value),
        None => _ = entries.remove(&member),
    }
}

impl MemberMetadata {
    fn read(value: FieldValue<'_>) -> Self {
        let not_empty = |field| optional_text(value, field).filter(|text| !text.is_empty());
        Self {
            instance_id: optional_text(value, "instanceId"),
            client_id: text(value, "clientId"),
            client_host: text(value, "clientHost"),
            rack: not_empty("rackId"),
            assignor: optional_text(value, "serverAssignor"),
            topics: value.get("subscribedTopicNames").map(|_| texts(value, "subscribedTopicNames")),
            pattern: not_empty("subscribedTopicRegex"),
            process: not_empty("processId"),
            topology_epoch: value.get("topologyEpoch").and_then(FieldValue::as_i64).map(|epoch| epoch as i32),
        }
    }
}

impl CurrentMemberAssignment {
    /// Parse a current assignment: the partitions or active tasks that a member has, and those that it still has to give up.
    fn read(value: FieldValue<'_>) -> Self {
        const FIELDS: [&str; 4] =
            ["assignedPartitions", "partitionsPendingRevocation", "activeTasks", "activeTasksPendingRevocation"];
        let partitions = owned_by_topic(value, &FIELDS);
        Self { epoch: int(value, "memberEpoch", 0), state: int(value, "state", 0), partitions }
    }
}

/// Return the partitions in some fields of a record, by topic id or subtopology.
pub(super) fn owned_by_topic(value: FieldValue<'_>, fields: &[&str]) -> OwnedPartitions {
    let entries = fields
        .iter()
        .filter_map(|field| value.get(field))
        .flat_map(FieldValue::items)
        .map(|entry| (owner_of(entry), ints(entry, "partitions")));
    merged(entries)
}

/// Return the topic id of an entry, or the id of its subtopology.
pub(super) fn owner_of(entry: FieldValue<'_>) -> String {
    match entry.get("topicId").and_then(FieldValue::as_uuid) {
        Some(topic) => uuid_text(&topic),
        None => text(entry, "subtopologyId"),
    }
}
