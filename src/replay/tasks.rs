//! Tasks of a group: which process has which task, what moved since the assignment before, and what is wrong.
//!
//! A streams group (KIP-1071), Kafka Streams on the classic protocol and Connect assign tasks instead of partitions. The processes are those
//! of the application (Streams) or the workers (Connect). State is on the disk of a process, so a task moves only if its process changes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::name_list::listed;

/// Number of names that a problem lists.
pub(super) const NAMES_SHOWN: usize = 8;
/// Number of assignments without a task after which its processes are forgotten.
const MISSING: usize = 20;

/// Task, connector or task of a connector.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Task {
    /// Name, such as `0_3`.
    pub name: Arc<str>,
    /// True if the task has state, which a process restores before it continues the task.
    pub has_state: bool,
}

/// Tasks of a member.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MemberTasks {
    /// The member id.
    pub member: Arc<str>,
    /// Process or worker of the member; None if it is not known.
    pub process: Option<Arc<str>>,
    /// Tasks that the member runs.
    pub active: Vec<Task>,
    /// Copies of the state of tasks that other members run.
    pub standby: Vec<Task>,
    /// Copies that the member restores before it takes over the tasks.
    pub warmup: Vec<Task>,
}

impl MemberTasks {
    /// Return the process; a member whose process is not known is its own process.
    fn place(&self) -> &Arc<str> {
        self.process.as_ref().unwrap_or(&self.member)
    }

    fn copies(&self) -> impl Iterator<Item = &Task> {
        self.active.iter().chain(&self.standby).chain(&self.warmup)
    }
}

/// Task and the process that has it now.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct MovedTask {
    /// Name of the task.
    pub task: Arc<str>,
    /// Process, or the member id if the process is not known.
    pub process: Arc<str>,
}

/// Assignment of tasks to the members of a group.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct TaskAssignment {
    /// The members, in the order in which they are shown.
    pub(super) members: Vec<MemberTasks>,
    /// All tasks that must have a member; None if they are not known.
    pub(super) expected: Option<Vec<Task>>,
    /// What is wrong with the input or the assignment, apart from what `task_problems` finds.
    pub(super) remarks: Vec<String>,
}

/// Assignment of tasks, and its difference to the assignment before.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskChanges {
    /// Tasks of each member.
    pub tasks: Vec<MemberTasks>,
    /// Tasks that another process runs than the last known one; None if the log lacks the assignment before.
    pub moved_tasks: Option<Vec<MovedTask>>,
    /// Copies of existing state on a process that had none before; None if the log lacks the assignment before.
    pub moved_state: Option<Vec<MovedTask>>,
    /// Sentences that say what is wrong.
    pub problems: Vec<String>,
}

/// Last known processes of a task.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct LastPlaces {
    /// Those that ran it.
    pub(super) active: BTreeSet<Arc<str>>,
    /// Those that had a copy of it.
    pub(super) copies: BTreeSet<Arc<str>>,
    /// Number of assignments without the task since then.
    pub(super) missing: usize,
    /// True if a leader took the task from its worker on purpose, since it last ran.
    pub(super) is_revoked: bool,
}

/// Last known processes of the tasks of a group, by task.
///
/// A cooperative assignor leaves a task out of an assignment or more before it gives the task to another process, so a task that is missing
/// is remembered.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct LastTasks {
    pub(super) places: BTreeMap<Arc<str>, LastPlaces>,
}

impl LastTasks {
    /// Replace the assignment; return the difference to what was known before. `is_partial` is true if the log lacks earlier assignments.
    pub(super) fn replace(&mut self, assignment: &TaskAssignment, is_partial: bool) -> TaskChanges {
        let mut now: BTreeMap<Arc<str>, LastPlaces> = BTreeMap::new();
        // A process can have several copies; it is named once.
        let (mut moved_tasks, mut moved_state) = (BTreeSet::new(), BTreeSet::new());
        for member in &assignment.members {
            let process = member.place();
            let moved = |task: &Task| MovedTask { task: Arc::clone(&task.name), process: Arc::clone(process) };
            for task in &member.active {
                now.entry(Arc::clone(&task.name)).or_default().active.insert(Arc::clone(process));
                let before = self.places.get(&task.name).map(|before| &before.active);
                if before.is_some_and(|before| !before.is_empty() && !before.contains(process)) {
                    moved_tasks.insert(moved(task));
                }
            }
            for task in member.copies() {
                now.entry(Arc::clone(&task.name)).or_default().copies.insert(Arc::clone(process));
                if task.has_state && self.places.get(&task.name).is_some_and(|before| !before.copies.contains(process))
                {
                    moved_state.insert(moved(task));
                }
            }
        }
        for (name, before) in std::mem::take(&mut self.places) {
            match now.get_mut(&name) {
                Some(found) if found.active.is_empty() => found.active = before.active,
                Some(_) => {}
                None if before.missing == MISSING => {}
                None => _ = now.insert(name, LastPlaces { missing: before.missing + 1, ..before }),
            }
        }
        self.places = now;
        let known = |moved: BTreeSet<MovedTask>| (!is_partial).then(|| moved.into_iter().collect());
        TaskChanges {
            tasks: assignment.members.clone(),
            moved_tasks: known(moved_tasks),
            moved_state: known(moved_state),
            problems: task_problems(assignment),
        }
    }
}

/// Return sentences that say what is wrong with an assignment.
fn task_problems(assignment: &TaskAssignment) -> Vec<String> {
    let mut problems = assignment.remarks.clone();
    let mut owners: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut copies: BTreeMap<(&str, &str), Vec<&str>> = BTreeMap::new();
    for member in &assignment.members {
        for task in &member.active {
            owners.entry(&task.name).or_default().push(&member.member);
        }
        for task in member.copies() {
            copies.entry((member.place(), &task.name)).or_default().push(&member.member);
        }
    }
    for (task, members) in owners.iter().filter(|(_, members)| members.len() > 1) {
        problems.push(format!("task {task} has {} owners: {}", members.len(), listed(members, NAMES_SHOWN)));
    }
    for ((process, task), members) in copies.iter().filter(|(_, members)| members.len() > 1) {
        problems.push(format!(
            "process {process} has {} copies of task {task}: {}",
            members.len(),
            listed(members, NAMES_SHOWN)
        ));
    }
    problems.extend(assignment.expected.as_deref().and_then(|expected| unowned_problem(&assignment.members, expected)));
    problems
}

/// Return the sentence about the expected tasks that no member runs; None if each task has an owner.
pub(super) fn unowned_problem(members: &[MemberTasks], expected: &[Task]) -> Option<String> {
    let owned: BTreeSet<&str> = members.iter().flat_map(|member| &member.active).map(|task| &*task.name).collect();
    let missing: Vec<&str> = expected.iter().map(|task| &*task.name).filter(|name| !owned.contains(name)).collect();
    match missing[..] {
        [] => None,
        [task] => Some(format!("task {task} has no owner")),
        _ => Some(format!("{} tasks have no owner: {}", missing.len(), listed(&missing, NAMES_SHOWN))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tasks(names: &str) -> Vec<Task> {
        names.split_whitespace().map(|name| Task { name: name.into(), has_state: name.starts_with('1') }).collect()
    }

    fn assignment(members: &[(&str, &str, &str, &str)]) -> TaskAssignment {
        let member = |(member, process, active, standby): &(&str, &str, &str, &str)| MemberTasks {
            member: (*member).into(),
            process: (!process.is_empty()).then(|| (*process).into()),
            active: tasks(active),
            standby: tasks(standby),
            warmup: Vec::new(),
        };
        TaskAssignment { members: members.iter().map(member).collect(), ..TaskAssignment::default() }
    }

    fn shown(moved: Option<Vec<MovedTask>>) -> Vec<String> {
        moved.unwrap_or_default().iter().map(|moved| format!("{} {}", moved.task, moved.process)).collect()
    }

    #[test]
    fn a_task_moves_if_its_process_changes() {
        let mut last = LastTasks::default();
        let before = assignment(&[("a", "P", "0_0 1_0", "1_1"), ("b", "P", "0_1", ""), ("c", "Q", "1_1", "1_0")]);
        let after = assignment(&[("a", "P", "0_1 1_1", ""), ("b", "P", "0_0", ""), ("c", "Q", "1_0 1_2", "1_1")]);

        let first = last.replace(&before, false);
        let changes = last.replace(&after, false);

        assert_eq!((Some(vec![]), Some(vec![])), (first.moved_tasks, first.moved_state));
        assert_eq!(vec!["1_0 Q", "1_1 P"], shown(changes.moved_tasks));
        assert_eq!(Some(vec![]), changes.moved_state, "the standby copies were there");
    }

    #[test]
    fn state_moves_to_a_process_without_a_copy() {
        let mut last = LastTasks::default();
        let unknown = last.replace(&assignment(&[("a", "P", "0_0 1_0", ""), ("b", "", "0_1", "")]), true);

        let changes = last.replace(&assignment(&[("a", "P", "", "1_0"), ("b", "", "0_0 0_1 1_0", "")]), false);

        assert_eq!((None, None), (unknown.moved_tasks, unknown.moved_state));
        assert_eq!(vec!["0_0 b", "1_0 b"], shown(changes.moved_tasks), "a member without process is its own process");
        assert_eq!(vec!["1_0 b"], shown(changes.moved_state), "0_0 has no state");
    }

    #[test]
    fn a_missing_task_keeps_its_last_process() {
        let mut last = LastTasks::default();
        last.replace(&assignment(&[("a", "P", "1_0", ""), ("b", "Q", "1_1", "")]), false);
        last.replace(&assignment(&[("a", "P", "", ""), ("b", "Q", "1_1", "")]), false);

        let changes = last.replace(&assignment(&[("a", "P", "", ""), ("b", "Q", "1_0 1_1", "")]), false);

        assert_eq!(vec!["1_0 Q"], shown(changes.moved_tasks));
        for _ in 0..=MISSING {
            last.replace(&TaskAssignment::default(), false);
        }
        assert!(last.places.is_empty(), "the memory is bounded");
    }

    #[test]
    fn problems_name_the_tasks_and_the_members() {
        let mut found = assignment(&[("a", "P", "0_0 1_0", ""), ("b", "P", "0_0", "1_0"), ("c", "Q", "", "1_0")]);
        found.expected = Some(tasks("0_0 0_1 1_0 1_1"));
        found.remarks.push("remark".into());

        let problems = task_problems(&found);

        let expected = [
            "remark",
            "task 0_0 has 2 owners: a, b",
            "process P has 2 copies of task 0_0: a, b",
            "process P has 2 copies of task 1_0: a, b",
            "2 tasks have no owner: 0_1, 1_1",
        ];
        assert_eq!(expected.as_slice(), problems);
        assert!(task_problems(&assignment(&[("a", "P", "0_0", "")])).is_empty(), "the expected tasks are not known");
    }
}
