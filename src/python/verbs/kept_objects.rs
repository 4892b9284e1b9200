//! Objects that calls share: partition ids as ints, and the partitions of small groups and of the first topics of large ones.
//!
//! They are immutable. Creating and freeing them would take most of the time of a small assignment.

use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::PyInt;

use crate::group::{NameTable, Names, Topics};
use crate::python::objects::partition_list::int;

/// Number of partition ids that are kept as ints, from 0 up.
pub(super) const IDS: usize = 1 << 20;

/// Highest number of kept partitions: of small groups, and of the first topics of large groups.
const PARTITIONS: [usize; 2] = [1 << 14, 1 << 16];

static KEPT: LazyLock<Mutex<KeptObjects>> = LazyLock::new(Mutex::default);

/// Ints and partitions, created when they are first needed.
#[derive(Default)]
pub(super) struct KeptObjects {
    /// Partition ids, from 0 to the highest id used so far.
    ids: Vec<Py<PyInt>>,
    /// Partitions of small groups, and of the first topics of large groups. Large groups have a pool of their own, so that they do
    /// not replace the partitions of small groups.
    pools: [Pool; 2],
    /// The pool of the current call.
    pool: usize,
}

/// Partitions of some topics.
#[derive(Default)]
struct Pool {
    names: Names,
    table: NameTable,
    /// Partitions by topic.
    topics: Vec<KeptTopic>,
    /// Sum of `KeptTopic::end` over all topics.
    total: usize,
    /// Place in `topics` of each selected topic of the current call.
    places: Vec<u32>,
}

/// Partitions of a topic.
#[derive(Default)]
struct KeptTopic {
    /// `TopicPartition` objects of the ids from 0 up.
    partitions: Vec<Py<PyAny>>,
    /// Highest number of partitions that any call may need, at least 1.
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

    /// Prepare to keep the partitions of the first topics, up to the limit; return the number of these topics.
    pub(super) fn select(&mut self, topics: &Topics) -> u32 {
        let mut total = 0;
        let mut count = 0;
        for end in ends(topics) {
            total += end;
            if total > PARTITIONS[1] {
                break;
            }
            count += 1;
        }
        self.pool = usize::from(total > PARTITIONS[0]);
        self.pools[self.pool].select(topics, count, PARTITIONS[self.pool]);
        count as u32
    }

    /// Return the kept partitions of a selected topic: ids from 0 up to the highest id that a call has needed.
    pub(super) fn partitions(&mut self, topic: u32) -> &mut Vec<Py<PyAny>> {
        let pool = &mut self.pools[self.pool];
        &mut pool.topics[pool.places[topic as usize] as usize].partitions
    }
}

impl Pool {
    /// Select the first `count` topics. If their partitions and those of earlier topics exceed `limit`, drop all kept partitions first.
    fn select(&mut self, topics: &Topics, count: usize, limit: usize) {
        self.places.clear();
        for (name, end) in topics.names().iter().zip(ends(topics)).take(count) {
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
        if self.total > limit {
            *self = Self::default();
            self.select(topics, count, limit);
        }
    }
}

/// Return, for each topic, the highest number of partitions that a call may need, at least 1.
fn ends(topics: &Topics) -> impl Iterator<Item = usize> + '_ {
    topics.partitions().iter().map(|partitions| partitions.ids.end().max(1))
}
