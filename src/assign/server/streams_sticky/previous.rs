//! The members that had a task before.

use super::StreamsGroup;
use super::target::NONE;
use crate::group::Lists;

/// Members by the tasks that they had before.
pub(super) struct Previous {
    /// Per task, the member that had it active, or `NONE`; if several had it, the last in table order.
    active: Vec<u32>,
    /// Per task, the members that had it as standby, in table order.
    standby: Lists,
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
        let standby = Lists::by_key(count, standby_pairs(group, order, count).into_iter());
        Self { active, standby }
    }

    /// Return the member that had a task active.
    pub(super) fn active(&self, task: u32) -> Option<u32> {
        Some(self.active[task as usize]).filter(|member| *member != NONE)
    }

    /// Return the members that had a task as standby.
    pub(super) fn standby(&self, task: u32) -> &[u32] {
        self.standby.get(task as usize)
    }
}

/// Return each task with a member that had it as standby; a task that a member lists twice counts once.
fn standby_pairs(group: &StreamsGroup, order: &[u32], tasks: usize) -> Vec<(u32, u32)> {
    let mut last = vec![NONE; tasks];
    let mut pairs = Vec::new();
    for member in order {
        for task in &group.members[*member as usize].standby {
            if std::mem::replace(&mut last[*task as usize], *member) != *member {
                pairs.push((*task, *member));
            }
        }
    }
    pairs
}
