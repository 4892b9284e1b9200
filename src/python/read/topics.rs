//! Reader of topics and their partitions: counts, ids, or ids with the racks of their replicas.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyList, PyTuple, PyType};

use super::named_topics::NamedTopics;
use super::rack_sets::RackSetInterner;
use super::topic_columns;
use super::values::{each_item, expected_len, int, is_int, iterate, plain, with_name};
use crate::group::{Names, Partitions};
use crate::memory;
use crate::python::error::wrong_type;
use crate::python::imports::PARTITION_INFO;
use crate::python::interrupt::Steps;
use crate::python::objects::entries::{Entry, lend};
use crate::python::objects::tuple_class::TupleClass;

/// Read topics: columns, or a mapping of topics to partitions.
pub(crate) fn read(partitions_per_topic: &Bound<'_, PyAny>) -> PyResult<NamedTopics> {
    if !partitions_per_topic.is_exact_instance_of::<PyDict>()
        && let Some(topics) = topic_columns::read(partitions_per_topic)?
    {
        return Ok(topics);
    }
    mapping(partitions_per_topic)
}

fn mapping(partitions_per_topic: &Bound<'_, PyAny>) -> PyResult<NamedTopics> {
    let mut reader = PartitionReader::default();
    let expected = expected_len(partitions_per_topic);
    let (mut names, mut partitions) = (Names::with_capacity(expected), Vec::with_capacity(expected));
    let mut objects = Vec::with_capacity(expected);
    let (py, mut steps) = (partitions_per_topic.py(), Steps::default());
    each_item(partitions_per_topic, "partitions_per_topic", "topics to partitions", |name, given| {
        steps.count(py)?; // a list of partitions forgets the addresses of others
        let object = plain(name, || "a topic name".into())?;
        with_name(&object, || "a topic name".into(), |name| names.push(name))?;
        partitions.push(reader.partitions(names.get(names.len() - 1), given)?);
        objects.push(object.unbind());
        Ok(())
    })?;
    Ok(NamedTopics::new(objects.into(), names, partitions, reader.combinations.into_racks().into_shared()))
}

/// Memory for an id and the number of its rack set.
const BYTES_PER_ID: u64 = 8;

/// Distance, in partitions, between the partition that is read and the partition that is prefetched.
const AHEAD: usize = 8;

#[derive(Default)]
struct PartitionReader {
    combinations: RackSetInterner,
}

impl PartitionReader {
    fn partitions(&mut self, topic: &str, given: &Bound<'_, PyAny>) -> PyResult<Partitions> {
        if let Some(count) = Entry::of(given).int().filter(|count| *count >= 0) {
            return Ok(Partitions::counted(count as u32));
        }
        let type_error = || wrong_type(&format!("topic '{topic}': partitions"), "a count or an iterable of ids", given);
        if is_int(given)? {
            let count = int(given, || format!("topic '{topic}': a partition count"))?;
            return Ok(Partitions::counted(count as u32));
        }
        let info = PARTITION_INFO.get(given.py())?;
        let mut listed = Vec::new();
        if let Ok(list) = given.cast_exact::<PyList>() {
            listed.reserve(list.len());
            self.plain_partitions(given, info, &mut listed)?;
            for entry in list.iter().skip(listed.len()) {
                listed.push(self.partition(topic, &entry, info)?);
            }
        } else {
            for entry in iterate(given, type_error)? {
                memory::push(&mut listed, self.partition(topic, &entry?, info)?, "a topic", "partitions")?;
            }
        }
        memory::check_each("a topic", "partitions", listed.len() as u64, BYTES_PER_ID)?;
        Ok(Partitions::listed(topic, listed, self.combinations.racks())?)
    }

    /// Read entries of a list up to the first that is not a `PartitionInfo` with a plain id and a plain tuple of names.
    fn plain_partitions(
        &mut self,
        list: &Bound<'_, PyAny>,
        info: &Bound<'_, PyType>,
        listed: &mut Vec<(i32, u32)>,
    ) -> PyResult<()> {
        static CLASS: PyOnceLock<TupleClass> = PyOnceLock::new();
        let class = CLASS.get_or_try_init(list.py(), || TupleClass::new(info))?;
        let combinations = &mut self.combinations;
        combinations.forget_addresses(); // the list keeps its entries alive, but not those of other lists
        lend(list, |entries| {
            let mut buffer = Vec::new();
            for (place, entry) in entries.iter().enumerate() {
                // Partitions and their tuples of racks may be anywhere in memory: both are prefetched.
                if let Some(ahead) = entries.get(place + 2 * AHEAD) {
                    ahead.prefetch();
                }
                if let Some([_, ahead]) = entries.get(place + AHEAD).and_then(|ahead| ahead.pair(class)) {
                    ahead.prefetch();
                }
                let read = entry.pair(class).and_then(|[id, on]| {
                    let id = id.int().filter(|id| *id >= 0)?;
                    Some((id, combinations.set(on.tuple(&mut buffer)?)?))
                });
                match read {
                    Some(partition) => listed.push(partition),
                    None => return,
                }
            }
        });
        Ok(())
    }

    /// Return the id and the rack set of a partition.
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

    /// Return the rack set of a partition's replicas.
    fn set(&mut self, topic: &str, id: i32, replicas: &Bound<'_, PyAny>) -> PyResult<u32> {
        let what = |part: &str| format!("topic '{topic}', partition {id}: {part}");
        self.combinations.set_of(replicas, || what("racks"), || what("a rack"))
    }
}
