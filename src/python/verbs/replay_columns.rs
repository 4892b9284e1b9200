//! Columns of a replay other than events: groups as they are after the last record, positions, and commits.

use arrow_array::{RecordBatch, StructArray};

use super::history_columns::HistoryColumns;
use super::table::{ColumnFull, Declared, LARGEST_OFFSET, Table, Type};
use crate::offsets::{DecodedRecord, FieldValue};
use crate::replay::{Position, Replay};

/// Number of rows of a batch of positions.
const POSITIONS_OF_A_BATCH: usize = 1 << 16;

/// Columns of a group that a history does not have.
const STATE: [Declared; 6] = [
    ("cluster", Type::Text),
    ("group", Type::Text),
    ("rebalances", Type::Int64),
    ("records", Type::Int64),
    ("duplicates", Type::Int64),
    ("time_backwards", Type::Int64),
];

const POSITION: [Declared; 6] = [
    ("cluster", Type::Text),
    ("group_id", Type::Text),
    ("topic", Type::Text),
    ("partition", Type::Int32),
    ("member_id", Type::Text),
    ("committed", Type::Int64),
];

const COMMIT: [Declared; 6] = [
    ("group_id", Type::Text),
    ("topic", Type::Text),
    ("partition", Type::Int32),
    ("committed", Type::Int64),
    ("timestamp", Type::Int64),
    ("offset", Type::Int64),
];

/// Return the groups of a replay: a batch with the columns of `STATE`, and histories without generations.
pub(super) fn states(replay: &Replay) -> Result<(RecordBatch, StructArray), ColumnFull> {
    let mut histories = HistoryColumns::new(replay.metadata(), LARGEST_OFFSET);
    let mut table = Table::new(&STATE, LARGEST_OFFSET);
    for group in replay.states() {
        let mut row = table.row();
        row.put(&group.cluster)?.put(&group.group)?;
        for number in [group.rebalances, group.records, group.duplicates, group.time_backwards] {
            row.put(number as i64)?;
        }
        histories.push(&group, &[])?;
    }
    Ok((RecordBatch::from(table.finish()), histories.finish()))
}

/// Return batches of positions.
pub(super) fn positions(replay: &Replay) -> Result<Vec<RecordBatch>, ColumnFull> {
    replay.positions().chunks(POSITIONS_OF_A_BATCH).map(position_batch).collect()
}

fn position_batch(positions: &[Position]) -> Result<RecordBatch, ColumnFull> {
    let mut table = Table::new(&POSITION, LARGEST_OFFSET);
    for position in positions {
        let mut row = table.row();
        row.put(&position.cluster)?.put(&position.group)?.put(&position.topic)?.put(position.partition)?;
        row.put(position.member.as_ref())?.put(position.committed)?;
    }
    Ok(RecordBatch::from(table.finish()))
}

/// Columns of offset commits under construction; a commit without an offset is a tombstone.
pub(super) struct CommitColumns(Table);

impl CommitColumns {
    pub(super) fn new() -> Self {
        Self(Table::new(&COMMIT, LARGEST_OFFSET))
    }

    /// Add a record if it is an offset commit. `place` is its time and offset.
    pub(super) fn push(&mut self, place: (i64, i64), record: &DecodedRecord<'_>) -> Result<(), ColumnFull> {
        if !matches!(record.record_type, 0 | 1) {
            return Ok(());
        }
        let (key, value) = (record.key(), record.value());
        let mut row = self.0.row();
        row.put(record.group())?.put(key.get("topic").and_then(FieldValue::as_text))?;
        row.put(key.get("partition").and_then(FieldValue::as_i64).map(|id| id as i32))?;
        row.put(value.and_then(|value| value.get("offset")).and_then(FieldValue::as_i64))?;
        row.put(place.0)?.put(place.1).map(drop)
    }

    pub(super) fn finish(self) -> RecordBatch {
        RecordBatch::from(self.0.finish())
    }
}
