//! Target assignment of a streams group while it is computed.

use super::processes::Processes;
use super::quota::Quota;
use super::{MemberTasks, StreamsGroup};

/// No member.
pub(super) const NONE: u32 = u32::MAX;

/// The tasks that members have got, and the quotas up to which they keep tasks.
pub(super) struct Target {
    pub(super) processes: Processes,
    /// Quota of active tasks.
    pub(super) active_quota: Quota,
    /// Quota of active and standby tasks together.
    pub(super) total_quota: Quota,
    /// Per task, the member that has it active, or `NONE`.
    active: Vec<u32>,
    tasks: Vec<MemberTasks>,
}

impl Target {
    pub(super) fn new(group: &StreamsGroup, processes: Processes) -> Self {
        let (tasks, members) = (u64::from(group.topology.tasks()), group.members.len());
        let standby = u64::from(group.standby_replicas) * u64::from(group.topology.stateful_tasks());
        Self {
            processes,
            active_quota: Quota::new(tasks, members),
            total_quota: Quota::new(tasks + standby, members),
            active: vec![NONE; tasks as usize],
            tasks: vec![MemberTasks::default(); members],
        }
    }

    /// Return the member that has a task active.
    pub(super) fn active(&self, task: u32) -> Option<u32> {
        Some(self.active[task as usize]).filter(|member| *member != NONE)
    }

    /// Give an active task to a member.
    pub(super) fn give_active(&mut self, task: u32, member: u32) {
        self.processes.add(member);
        self.record_active(task, member);
    }

    /// Give an active task to the least loaded member of a process.
    pub(super) fn give_active_to_least_loaded(&mut self, task: u32, process: u32) {
        let member = self.processes.add_to_least_loaded(process);
        self.record_active(task, member);
    }

    /// Give a standby task to a member.
    pub(super) fn give_standby(&mut self, task: u32, member: u32) {
        self.processes.add(member);
        self.record_standby(task, member);
    }

    /// Give a standby task to the least loaded member of a process.
    pub(super) fn give_standby_to_least_loaded(&mut self, task: u32, process: u32) {
        let member = self.processes.add_to_least_loaded(process);
        self.record_standby(task, member);
    }

    fn record_active(&mut self, task: u32, member: u32) {
        self.active[task as usize] = member;
        self.tasks[member as usize].active.push(task);
        let count = self.processes.count(member);
        self.active_quota.count(count);
        self.total_quota.count(count);
    }

    fn record_standby(&mut self, task: u32, member: u32) {
        self.tasks[member as usize].standby.push(task);
        self.total_quota.count(self.processes.count(member));
    }

    /// Return the tasks of each member, sorted.
    pub(super) fn into_tasks(mut self) -> Vec<MemberTasks> {
        for tasks in &mut self.tasks {
            tasks.active.sort_unstable();
            tasks.standby.sort_unstable();
        }
        self.tasks
    }
}
