//! Lists of partitions, built from the spans of a plan.

use std::sync::{Mutex, MutexGuard, OnceLock};

use pyo3::prelude::*;
use pyo3::sync::{MutexExt, PyOnceLock};
use pyo3::types::{PyDict, PyInt, PyList};

use crate::plan::{Plan, Span};
use crate::python::imports::TOPIC_PARTITION;
use crate::python::objects::collector::CollectorPause;
use crate::python::objects::partition_list::{PartitionList, int};
use crate::python::objects::tuple_class::TupleClass;
use crate::python::read::name_objects::NameObjects;
use crate::python::read::named_topics::NamedTopics;

/// Number of partition ids that are cached as Python ints; higher ids are created in each call.
const KEPT: usize = 1 << 20;

/// Cached partition ids, from 0 to the highest id used so far.
static IDS: Mutex<Vec<Py<PyInt>>> = Mutex::new(Vec::new());

pub(crate) fn partition_class(py: Python<'_>) -> PyResult<&TupleClass> {
    static CLASS: PyOnceLock<TupleClass> = PyOnceLock::new();
    CLASS.get_or_try_init(py, || TupleClass::new(TOPIC_PARTITION.get(py)?))
}

/// Builder of lists. The garbage collector is paused while it exists.
pub(crate) struct ListBuilder<'a, 'py> {
    py: Python<'py>,
    topics: &'a NamedTopics,
    class: &'py TupleClass,
    ids: MutexGuard<'static, Vec<Py<PyInt>>>,
    _pause: CollectorPause<'py>,
}

impl<'a, 'py> ListBuilder<'a, 'py> {
    pub(crate) fn new(py: Python<'py>, topics: &'a NamedTopics) -> PyResult<Self> {
        let ids = IDS.lock_py_attached(py).unwrap_or_else(std::sync::PoisonError::into_inner);
        Ok(Self { py, topics, class: partition_class(py)?, ids, _pause: CollectorPause::new(py) })
    }

    /// Return the partitions of spans.
    pub(crate) fn list(&mut self, spans: &[Span]) -> PyResult<Bound<'py, PyList>> {
        let length = spans.iter().map(|span| span.count as usize).sum();
        let mut list = PartitionList::new(self.py, self.class, length)?;
        for span in spans {
            match &self.topics.shared {
                Some(shared) => self.push_shared(&mut list, shared, *span)?,
                None => self.push_new(&mut list, *span)?,
            }
        }
        Ok(list.finish())
    }

    fn push_new(&mut self, list: &mut PartitionList<'_, 'py>, span: Span) -> PyResult<()> {
        let topic = self.topics.objects(self.py)[span.topic as usize].bind(self.py);
        let (start, end) = (span.start as usize, span.end() as usize);
        if end <= KEPT {
            for id in self.ids.len()..end {
                self.ids.push(int(self.py, id as i32)?);
            }
            return list.push_new(topic, &self.ids[start..end]);
        }
        let ids = span.ids().map(|id| int(self.py, id)).collect::<PyResult<Vec<Py<PyInt>>>>()?;
        list.push_new(topic, &ids)
    }

    fn push_shared(
        &mut self,
        list: &mut PartitionList<'_, 'py>,
        shared: &[OnceLock<Vec<Py<PyAny>>>],
        span: Span,
    ) -> PyResult<()> {
        let ids = &self.topics.topics.partitions()[span.topic as usize].ids;
        let objects = &shared[span.topic as usize];
        if objects.get().is_none() {
            let mut all = PartitionList::new(self.py, self.class, ids.len())?;
            let mut first = 0;
            while first < ids.len() {
                let end = ids.end_of_run(first, ids.len());
                let run = Span { topic: span.topic, start: ids.at(first), count: (end - first) as i32 };
                self.push_new(&mut all, run)?;
                first = end;
            }
            // If another thread was faster, its objects are shared.
            let _ = objects.set(all.finish().iter().map(Bound::unbind).collect());
        }
        if let (Some(objects), Some(first)) = (objects.get(), ids.position(span.start)) {
            list.push_shared(&objects[first..first + span.count as usize]);
        }
        Ok(())
    }
}

/// Return a dict of member id to the list of the member's partitions.
pub(crate) fn assignment<'py>(
    py: Python<'py>,
    plan: &Plan,
    topics: &NamedTopics,
    members: &NameObjects,
) -> PyResult<Bound<'py, PyDict>> {
    let mut builder = ListBuilder::new(py, topics)?;
    let mut lists: Vec<Option<Bound<'py, PyList>>> = Vec::new();
    let members = members.get(py, plan.members());
    lists.resize_with(members.len(), || None);
    plan.try_each_member(|member, spans| {
        lists[member as usize] = Some(builder.list(spans)?);
        Ok::<(), PyErr>(())
    })?;
    let assignment = PyDict::new(py);
    for (member, list) in members.iter().zip(lists) {
        assignment.set_item(member, list)?;
    }
    Ok(assignment)
}
