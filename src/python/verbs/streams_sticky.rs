//! The function `assign_tasks`: the tasks of the members of a streams group.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::{PyList, PyString};
use rustc_hash::FxHashMap;

use crate::assign::streams_sticky::{MemberTasks, StreamsGroup, StreamsMember, Subtopology, Topology, assign};
use crate::memory;
use crate::python::interrupt::waiting;

/// Lowest number of copies of tasks for which a thread of its own pays off, so that signals are handled. Smaller groups take
/// milliseconds.
const LONG: u64 = 1 << 14;

/// Memory for a task with its number and its entry in a list.
const BYTES_PER_TASK: u64 = 64 + 32 + 8;

type TaskNames = Vec<(PyBackedStr, u32)>;

/// Id, process id, active tasks and standby tasks of a member.
type Member = (String, String, TaskNames, TaskNames);

type PyTasks<'py> = (Bound<'py, PyList>, Bound<'py, PyList>);

/// Return the active and the standby tasks of each member, sorted by subtopology id and number.
///
/// `topology` maps a subtopology to its number of tasks and whether they have state. `StreamsStickyAssignor` checks all values.
#[pyfunction]
pub(crate) fn assign_tasks(
    py: Python<'_>,
    topology: FxHashMap<String, (u32, bool)>,
    members: Vec<Member>,
    standby_replicas: u32,
) -> PyResult<Vec<PyTasks<'_>>> {
    let subtopology = |(id, (tasks, is_stateful))| Subtopology { id, tasks, is_stateful };
    let topology = Topology::new(topology.into_iter().map(subtopology).collect())?;
    let numbers = |tasks: TaskNames| tasks.iter().filter_map(|(id, number)| topology.task(id, *number)).collect();
    let member = |(id, process, active, standby): Member| {
        let (active, standby) = (numbers(active), numbers(standby));
        StreamsMember { id, process, active, standby }
    };
    let members = members.into_iter().map(member).collect();
    let group = Arc::new(StreamsGroup { topology, members, standby_replicas });
    let tasks = if group.copies() < LONG {
        assign(&group)?
    } else {
        memory::check_each("an assignment", "tasks", group.copies(), BYTES_PER_TASK)?;
        let shared = Arc::clone(&group);
        waiting(py, move || assign(&shared))??
    };
    let names: Vec<Bound<'_, PyString>> =
        group.topology.subtopologies().iter().map(|subtopology| PyString::new(py, &subtopology.id)).collect();
    let list = |tasks: &[u32]| {
        let pairs = tasks.iter().map(|task| {
            let subtopology = group.topology.subtopology(*task);
            (&names[subtopology], task - group.topology.start(subtopology))
        });
        PyList::new(py, pairs)
    };
    tasks.iter().map(|MemberTasks { active, standby }| Ok((list(active)?, list(standby)?))).collect()
}
