//! Processes of a streams group: their members, and how loaded they are.

use rustc_hash::FxHashMap;

use super::StreamsGroup;
use super::java_queue::JavaQueue;
use crate::assign::table_order::{DEFAULT_CAPACITY, name_order};

/// Processes, numbered in table order.
pub(super) struct Processes {
    /// Per member, its process.
    of_member: Vec<u32>,
    /// Per member, the number of tasks that it has got.
    counts: Vec<u32>,
    all: Vec<Process>,
}

/// A process: the members that run in it, as its threads.
struct Process {
    /// Its members, in table order.
    members: Vec<u32>,
    tasks: u32,
    /// Number of tasks per member.
    load: f64,
    /// Queue of its members; None if it is not valid.
    queue: Option<JavaQueue>,
}

impl Processes {
    /// `order` is the table order of the members.
    pub(super) fn new(group: &StreamsGroup, order: &[u32]) -> Self {
        let mut found: FxHashMap<&str, usize> = FxHashMap::default();
        let (mut ids, mut members) = (Vec::new(), Vec::new());
        for member in order {
            let id = &*group.members[*member as usize].process;
            let index = *found.entry(id).or_insert_with(|| {
                ids.push(id);
                members.push(Vec::new());
                members.len() - 1
            });
            members[index].push(*member);
        }
        let mut of_member = vec![0; order.len()];
        let table = name_order(&ids, order.len().next_power_of_two());
        let all = (0..).zip(table).map(|(process, index)| {
            let members = in_table_order(group, &members[index as usize]);
            for member in &members {
                of_member[*member as usize] = process;
            }
            Process { members, tasks: 0, load: 0.0, queue: None }
        });
        let all = all.collect();
        Self { of_member, counts: vec![0; order.len()], all }
    }

    /// Return the number of processes.
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// Return the process of a member.
    pub(super) fn of(&self, member: u32) -> u32 {
        self.of_member[member as usize]
    }

    /// Return the number of tasks that a member has got, active and standby.
    pub(super) fn count(&self, member: u32) -> u32 {
        self.counts[member as usize]
    }

    /// Return the number of tasks of a process per member.
    pub(super) fn load(&self, process: u32) -> f64 {
        self.all[process as usize].load
    }

    /// Return a queue of all processes, least loaded first.
    pub(super) fn queue(&self) -> JavaQueue {
        JavaQueue::new(0..self.all.len() as u32, |process| self.load(process))
    }

    /// Return true if a member has fewer tasks than another one, and its process has a lower load.
    pub(super) fn is_less_loaded(&self, member: u32, other: u32) -> bool {
        self.load(self.of(member)) < self.load(self.of(other)) && self.count(member) < self.count(other)
    }

    /// Add a task to a member; the queue of its process is no longer valid.
    pub(super) fn add(&mut self, member: u32) {
        let process = &mut self.all[self.of_member[member as usize] as usize];
        process.queue = None;
        process.add_task();
        self.counts[member as usize] += 1;
    }

    /// Add a task to the member of a process with the fewest tasks, and return the member.
    pub(super) fn add_to_least_loaded(&mut self, process: u32) -> u32 {
        let process = &mut self.all[process as usize];
        process.add_task();
        if let [member] = *process.members {
            self.counts[member as usize] += 1;
            return member;
        }
        let counts = &mut self.counts;
        let queue = process
            .queue
            .get_or_insert_with(|| JavaQueue::new(process.members.iter().copied(), |member| counts[member as usize]));
        let member = queue.take(|member| counts[member as usize]).unwrap_or(process.members[0]);
        counts[member as usize] += 1;
        queue.add(member, |member| counts[member as usize]);
        member
    }
}

impl Process {
    fn add_task(&mut self) {
        self.tasks += 1;
        self.load = f64::from(self.tasks) / f64::from(self.members.len() as u32);
    }
}

/// Return the members of a process in the iteration order of a table that is filled in the given order.
fn in_table_order(group: &StreamsGroup, members: &[u32]) -> Vec<u32> {
    let ids: Vec<&str> = members.iter().map(|member| &*group.members[*member as usize].id).collect();
    name_order(&ids, DEFAULT_CAPACITY).into_iter().map(|index| members[index as usize]).collect()
}
