//! Tasks of a streams group (KIP-1071): who has which, and what is wrong with them and with the topology.

use std::collections::{BTreeMap, BTreeSet};

use super::member::OwnedPartitions;
use super::metadata::{Metadata, MetadataSnapshot};
use super::name_list::listed;
use super::streams_target::{StreamsTarget, StreamsTargetMember, TaskLists};
use super::streams_topology::Topology;
use super::tasks::{MemberTasks, NAMES_SHOWN, Task, TaskAssignment, unowned_problem};

/// Return the tasks of a target assignment, by process and member.
pub(super) fn task_assignment(target: &StreamsTarget) -> TaskAssignment {
    let mut members: Vec<&StreamsTargetMember> = target.members.iter().collect();
    members.sort_by_key(|member| (&member.process, &member.id));
    let topology = target.topology.as_deref();
    let show = |member: &StreamsTargetMember| {
        let TaskLists { active, standby, warmup } = &member.after;
        MemberTasks {
            member: member.id.as_str().into(),
            process: member.process.as_deref().map(Into::into),
            active: tasks(topology, active),
            standby: tasks(topology, standby),
            warmup: tasks(topology, warmup),
        }
    };
    TaskAssignment { members: members.into_iter().map(show).collect(), expected: None, remarks: remarks(target) }
}

fn tasks(topology: Option<&Topology>, lists: &OwnedPartitions) -> Vec<Task> {
    let of_subtopology = |(subtopology, numbers): (&String, &Vec<i32>)| -> Vec<Task> {
        let has_state = topology.is_some_and(|topology| topology.has_state(subtopology));
        let task = |number: &i32| Task { name: task_name(subtopology, *number).into(), has_state };
        numbers.iter().map(task).collect()
    };
    lists.iter().flat_map(of_subtopology).collect()
}

fn task_name(subtopology: &str, number: i32) -> String {
    format!("{subtopology}_{number}")
}

/// Return the distinct tasks of all members: numbers by subtopology.
fn all_tasks(target: &StreamsTarget) -> BTreeMap<&str, BTreeSet<i32>> {
    let mut found: BTreeMap<&str, BTreeSet<i32>> = BTreeMap::new();
    let lists = target.members.iter().map(|member| &member.after);
    for (subtopology, numbers) in lists.flat_map(|lists| lists.active.iter().chain(&lists.standby).chain(&lists.warmup))
    {
        found.entry(subtopology).or_default().extend(numbers);
    }
    found
}

/// Return what is wrong with the topology and the members, without topic metadata.
fn remarks(target: &StreamsTarget) -> Vec<String> {
    let mut found = Vec::new();
    match target.topology.as_deref() {
        None => found.push("the log lacks the topology of the group".to_owned()),
        Some(topology) => {
            if !target.is_ready {
                found.push(
                    "the broker has not accepted the topology: topics are missing or have wrong numbers of partitions"
                        .into(),
                );
            }
            let all = all_tasks(target);
            let foreign = all.iter().filter(|(subtopology, _)| !topology.subtopologies.contains_key(**subtopology));
            let foreign: Vec<String> =
                foreign.flat_map(|(id, numbers)| numbers.iter().map(|number| task_name(id, *number))).collect();
            if !foreign.is_empty() {
                found.push(format!("the topology has no subtopology for the tasks {}", listed(&foreign, NAMES_SHOWN)));
            }
        }
    }
    let mut members: Vec<&StreamsTargetMember> = target.members.iter().collect();
    members.sort_by_key(|member| &member.id);
    let mut epochs: BTreeMap<i32, Vec<&str>> = BTreeMap::new();
    for member in &members {
        if let Some(epoch) = member.topology_epoch {
            epochs.entry(epoch).or_default().push(&member.id);
        }
    }
    if epochs.len() > 1 {
        let shown: Vec<String> =
            epochs.iter().map(|(epoch, ids)| format!("{epoch} ({})", listed(ids, NAMES_SHOWN))).collect();
        found.push(format!("the topology epochs of the members differ: {}", listed(&shown, NAMES_SHOWN)));
    }
    let nameless: Vec<&str> =
        members.iter().filter(|member| member.process.is_none()).map(|member| &*member.id).collect();
    if !nameless.is_empty() {
        found.push(format!("no process id: {}", listed(&nameless, NAMES_SHOWN)));
    }
    found
}

/// Return what is wrong with the tasks, which the members have, given the topics around the time of the target assignment.
///
/// A topic can grow between two snapshots. A task does not exist if both snapshots lack its partition. It must exist if both have it.
pub(super) fn topic_problems(target: &StreamsTarget, members: &[MemberTasks], metadata: &Metadata) -> Vec<String> {
    let around: Vec<&MetadataSnapshot> = metadata.around(target.timestamp).collect();
    let (Some(topology), [first, ..], true) = (target.topology.as_deref(), &around[..], target.is_ready) else {
        return Vec::new();
    };
    let (mut problems, mut beyond, mut expected) = (Vec::new(), Vec::new(), Vec::new());
    let all = all_tasks(target);
    for (id, subtopology) in &topology.subtopologies {
        if subtopology.has_pattern {
            continue;
        }
        let missing: Vec<&str> = subtopology
            .missing(first)
            .filter(|topic| around.iter().all(|snapshot| !snapshot.topics.contains_key(*topic)))
            .collect();
        if !missing.is_empty() {
            problems.push(format!(
                "the topic metadata lacks source topics of subtopology {id}: {}",
                listed(&missing, NAMES_SHOWN)
            ));
            continue;
        }
        let counts = around.iter().map(|snapshot| subtopology.tasks(snapshot));
        let (least, most) = (counts.clone().min().unwrap_or(0), counts.max().unwrap_or(0));
        let numbers = all.get(id.as_str()).into_iter().flatten();
        let exists = |number: i32| u32::try_from(number).is_ok_and(|number| number < most);
        beyond.extend(numbers.filter(|number| !exists(**number)).map(|number| task_name(id, *number)));
        if first.time <= target.timestamp {
            let has_state = subtopology.has_state;
            expected.extend((0..least as i32).map(|number| Task { name: task_name(id, number).into(), has_state }));
        }
    }
    if !beyond.is_empty() {
        problems.push(format!("the source topics have no partitions for the tasks {}", listed(&beyond, NAMES_SHOWN)));
    }
    problems.extend(unowned_problem(members, &expected));
    problems
}
