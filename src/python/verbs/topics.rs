//! The class `Topics`: topics parsed once, for many calls.

use std::sync::{Arc, OnceLock};

use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyIterator, PyList, PyMapping, PyString, PyTuple};

use crate::group::{Ids, Partitions};
use crate::python::imports::{ITEMS_VIEW, KEYS_VIEW, PARTITION_INFO, VALUES_VIEW};
use crate::python::read;
use crate::python::read::named_topics::NamedTopics;

/// Topics of a cluster, parsed once. Accepted wherever `partitions_per_topic` is.
///
/// A read-only mapping of topic names, in Java's `String` order, to partitions: a count, a list of ids, or a list of
/// `PartitionInfo` for a topic with racks.
///
/// Calls with the same `Topics` share `TopicPartition` objects. The objects of a topic are created when one is first
/// needed, and kept as long as the `Topics` object. This takes about 100 bytes per partition, and makes later calls faster.
///
/// Args:
///     partitions_per_topic: A mapping or columns, as for `assign`.
///
/// Raises:
///     AssignorError: Invalid input; the message names the topic and the value.
///
/// Example:
///     >>> topics = Topics({"t": 3})
///     >>> first, second = (assign(topics, {"a": ["t"]})["a"] for _ in range(2))
///     >>> first == second and first[0] is second[0]
///     True
#[pyclass(frozen, mapping, weakref, name = "Topics", module = "assignor")]
pub(crate) struct PyTopics(pub(crate) Arc<NamedTopics>);

#[pymethods]
impl PyTopics {
    #[new]
    fn new(partitions_per_topic: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let Ok(topics) = partitions_per_topic.cast::<Self>() {
            return Ok(Self(Arc::clone(&topics.get().0)));
        }
        let mut topics = read::topics::read(partitions_per_topic)?;
        topics.shared = Some((0..topics.topics.len()).map(|_| OnceLock::new()).collect());
        Ok(Self(Arc::new(topics)))
    }

    /// Topic names, in Java's `String` order.
    #[getter]
    fn names<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.0.objects(py))
    }

    /// Return the topic names.
    fn keys<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        KEYS_VIEW.get(slf.py())?.call1((slf,))
    }

    /// Return pairs of topic name and partitions.
    fn items<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        ITEMS_VIEW.get(slf.py())?.call1((slf,))
    }

    /// Return the partitions of each topic.
    fn values<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        VALUES_VIEW.get(slf.py())?.call1((slf,))
    }

    /// Return the partitions of a topic, or `default` if there is no such topic.
    #[pyo3(signature = (topic, default = None, /))]
    fn get<'py>(
        &self,
        topic: &Bound<'py, PyAny>,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.number(topic).map_or(Ok(default), |number| self.partitions(topic.py(), number).map(Some))
    }

    fn __getitem__<'py>(&self, topic: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        match self.number(topic) {
            Some(number) => self.partitions(topic.py(), number),
            None => Err(PyKeyError::new_err((topic.clone().unbind(),))),
        }
    }

    fn __contains__(&self, topic: &Bound<'_, PyAny>) -> bool {
        self.number(topic).is_some()
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        self.names(py)?.try_iter()
    }

    fn __len__(&self) -> usize {
        self.0.topics.len()
    }

    fn __repr__(&self) -> String {
        let partitions = self.0.topics.total();
        format!("<Topics: {} topics, {partitions} partitions>", self.0.topics.len())
    }
}

impl PyTopics {
    fn number(&self, topic: &Bound<'_, PyAny>) -> Option<u32> {
        self.0.topics.number(&topic.cast::<PyString>().ok()?.to_cow().ok()?)
    }

    /// Return the partitions by topic, in the order of the input.
    pub(super) fn as_given<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (names, given) = (self.0.objects(py), PyDict::new(py));
        for (number, _) in self.0.in_input_order() {
            given.set_item(&names[number as usize], self.partitions(py, number)?)?;
        }
        Ok(given)
    }

    /// Return a count for ids 0 to n-1 without racks, else ids or `PartitionInfo` in ascending order of ids.
    fn partitions<'py>(&self, py: Python<'py>, number: u32) -> PyResult<Bound<'py, PyAny>> {
        let Partitions { ids, racks } = &self.0.topics.partitions()[number as usize];
        let listed = || (0..ids.len()).map(|position| ids.at(position));
        match (racks, ids) {
            (None, Ids::Count(count)) => Ok(count.into_pyobject(py)?.into_any()),
            (None, Ids::Listed(_)) => Ok(PyList::new(py, listed())?.into_any()),
            (Some(sets), _) => {
                let known = self.0.topics.racks();
                let info = PARTITION_INFO.get(py)?;
                let found = PyList::empty(py);
                for (id, set) in listed().zip(sets) {
                    let on = PyTuple::new(py, known.sets().get(*set).iter().map(|rack| known.name(*rack)))?;
                    found.append(info.call1((id, on))?)?;
                }
                Ok(found.into_any())
            }
        }
    }
}

/// Register `Topics` as a `collections.abc.Mapping`, for `isinstance` and pattern matching.
pub(crate) fn register(py: Python<'_>) -> PyResult<()> {
    PyMapping::register::<PyTopics>(py)
}

/// Parse topics, or return the topics of a `Topics` object.
pub(crate) fn topics_of(partitions_per_topic: &Bound<'_, PyAny>) -> PyResult<Arc<NamedTopics>> {
    match partitions_per_topic.cast::<PyTopics>() {
        Ok(topics) => Ok(Arc::clone(&topics.get().0)),
        Err(_) => Ok(Arc::new(read::topics::read(partitions_per_topic)?)),
    }
}
