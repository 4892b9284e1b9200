//! `Topics` as Python sees it: topics read once, for many calls.

use std::sync::{Arc, OnceLock};

use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyIterator, PyList, PyMapping, PyString, PyTuple};

use crate::group::{Ids, Partitions};
use crate::python::imports::{ITEMS_VIEW, KEYS_VIEW, PARTITION_INFO, VALUES_VIEW};
use crate::python::read;
use crate::python::read::named_topics::NamedTopics;

/// The topics of a cluster, read once: whatever takes `partitions_per_topic` takes this, too.
///
/// A read-only mapping of names, in Java's order, to partitions: counts, ids, or `PartitionInfo` where there are racks.
///
/// Calls that are given the same `Topics` share their `TopicPartition` objects: each is made when it is first handed out and
/// kept as long as the `Topics` are, which costs some 100 bytes a partition and makes later answers several times as fast.
///
/// Args:
///     partitions_per_topic: As `assign` takes it, columns too.
///
/// Raises:
///     AssignorError: Input that cannot be meant; the message names the topic and the value.
///
/// Example:
///     >>> topics = Topics({"t": 3})
///     >>> first, second = (assign(topics, {"a": ["t"]})["a"] for _ in range(2))
///     >>> first == second and first[0] is second[0]
///     True
#[pyclass(frozen, mapping, name = "Topics", module = "assignor")]
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

    /// The names, in Java's order.
    #[getter]
    fn names<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.0.objects(py))
    }

    /// The names.
    fn keys<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        KEYS_VIEW.get(slf.py())?.call1((slf,))
    }

    /// Pairs of name and partitions.
    fn items<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        ITEMS_VIEW.get(slf.py())?.call1((slf,))
    }

    /// The partitions of each topic.
    fn values<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        VALUES_VIEW.get(slf.py())?.call1((slf,))
    }

    /// The partitions of a topic, or `default` if there is no such topic.
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
        let partitions: usize = self.0.topics.partitions().iter().map(|found| found.ids.len()).sum();
        format!("<Topics: {} topics, {partitions} partitions>", self.0.topics.len())
    }
}

impl PyTopics {
    fn number(&self, topic: &Bound<'_, PyAny>) -> Option<u32> {
        self.0.topics.number(&topic.cast::<PyString>().ok()?.to_cow().ok()?)
    }

    /// A count where ids are 0 to n-1 without racks, else ids or `PartitionInfo`, ascending.
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

/// Makes `Topics` a `collections.abc.Mapping` to `isinstance` and to pattern matching.
pub(crate) fn register(py: Python<'_>) -> PyResult<()> {
    PyMapping::register::<PyTopics>(py)
}

/// Read topics, or take those that were read before.
pub(crate) fn topics_of(partitions_per_topic: &Bound<'_, PyAny>) -> PyResult<Arc<NamedTopics>> {
    match partitions_per_topic.cast::<PyTopics>() {
        Ok(topics) => Ok(Arc::clone(&topics.get().0)),
        Err(_) => Ok(Arc::new(read::topics::read(partitions_per_topic)?)),
    }
}
