//! Replay for Python: reads a column of groups, each with its records, and the metadata that their leaders may have had.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef, BinaryArray, ListArray, RecordBatch};
use arrow_schema::DataType;
use pyo3::prelude::*;
use pyo3_arrow::{PyArray, PyRecordBatch};
use rustc_hash::FxHashMap;

use super::history_columns::HistoryColumns;
use crate::group::{Partitions, Racks};
use crate::history::{Metadata, MetadataSnapshot};
use crate::python::imports::{IllegalArgumentError, WrongTypeError};
use crate::python::verbs::bounded_columns::LARGEST_OFFSET;
use crate::replay::{self, LogRecord};

/// Replays groups: a column of lists of records (structs of offset, timestamp, key, value, in the order of the log) in, a
/// column of histories (structs, see `assignor.spark.schemas.HISTORY`) out.
///
/// `metadata` has a row per partition and time, with the columns t, topic, topic_id, partition and racks. `limit` is how
/// many bytes of text, or rows in lists, a column takes; Arrow's own limit where it is not given.
#[pyfunction]
#[pyo3(signature = (records, metadata, *, limit = 2_147_483_647))]
pub(crate) fn replay_groups(
    py: Python<'_>,
    records: PyArray,
    metadata: PyRecordBatch,
    limit: usize,
) -> PyResult<PyArray> {
    let metadata = read_metadata(metadata.as_ref())?;
    let records = records.array().clone();
    let histories = py.detach(|| {
        let groups = GroupRecords::read(&records)?;
        let mut histories = HistoryColumns::new(&metadata, limit.min(LARGEST_OFFSET));
        for group in 0..records.len() {
            histories.push(&replay::replay(groups.of(group))).map_err(|full| {
                let all = records.len();
                IllegalArgumentError::new_err(format!(
                    "{full} at group {} of {all}: hand over fewer groups per call",
                    group + 1
                ))
            })?;
        }
        Ok::<_, PyErr>(histories.finish())
    })?;
    Ok(PyArray::from_array_ref(Arc::new(histories)))
}

/// The columns of the records of many groups.
struct GroupRecords<'a> {
    groups: &'a ListArray,
    offsets: &'a [i64],
    timestamps: &'a [i64],
    keys: &'a BinaryArray,
    values: &'a BinaryArray,
}

impl<'a> GroupRecords<'a> {
    fn read(records: &'a ArrayRef) -> PyResult<Self> {
        let wanted = "a list of structs of offset int64, timestamp int64, key binary, value binary";
        let refused = || WrongTypeError::new_err(format!("records must be {wanted}, not {}", records.data_type()));
        let groups = records.as_list_opt::<i32>().ok_or_else(refused)?;
        let rows = groups.values().as_struct_opt().ok_or_else(refused)?;
        let column = |name: &str| rows.column_by_name(name).ok_or_else(refused);
        Ok(Self {
            groups,
            offsets: column("offset")?.as_primitive_opt::<Int64Type>().ok_or_else(refused)?.values(),
            timestamps: column("timestamp")?.as_primitive_opt::<Int64Type>().ok_or_else(refused)?.values(),
            keys: column("key")?.as_binary_opt::<i32>().ok_or_else(refused)?,
            values: column("value")?.as_binary_opt::<i32>().ok_or_else(refused)?,
        })
    }

    fn of(&self, group: usize) -> impl Iterator<Item = LogRecord<'a>> {
        let bounds = self.groups.value_offsets();
        let rows = bounds[group] as usize..bounds[group + 1] as usize;
        let (offsets, timestamps, keys, values) = (self.offsets, self.timestamps, self.keys, self.values);
        rows.map(move |row| LogRecord {
            offset: offsets[row],
            timestamp: timestamps[row],
            key: keys.is_valid(row).then(|| keys.value(row)),
            value: values.is_valid(row).then(|| values.value(row)),
        })
    }
}

/// Partitions with the racks of their replicas, by topic.
type Listed = FxHashMap<String, Vec<(i32, u32)>>;

/// Reads topic metadata: rows of one time and topic are its partitions.
pub(super) fn read_metadata(batch: &RecordBatch) -> PyResult<Metadata> {
    let refused = |name: &str, wanted: &str| {
        let found = batch.column_by_name(name).map_or("missing".to_owned(), |found| found.data_type().to_string());
        WrongTypeError::new_err(format!("column {name} of the topic metadata must be {wanted}; it is {found}"))
    };
    let column = |name: &str, wanted: &DataType| {
        let found = batch.column_by_name(name).filter(|found| found.data_type() == wanted);
        let found = found.ok_or_else(|| refused(name, &wanted.to_string()))?;
        if found.null_count() > 0 {
            return Err(IllegalArgumentError::new_err(format!(
                "column {name} of the topic metadata must have no nulls"
            )));
        }
        Ok(found)
    };
    let times = column("t", &DataType::Int64)?.as_primitive::<Int64Type>();
    let names = column("topic", &DataType::Utf8)?.as_string::<i32>();
    let ids = column("topic_id", &DataType::Utf8)?.as_string::<i32>();
    let partitions = column("partition", &DataType::Int32)?.as_primitive::<Int32Type>();
    let racks = batch.column_by_name("racks").and_then(|racks| racks.as_list_opt::<i32>());
    let racks = racks.filter(|racks| racks.value_type() == DataType::Utf8);
    let racks = racks.ok_or_else(|| refused("racks", "a list of Utf8"))?;

    let mut metadata = Metadata { snapshots: Vec::new(), racks: Racks::default(), names: FxHashMap::default() };
    let mut snapshots: BTreeMap<i64, Listed> = BTreeMap::new();
    if let Some(negative) = partitions.values().iter().find(|id| **id < 0) {
        let reason = format!("column partition of the topic metadata must not be negative: {negative}");
        return Err(IllegalArgumentError::new_err(reason));
    }
    for row in 0..batch.num_rows() {
        let on = racks.value(row);
        let mut on = on.as_string::<i32>().iter().flatten().map(|rack| metadata.racks.number(rack)).collect();
        let on = metadata.racks.set(&mut on);
        let topics = snapshots.entry(times.value(row)).or_default();
        topics.entry(names.value(row).to_owned()).or_default().push((partitions.value(row), on));
        metadata.names.insert(ids.value(row).to_owned(), names.value(row).to_owned());
    }
    for (time, topics) in snapshots {
        let mut found = FxHashMap::default();
        for (name, listed) in topics {
            let partitions = Partitions::listed(&name, listed, &metadata.racks)
                .map_err(|error| IllegalArgumentError::new_err(format!("topic metadata at {time}: {error}")))?;
            found.insert(name, partitions);
        }
        metadata.snapshots.push(MetadataSnapshot { time, topics: found });
    }
    Ok(metadata)
}
