//! The class `RecordingReplay`: decoding and replay of a recording in one pass over its records.

use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;

use super::bounded_columns::{BoundedTextColumn, LARGEST_OFFSET};
use super::decoded_columns::{DecodedColumns, too_many_records};
use super::history_columns::HistoryColumns;
use crate::history::Metadata;
use crate::offsets;
use crate::python::imports::IllegalArgumentError;
use crate::python::objects::arrow_capsules::ArrowArray;
use crate::python::read::arrow::batch;
use crate::python::read::recordings::{self, RecordColumns};
use crate::replay::GroupReplay;

/// Decoding and replay of the records of a recording. The records are sorted by group, and within a group by offset. A
/// batch may end inside a group.
#[pyclass(frozen, name = "RecordingReplay", module = "assignor._core")]
pub(crate) struct PyRecordingReplay {
    metadata: Metadata,
    /// Group id and state of the group of the last record.
    group: Mutex<Option<(String, GroupReplay)>>,
}

/// Group ids and their histories.
type PyHistories = (ArrowArray, ArrowArray);

#[pymethods]
impl PyRecordingReplay {
    #[new]
    fn new(metadata: ArrowArray) -> PyResult<Self> {
        Ok(Self { metadata: recordings::metadata(&batch(&metadata)?)?, group: Mutex::new(None) })
    }

    /// Decode and replay a batch with the columns group_id, offset, timestamp, key, value and aborted.
    ///
    /// Return a row for each record, and the ids and histories of the completed groups. Records without a group, and
    /// records of aborted transactions, are decoded but not replayed.
    fn push(&self, py: Python<'_>, records: ArrowArray) -> PyResult<(ArrowArray, PyHistories)> {
        let records = batch(&records)?;
        let columns = RecordColumns::read(&records)?;
        py.detach(|| {
            let mut group = self.group.lock().unwrap_or_else(PoisonError::into_inner);
            let mut decoded = DecodedColumns::new();
            let mut ended = EndedGroups::new(&self.metadata);
            for row in 0..records.num_rows() {
                let entry = columns.entry(row);
                let record = offsets::decode_record(entry.key, entry.value);
                decoded
                    .push(entry.key, entry.value, &record)
                    .map_err(|full| too_many_records(&full, records.num_rows()))?;
                let Some(id) = columns.group_of(row) else { continue };
                if group.as_ref().is_none_or(|(current, _)| current != id) {
                    ended.push(group.replace((id.to_owned(), GroupReplay::default())))?;
                }
                if let Some((_, replay)) = group.as_mut() {
                    replay.push(&entry, &record);
                }
            }
            Ok((decoded.finish()?.into(), ended.finish()))
        })
    }

    /// Return the last group and its history; empty columns if there was no record.
    fn finish(&self, py: Python<'_>) -> PyResult<PyHistories> {
        py.detach(|| {
            let mut ended = EndedGroups::new(&self.metadata);
            ended.push(self.group.lock().unwrap_or_else(PoisonError::into_inner).take())?;
            Ok(ended.finish())
        })
    }
}

/// Columns of completed groups.
struct EndedGroups<'a> {
    group_id: BoundedTextColumn,
    histories: HistoryColumns<'a>,
}

impl<'a> EndedGroups<'a> {
    fn new(metadata: &'a Metadata) -> Self {
        Self {
            group_id: BoundedTextColumn::new("group_id", LARGEST_OFFSET),
            histories: HistoryColumns::new(metadata, LARGEST_OFFSET),
        }
    }

    fn push(&mut self, group: Option<(String, GroupReplay)>) -> PyResult<()> {
        let Some((id, replay)) = group else { return Ok(()) };
        let pushed = self.group_id.push(Some(&id)).and_then(|()| self.histories.push(&replay.finish()));
        pushed
            .map_err(|full| IllegalArgumentError::new_err(format!("{full} at group {id}: pass fewer records per call")))
    }

    fn finish(self) -> PyHistories {
        let histories = Arc::new(self.histories.finish());
        (ArrowArray::new(self.group_id.finish()), ArrowArray::new(histories))
    }
}
