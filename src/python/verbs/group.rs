//! `Group` as Python sees it: topics and subscriptions read once, for many calls.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use super::options::PreferRackAware;
use super::partition_lists::assignment;
use super::plan::mapping::PyPlan;
use super::topics::topics_of;
use crate::assign::{Options, assign};
use crate::group::Group;
use crate::plan::Plan;
use crate::python::read;
use crate::python::read::group::GroupInput;
use crate::python::read::name_objects::NameObjects;
use crate::python::read::named_topics::NamedTopics;

/// From how many members and topics on the work is worth letting other threads run meanwhile.
const LARGE: usize = 256;

/// Solves a group; other threads run meanwhile if that takes long enough.
pub(crate) fn solve(py: Python<'_>, group: &Arc<Group>, prefer_rack_aware: bool) -> Plan {
    let options = Options { prefer_rack_aware, ..Options::default() };
    let size = group.members().len() + group.topics().len();
    if size < LARGE && !group.has_racks() {
        return assign(group, options);
    }
    py.detach(|| assign(group, options))
}

/// A group, read once: its topics and its members' subscriptions, ready for any number of answers.
///
/// Args:
///     partitions_per_topic: As `assign` takes it: a mapping, `Topics`, or columns.
///     subscriptions: As `assign` takes it: a mapping, or columns.
///
/// Raises:
///     AssignorError: Input that cannot be meant; the message names member or topic and the value.
///
/// Example:
///     >>> group = Group({"t": 3}, {"a": ["t"], "b": ["t"]})
///     >>> group.plan().counts().tolist(), group.assign()["b"]
///     ([2, 1], [TopicPartition(topic='t', partition=2)])
#[pyclass(frozen, name = "Group", module = "assignor")]
pub(crate) struct PyGroup {
    group: Arc<Group>,
    topics: Arc<NamedTopics>,
    members: Arc<NameObjects>,
}

impl From<GroupInput> for PyGroup {
    fn from(GroupInput { group, topics, members }: GroupInput) -> Self {
        let _ = group.order(); // made now, and not within the first call
        Self { group, topics, members }
    }
}

#[pymethods]
impl PyGroup {
    #[new]
    fn new(partitions_per_topic: &Bound<'_, PyAny>, subscriptions: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(read::group::read(topics_of(partitions_per_topic)?, subscriptions)?.into())
    }

    /// Reads a group from what a leader is handed: the members of a JoinGroup response, with their subscriptions as bytes.
    ///
    /// No `str` is made for any subscription, and equal ones are read once.
    ///
    /// Args:
    ///     partitions_per_topic: As `Group` takes it.
    ///     members: An iterable of (member id, group instance id or None, `ConsumerProtocol` bytes).
    ///     tolerant: Also take a subscription whose body is older than its header says (`assignor.wire.decode_subscription`).
    ///
    /// Raises:
    ///     WireError: Bytes that are no subscription; `field` begins with the member.
    ///     AssignorError: Other input that cannot be meant.
    ///
    /// Example:
    ///     >>> joined = [(name, None, bytes.fromhex("0000000000010001 74ffffffff")) for name in ("a", "b")]
    ///     >>> Group.from_wire({"t": 3}, joined).plan().counts().tolist()
    ///     [2, 1]
    #[staticmethod]
    #[pyo3(signature = (partitions_per_topic, members, *, tolerant = false))]
    fn from_wire(
        partitions_per_topic: &Bound<'_, PyAny>,
        members: &Bound<'_, PyAny>,
        tolerant: bool,
    ) -> PyResult<Self> {
        Ok(read::join_group::read(topics_of(partitions_per_topic)?, members, tolerant)?.into())
    }

    /// Says who gets which partition, as spans; what `plan` answers for the same input.
    ///
    /// Args:
    ///     prefer_rack_aware: Kafka's test flag: look at racks even where every partition is on every rack.
    #[pyo3(signature = (*, prefer_rack_aware = PreferRackAware(false)), text_signature = "($self, *, prefer_rack_aware=False)")]
    fn plan(&self, py: Python<'_>, prefer_rack_aware: PreferRackAware) -> PyPlan {
        let plan = solve(py, &self.group, prefer_rack_aware.0);
        PyPlan::new(plan, Arc::clone(&self.topics), Arc::clone(&self.members))
    }

    /// Says who gets which partition, as lists; what `assign` answers for the same input.
    ///
    /// Args:
    ///     prefer_rack_aware: Kafka's test flag: look at racks even where every partition is on every rack.
    #[pyo3(signature = (*, prefer_rack_aware = PreferRackAware(false)), text_signature = "($self, *, prefer_rack_aware=False)")]
    fn assign<'py>(&self, py: Python<'py>, prefer_rack_aware: PreferRackAware) -> PyResult<Bound<'py, PyDict>> {
        assignment(py, &solve(py, &self.group, prefer_rack_aware.0), &self.topics, &self.members)
    }

    /// The member ids, in the order of the subscriptions.
    #[getter]
    fn members<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.members.get(py, self.group.members()))
    }

    /// All topics of the input, in Java's order.
    #[getter]
    fn topics<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.topics.objects(py))
    }

    fn __len__(&self) -> usize {
        self.group.members().len()
    }

    fn __repr__(&self) -> String {
        format!(
            "<Group: {} members with {} subscriptions, {} topics>",
            self.group.members().len(),
            self.group.subscriptions().len(),
            self.topics.topics.len()
        )
    }
}
