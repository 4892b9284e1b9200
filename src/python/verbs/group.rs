//! The class `Group`: topics and subscriptions parsed once, for many calls.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use super::options::{PreferRackAware, Tolerant, options};
use super::partition_lists::assignment;
use super::plan::mapping::PyPlan;
use super::topics::topics_of;
use crate::assign::{GroupProtocol, Options, assign, check_size};
use crate::cancellation;
use crate::error::NoAnswer;
use crate::group::Group;
use crate::plan::Plan;
use crate::python::interrupt::waiting;
use crate::python::read;
use crate::python::read::group::GroupInput;
use crate::python::read::name_objects::NameObjects;
use crate::python::read::named_topics::NamedTopics;
use crate::python::read::topic_ids::TopicIds;

/// Lowest sum of members and topics for which releasing the interpreter lock pays off.
const LARGE: usize = 256;

/// Lowest number of partitions that are assigned one by one, or of topics in subscriptions, for which a thread of its own pays off,
/// so that signals are handled. Smaller groups take milliseconds.
const LONG: u64 = 1 << 14;

/// Assign the partitions of a group. If the group is large or has racks, release the interpreter lock. If the assignment may take long,
/// handle signals, and return the exception that a handler raises.
pub(crate) fn solve(py: Python<'_>, group: &Arc<Group>, options: Options) -> PyResult<Plan> {
    run(py, group, options, assign)
}

/// Return the same as `solve`, for a caller that reads the spans of all members.
pub(crate) fn solve_and_prepare(py: Python<'_>, group: &Arc<Group>, options: Options) -> PyResult<Plan> {
    run(py, group, options, |group, options| {
        let plan = assign(group, options)?;
        cancellation::check();
        let _ = plan.check_readable(); // the caller gets the error when it reads the spans
        Ok(plan)
    })
}

fn run(
    py: Python<'_>,
    group: &Arc<Group>,
    options: Options,
    assign: fn(&Arc<Group>, Options) -> Result<Plan, NoAnswer>,
) -> PyResult<Plan> {
    let partitions = check_size(group, options.assignor)?;
    if partitions.max(group.subscriptions().all().total() as u64) >= LONG {
        let group = Arc::clone(group);
        return Ok(waiting(py, move || assign(&group, options))??);
    }
    let size = group.members().len() + group.topics().len();
    if size < LARGE && !group.has_racks() {
        return Ok(assign(group, options)?);
    }
    Ok(py.detach(|| assign(group, options))?)
}

/// Topics and subscriptions of a group, parsed once for any number of plans.
///
/// Args:
///     partitions_per_topic: A mapping, `Topics`, or columns, as for `assign`.
///     subscriptions: A mapping or columns, as for `assign`.
///     topic_ids: As for `assign`.
///
/// Raises:
///     AssignorError: Invalid input; the message names the member or topic and the value.
///
/// Example:
///     >>> group = Group({"t": 3}, {"a": ["t"], "b": ["t"]})
///     >>> group.plan().counts().tolist(), group.assign()["b"]
///     ([2, 1], [TopicPartition(topic='t', partition=2)])
#[pyclass(frozen, weakref, name = "Group", module = "assignor")]
pub(crate) struct PyGroup {
    pub(super) group: Arc<Group>,
    pub(super) topics: Arc<NamedTopics>,
    members: Arc<NameObjects>,
}

impl PyGroup {
    pub(crate) fn of(py: Python<'_>, GroupInput { group, topics, members }: GroupInput) -> PyResult<Self> {
        // Compute the order now rather than in the first call.
        if group.members().len() as u64 >= LONG {
            let group = Arc::clone(&group);
            waiting(py, move || _ = group.order())?;
        } else {
            let _ = group.order();
        }
        Ok(Self { group, topics, members: Arc::new(members) })
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
        let input = read::group::read(topics_of(partitions_per_topic)?, subscriptions, topic_ids.as_ref())?;
        Self::of(subscriptions.py(), input)
    }

    /// Return the group of a JoinGroup response, whose members have subscriptions as bytes.
    ///
    /// Subscriptions are parsed without a `str` per topic, and equal lists of topics are looked up once. `"sticky"` reads owned
    /// partitions only from the user data, as in Kafka.
    ///
    /// Args:
    ///     partitions_per_topic: As for `Group`.
    ///     members: An iterable of (member id, group instance id or None, `ConsumerProtocol` bytes).
    ///     tolerant: Also accept a subscription whose body has an older version than its header
    ///         (`assignor.wire.decode_subscription`).
    ///     topic_ids: As for `assign`.
    ///
    /// Raises:
    ///     WireError: A malformed subscription; `field` begins with the member.
    ///     AssignorError: Other invalid input.
    ///
    /// Example:
    ///     >>> joined = [(name, None, bytes.fromhex("0000000000010001 74ffffffff")) for name in ("a", "b")]
    ///     >>> Group.from_wire({"t": 3}, joined).plan().counts().tolist()
    ///     [2, 1]
    #[staticmethod]
    #[pyo3(
        signature = (partitions_per_topic, members, *, tolerant = Tolerant(false), topic_ids = None),
        text_signature = "(partitions_per_topic, members, *, tolerant=False, topic_ids=None)"
    )]
    fn from_wire(
        partitions_per_topic: &Bound<'_, PyAny>,
        members: &Bound<'_, PyAny>,
        tolerant: Tolerant,
        topic_ids: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let topic_ids = topic_ids.map(TopicIds::read).transpose()?;
        let input = read::join_group::read(topics_of(partitions_per_topic)?, members, tolerant.0, topic_ids.as_ref())?;
        Self::of(members.py(), input)
    }

    /// Return the same as `assignor.plan` for this group.
    ///
    /// Args:
    ///     assignor: Kafka's name of the assignor; None selects the default of the protocol.
    ///     group_protocol: `"classic"`, `"consumer"` or `"share"`.
    ///     prefer_rack_aware: Kafka's test flag: use racks even if every partition is on every rack.
    ///
    /// Raises:
    ///     IllegalArgumentError: An unknown assignor or protocol, or too many partitions for the assignor.
    ///     IllegalStateError, NotDeterminedError: As for `assignor.assign`.
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

    /// Return the same as `assignor.assign` for this group. Arguments and errors are those of `Group.plan`.
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
        let plan = solve_and_prepare(py, &self.group, options)?;
        assignment(py, &plan, &NamedTopics::of_plan(Arc::clone(&self.topics), &plan), &self.members)
    }

    /// Member ids, in the order of the subscriptions.
    #[getter]
    fn members<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.members.get(py, self.group.members()))
    }

    /// All topics of the input, in Java's `String` order.
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
