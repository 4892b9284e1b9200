//! Standby tasks: first to members that had a copy of the state, then to the least loaded processes without a copy.

use super::java_queue::JavaQueue;
use super::previous::Previous;
use super::target::Target;
use crate::cancellation;

/// A task that needs more standby copies.
struct Rest {
    task: u32,
    missing: u32,
    /// The processes with a standby copy.
    holders: Vec<u32>,
}

/// Give standby copies of each task to members of processes without a copy of it.
///
/// `stateful` has the tasks with state, by number and subtopology in descending order. If there are fewer other processes than
/// `replicas`, a task gets fewer copies.
pub(super) fn assign(stateful: &[u32], replicas: u32, previous: &Previous, target: &mut Target) {
    let mut copies = Copies::new(target.processes.len());
    let mut rest = Vec::new();
    for task in stateful {
        cancellation::check();
        copies.begin(target.active(*task).map(|member| target.processes.of(member)));
        let mut left = Rest { task: *task, missing: replicas, holders: Vec::new() };
        while left.missing > 0 {
            let Some(member) = keeper(*task, previous, target, &copies) else { break };
            target.give_standby(*task, member);
            copies.add(target.processes.of(member));
            left.holders.push(target.processes.of(member));
            left.missing -= 1;
        }
        if left.missing > 0 {
            rest.push(left);
        }
    }
    rest.sort_unstable_by_key(|left| std::cmp::Reverse(left.task));
    let mut queue = target.processes.queue();
    let mut passed = Vec::new();
    for left in rest {
        copies.begin(target.active(left.task).map(|member| target.processes.of(member)));
        for process in &left.holders {
            copies.add(*process);
        }
        for _ in 0..left.missing {
            cancellation::check();
            if !give_to_least_loaded(left.task, &mut queue, &mut passed, target, &mut copies) {
                break;
            }
        }
    }
}

/// Return the member below its quota that had the task active, or else one that had it as standby.
fn keeper(task: u32, previous: &Previous, target: &Target, copies: &Copies) -> Option<u32> {
    let processes = &target.processes;
    let is_below = |member: &u32| target.total_quota.is_below(processes.count(*member));
    let active = previous.active(task).filter(|member| !copies.has(processes.of(*member)) && is_below(member));
    active.or_else(|| candidate(previous.standby(task), target, copies).filter(is_below))
}

/// Return the first member, or a later one that is less loaded and whose process has no copy.
///
/// Return None if the process of the first member has a copy, even if that of the candidate has none: the class does so up to 4.3.1,
/// except for 4.2.2 (KAFKA-20899).
fn candidate(members: &[u32], target: &Target, copies: &Copies) -> Option<u32> {
    let processes = &target.processes;
    let first = members.first().filter(|first| !copies.has(processes.of(**first)))?;
    let better = |best: u32, member: u32| !copies.has(processes.of(member)) && processes.is_less_loaded(member, best);
    Some(members[1..].iter().fold(*first, |best, member| if better(best, *member) { *member } else { best }))
}

/// Give a standby copy to the first process of the queue without a copy; return false if all have one.
fn give_to_least_loaded(
    task: u32,
    queue: &mut JavaQueue,
    passed: &mut Vec<u32>,
    target: &mut Target,
    copies: &mut Copies,
) -> bool {
    let mut is_found = false;
    while !is_found && let Some(process) = queue.take(|process| target.processes.load(process)) {
        passed.push(process);
        is_found = !copies.has(process);
        if is_found {
            target.give_standby_to_least_loaded(task, process);
            copies.add(process);
        }
    }
    // The process that got the copy comes back first, then those before it, the last one first.
    for process in passed.drain(..).rev() {
        queue.add(process, |process| target.processes.load(process));
    }
    is_found
}

/// The processes with a copy of one task.
struct Copies {
    /// Per process, the last round in which it had a copy.
    rounds: Vec<u32>,
    round: u32,
}

impl Copies {
    fn new(processes: usize) -> Self {
        Self { rounds: vec![0; processes], round: 0 }
    }

    /// Begin with a task and the process that has it active.
    fn begin(&mut self, active: Option<u32>) {
        self.round += 1;
        if let Some(process) = active {
            self.add(process);
        }
    }

    fn add(&mut self, process: u32) {
        self.rounds[process as usize] = self.round;
    }

    fn has(&self, process: u32) -> bool {
        self.rounds[process as usize] == self.round
    }
}
