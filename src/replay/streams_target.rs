//! Target assignments of a streams group (KIP-1071), and the input of the assignor that computed them.

use std::sync::Arc;

use super::epochs::{EpochGroup, owned_by_topic};
use super::fields::{optional_text, text};
use super::member::OwnedPartitions;
use super::streams_topology::Topology;
use super::target_log::TargetLog;
use crate::offsets::{DecodedRecord, FieldValue};

/// Setting of a group that the assignor reads.
const STANDBY_REPLICAS: &str = "num.standby.replicas";

/// Tasks of a member: their numbers by subtopology.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct TaskLists {
    pub(super) active: OwnedPartitions,
    pub(super) standby: OwnedPartitions,
    pub(super) warmup: OwnedPartitions,
}

impl TaskLists {
    fn read(value: FieldValue<'_>) -> Self {
        let [active, standby, warmup] =
            ["activeTasks", "standbyTasks", "warmupTasks"].map(|field| owned_by_topic(value, &[field]));
        Self { active, standby, warmup }
    }
}

/// Target assignment that a broker computed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StreamsTarget {
    /// Milliseconds since 1970.
    pub(super) timestamp: i64,
    /// The topology; None if the log lacks it.
    pub(super) topology: Option<Arc<Topology>>,
    /// False if the broker did not accept the topology, for example because topics are missing. Then no member gets a task.
    pub(super) is_ready: bool,
    /// Number of standby copies of a task; None if the log lacks it.
    pub(super) standby_replicas: Option<u32>,
    /// False if the log lacks the target assignment before this one.
    pub(super) has_predecessor: bool,
    /// The members, in the order in which the broker passes them to its assignor.
    pub(super) members: Vec<StreamsTargetMember>,
}

/// Member of a target assignment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StreamsTargetMember {
    /// The member id.
    pub(super) id: String,
    /// The process id; None if it is missing or empty.
    pub(super) process: Option<String>,
    /// The topology epoch; None if the log lacks the record of the member.
    pub(super) topology_epoch: Option<i32>,
    /// The previous target.
    pub(super) before: TaskLists,
    /// The new target.
    pub(super) after: TaskLists,
}

/// Targets of a streams group during replay, and the settings of its assignor.
#[derive(Debug, Clone, Default)]
pub(super) struct StreamsTargetLog {
    pub(super) log: TargetLog<TaskLists>,
    pub(super) standby_replicas: Option<u32>,
}

impl StreamsTargetLog {
    /// Apply a record of a streams group.
    pub(super) fn apply(&mut self, timestamp: i64, record: &DecodedRecord<'_>) {
        if record.record_type == 17 {
            self.standby_replicas = record.value().and_then(read_standby_replicas);
        }
        self.log.apply(timestamp, record, TaskLists::read);
    }

    /// Return the target assignment that a record of type 20 completes. Call this before applying the record.
    pub(super) fn target(&self, group: &EpochGroup, timestamp: i64) -> StreamsTarget {
        let members = self.log.members(timestamp, true).into_iter().map(|(id, before, after)| {
            let member = group.members.get(id);
            StreamsTargetMember {
                id: id.to_owned(),
                process: member.and_then(|member| member.process.clone()),
                topology_epoch: member.and_then(|member| member.topology_epoch),
                before,
                after,
            }
        });
        StreamsTarget {
            timestamp,
            is_ready: group.topology.as_ref().is_none_or(|topology| topology.epoch == group.validated_topology),
            topology: group.topology.clone(),
            standby_replicas: self.standby_replicas,
            has_predecessor: self.log.is_known,
            members: members.collect(),
        }
    }
}

/// Return the number of standby copies of a task; None if the record does not have it. Brokers write it from 4.2 on.
fn read_standby_replicas(value: FieldValue<'_>) -> Option<u32> {
    let mut settings = value.get("lastAssignmentConfigs")?.items();
    let setting = settings.find(|setting| text(*setting, "key") == STANDBY_REPLICAS)?;
    optional_text(setting, "value")?.parse().ok()
}
