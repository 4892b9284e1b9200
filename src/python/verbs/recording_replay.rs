//! Decoding and replay of a recording in one pass over its records.

use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, BooleanArray, RecordBatch, StringArray};
use pyo3::prelude::*;
use pyo3_arrow::{PyArray, PyRecordBatch};

use super::bounded_columns::{LARGEST_OFFSET, TextColumn};
use super::history_columns::HistoryColumns;
use super::records::{BinaryColumn, DecodedColumns, too_many_records};
use super::replay::read_metadata;
use crate::history::Metadata;
use crate::offsets;
use crate::python::imports::{IllegalArgumentError, WrongTypeError};
use crate::replay::{GroupReplay, LogRecord};

/// Decode and replay in one pass over the records of a recording. The records of a group come one after another, in the
/// order of the log; batches may end anywhere.
#[pyclass(frozen, name = "RecordingReplay", module = "assignor._core")]
pub(crate) struct PyRecordingReplay {
    metadata: Metadata,
    /// The group of the last record, on its way through its log.
    group: Mutex<Option<(String, GroupReplay)>>,
}

/// Group ids and their histories.
type PyHistories = (PyArray, PyArray);

#[pymethods]
impl PyRecordingReplay {
    #[new]
    fn new(metadata: PyRecordBatch) -> PyResult<Self> {
        Ok(Self { metadata: read_metadata(metadata.as_ref())?, group: Mutex::new(None) })
    }

    /// Decode records: a batch with the columns group_id, offset, timestamp, key, value and aborted in; a row for each
    /// record, and the groups whose records ended with their histories, out. Records without a group, and those of
    /// aborted transactions, are decoded and not replayed.
    fn push(&self, py: Python<'_>, records: PyRecordBatch) -> PyResult<(PyRecordBatch, PyHistories)> {
        let records = records.as_ref();
        let batch = RecordColumns::read(records)?;
        py.detach(|| {
            let mut group = self.group.lock().unwrap_or_else(PoisonError::into_inner);
            let mut decoded = DecodedColumns::new();
            let mut ended = EndedGroups::new(&self.metadata);
            for row in 0..records.num_rows() {
                let entry = batch.entry(row);
                let record = offsets::decode_record(entry.key, entry.value);
                decoded
                    .push(entry.key, entry.value, &record)
                    .map_err(|full| too_many_records(&full, records.num_rows()))?;
                let Some(id) = batch.group_of(row) else { continue };
                if group.as_ref().is_none_or(|(current, _)| current != id) {
                    ended.push(group.replace((id.to_owned(), GroupReplay::default())))?;
                }
                if let Some((_, replay)) = group.as_mut() {
                    replay.push(&entry, &record);
                }
            }
            Ok((PyRecordBatch::new(decoded.finish()?), ended.finish()))
        })
    }

    /// Return the last group and its history; nothing if there was no record.
    fn finish(&self, py: Python<'_>) -> PyResult<PyHistories> {
        py.detach(|| {
            let mut ended = EndedGroups::new(&self.metadata);
            ended.push(self.group.lock().unwrap_or_else(PoisonError::into_inner).take())?;
            Ok(ended.finish())
        })
    }
}

/// Columns of the groups whose records have ended.
struct EndedGroups<'a> {
    group_id: TextColumn,
    histories: HistoryColumns<'a>,
}

impl<'a> EndedGroups<'a> {
    fn new(metadata: &'a Metadata) -> Self {
        Self {
            group_id: TextColumn::new("group_id", LARGEST_OFFSET),
            histories: HistoryColumns::new(metadata, LARGEST_OFFSET),
        }
    }

    fn push(&mut self, group: Option<(String, GroupReplay)>) -> PyResult<()> {
        let Some((id, replay)) = group else { return Ok(()) };
        let pushed = self.group_id.push(Some(&id)).and_then(|()| self.histories.push(&replay.finish()));
        pushed.map_err(|full| IllegalArgumentError::new_err(format!("{full} at group {id}: hand over fewer records")))
    }

    fn finish(self) -> PyHistories {
        let histories = Arc::new(self.histories.finish());
        (PyArray::from_array_ref(self.group_id.finish()), PyArray::from_array_ref(histories))
    }
}

/// The columns of a batch of records.
struct RecordColumns<'a> {
    groups: &'a StringArray,
    offsets: &'a [i64],
    timestamps: &'a [i64],
    keys: BinaryColumn,
    values: BinaryColumn,
    aborted: &'a BooleanArray,
}

impl<'a> RecordColumns<'a> {
    fn read(records: &'a RecordBatch) -> PyResult<Self> {
        let refused = |name: &str| {
            let found = records.schema();
            WrongTypeError::new_err(format!("records: column {name} is missing or of another type: {found}"))
        };
        let column = |name: &str| records.column_by_name(name).ok_or_else(|| refused(name));
        let numbers = |name: &str| -> PyResult<&'a [i64]> {
            Ok(column(name)?.as_primitive_opt::<Int64Type>().ok_or_else(|| refused(name))?.values())
        };
        Ok(Self {
            groups: column("group_id")?.as_string_opt().ok_or_else(|| refused("group_id"))?,
            offsets: numbers("offset")?,
            timestamps: numbers("timestamp")?,
            keys: BinaryColumn::from_array("key", column("key")?.clone())?,
            values: BinaryColumn::from_array("value", column("value")?.clone())?,
            aborted: column("aborted")?.as_boolean_opt().ok_or_else(|| refused("aborted"))?,
        })
    }

    fn entry(&self, row: usize) -> LogRecord<'_> {
        LogRecord {
            offset: self.offsets[row],
            timestamp: self.timestamps[row],
            key: self.keys.get(row),
            value: self.values.get(row),
        }
    }

    /// The group that replays a record; None for a record without a group or of an aborted transaction.
    fn group_of(&self, row: usize) -> Option<&str> {
        (self.groups.is_valid(row) && !self.aborted.value(row)).then(|| self.groups.value(row))
    }
}
