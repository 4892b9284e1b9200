//! The class `Plan` as a mapping, and queries on an assignment.

use std::sync::{Arc, OnceLock};

use numpy::{IntoPyArray, PyArray1};
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyIterator, PyList, PyMapping, PyString, PyTuple};

use crate::assign::Assignor;
use crate::group::NameTable;
use crate::plan::Plan;
use crate::python::error::wrong_type;
use crate::python::imports::{ITEMS_VIEW, KEYS_VIEW, PLAN_HTML, VALUES_VIEW};
use crate::python::numpy_api;
use crate::python::read::name_objects::NameObjects;
use crate::python::read::named_topics::NamedTopics;
use crate::python::read::values::{index, is_int};
use crate::python::verbs::partition_lists::{ListBuilder, assignment};

/// Columns of a plan's spans, in the order of `Plan.spans`.
pub(super) const SPAN_COLUMNS: [fn(&Plan) -> &[i32]; 4] = [
    |plan| &plan.columns().member,
    |plan| &plan.columns().topic,
    |plan| &plan.columns().start,
    |plan| &plan.columns().count,
];

/// An assignment: a read-only mapping of member ids to lists of `TopicPartition`. Each lookup builds a new list.
///
/// A plan stores spans, which are runs of consecutive ids, and therefore takes little memory.
///
/// Order: members as in the subscriptions; in each list, topics in Java's `String` order, then ids ascending.
///
/// Example:
///     >>> found = plan({"t": 3}, {"a": ["t"], "b": ["t"]})
///     >>> found["b"]
///     [TopicPartition(topic='t', partition=2)]
#[pyclass(frozen, mapping, weakref, name = "Plan", module = "assignor")]
pub(crate) struct PyPlan {
    pub(crate) plan: Arc<Plan>,
    /// Assignor that computed the plan.
    pub(crate) assignor: Assignor,
    pub(crate) topics: Arc<NamedTopics>,
    pub(crate) members: Arc<NameObjects>,
    numbers: OnceLock<NameTable>,
}

impl PyPlan {
    /// Create a plan; `topics` are those of the assigned group.
    pub(crate) fn new(plan: Plan, assignor: Assignor, topics: Arc<NamedTopics>, members: Arc<NameObjects>) -> Self {
        let topics = NamedTopics::of_plan(topics, &plan);
        Self { plan: Arc::new(plan), assignor, topics, members, numbers: OnceLock::new() }
    }

    /// Return the plan, whose members' spans can be read.
    pub(super) fn readable(&self) -> PyResult<&Arc<Plan>> {
        self.plan.check_readable()?;
        Ok(&self.plan)
    }

    /// Return the plan, whose columns exist.
    pub(crate) fn with_columns(&self) -> PyResult<&Arc<Plan>> {
        self.plan.try_columns()?;
        Ok(&self.plan)
    }

    /// Return the plan, in which owners can be looked up.
    pub(super) fn with_owners(&self) -> PyResult<&Arc<Plan>> {
        self.plan.check_owners()?;
        Ok(&self.plan)
    }

    /// Return the member ids, by number.
    pub(crate) fn ids(&self, py: Python<'_>) -> &[Py<PyString>] {
        self.members.get(py, self.plan.members())
    }

    fn list<'py>(&self, py: Python<'py>, member: u32) -> PyResult<Bound<'py, PyList>> {
        let spans = self.readable()?.spans_of(member as usize);
        ListBuilder::new(py, &self.topics)?.list(&spans)
    }

    /// Return the number of a member.
    pub(crate) fn number(&self, member: &str) -> Option<u32> {
        let members = self.plan.members();
        self.numbers.get_or_init(|| NameTable::of(members)).number(members, member)
    }

    /// Return the number of a topic and the id of a partition; None for a topic or an id that no member can have.
    fn partition(&self, topic: &Bound<'_, PyAny>, partition: &Bound<'_, PyAny>) -> PyResult<Option<(u32, i32)>> {
        let topic = topic.cast::<PyString>().map_err(|_| wrong_type("topic", "a str", topic))?;
        if !is_int(partition)? {
            return Err(wrong_type("partition", "an int", partition));
        }
        let Ok(partition) = index(partition, || "partition".into())?.extract::<i32>() else { return Ok(None) };
        let Ok(topic) = topic.to_cow() else { return Ok(None) };
        Ok(self.plan.group().topics().number(&topic).map(|topic| (topic, partition)))
    }

    fn member(&self, member: &Bound<'_, PyAny>) -> Option<u32> {
        self.number(&member.cast::<PyString>().ok()?.to_cow().ok()?)
    }
}

#[pymethods]
impl PyPlan {
    /// Member ids, in the order of the subscriptions.
    #[getter]
    fn members<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.ids(py))
    }

    /// All topics of the input, in Java's `String` order. In the plan of a share group, also topics that do not exist and whose partitions
    /// members keep.
    #[getter]
    fn topics<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.topics.objects(py))
    }

    /// Kafka's name of the assignor that computed this plan.
    #[getter]
    fn assignor(&self) -> &'static str {
        self.assignor.name()
    }

    /// Group protocol of the assignor: `"classic"`, `"consumer"` or `"share"`.
    #[getter]
    fn group_protocol(&self) -> &'static str {
        self.assignor.protocol().name()
    }

    /// Return the number of partitions of each member as int64, in the order of `members`. A partition of a share group counts for each of
    /// its owners.
    fn counts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<i64>>> {
        numpy_api::load(py)?;
        Ok(self.readable()?.counts().into_pyarray(py))
    }

    /// Return the partitions of a member as a new list.
    ///
    /// Raises:
    ///     KeyError: The group has no such member.
    fn partitions<'py>(&self, py: Python<'py>, member: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
        match self.member(member) {
            Some(number) => self.list(py, number),
            None => Err(PyKeyError::new_err((member.clone().unbind(),))),
        }
    }

    /// Return the member that owns a partition; None if it has no owner. In a share group, where a partition may have several owners, this is
    /// the first of `owners`.
    fn owner<'py>(
        &self,
        topic: &Bound<'py, PyAny>,
        partition: &Bound<'py, PyAny>,
    ) -> PyResult<Option<Bound<'py, PyString>>> {
        let py = topic.py();
        let Some((topic, partition)) = self.partition(topic, partition)? else { return Ok(None) };
        Ok(self.with_owners()?.owner(topic, partition).map(|owner| self.ids(py)[owner as usize].bind(py).clone()))
    }

    /// Return the members that own a partition, in the order of `members`. Only a partition of a share group has more than one owner.
    ///
    /// Example:
    ///     >>> plan({"t": 1}, {"a": ["t"], "b": ["t"]}, group_protocol="share").owners("t", 0)
    ///     ('a', 'b')
    fn owners<'py>(&self, topic: &Bound<'py, PyAny>, partition: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyTuple>> {
        let py = topic.py();
        let Some((topic, partition)) = self.partition(topic, partition)? else { return Ok(PyTuple::empty(py)) };
        let owners = self.with_owners()?.owners(topic, partition);
        PyTuple::new(py, owners.into_iter().map(|owner| &self.ids(py)[owner as usize]))
    }

    /// Return the partitions of a member as a new list, or `default` if the group has no such member.
    #[pyo3(signature = (member, default = None, /))]
    fn get<'py>(
        &self,
        py: Python<'py>,
        member: &Bound<'py, PyAny>,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        match self.member(member) {
            Some(number) => Ok(Some(self.list(py, number)?.into_any())),
            None => Ok(default),
        }
    }

    /// Return the member ids.
    fn keys<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        KEYS_VIEW.get(slf.py())?.call1((slf,))
    }

    /// Return pairs of member id and partitions.
    fn items<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        ITEMS_VIEW.get(slf.py())?.call1((slf,))
    }

    /// Return the partitions of each member.
    fn values<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        VALUES_VIEW.get(slf.py())?.call1((slf,))
    }

    fn __getitem__<'py>(&self, py: Python<'py>, member: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
        self.partitions(py, member)
    }

    fn __contains__(&self, member: &Bound<'_, PyAny>) -> bool {
        self.member(member).is_some()
    }

    fn __len__(&self) -> usize {
        self.plan.members().len()
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        self.members(py)?.try_iter()
    }

    fn __eq__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let py = slf.py();
        let equal = if let Ok(other) = other.cast::<Self>() {
            let other = other.get();
            slf.get().with_columns()?.same_as(other.with_columns()?, |member| other.number(member))
        } else if let Ok(other) = other.cast::<PyMapping>() {
            let right = PyDict::new(py);
            right.update(other)?; // may run user code, so the collector must not be paused yet
            let me = slf.get();
            assignment(py, &me.plan, &me.topics, &me.members)?.eq(right)?
        } else {
            return Ok(py.NotImplemented());
        };
        Ok(PyBool::new(py, equal).to_owned().into_any().unbind())
    }

    fn __repr__(&self) -> PyResult<String> {
        let plan = self.with_columns()?;
        Ok(format!(
            "<Plan: {} members, {} topics, {} partitions in {} spans>",
            plan.members().len(),
            plan.topics().len(),
            plan.total(),
            plan.columns().len()
        ))
    }

    /// Return a table for notebooks.
    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        PLAN_HTML.get(slf.py())?.call1((slf,))
    }
}

/// Register `Plan` as a `collections.abc.Mapping`, for `isinstance` and pattern matching.
pub(crate) fn register(py: Python<'_>) -> PyResult<()> {
    PyMapping::register::<PyPlan>(py)
}
