//! Active tasks: first to the members that had them, then to one with a standby copy, then to the least loaded process.

use super::previous::Previous;
use super::target::Target;
use crate::cancellation;

/// Give each task to one member. The tasks are sorted by number, then subtopology.
pub(super) fn assign(tasks: &[u32], previous: &Previous, target: &mut Target) {
    let mut left = Vec::new();
    for task in tasks {
        cancellation::check();
        if !keep(*task, previous.active(*task), target) {
            left.push(*task);
        }
    }
    left.retain(|task| {
        cancellation::check();
        !keep(*task, candidate(previous.standby(*task), target), target)
    });
    left.sort_unstable();
    let mut queue = target.processes.queue();
    for task in left {
        cancellation::check();
        if let Some(process) = queue.take(|process| target.processes.load(process)) {
            target.give_active_to_least_loaded(task, process);
            queue.add(process, |process| target.processes.load(process));
        }
    }
}

/// Give a task to a member below its quota; return false if the member has its quota, or is None.
fn keep(task: u32, member: Option<u32>, target: &mut Target) -> bool {
    let Some(member) = member.filter(|member| target.active_quota.is_below(target.processes.count(*member))) else {
        return false;
    };
    target.give_active(task, member);
    true
}

/// Return the first member, or a later one that is less loaded than each candidate before it.
fn candidate(members: &[u32], target: &Target) -> Option<u32> {
    members.iter().copied().reduce(
        |best, member| {
            if target.processes.is_less_loaded(member, best) { member } else { best }
        },
    )
}
