//! Tasks of groups as Arrow columns: the tasks of each member, and the tasks that moved.

use super::table::{ColumnFull, Row, TEXTS, Texts, Type};
use crate::replay::{MemberTasks, MovedTask};

/// Arrow's type of a list of the tasks of members.
pub(super) const TASKS: Type = Type::List(&Type::Struct(&[
    ("member", Type::Text),
    ("process", Type::Text),
    ("active", TEXTS),
    ("standby", TEXTS),
    ("warmup", TEXTS),
]));

/// Arrow's type of a list of tasks that moved.
pub(super) const MOVED_TASKS: Type = Type::List(&Type::Struct(&[("task", Type::Text), ("process", Type::Text)]));

/// Put the tasks of a member.
pub(super) fn put_tasks(row: &mut Row<'_>, member: &MemberTasks) -> Result<(), ColumnFull> {
    row.put(&member.member)?.put(member.process.as_ref())?;
    for tasks in [&member.active, &member.standby, &member.warmup] {
        row.put(Texts(tasks.iter().map(|task| &task.name)))?;
    }
    Ok(())
}

/// Put a task that moved.
pub(super) fn put_moved_task(row: &mut Row<'_>, moved: &MovedTask) -> Result<(), ColumnFull> {
    row.put(&moved.task)?.put(&moved.process).map(drop)
}

/// Return about the number of bytes of the tasks of a member.
pub(super) fn size_of_tasks(member: &MemberTasks) -> usize {
    let tasks = member.active.iter().chain(&member.standby).chain(&member.warmup);
    let texts =
        [Some(&member.member), member.process.as_ref()].into_iter().flatten().chain(tasks.map(|task| &task.name));
    texts.map(|text| text.len() + 4).sum()
}
