//! The function `replay_groups`: histories from the records of groups.

use std::sync::Arc;

use pyo3::prelude::*;

use super::bounded_columns::{ColumnFull, LARGEST_OFFSET};
use super::history_columns::{ComparedGenerations, HistoryColumns};
use crate::history::Metadata;
use crate::python::imports::IllegalArgumentError;
use crate::python::objects::arrow_capsules::ArrowArray;
use crate::python::read::arrow::batch;
use crate::python::read::recordings::{self, GroupRecords};
use crate::replay::{self, LogRecord};

/// Replay groups: from a column of lists of records (structs of offset, timestamp, key and value, sorted by offset) to a
/// column of histories (structs, see `assignor.spark.schemas.HISTORY`).
///
/// `metadata` has a row per partition and time, with the columns t, topic, topic_id, partition and racks. `limit` is the
/// highest number of bytes of text, or of rows in lists, per column; the default is Arrow's own limit.
#[pyfunction]
#[pyo3(signature = (records, metadata, *, limit = 2_147_483_647))]
pub(crate) fn replay_groups(
    py: Python<'_>,
    records: ArrowArray,
    metadata: ArrowArray,
    limit: usize,
) -> PyResult<ArrowArray> {
    let metadata = recordings::metadata(&batch(&metadata)?)?;
    let records = records.array().clone();
    let histories = py.detach(|| {
        let groups = GroupRecords::read(&records)?;
        let mut histories = HistoryColumns::new(&metadata, limit.min(LARGEST_OFFSET));
        for group in 0..records.len() {
            push_group(&mut histories, groups.of(group), &metadata).map_err(|full| {
                let all = records.len();
                IllegalArgumentError::new_err(format!(
                    "{full} at group {} of {all}: pass fewer groups per call",
                    group + 1
                ))
            })?;
        }
        Ok::<_, PyErr>(histories.finish())
    })?;
    Ok(ArrowArray::new(Arc::new(histories)))
}

/// Add the history of a group to the columns.
fn push_group<'a>(
    histories: &mut HistoryColumns<'_>,
    records: impl IntoIterator<Item = LogRecord<'a>>,
    metadata: &Metadata,
) -> Result<(), ColumnFull> {
    let mut generations = ComparedGenerations::default();
    let state = replay::replay(records, |generation| generations.add(generation, metadata));
    histories.push(&state, &generations)
}
