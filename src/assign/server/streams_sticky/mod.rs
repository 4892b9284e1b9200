//! Task assignment of streams groups as in the broker's `StickyTaskAssignor`: as even as possible, with few moves.
//!
//! First each task gets one active copy (`active`), then the tasks with state get standby copies (`standby`). Both begin with the
//! tasks that a member had before.
//!
//! Source: kafka-group-coordinator 4.3.1, `org.apache.kafka.coordinator.group.streams.assignor.StickyTaskAssignor`.

mod active;
mod java_queue;
mod previous;
mod processes;
mod quota;
mod standby;
mod target;
mod topology;

use crate::assign::table_order::{DEFAULT_CAPACITY, name_order};
use crate::error::StreamsError;
use crate::memory;
use previous::Previous;
use processes::Processes;
use target::Target;
pub use topology::{MAX_TASKS, Subtopology, Topology};

/// A streams group: what the broker passes to the assignor.
#[derive(Debug, Clone)]
pub struct StreamsGroup {
    /// The tasks.
    pub topology: Topology,
    /// The members with distinct ids, in the order in which the broker puts them into its table.
    pub members: Vec<StreamsMember>,
    /// Number of standby copies of a task with state (`num.standby.replicas`).
    pub standby_replicas: u32,
}

/// A member of a streams group: a thread of a process, with the tasks of its previous target assignment.
#[derive(Debug, Clone, Default)]
pub struct StreamsMember {
    /// Member id.
    pub id: String,
    /// Id of the process.
    pub process: String,
    /// Previous active tasks, from `Topology::task`; leave out tasks that do not exist.
    pub active: Vec<u32>,
    /// Previous standby tasks; duplicates have no effect.
    pub standby: Vec<u32>,
}

/// Target assignment of a member.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MemberTasks {
    /// Active tasks in ascending order: by subtopology id, then number. `Topology::name` returns both.
    pub active: Vec<u32>,
    /// Standby tasks in ascending order.
    pub standby: Vec<u32>,
}

/// Largest number of bytes that the computation reserves per task, and per standby copy.
const BYTES_PER_TASK: u64 = 32;
const BYTES_PER_STANDBY: u64 = 12;

impl StreamsGroup {
    /// Return the number of copies of tasks that the target assignment can have: active and standby.
    #[must_use]
    pub fn copies(&self) -> u64 {
        u64::from(self.topology.tasks()) + self.standby_copies()
    }

    fn standby_copies(&self) -> u64 {
        let others = self.members.len().saturating_sub(1) as u64;
        u64::from(self.topology.stateful_tasks()) * others.min(u64::from(self.standby_replicas))
    }
}

/// Return the target assignment of each member, in the order of the members.
///
/// # Errors
/// The group has tasks and no members, or the assignment does not fit into memory.
pub fn assign(group: &StreamsGroup) -> Result<Vec<MemberTasks>, StreamsError> {
    let topology = &group.topology;
    if group.members.is_empty() {
        return if topology.tasks() == 0 { Ok(Vec::new()) } else { Err(StreamsError::NoMembers(topology.tasks())) };
    }
    let standby = group.standby_copies().saturating_mul(BYTES_PER_STANDBY);
    let bytes = u64::from(topology.tasks()) * BYTES_PER_TASK + standby;
    memory::check("an assignment", "tasks", group.copies(), bytes)?;

    let ids: Vec<&str> = group.members.iter().map(|member| &*member.id).collect();
    let order = name_order(&ids, DEFAULT_CAPACITY);
    let previous = Previous::new(group, &order);
    let mut target = Target::new(group, Processes::new(group, &order));
    let by_number = topology.tasks_by_number();
    active::assign(&by_number, &previous, &mut target);
    if group.standby_replicas > 0 {
        let stateful: Vec<u32> = by_number.into_iter().rev().filter(|task| topology.is_stateful(*task)).collect();
        standby::assign(&stateful, group.standby_replicas, &previous, &mut target);
    }
    Ok(target.into_tasks())
}
