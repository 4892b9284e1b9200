//! The class `RecordingReplay`: decoding and replay of a recording in one pass over its records.

use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;

use super::bounded_columns::{BoundedTextColumn, LARGEST_OFFSET};
use super::decoded_columns::{DecodedColumns, too_many_records};
use super::history_columns::{ComparedGenerations, HistoryColumns};
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
    /// The group of the last record.
    group: Mutex<Option<OpenGroup>>,
}

/// Group whose records may continue in the next batch.
struct OpenGroup {
    id: String,
    replay: GroupReplay,
    generations: ComparedGenerations,
}

impl OpenGroup {
    fn new(id: &str) -> Self {
        let id = id.to_owned();
        Self { id, replay: GroupReplay::default(), generations: ComparedGenerations::default() }
    }

    /// Compare the complete generations and drop their members.
    fn compare(&mut self, metadata: &Metadata) {
        for generation in self.replay.completed() {
            self.generations.add(generation, metadata);
        }
    }
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
                if group.as_ref().is_none_or(|current| current.id != id) {
                    ended.push(group.replace(OpenGroup::new(id)))?;
                }
                if let Some(group) = group.as_mut() {
                    group.replay.push(&entry, &record);
                    group.compare(&self.metadata);
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
    metadata: &'a Metadata,
    group_id: BoundedTextColumn,
    histories: HistoryColumns<'a>,
}

impl<'a> EndedGroups<'a> {
    fn new(metadata: &'a Metadata) -> Self {
        Self {
            metadata,
            group_id: BoundedTextColumn::new("group_id", LARGEST_OFFSET),
            histories: HistoryColumns::new(metadata, LARGEST_OFFSET),
        }
    }

    fn push(&mut self, group: Option<OpenGroup>) -> PyResult<()> {
        let Some(mut group) = group else { return Ok(()) };
        group.replay.close();
        group.compare(self.metadata);
        let pushed = self
            .group_id
            .push(Some(&group.id))
            .and_then(|()| self.histories.push(&group.replay.state(), &group.generations));
        pushed.map_err(|full| {
            IllegalArgumentError::new_err(format!("{full} at group {}: pass fewer records per call", group.id))
        })
    }

    fn finish(self) -> PyHistories {
        let histories = Arc::new(self.histories.finish());
        (ArrowArray::new(self.group_id.finish()), ArrowArray::new(histories))
    }
}
