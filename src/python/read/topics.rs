//! Reads the partitions of topics: counts, ids, and ids with the racks of their replicas.

use std::sync::{Arc, OnceLock};

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyList, PyString, PyTuple, PyType};

use super::super::error::wrong_type;
use super::super::fast;
use super::values::{each_item, int, is_int, is_text, iterate, plain, with_name};
use crate::group::{Names, Partitions, Racks, Topics};

/// The topics of a cluster, with their names as Python has them.
pub(in super::super) struct NamedTopics {
    pub(in super::super) topics: Arc<Topics>,
    /// The names, by number.
    pub(in super::super) objects: Vec<Py<PyString>>,
    /// The numbers, in the order in which the topics came.
    pub(in super::super) order: Vec<u32>,
    /// Objects for partitions that answers share: per topic, by position; None where every answer has objects of its own.
    pub(in super::super) shared: Option<Vec<OnceLock<Vec<Py<PyAny>>>>>,
}

impl NamedTopics {
    /// Topics as they came.
    pub(super) fn new(objects: Vec<Py<PyString>>, names: Names, partitions: Vec<Partitions>, racks: Racks) -> Self {
        let (topics, sorted) = Topics::sorted(names, partitions, racks);
        if sorted.is_sorted() {
            return Self { topics: Arc::new(topics), objects, order: sorted, shared: None };
        }
        let mut order = vec![0; sorted.len()];
        for (number, place) in sorted.iter().enumerate() {
            order[*place as usize] = number as u32;
        }
        let mut objects: Vec<Option<Py<PyString>>> = objects.into_iter().map(Some).collect();
        let objects = sorted.iter().filter_map(|place| objects[*place as usize].take()).collect();
        Self { topics: Arc::new(topics), objects, order, shared: None }
    }
}

/// Reads a mapping of topics to partitions.
pub(super) fn read(partitions_per_topic: &Bound<'_, PyAny>) -> PyResult<NamedTopics> {
    let mut reader = Reader::default();
    let expected = partitions_per_topic.len().unwrap_or(0);
    let (mut names, mut partitions) = (Names::with_capacity(expected), Vec::with_capacity(expected));
    let mut objects = Vec::with_capacity(expected);
    each_item(partitions_per_topic, "partitions_per_topic", "topics to partitions", |name, given| {
        let object = plain(name, || "a topic name".into())?;
        with_name(&object, || "a topic name".into(), |name| names.push(name))?;
        partitions.push(reader.partitions(names.get(names.len() - 1), given)?);
        objects.push(object.unbind());
        Ok(())
    })?;
    Ok(NamedTopics::new(objects, names, partitions, reader.racks))
}

#[derive(Default)]
struct Reader {
    racks: Racks,
    /// Sets of racks by the address of the tuple that was read last at that place of the cache.
    ///
    /// What it stands for is alive as long as the list is read that holds it.
    recent: Recent,
    /// The numbers of one partition's racks.
    on: Vec<u32>,
}

/// A few tuples seen lately, by address.
struct Recent([(usize, u32); 16]);

impl Default for Recent {
    fn default() -> Self {
        Self([(0, 0); 16])
    }
}

impl Recent {
    fn place(address: usize) -> usize {
        // The lowest bits are those of every address of a tuple.
        (address >> 5 ^ address >> 9) & 15
    }
}

impl Reader {
    fn partitions(&mut self, topic: &str, given: &Bound<'_, PyAny>) -> PyResult<Partitions> {
        let refused = || wrong_type(&format!("topic '{topic}': partitions"), "a count or an iterable of ids", given);
        if is_text(given) {
            return Err(refused());
        }
        if is_int(given)? {
            let count = int(given, || format!("topic '{topic}': a partition count"))?;
            return Ok(Partitions::counted(count as u32));
        }
        let info = PARTITION_INFO.import(given.py(), "assignor.model", "PartitionInfo")?;
        let mut listed = Vec::new();
        self.recent = Recent::default();
        if let Ok(list) = given.cast_exact::<PyList>() {
            listed.reserve(list.len());
            for entry in list {
                listed.push(self.partition(topic, &entry, info, true)?);
            }
        } else {
            for entry in iterate(given, refused)? {
                listed.push(self.partition(topic, &entry?, info, false)?);
            }
        }
        Ok(Partitions::listed(topic, listed, &self.racks)?)
    }

    /// Id and set of racks; `held` if the entry outlives its reading.
    fn partition(
        &mut self,
        topic: &str,
        entry: &Bound<'_, PyAny>,
        info: &Bound<'_, PyType>,
        held: bool,
    ) -> PyResult<(i32, u32)> {
        let what = || format!("topic '{topic}': a partition id");
        if entry.get_type().is(info) {
            let fields = entry.cast::<PyTuple>()?;
            let id = int(&*fields.get_borrowed_item(0)?, what)?;
            return Ok((id, self.set(topic, id, &*fields.get_borrowed_item(1)?, held)?));
        }
        if !entry.is_instance(info)? {
            self.on.clear();
            return Ok((int(entry, what)?, self.racks.set(&mut self.on)));
        }
        let id = int(&entry.getattr(intern!(entry.py(), "partition"))?, what)?;
        self.recent = Recent::default();
        Ok((id, self.set(topic, id, &entry.getattr(intern!(entry.py(), "racks"))?, false)?))
    }

    /// The set of racks that a partition's replicas are on.
    fn set(&mut self, topic: &str, id: i32, replicas: &Bound<'_, PyAny>, held: bool) -> PyResult<u32> {
        let address = replicas.as_ptr() as usize;
        let place = Recent::place(address);
        if self.recent.0[place].0 == address {
            return Ok(self.recent.0[place].1);
        }
        self.on.clear();
        let (racks, on) = (&mut self.racks, &mut self.on);
        // Only a tuple cannot change between two looks at it.
        let tuple = replicas.is_exact_instance_of::<PyTuple>();
        let read = tuple.then(|| {
            fast::lend(replicas, |entries| {
                entries.iter().try_for_each(|rack| rack.text().map(|rack| on.push(racks.number(rack))))
            })
        });
        if read.flatten().flatten().is_none() {
            self.on.clear();
            self.recent = Recent::default();
            self.set_one_by_one(topic, id, replicas)?;
        }
        let set = self.racks.set(&mut self.on);
        if held && tuple {
            self.recent.0[place] = (address, set);
        }
        Ok(set)
    }

    fn set_one_by_one(&mut self, topic: &str, id: i32, replicas: &Bound<'_, PyAny>) -> PyResult<()> {
        let refused =
            || wrong_type(&format!("topic '{topic}', partition {id}: racks"), "an iterable of str or None", replicas);
        if is_text(replicas) {
            return Err(refused());
        }
        for rack in iterate(replicas, refused)? {
            let rack = rack?;
            if !rack.is_none() {
                let what = || format!("topic '{topic}', partition {id}: a rack");
                self.on.push(with_name(&rack, what, |rack| self.racks.number(rack))?);
            }
        }
        Ok(())
    }
}

static PARTITION_INFO: PyOnceLock<Py<PyType>> = PyOnceLock::new();
