//! A group of the new protocols (consumer, share, streams) as its records have it: an epoch, members, and what each of them
//! has at the moment.

use std::collections::BTreeMap;

use crate::offsets::json::uuid_text;
use crate::offsets::{Record, Value};

use super::{Kind, Member, Partitions, add, int, optional_text, text};

/// What a broker uses when no member asks for an assignor (the first of `group.consumer.assignors`).
const DEFAULT_ASSIGNOR: &str = "uniform";

/// The state code of a member that has nothing left to give up or to wait for: consumer groups count from 0, streams
/// groups from 1.
const fn settled_code(kind: Kind) -> i32 {
    if matches!(kind, Kind::Streams) { 1 } else { 0 }
}

/// A group of a new protocol between two of its records.
#[derive(Debug, Clone, Default)]
pub(super) struct Modern {
    /// The group epoch; None while no group record stands.
    pub(super) epoch: Option<i32>,
    target_epoch: i32,
    validated_topology: i32,
    topology: Option<Topology>,
    members: BTreeMap<String, Joined>,
    current: BTreeMap<String, Current>,
}

#[derive(Debug, Clone)]
struct Joined {
    instance_id: Option<String>,
    client_id: String,
    client_host: String,
    assignor: Option<String>,
    topics: Option<Vec<String>>,
}

#[derive(Debug, Clone)]
struct Current {
    epoch: i32,
    state: i32,
    /// By topic id, or by subtopology for streams.
    partitions: Partitions,
}

#[derive(Debug, Clone)]
struct Topology {
    epoch: i32,
    /// Per subtopology the topics its tasks read.
    sources: BTreeMap<String, Vec<String>>,
}

impl Modern {
    /// Applies a record of this group's kind; the numbers of the three kinds never overlap.
    pub(super) fn apply(&mut self, record: &Record) {
        let value = record.value.as_ref();
        let member = || text(&record.key, "memberId");
        match record.record_type {
            3 | 11 | 17 => {
                self.epoch = value.map(|value| int(value, "epoch", 0));
                self.validated_topology = value.map_or(-1, |value| int(value, "validatedTopologyEpoch", -1));
            }
            6 | 12 | 20 => self.target_epoch = value.map_or(0, |value| int(value, "assignmentEpoch", 0)),
            5 | 10 | 19 => put(&mut self.members, member(), value.map(Joined::read)),
            8 | 14 | 22 => put(&mut self.current, member(), value.map(Current::read)),
            23 => self.topology = value.map(Topology::read),
            _ => {}
        }
    }

    /// Kafka's name for the group's state, as its own classes derive it from the same records.
    pub(super) fn state(&self, kind: Kind) -> &'static str {
        let validated = self.topology.as_ref().is_some_and(|topology| topology.epoch == self.validated_topology);
        let settled = |id| {
            self.current.get(id).is_some_and(|now| now.state == settled_code(kind) && now.epoch == self.target_epoch)
        };
        if self.members.is_empty() {
            "Empty"
        } else if kind == Kind::Share {
            "Stable"
        } else if kind == Kind::Streams && !validated {
            "NotReady"
        } else if self.epoch.unwrap_or(0) > self.target_epoch {
            "Assigning"
        } else if self.members.keys().all(settled) {
            "Stable"
        } else {
            "Reconciling"
        }
    }

    /// The assignor that most members ask for; the broker's default when none asks, and when votes tie: in a tie a broker
    /// goes by the order of its hash table, which puts `uniform` before `range`.
    pub(super) fn assignor(&self) -> String {
        let mut votes: BTreeMap<&str, usize> = BTreeMap::new();
        for assignor in self.members.values().filter_map(|member| member.assignor.as_deref()) {
            *votes.entry(assignor).or_default() += 1;
        }
        let most = votes.values().max().copied();
        votes.retain(|_, count| Some(*count) == most);
        let chosen = votes.keys().next().filter(|_| !votes.contains_key(DEFAULT_ASSIGNOR));
        chosen.map_or(DEFAULT_ASSIGNOR, |assignor| assignor).to_owned()
    }

    pub(super) fn members(&self) -> Vec<Member> {
        let member = |(id, joined): (&String, &Joined)| Member {
            id: id.clone(),
            instance_id: joined.instance_id.clone(),
            client_id: joined.client_id.clone(),
            client_host: joined.client_host.clone(),
            topics: joined.topics.clone(),
            partitions: Some(self.current.get(id).map(|now| self.by_source(&now.partitions)).unwrap_or_default()),
        };
        self.members.iter().map(member).collect()
    }

    /// Tasks as partitions of the topics they read; for other groups the partitions as they are.
    fn by_source(&self, partitions: &Partitions) -> Partitions {
        let Some(topology) = &self.topology else { return partitions.clone() };
        let mut found = Partitions::new();
        for (subtopology, ids) in partitions {
            for topic in topology.sources.get(subtopology).into_iter().flatten() {
                add(&mut found, topic, ids.iter().copied());
            }
        }
        found
    }
}

fn put<T>(entries: &mut BTreeMap<String, T>, member: String, value: Option<T>) {
    match value {
        Some(value) => _ = entries.insert(member, value),
        None => _ = entries.remove(&member),
    }
}

impl Joined {
    fn read(value: &Value) -> Self {
        let names = value.get("subscribedTopicNames").map(Value::items);
        let by_pattern = optional_text(value, "subscribedTopicRegex").is_some_and(|pattern| !pattern.is_empty());
        let names = names.map(|names| names.iter().filter_map(Value::as_str).map(str::to_owned).collect());
        Self {
            instance_id: optional_text(value, "instanceId"),
            client_id: text(value, "clientId"),
            client_host: text(value, "clientHost"),
            assignor: optional_text(value, "serverAssignor"),
            topics: names.filter(|_| !by_pattern),
        }
    }
}

impl Current {
    /// What a member has: what it is assigned and what it has yet to give up; of streams tasks the active ones.
    fn read(value: &Value) -> Self {
        const FIELDS: [&str; 4] =
            ["assignedPartitions", "partitionsPendingRevocation", "activeTasks", "activeTasksPendingRevocation"];
        let mut partitions = Partitions::new();
        for entry in FIELDS.iter().filter_map(|field| value.get(field)).flat_map(Value::items) {
            let owner = match entry.get("topicId").and_then(Value::as_uuid) {
                Some(topic) => uuid_text(topic),
                None => text(entry, "subtopologyId"),
            };
            let ids = entry.get("partitions").map(Value::items).unwrap_or_default();
            add(&mut partitions, &owner, ids.iter().filter_map(Value::as_i64).map(|id| id as i32));
        }
        Self { epoch: int(value, "memberEpoch", 0), state: int(value, "state", 0), partitions }
    }
}

impl Topology {
    fn read(value: &Value) -> Self {
        let mut sources = BTreeMap::new();
        for subtopology in value.get("subtopologies").map(Value::items).unwrap_or_default() {
            let named = subtopology.get("sourceTopics").map(Value::items).unwrap_or_default();
            let internal = subtopology.get("repartitionSourceTopics").map(Value::items).unwrap_or_default();
            let topics = named
                .iter()
                .filter_map(Value::as_str)
                .map(str::to_owned)
                .chain(internal.iter().map(|topic| text(topic, "name")))
                .collect();
            sources.insert(text(subtopology, "subtopologyId"), topics);
        }
        Self { epoch: int(value, "epoch", 0), sources }
    }
}
