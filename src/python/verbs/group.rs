//! `Group` as Python sees it: topics and subscriptions read once, for many calls.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use super::options::{PreferRackAware, options};
use super::partition_lists::assignment;
use super::plan::mapping::PyPlan;
use super::topics::topics_of;
use crate::assign::{GroupProtocol, Options, assign, check_size};
use crate::group::Group;
use crate::plan::Plan;
use crate::python::read;
use crate::python::read::group::GroupInput;
use crate::python::read::name_objects::NameObjects;
use crate::python::read::named_topics::NamedTopics;
use crate::python::read::topic_ids::TopicIds;

/// From how many members and topics on the work is worth letting other threads run meanwhile.
const LARGE: usize = 256;

/// Assign the partitions of a group; a large group is assigned without the interpreter lock.
pub(crate) fn solve(py: Python<'_>, group: &Arc<Group>, options: Options) -> PyResult<Plan> {
    check_size(group, options.assignor)?;
    let size = group.members().len() + group.topics().len();
    if size < LARGE && !group.has_racks() {
        return Ok(assign(group, options));
    }
    Ok(py.detach(|| assign(group, options)))
}

/// Topics and subscriptions of a group, read once for any number of plans.
///
/// Args:
///     partitions_per_topic: As `assign` takes it: a mapping, `Topics`, or columns.
///     subscriptions: As `assign` takes it: a mapping, or columns.
///     topic_ids: As `assign` takes it.
///
/// Raises:
///     AssignorError: Invalid input; the message names the member or topic and the value.
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
    #[pyo3(signature = (partitions_per_topic, subscriptions, *, topic_ids = None))]
    fn new(
        partitions_per_topic: &Bound<'_, PyAny>,
        subscriptions: &Bound<'_, PyAny>,
        topic_ids: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let topic_ids = topic_ids.map(TopicIds::read).transpose()?;
        Ok(read::group::read(topics_of(partitions_per_topic)?, subscriptions, topic_ids.as_ref())?.into())
    }

    /// Return the group of a JoinGroup response: members with their subscriptions as bytes.
    ///
    /// Subscriptions are read without a `str` per topic, and equal ones are read once. `"sticky"` reads owned partitions from
    /// the user data only, as in Kafka.
    ///
    /// Args:
    ///     partitions_per_topic: As `Group` takes it.
    ///     members: An iterable of (member id, group instance id or None, `ConsumerProtocol` bytes).
    ///     tolerant: Also accept a subscription whose body is older than its header says
    ///         (`assignor.wire.decode_subscription`).
    ///     topic_ids: As `assign` takes it.
    ///
    /// Raises:
    ///     WireError: Invalid subscription; `field` begins with the member.
    ///     AssignorError: Other invalid input.
    ///
    /// Example:
    ///     >>> joined = [(name, None, bytes.fromhex("0000000000010001 74ffffffff")) for name in ("a", "b")]
    ///     >>> Group.from_wire({"t": 3}, joined).plan().counts().tolist()
    ///     [2, 1]
    #[staticmethod]
    #[pyo3(signature = (partitions_per_topic, members, *, tolerant = false, topic_ids = None))]
    fn from_wire(
        partitions_per_topic: &Bound<'_, PyAny>,
        members: &Bound<'_, PyAny>,
        tolerant: bool,
        topic_ids: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let topic_ids = topic_ids.map(TopicIds::read).transpose()?;
        Ok(read::join_group::read(topics_of(partitions_per_topic)?, members, tolerant, topic_ids.as_ref())?.into())
    }

    /// Return what `plan` returns for the same input.
    ///
    /// Args:
    ///     assignor: Kafka's name of the assignor; None means the default of the protocol.
    ///     group_protocol: `"classic"` or `"consumer"`.
    ///     prefer_rack_aware: Kafka's test flag: use racks even if every partition is on every rack.
    ///
    /// Raises:
    ///     IllegalArgumentError: An unknown assignor or protocol, or too many partitions for the assignor.
    ///
    /// Example:
    ///     >>> group = Group({"t": 2, "u": 1}, {"a": ["t", "u"], "b": ["t", "u"]})
    ///     >>> group.plan(assignor="roundrobin").counts().tolist(), group.plan().counts().tolist()
    ///     ([2, 1], [2, 1])
    #[pyo3(
        signature = (*, assignor = None, group_protocol = GroupProtocol::Classic, prefer_rack_aware = PreferRackAware(false)),
        text_signature = "($self, *, assignor=None, group_protocol='classic', prefer_rack_aware=False)"
    )]
    fn plan(
        &self,
        py: Python<'_>,
        assignor: Option<&Bound<'_, PyAny>>,
        group_protocol: GroupProtocol,
        prefer_rack_aware: PreferRackAware,
    ) -> PyResult<PyPlan> {
        let options = options(assignor, group_protocol, prefer_rack_aware)?;
        let plan = solve(py, &self.group, options)?;
        Ok(PyPlan::new(plan, options.assignor, Arc::clone(&self.topics), Arc::clone(&self.members)))
    }

    /// Return what `assign` returns for the same input; arguments and errors are those of `plan`.
    #[pyo3(
        signature = (*, assignor = None, group_protocol = GroupProtocol::Classic, prefer_rack_aware = PreferRackAware(false)),
        text_signature = "($self, *, assignor=None, group_protocol='classic', prefer_rack_aware=False)"
    )]
    fn assign<'py>(
        &self,
        py: Python<'py>,
        assignor: Option<&Bound<'_, PyAny>>,
        group_protocol: GroupProtocol,
        prefer_rack_aware: PreferRackAware,
    ) -> PyResult<Bound<'py, PyDict>> {
        let options = options(assignor, group_protocol, prefer_rack_aware)?;
        assignment(py, &solve(py, &self.group, options)?, &self.topics, &self.members)
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
