//! `Topics` as Python sees it: topics read once, for many calls.

use std::sync::{Arc, OnceLock};

use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::read::{self, NamedTopics};

/// The topics of a cluster, read once: whatever takes `partitions_per_topic` takes this, too.
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
#[pyclass(frozen, name = "Topics", module = "assignor")]
pub(super) struct PyTopics(pub(super) Arc<NamedTopics>);

#[pymethods]
impl PyTopics {
    #[new]
    fn new(partitions_per_topic: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let Ok(topics) = partitions_per_topic.cast::<Self>() {
            return Ok(Self(Arc::clone(&topics.get().0)));
        }
        let mut topics = read::new_topics(partitions_per_topic)?;
        topics.shared = Some(topics.objects.iter().map(|_| OnceLock::new()).collect());
        Ok(Self(Arc::new(topics)))
    }

    /// The names, in Java's order.
    #[getter]
    fn names<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.0.objects)
    }

    fn __len__(&self) -> usize {
        self.0.objects.len()
    }

    fn __repr__(&self) -> String {
        let partitions: usize = self.0.topics.partitions().iter().map(|found| found.ids.len()).sum();
        format!("<Topics: {} topics, {partitions} partitions>", self.0.objects.len())
    }
}
