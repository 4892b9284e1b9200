//! Reader of recorded groups in Arrow columns: records, and the topic metadata that leaders may have used.

use std::collections::BTreeMap;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef, BinaryArray, BooleanArray, ListArray, RecordBatch, StringArray};
use arrow_schema::DataType;
use pyo3::prelude::*;
use rustc_hash::FxHashMap;

use super::binary_column::BinaryColumn;
use crate::group::{Partitions, Racks};
use crate::history::{Metadata, MetadataSnapshot};
use crate::python::imports::{IllegalArgumentError, WrongTypeError};
use crate::replay::LogRecord;

/// Columns of a batch of records.
pub(crate) struct RecordColumns<'a> {
    groups: &'a StringArray,
    offsets: &'a [i64],
    timestamps: &'a [i64],
    keys: BinaryColumn,
    values: BinaryColumn,
    aborted: &'a BooleanArray,
}

impl<'a> RecordColumns<'a> {
    pub(crate) fn read(records: &'a RecordBatch) -> PyResult<Self> {
        let type_error = |name: &str, wanted: &DataType| {
            let found =
                records.column_by_name(name).map_or("missing".to_owned(), |found| found.data_type().to_string());
            WrongTypeError::new_err(format!("column {name} of the records must be {wanted}; it is {found}"))
        };
        let column =
            |name: &str, wanted: &DataType| records.column_by_name(name).ok_or_else(|| type_error(name, wanted));
        let numbers = |name: &str| -> PyResult<&'a [i64]> {
            let numbers = column(name, &DataType::Int64)?.as_primitive_opt::<Int64Type>();
            Ok(numbers.ok_or_else(|| type_error(name, &DataType::Int64))?.values())
        };
        Ok(Self {
            groups: column("group_id", &DataType::Utf8)?
                .as_string_opt()
                .ok_or_else(|| type_error("group_id", &DataType::Utf8))?,
            offsets: numbers("offset")?,
            timestamps: numbers("timestamp")?,
            keys: BinaryColumn::from_array("key", column("key", &DataType::Binary)?.clone())?,
            values: BinaryColumn::from_array("value", column("value", &DataType::Binary)?.clone())?,
            aborted: column("aborted", &DataType::Boolean)?
                .as_boolean_opt()
                .ok_or_else(|| type_error("aborted", &DataType::Boolean))?,
        })
    }

    pub(crate) fn entry(&self, row: usize) -> LogRecord<'_> {
        LogRecord {
            offset: self.offsets[row],
            timestamp: self.timestamps[row],
            key: self.keys.get(row),
            value: self.values.get(row),
        }
    }

    /// Return the group of a record; None for a record without a group or of an aborted transaction.
    pub(crate) fn group_of(&self, row: usize) -> Option<&str> {
        (self.groups.is_valid(row) && !self.aborted.value(row)).then(|| self.groups.value(row))
    }
}

/// Columns of the records of many groups.
pub(crate) struct GroupRecords<'a> {
    groups: &'a ListArray,
    offsets: &'a [i64],
    timestamps: &'a [i64],
    keys: &'a BinaryArray,
    values: &'a BinaryArray,
}

impl<'a> GroupRecords<'a> {
    pub(crate) fn read(records: &'a ArrayRef) -> PyResult<Self> {
        let wanted = "a list of structs of offset int64, timestamp int64, key binary, value binary";
        let type_error = || WrongTypeError::new_err(format!("records must be {wanted}, not {}", records.data_type()));
        let groups = records.as_list_opt::<i32>().ok_or_else(type_error)?;
        let rows = groups.values().as_struct_opt().ok_or_else(type_error)?;
        let column = |name: &str| rows.column_by_name(name).ok_or_else(type_error);
        Ok(Self {
            groups,
            offsets: column("offset")?.as_primitive_opt::<Int64Type>().ok_or_else(type_error)?.values(),
            timestamps: column("timestamp")?.as_primitive_opt::<Int64Type>().ok_or_else(type_error)?.values(),
            keys: column("key")?.as_binary_opt::<i32>().ok_or_else(type_error)?,
            values: column("value")?.as_binary_opt::<i32>().ok_or_else(type_error)?,
        })
    }

    pub(crate) fn of(&self, group: usize) -> impl Iterator<Item = LogRecord<'a>> {
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
