//! Lists of partitions, built from the spans of a plan.

use std::sync::{MutexGuard, OnceLock};

use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyInt, PyList};

use super::kept_objects::{IDS, KeptObjects};
use crate::memory::{self, OutOfMemory, UNCHECKED};
use crate::plan::{MemberSpans, Plan, Span};
use crate::python::error::name_result;
use crate::python::imports::TOPIC_PARTITION;
use crate::python::objects::collector::CollectorPause;
use crate::python::objects::partition_list::{PartitionList, int};
use crate::python::objects::tuple_class::TupleClass;
use crate::python::read::name_objects::NameObjects;
use crate::python::read::named_topics::NamedTopics;

pub(crate) fn partition_class(py: Python<'_>) -> PyResult<&TupleClass> {
    static CLASS: PyOnceLock<TupleClass> = PyOnceLock::new();
    CLASS.get_or_try_init(py, || TupleClass::new(TOPIC_PARTITION.get(py)?))
}

/// Memory for lists of partitions.
#[derive(Debug, Default)]
pub(crate) struct ListMemory {
    partitions: u64,
    bytes: u64,
}

impl ListMemory {
    /// Largest number of bytes of a partition in a list.
    const MOST: u64 = Self::ENTRY + Self::PARTITION + Self::ID;

    /// Bytes of an entry of a list.
    const ENTRY: u64 = 8;

    /// Bytes of a `TopicPartition`.
    const PARTITION: u64 = 64;

    /// Bytes of an id that no other list shares, and of its entry in the list of new ids.
    const ID: u64 = 32 + 8;

    /// Return true if lists of a number of partitions are so small that their memory need not be checked.
    pub(crate) fn is_small(partitions: u64) -> bool {
        partitions.saturating_mul(Self::MOST) <= UNCHECKED
    }

    /// Add the partitions of spans.
    pub(crate) fn add(&mut self, topics: &NamedTopics, spans: &[Span]) {
        for span in spans {
            let count = span.count as u64;
            let is_created = topics.shared.as_ref().is_some_and(|shared| shared[span.topic as usize].get().is_some());
            let id = if span.end() as u64 > IDS as u64 { Self::ID } else { 0 };
            let new = if is_created { 0 } else { Self::PARTITION + id };
            self.partitions += count;
            self.bytes = self.bytes.saturating_add(count.saturating_mul(Self::ENTRY + new));
        }
    }

    /// Add the partitions that members gain or lose.
    pub(crate) fn add_members(&mut self, topics: &NamedTopics, members: &[MemberSpans]) {
        for MemberSpans { spans, .. } in members {
            self.add(topics, spans);
        }
    }

    /// Check that the lists fit into memory.
    pub(crate) fn check(&self) -> Result<(), OutOfMemory> {
        memory::check("a list", "partitions", self.partitions, self.bytes)
    }

    /// Return the error for lists that Python had no memory for.
    fn refused(&self) -> OutOfMemory {
        OutOfMemory { what: "a list", items: "partitions", count: self.partitions, bytes: self.bytes, available: None }
    }
}

/// Number of partitions and lists between two checks for signals. They take some milliseconds.
const OBJECTS_PER_CHECK: usize = 1 << 16;

/// Builder of lists. The garbage collector is paused while it exists, except during signal handlers.
pub(crate) struct ListBuilder<'a, 'py> {
    py: Python<'py>,
    topics: &'a NamedTopics,
    class: &'py TupleClass,
    /// True if lists share partitions with other calls.
    is_sharing: bool,
    /// None while signal handlers run.
    held: Option<Held<'py>>,
    /// Number of partitions and lists since the last check for signals.
    unchecked: usize,
}

/// What a builder holds while it builds lists.
struct Held<'py> {
    kept: MutexGuard<'static, KeptObjects>,
    /// The number of first topics whose partitions `kept` has.
    kept_topics: u32,
    _pause: CollectorPause<'py>,
}

impl<'py> Held<'py> {
    #[cold]
    fn new(py: Python<'py>, topics: &NamedTopics, is_sharing: bool) -> Self {
        let mut kept = KeptObjects::lock(py);
        let kept_topics = if is_sharing { kept.select(&topics.topics) } else { 0 };
        Self { kept, kept_topics, _pause: CollectorPause::new(py) }
    }
}

impl<'a, 'py> ListBuilder<'a, 'py> {
    pub(crate) fn new(py: Python<'py>, topics: &'a NamedTopics) -> PyResult<Self> {
        Ok(Self { py, topics, class: partition_class(py)?, is_sharing: false, held: None, unchecked: 0 })
    }

    /// Return a builder of lists that share partitions with other calls; only partitions that exist are shared.
    fn sharing(py: Python<'py>, topics: &'a NamedTopics, plan: &Plan) -> PyResult<Self> {
        let is_sharing = topics.shared.is_none() && !plan.has_unknown_partitions()?;
        Ok(Self { is_sharing, ..Self::new(py, topics)? })
    }

    #[inline]
    fn held(&mut self) -> &mut Held<'py> {
        let Self { py, topics, is_sharing, held, .. } = self;
        match held {
            Some(held) => held,
            None => held.insert(Held::new(*py, topics, *is_sharing)),
        }
    }

    /// Return the partitions of spans.
    ///
    /// # Errors
    ///
    /// A signal handler raises an exception, or there is not enough memory.
    pub(crate) fn list(&mut self, spans: &[Span]) -> PyResult<Bound<'py, PyList>> {
        let length = spans.iter().map(|span| span.count as usize).sum();
        if ListMemory::is_small(length as u64) {
            return self.unchecked_list(spans, length);
        }
        let mut needed = ListMemory::default();
        needed.add(self.topics, spans);
        needed.check()?;
        self.unchecked_list(spans, length).map_err(|error| name_result(self.py, error, &needed.refused()))
    }

    fn unchecked_list(&mut self, spans: &[Span], length: usize) -> PyResult<Bound<'py, PyList>> {
        let mut list = PartitionList::new(self.py, self.class, length)?;
        self.count(1)?;
        for span in spans {
            match &self.topics.shared {
                Some(shared) => self.push_shared(&mut list, shared, *span)?,
                None if span.topic < self.held().kept_topics => self.push_kept(&mut list, *span)?,
                None => self.push_new(&mut list, *span)?,
            }
        }
        Ok(list.finish())
    }

    /// Count objects; let signal handlers run after many.
    #[inline]
    fn count(&mut self, objects: usize) -> PyResult<()> {
        self.unchecked += objects;
        if self.unchecked < OBJECTS_PER_CHECK { Ok(()) } else { self.handle_signals() }
    }

    #[cold]
    fn handle_signals(&mut self) -> PyResult<()> {
        self.unchecked = 0;
        // A handler may build lists, too, so it needs what this builder holds.
        self.held = None;
        self.py.check_signals()
    }

    #[inline]
    fn push_new(&mut self, list: &mut PartitionList<'_, 'py>, mut span: Span) -> PyResult<()> {
        if span.count as usize > OBJECTS_PER_CHECK {
            span = self.push_parts(list, span)?;
        }
        self.count(span.count as usize)?;
        self.push_part(list, span)
    }

    /// Add new partitions of a long span, with checks for signals; return the rest of the span.
    #[cold]
    fn push_parts(&mut self, list: &mut PartitionList<'_, 'py>, mut span: Span) -> PyResult<Span> {
        while span.count as usize > OBJECTS_PER_CHECK {
            let part = Span { count: OBJECTS_PER_CHECK as i32, ..span };
            self.count(OBJECTS_PER_CHECK)?;
            self.push_part(list, part)?;
            span = Span { start: part.end() as i32, count: span.count - part.count, ..span };
        }
        Ok(span)
    }

    /// Add new partitions without a check for signals.
    #[inline]
    fn push_part(&mut self, list: &mut PartitionList<'_, 'py>, span: Span) -> PyResult<()> {
        let topic = self.topics.objects(self.py)[span.topic as usize].bind(self.py);
        let (start, end) = (span.start as usize, span.end() as usize);
        let py = self.py;
        if let Some(ids) = self.held().kept.ids(py, start, end)? {
            return list.push_new(topic, ids);
        }
        let mut ids: Vec<Py<PyInt>> = Vec::new();
        ids.try_reserve_exact(span.count as usize).map_err(|_| PyMemoryError::new_err(()))?;
        for id in span.ids() {
            ids.push(int(self.py, id)?);
        }
        list.push_new(topic, &ids)
    }

    fn push_kept(&mut self, list: &mut PartitionList<'_, 'py>, span: Span) -> PyResult<()> {
        let (start, end) = (span.start as usize, span.end() as usize);
        self.count(span.count as usize)?;
        // From here on no handler runs, which could change the kept partitions. There are few, even if all are missing.
        let partitions = self.held().kept.partitions(span.topic);
        let created = partitions.len();
        if created >= end {
            list.push_shared(&partitions[start..end]);
        } else {
            let missing = Span { topic: span.topic, start: created as i32, count: (end - created) as i32 };
            let mut new = PartitionList::new(self.py, self.class, end - created)?;
            self.push_part(&mut new, missing)?;
            let partitions = self.held().kept.partitions(span.topic);
            partitions.extend(new.finish().iter().map(Bound::unbind));
            list.push_shared(&partitions[start..end]);
        }
        Ok(())
    }

    fn push_shared(
        &mut self,
        list: &mut PartitionList<'_, 'py>,
        shared: &[OnceLock<Vec<Py<PyAny>>>],
        span: Span,
    ) -> PyResult<()> {
        let ids = &self.topics.topics.partitions()[span.topic as usize].ids;
        let Some(first) = ids.position(span.start).filter(|first| {
            let end = first + span.count as usize;
            end <= ids.len() && ids.end_of_run(*first, end) == end
        }) else {
            return self.push_new(list, span); // members of a share group may have partitions that do not exist
        };
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
        if let Some(objects) = objects.get() {
            for part in objects[first..first + span.count as usize].chunks(OBJECTS_PER_CHECK) {
                self.count(part.len())?;
                list.push_shared(part);
            }
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
    plan.check_readable()?;
    if !ListMemory::is_small(plan.most_partitions()) {
        let mut needed = ListMemory::default();
        plan.each_member(|_, spans| needed.add(topics, spans));
        needed.check()?;
    }
    let mut builder = ListBuilder::sharing(py, topics, plan)?;
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
