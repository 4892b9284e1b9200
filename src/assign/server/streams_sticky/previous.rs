//! The members that had a task before.

use super::StreamsGroup;
use super::target::NONE;

/// Members by the tasks that they had before.
pub(super) struct Previous {
    /// Per task, the member that had it active, or `NONE`; if several had it, the last in table order.
    active: Vec<u32>,
    /// Per task, the end of its members in `members`.
    ends: Vec<u32>,
    /// The members that had a task as standby, in table order, task by task.
    members: Vec<u32>,
}

impl Previous {
    /// `order` is the table order of the members.
    pub(super) fn new(group: &StreamsGroup, order: &[u32]) -> Self {
        let count = group.topology.tasks() as usize;
        let mut active = vec![NONE; count];
        for member in order {
            for task in &group.members[*member as usize].active {
                active[*task as usize] = *member;
            }
        }
        // Count the members of each task, then write them. `starts` has the starts, which writing turns into the ends.
        let mut starts = vec![0_u32; count + 1];
        each_standby(group, order, count, |task, _| starts[task + 1] += 1);
        for task in 0..count {
            starts[task + 1] += starts[task];
        }
        let mut members = vec![0; starts[count] as usize];
        each_standby(group, order, count, |task, member| {
            members[starts[task] as usize] = member;
            starts[task] += 1;
        });
        starts.pop();
        Self { active, ends: starts, members }
    }

    /// Return the member that had a task active.
    pub(super) fn active(&self, task: u32) -> Option<u32> {
        Some(self.active[task as usize]).filter(|member| *member != NONE)
    }

    /// Return the members that had a task as standby.
    pub(super) fn standby(&self, task: u32) -> &[u32] {
        let start = if task == 0 { 0 } else { self.ends[task as usize - 1] };
        &self.members[start as usize..self.ends[task as usize] as usize]
    }
}

/// Call `found` with each task and a member that had it as standby; a task that a member lists twice counts once.
fn each_standby(group: &StreamsGroup, order: &[u32], tasks: usize, mut found: impl FnMut(usize, u32)) {
    let mut last = vec![NONE; tasks];
    for member in order {
        for task in &group.members[*member as usize].standby {
            let last = &mut last[*task as usize];
            if *last != *member {
                *last = *member;
                found(*task as usize, *member);
            }
        }
    }
}
