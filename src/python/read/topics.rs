//! Reads the partitions of topics: counts, ids, and ids with the racks of their replicas.

use std::sync::{Arc, OnceLock};

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyList, PyString, PyTuple, PyType};

use super::super::error::wrong_type;
use super::super::fast::{self, Class};
use super::super::patterns::catalog_of;
use super::objects::Objects;
use super::racks::Combinations;
use super::values::{each_item, int, is_int, is_text, iterate, plain, with_name};
use crate::group::{Names, Partitions, Racks, Topics};
use crate::matching::catalog::Catalog;

/// The topics of a cluster, with their names as Python has them.
pub(in crate::python) struct NamedTopics {
    pub(in crate::python) topics: Arc<Topics>,
    /// The names, by number.
    objects: Objects,
    /// The numbers, in the order in which the topics came; None where that is Java's order.
    pub(in crate::python) order: Option<Vec<u32>>,
    /// Objects for partitions that answers share: per topic, by position; None where every answer has objects of its own.
    pub(in crate::python) shared: Option<Vec<OnceLock<Vec<Py<PyAny>>>>>,
    /// The names for patterns, once there is one.
    catalog: OnceLock<Catalog>,
}

impl NamedTopics {
    /// Topics as they came.
    pub(super) fn new(objects: Objects, names: Names, partitions: Vec<Partitions>, racks: Racks) -> Self {
        let (topics, sorted) = Topics::sorted(names, partitions, racks);
        let Some(sorted) = sorted else {
            return Self { topics: Arc::new(topics), objects, order: None, shared: None, catalog: OnceLock::new() };
        };
        let mut order = vec![0; sorted.len()];
        for (number, place) in (0..).zip(&sorted) {
            order[*place as usize] = number;
        }
        let objects = objects.permuted(&sorted);
        Self { topics: Arc::new(topics), objects, order: Some(order), shared: None, catalog: OnceLock::new() }
    }

    /// The names, by number.
    pub(in crate::python) fn objects(&self, py: Python<'_>) -> &[Py<PyString>] {
        self.objects.get(py, self.topics.names())
    }

    /// The names, by number, for patterns to be tried on.
    pub(in crate::python) fn catalog(&self, py: Python<'_>) -> PyResult<&Catalog> {
        if self.catalog.get().is_none() {
            let made = catalog_of(py, &self.topics)?;
            let _ = self.catalog.set(made); // another thread may have been faster, with the same
        }
        Ok(self.catalog.get_or_init(Catalog::default))
    }

    /// The numbers in the order in which the topics came, and the address of each name where one is known, else 0.
    pub(super) fn as_they_came(&self) -> impl ExactSizeIterator<Item = (u32, usize)> {
        (0..self.topics.len()).map(|place| {
            let number = self.order.as_ref().map_or(place as u32, |order| order[place]);
            (number, self.objects.address(number).unwrap_or(0))
        })
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
    Ok(NamedTopics::new(objects.into(), names, partitions, reader.combinations.into_racks()))
}

/// How many partitions ahead of the one that is read memory is asked for.
const AHEAD: usize = 8;

#[derive(Default)]
struct Reader {
    combinations: Combinations,
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
        if let Ok(list) = given.cast_exact::<PyList>() {
            listed.reserve(list.len());
            self.plain_partitions(given, info, &mut listed)?;
            for entry in list.iter().skip(listed.len()) {
                listed.push(self.partition(topic, &entry, info)?);
            }
        } else {
            for entry in iterate(given, refused)? {
                listed.push(self.partition(topic, &entry?, info)?);
            }
        }
        Ok(Partitions::listed(topic, listed, self.combinations.racks())?)
    }

    /// Reads a list as far as it holds nothing but `PartitionInfo` with a plain id and a plain tuple of names.
    fn plain_partitions(
        &mut self,
        list: &Bound<'_, PyAny>,
        info: &Bound<'_, PyType>,
        listed: &mut Vec<(i32, u32)>,
    ) -> PyResult<()> {
        static CHECKED: PyOnceLock<Class> = PyOnceLock::new();
        let class = *CHECKED.get_or_try_init(list.py(), || Class::checked(info))?;
        let combinations = &mut self.combinations;
        fast::lend(list, |entries| {
            let mut racks = Vec::new();
            for (place, entry) in entries.iter().enumerate() {
                // Memory is asked for ahead, of a partition and then of its racks: both lie anywhere.
                if let Some(ahead) = entries.get(place + 2 * AHEAD) {
                    ahead.fetch();
                }
                if let Some([_, ahead]) = entries.get(place + AHEAD).and_then(|ahead| ahead.pair(class)) {
                    ahead.fetch();
                }
                let read = entry.pair(class).and_then(|[id, on]| {
                    let id = id.int().filter(|id| *id >= 0)?;
                    on.tuple(&mut racks)?;
                    Some((id, combinations.set(&racks)?))
                });
                match read {
                    Some(partition) => listed.push(partition),
                    None => return, // and nothing that was lent is looked at again
                }
            }
        });
        Ok(())
    }

    /// Id and set of racks.
    fn partition(&mut self, topic: &str, entry: &Bound<'_, PyAny>, info: &Bound<'_, PyType>) -> PyResult<(i32, u32)> {
        let what = || format!("topic '{topic}': a partition id");
        if entry.get_type().is(info) {
            let fields = entry.cast::<PyTuple>()?;
            let id = int(&*fields.get_borrowed_item(0)?, what)?;
            return Ok((id, self.set(topic, id, &*fields.get_borrowed_item(1)?)?));
        }
        if !entry.is_instance(info)? {
            return Ok((int(entry, what)?, self.combinations.set_of_texts([].into_iter())));
        }
        let id = int(&entry.getattr(intern!(entry.py(), "partition"))?, what)?;
        Ok((id, self.set(topic, id, &entry.getattr(intern!(entry.py(), "racks"))?)?))
    }

    /// The set of racks that a partition's replicas are on.
    fn set(&mut self, topic: &str, id: i32, replicas: &Bound<'_, PyAny>) -> PyResult<u32> {
        let what = |part: &str| format!("topic '{topic}', partition {id}: {part}");
        self.combinations.set_of(replicas, || what("racks"), || what("a rack"))
    }
}

static PARTITION_INFO: PyOnceLock<Py<PyType>> = PyOnceLock::new();
