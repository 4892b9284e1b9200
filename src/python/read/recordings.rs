//! Reader of recorded groups in Arrow columns: records, and the topic metadata that leaders may have used.

use std::collections::BTreeMap;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef, BooleanArray, PrimitiveArray, RecordBatch, StringArray};
use arrow_schema::DataType;
use pyo3::prelude::*;
use rustc_hash::FxHashMap;

use super::binary_column::BinaryColumn;
use crate::group::{Partitions, Racks};
use crate::python::imports::{IllegalArgumentError, WrongTypeError};
use crate::replay::{LogRecord, Metadata, MetadataSnapshot};

/// Columns of a batch of records.
pub(crate) struct RecordColumns<'a> {
    clusters: Option<&'a StringArray>,
    partitions: Option<&'a PrimitiveArray<Int32Type>>,
    offsets: &'a [i64],
    timestamps: &'a [i64],
    keys: BinaryColumn,
    values: BinaryColumn,
    aborted: Option<&'a BooleanArray>,
}

impl<'a> RecordColumns<'a> {
    /// Read the columns offset, timestamp, key and value, and the optional columns cluster, partition and aborted.
    pub(crate) fn read(records: &'a RecordBatch) -> PyResult<Self> {
        let type_error = |name: &str, wanted: &str| {
            let found = records.column_by_name(name).map_or("missing".to_owned(), |found| {
                let nulls = if found.null_count() > 0 { " with nulls" } else { "" };
                format!("{}{nulls}", found.data_type())
            });
            WrongTypeError::new_err(format!("column {name} of the records must be {wanted}; it is {found}"))
        };
        let column = |name: &str, wanted: &str| records.column_by_name(name).ok_or_else(|| type_error(name, wanted));
        let numbers = |name: &str| -> PyResult<&'a [i64]> {
            let wanted = "Int64 without nulls";
            let found = column(name, wanted)?;
            let numbers = found.as_primitive_opt::<Int64Type>().filter(|_| found.null_count() == 0);
            Ok(numbers.ok_or_else(|| type_error(name, wanted))?.values())
        };
        let (clusters, aborted) = (records.column_by_name("cluster"), records.column_by_name("aborted"));
        let as_texts = |found: &'a ArrayRef| found.as_string_opt().ok_or_else(|| type_error("cluster", "Utf8"));
        let as_flags = |found: &'a ArrayRef| found.as_boolean_opt().ok_or_else(|| type_error("aborted", "Boolean"));
        let partitions = records.column_by_name("partition");
        let as_ids = |found: &'a ArrayRef| found.as_primitive_opt().ok_or_else(|| type_error("partition", "Int32"));
        Ok(Self {
            partitions: partitions.map(as_ids).transpose()?,
            clusters: clusters.map(as_texts).transpose()?,
            offsets: numbers("offset")?,
            timestamps: numbers("timestamp")?,
            keys: BinaryColumn::from_array("key", column("key", "Binary")?.clone())?,
            values: BinaryColumn::from_array("value", column("value", "Binary")?.clone())?,
            aborted: aborted.map(as_flags).transpose()?,
        })
    }

    /// Return the number of records.
    pub(crate) fn rows(&self) -> usize {
        self.offsets.len()
    }

    /// Return the cluster of a record; empty without one.
    pub(crate) fn cluster(&self, row: usize) -> &str {
        self.clusters.filter(|found| found.is_valid(row)).map_or("", |found| found.value(row))
    }

    /// Return true for a record of an aborted transaction.
    pub(crate) fn is_aborted(&self, row: usize) -> bool {
        self.aborted.is_some_and(|aborted| aborted.value(row))
    }

    pub(crate) fn entry(&self, row: usize) -> LogRecord<'_> {
        LogRecord {
            partition: self.partitions.filter(|found| found.is_valid(row)).map(|found| found.value(row)),
            offset: self.offsets[row],
            timestamp: self.timestamps[row],
            key: self.keys.get(row),
            value: self.values.get(row),
        }
    }
}

/// Partitions with the racks of their replicas, by topic.
type Listed = FxHashMap<String, Vec<(i32, u32)>>;

/// Read topic metadata: rows with the same time and topic are partitions of that topic.
pub(crate) fn metadata(batch: &RecordBatch) -> PyResult<Metadata> {
    let type_error = |name: &str, wanted: &str| {
        let found = batch.column_by_name(name).map_or("missing".to_owned(), |found| found.data_type().to_string());
        WrongTypeError::new_err(format!("column {name} of the topic metadata must be {wanted}; it is {found}"))
    };
    let column = |name: &str, wanted: &DataType| {
        let found = batch.column_by_name(name).filter(|found| found.data_type() == wanted);
        let found = found.ok_or_else(|| type_error(name, &wanted.to_string()))?;
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
    let racks = racks.ok_or_else(|| type_error("racks", "a list of Utf8"))?;

    let mut metadata = Metadata { snapshots: Vec::new(), racks: Racks::default(), names: FxHashMap::default() };
    let mut snapshots: BTreeMap<i64, (Listed, FxHashMap<String, String>)> = BTreeMap::new();
    if let Some(negative) = partitions.values().iter().find(|id| **id < 0) {
        let reason = format!("column partition of the topic metadata must not be negative: {negative}");
        return Err(IllegalArgumentError::new_err(reason));
    }
    for row in 0..batch.num_rows() {
        let on = racks.value(row);
        let mut on = on.as_string::<i32>().iter().flatten().map(|rack| metadata.racks.number(rack)).collect();
        let on = metadata.racks.set(&mut on);
        let (topics, topic_ids) = snapshots.entry(times.value(row)).or_default();
        if topic_ids.get(names.value(row)).map(String::as_str) != Some(ids.value(row)) {
            topic_ids.insert(names.value(row).to_owned(), ids.value(row).to_owned());
        }
        topics.entry(names.value(row).to_owned()).or_default().push((partitions.value(row), on));
        metadata.names.insert(ids.value(row).to_owned(), names.value(row).to_owned());
    }
    for (time, (topics, topic_ids)) in snapshots {
        let mut found = FxHashMap::default();
        for (name, listed) in topics {
            let partitions = Partitions::listed(&name, listed, &metadata.racks)
                .map_err(|error| IllegalArgumentError::new_err(format!("topic metadata at {time}: {error}")))?;
            found.insert(name, partitions);
        }
        metadata.snapshots.push(MetadataSnapshot { time, topics: found, topic_ids });
    }
    Ok(metadata)
}
