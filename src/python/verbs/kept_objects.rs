//! Objects that calls share: partition ids as ints, and the partitions of small groups.
//!
//! They are immutable. Creating and freeing them would take most of the time of a small assignment.

use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::PyInt;

use crate::group::{NameTable, Names, Topics};
use crate::python::objects::partition_list::int;

/// Number of partition ids that are kept as ints, from 0 up.
const IDS: usize = 1 << 20;

/// Highest number of partitions that are kept. A group with more partitions has its own.
const PARTITIONS: usize = 1 << 14;

static KEPT: LazyLock<Mutex<KeptObjects>> = LazyLock::new(Mutex::default);

/// Ints and partitions, created when they are first needed.
#[derive(Default)]
pub(super) struct KeptObjects {
    /// Partition ids, from 0 to the highest id used so far.
    ids: Vec<Py<PyInt>>,
    names: Names,
    table: NameTable,
    /// Partitions by topic.
    topics: Vec<KeptTopic>,
    /// Sum of `KeptTopic::end` over all topics; each topic counts at least 1.
    total: usize,
    /// Place in `topics` of each topic of the current call.
    places: Vec<u32>,
}

/// Partitions of a topic.
#[derive(Default)]
struct KeptTopic {
    /// `TopicPartition` objects of the ids from 0 up.
    partitions: Vec<Py<PyAny>>,
    /// Highest number of partitions that any call may need.
    end: usize,
}

impl KeptObjects {
    /// Lock the objects.
    pub(super) fn lock(py: Python<'_>) -> MutexGuard<'static, Self> {
        KEPT.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner)
    }

    /// Return the ints from `start` up to `end`; None if they are too high to be kept.
    pub(super) fn ids(&mut self, py: Python<'_>, start: usize, end: usize) -> PyResult<Option<&[Py<PyInt>]>> {
        if end > IDS {
            return Ok(None);
        }
        for id in self.ids.len()..end {
            self.ids.push(int(py, id as i32)?);
        }
        Ok(Some(&self.ids[start..end]))
    }

    /// Prepare to keep the partitions of these topics; return false if there are too many.
    ///
    /// If these partitions do not fit together with those of other topics, the partitions of the other topics are dropped.
    pub(super) fn select(&mut self, topics: &Topics) -> bool {
        let ends = || topics.partitions().iter().map(|partitions| partitions.ids.end().max(1));
        let mut total = 0;
        for end in ends() {
            total += end;
            if total > PARTITIONS {
                return false;
            }
        }
        self.places.clear();
        for (name, end) in topics.names().iter().zip(ends()) {
            let new = self.topics.len() as u32;
            let place = self.table.number_or_insert(&self.names, name, new);
            if place == new {
                self.names.push(name);
                self.topics.push(KeptTopic::default());
            }
            let topic = &mut self.topics[place as usize];
            self.total += end.saturating_sub(topic.end);
            topic.end = topic.end.max(end);
            self.places.push(place);
        }
        if self.total <= PARTITIONS {
            return true;
        }
        *self = Self { ids: std::mem::take(&mut self.ids), ..Self::default() };
        self.select(topics)
    }

    /// Return the kept partitions of a selected topic: ids from 0 up to the highest id that a call has needed.
    pub(super) fn partitions(&mut self, topic: u32) -> &mut Vec<Py<PyAny>> {
        &mut self.topics[self.places[topic as usize] as usize].partitions
    }
}
