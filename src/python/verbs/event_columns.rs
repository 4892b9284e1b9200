//! Events of a replay as Arrow columns: a row per event, with null in the columns of other kinds of events.

use std::mem;

use arrow_array::RecordBatch;

use super::table::{ColumnFull, Declared, Fielded, Items, LARGEST_OFFSET, Row, TEXTS, Table, Texts, Type};
use super::task_columns::{MOVED_TASKS, TASKS, put_moved_task, put_tasks, size_of_tasks};
use crate::replay::event_schema::{COLUMNS, ColumnType, ColumnValue};
use crate::replay::{ComparisonClass, Event, MemberCost, Partition};

/// Arrow's type of a list of partitions.
const PARTITIONS: Type = Type::List(&Type::Struct(&[("topic", Type::Text), ("partition", Type::Int32)]));

/// Arrow's type of a comparison.
const COMPARISON: Type =
    Type::Struct(&[("assignor", Type::Text), ("outcome", Type::Text), ("class", Type::Text), ("remarks", TEXTS)]);

/// Arrow's type of the shares of members in a cost.
const MEMBER_COSTS: Type = Type::List(&Type::Struct(&[
    ("member", Type::Text),
    ("revoked", Type::Int64),
    ("assigned", Type::Int64),
    ("paused", Type::Int64),
    ("partition_ms", Type::Int64),
    ("compared_ms", Type::Int64),
    ("lost_ms", Type::Int64),
    ("epoch_ms", Type::Int64),
]));

const fn arrow_type(kind: ColumnType) -> Type {
    match kind {
        ColumnType::Text => Type::Text,
        ColumnType::Number => Type::Int64,
        ColumnType::Flag => Type::Boolean,
        ColumnType::Texts => TEXTS,
        ColumnType::Numbers => Type::List(&Type::Int64),
        ColumnType::Partitions => PARTITIONS,
        ColumnType::Comparison => COMPARISON,
        ColumnType::Tasks => TASKS,
        ColumnType::MovedTasks => MOVED_TASKS,
        ColumnType::MemberCosts => MEMBER_COSTS,
    }
}

/// Batches of events. Each has a limited size, unless a single event is larger.
pub(super) struct EventBatches {
    table: Table,
    size: usize,
    finished: Vec<RecordBatch>,
}

impl EventBatches {
    /// Highest number of events of a batch.
    const MOST_ROWS: usize = 65_536;
    /// Size of a batch in bytes after which the next one begins.
    const SIZE: usize = 32 << 20;

    pub(super) fn new() -> Self {
        Self { table: new_table(), size: 0, finished: Vec::new() }
    }

    /// Add events.
    pub(super) fn extend(&mut self, events: &mut Vec<Event>) -> Result<(), ColumnFull> {
        events.drain(..).try_for_each(|event| self.push(&event))
    }

    /// Add an event.
    pub(super) fn push(&mut self, event: &Event) -> Result<(), ColumnFull> {
        let values = event.row();
        let size: usize = values.iter().flatten().map(size_of_value).sum();
        let rows = self.table.rows();
        if rows == Self::MOST_ROWS || (rows > 0 && self.size + size > Self::SIZE) {
            self.end_batch();
        }
        self.size += size;
        let mut row = self.table.row();
        values.iter().try_for_each(|value| put(&mut row, value.as_ref()))
    }

    fn end_batch(&mut self) {
        let table = mem::replace(&mut self.table, new_table());
        self.finished.push(RecordBatch::from(table.finish()));
        self.size = 0;
    }

    /// Return the batches. If there are no events, return one batch without rows.
    pub(super) fn finish(mut self) -> Vec<RecordBatch> {
        if self.table.rows() > 0 || self.finished.is_empty() {
            self.end_batch();
        }
        self.finished
    }
}

fn new_table() -> Table {
    let declared: Vec<Declared> = COLUMNS.iter().map(|(name, kind)| (*name, arrow_type(*kind))).collect();
    Table::new(&declared, LARGEST_OFFSET)
}

/// Set the next column of a row.
fn put(row: &mut Row<'_>, value: Option<&ColumnValue<'_>>) -> Result<(), ColumnFull> {
    match value {
        None => row.put(None::<&str>),
        Some(ColumnValue::Text(text)) => row.put(*text),
        Some(ColumnValue::Number(number)) => row.put(*number),
        Some(ColumnValue::Flag(flag)) => row.put(*flag),
        Some(ColumnValue::Texts(texts)) => row.put(Texts(texts)),
        Some(ColumnValue::Numbers(numbers)) => row.put(Items(numbers.iter().copied(), put_number)),
        Some(ColumnValue::Partitions(partitions)) => row.put(Items(*partitions, put_partition)),
        Some(ColumnValue::Comparison(found)) => row.put(Fielded(|row: &mut Row<'_>| {
            row.put(found.assignor_name())?.put(found.outcome().as_str())?;
            row.put(found.class.map(ComparisonClass::as_str))?.put(Texts(&found.remarks)).map(drop)
        })),
        Some(ColumnValue::Tasks(members)) => row.put(Items(*members, put_tasks)),
        Some(ColumnValue::MovedTasks(moved)) => row.put(Items(*moved, put_moved_task)),
        Some(ColumnValue::MemberCosts(members)) => row.put(Items(*members, put_member_cost)),
    }
    .map(drop)
}

fn put_partition(row: &mut Row<'_>, (topic, id): &Partition) -> Result<(), ColumnFull> {
    row.put(topic)?.put(*id).map(drop)
}

fn put_member_cost(row: &mut Row<'_>, found: &MemberCost) -> Result<(), ColumnFull> {
    row.put(&found.member)?.put(found.revoked)?.put(found.assigned)?;
    row.put(found.sums.map(|sums| sums.paused))?.put(found.sums.map(|sums| sums.duration))?;
    row.put(found.sums.map(|sums| sums.compared))?;
    row.put(found.sums.and_then(|sums| sums.lost))?.put(found.epoch).map(drop)
}

fn put_number(row: &mut Row<'_>, number: Option<i64>) -> Result<(), ColumnFull> {
    row.put(number).map(drop)
}

fn size_of_value(value: &ColumnValue<'_>) -> usize {
    match value {
        ColumnValue::Text(text) => text.len(),
        ColumnValue::Number(_) | ColumnValue::Flag(_) => 8,
        ColumnValue::Texts(texts) => texts.iter().map(|text| text.len() + 4).sum(),
        ColumnValue::Numbers(numbers) => numbers.len() * 8,
        ColumnValue::Partitions(partitions) => partitions.iter().map(|(topic, _)| topic.len() + 8).sum(),
        ColumnValue::Comparison(found) => found.remarks.iter().map(|text| text.len() + 4).sum(),
        ColumnValue::Tasks(members) => members.iter().map(size_of_tasks).sum(),
        ColumnValue::MovedTasks(moved) => moved.iter().map(|moved| moved.task.len() + moved.process.len() + 8).sum(),
        ColumnValue::MemberCosts(members) => members.iter().map(|found| found.member.len() + 60).sum(),
    }
}
