//! Columns of a replay other than events: groups as they are after the last record, positions, and commits.

use std::sync::Arc;

use arrow_array::builder::{Int32Builder, Int64Builder};
use arrow_array::{ArrayRef, Int32Array, Int64Array, RecordBatch, StructArray};

use super::bounded_columns::{BoundedTextColumn, ColumnFull, LARGEST_OFFSET, columns};
use super::history_columns::HistoryColumns;
use crate::offsets::{DecodedRecord, FieldValue};
use crate::replay::{LogRecord, Position, Replay};

/// Number of rows of a batch of positions.
const POSITIONS_OF_A_BATCH: usize = 1 << 16;

/// Numbers of a group that a history does not have.
const COUNTS: [&str; 4] = ["rebalances", "records", "duplicates", "time_backwards"];

/// Return the groups of a replay: a batch with cluster, group and `COUNTS`, and a column of histories without generations.
pub(super) fn states(replay: &Replay) -> Result<(RecordBatch, StructArray), ColumnFull> {
    let mut histories = HistoryColumns::new(replay.metadata(), LARGEST_OFFSET);
    let mut cluster = BoundedTextColumn::new("cluster", LARGEST_OFFSET);
    let mut group = BoundedTextColumn::new("group", LARGEST_OFFSET);
    let mut numbers: [Int64Builder; 4] = Default::default();
    for state in replay.states() {
        cluster.push(Some(&state.cluster))?;
        group.push(Some(&state.group))?;
        histories.push(&state, &[])?;
        let found = [state.rebalances, state.records, state.duplicates, state.time_backwards];
        for (column, number) in numbers.iter_mut().zip(found) {
            column.append_value(number as i64);
        }
    }
    let mut found = vec![("cluster", cluster.finish()), ("group", group.finish())];
    for (name, mut column) in COUNTS.into_iter().zip(numbers) {
        found.push((name, Arc::new(column.finish()) as ArrayRef));
    }
    Ok((RecordBatch::from(columns(found)), histories.finish()))
}

/// Return batches of positions.
pub(super) fn positions(replay: &Replay) -> Result<Vec<RecordBatch>, ColumnFull> {
    replay.positions().chunks(POSITIONS_OF_A_BATCH).map(position_batch).collect()
}

fn position_batch(positions: &[Position]) -> Result<RecordBatch, ColumnFull> {
    let mut texts =
        ["cluster", "group_id", "topic", "member_id"].map(|name| BoundedTextColumn::new(name, LARGEST_OFFSET));
    for position in positions {
        let found = [Some(&position.cluster), Some(&position.group), Some(&position.topic), position.member.as_ref()];
        for (column, text) in texts.iter_mut().zip(found) {
            column.push(text)?;
        }
    }
    let partitions = Int32Array::from_iter_values(positions.iter().map(|position| position.partition));
    let committed = positions.iter().map(|position| position.committed).collect::<Int64Array>();
    let [cluster, group, topic, member] = texts.map(BoundedTextColumn::finish);
    let found = vec![
        ("cluster", cluster),
        ("group_id", group),
        ("topic", topic),
        ("partition", Arc::new(partitions) as ArrayRef),
        ("member_id", member),
        ("committed", Arc::new(committed) as ArrayRef),
    ];
    Ok(RecordBatch::from(columns(found)))
}

/// Columns of offset commits under construction; a commit without an offset is a tombstone.
pub(super) struct CommitColumns {
    group: BoundedTextColumn,
    topic: BoundedTextColumn,
    partition: Int32Builder,
    committed: Int64Builder,
    timestamp: Int64Builder,
    offset: Int64Builder,
}

impl CommitColumns {
    pub(super) fn new() -> Self {
        Self {
            group: BoundedTextColumn::new("group_id", LARGEST_OFFSET),
            topic: BoundedTextColumn::new("topic", LARGEST_OFFSET),
            partition: Int32Builder::new(),
            committed: Int64Builder::new(),
            timestamp: Int64Builder::new(),
            offset: Int64Builder::new(),
        }
    }

    /// Add a record if it is an offset commit.
    pub(super) fn push(&mut self, entry: &LogRecord<'_>, record: &DecodedRecord<'_>) -> Result<(), ColumnFull> {
        if !matches!(record.record_type, 0 | 1) {
            return Ok(());
        }
        let (key, value) = (record.key(), record.value());
        self.group.push(record.group())?;
        self.topic.push(key.get("topic").and_then(FieldValue::as_text))?;
        self.partition.append_option(key.get("partition").and_then(FieldValue::as_i64).map(|id| id as i32));
        self.committed.append_option(value.and_then(|value| value.get("offset")).and_then(FieldValue::as_i64));
        self.timestamp.append_value(entry.timestamp);
        self.offset.append_value(entry.offset);
        Ok(())
    }

    pub(super) fn finish(mut self) -> RecordBatch {
        RecordBatch::from(columns(vec![
            ("group_id", self.group.finish()),
            ("topic", self.topic.finish()),
            ("partition", Arc::new(self.partition.finish())),
            ("committed", Arc::new(self.committed.finish())),
            ("timestamp", Arc::new(self.timestamp.finish())),
            ("offset", Arc::new(self.offset.finish())),
        ]))
    }
}
