//! Events of a replay as Arrow columns: a row per event, with null in the columns of other kinds of events.

use std::mem;
use std::sync::Arc;

use arrow_array::builder::{BooleanBuilder, Int32Builder, Int64Builder};
use arrow_array::{Array, ArrayRef, RecordBatch, StructArray};
use arrow_buffer::NullBufferBuilder;
use arrow_schema::{Field, Fields};

use super::bounded_columns::{BoundedTextColumn, ColumnFull, LARGEST_OFFSET, ListColumn, columns};
use crate::replay::Event;
use crate::replay::event_schema::{COLUMNS, ColumnType, ColumnValue, Row};

/// Column under construction.
enum EventColumn {
    Text(BoundedTextColumn),
    Number(Int64Builder),
    Flag(BooleanBuilder),
    Texts(ListColumn, BoundedTextColumn),
    Partitions(ListColumn, BoundedTextColumn, Int32Builder),
    Comparison(Box<ComparisonColumns>),
}

/// Columns of the fields of a comparison.
struct ComparisonColumns {
    valid: NullBufferBuilder,
    assignor: BoundedTextColumn,
    outcome: BoundedTextColumn,
    lists: ListColumn,
    remarks: BoundedTextColumn,
}

impl EventColumn {
    fn new(name: &'static str, kind: ColumnType) -> Self {
        let text = |name| BoundedTextColumn::new(name, LARGEST_OFFSET);
        let list = |name| ListColumn::new(name, LARGEST_OFFSET);
        match kind {
            ColumnType::Text => Self::Text(text(name)),
            ColumnType::Number => Self::Number(Int64Builder::new()),
            ColumnType::Flag => Self::Flag(BooleanBuilder::new()),
            ColumnType::Texts => Self::Texts(list(name), text(name)),
            ColumnType::Partitions => Self::Partitions(list(name), text(name), Int32Builder::new()),
            ColumnType::Comparison => Self::Comparison(Box::new(ComparisonColumns {
                valid: NullBufferBuilder::new(0),
                assignor: text("comparison.assignor"),
                outcome: text("comparison.outcome"),
                lists: list("comparison.remarks"),
                remarks: text("comparison.remarks"),
            })),
        }
    }

    /// Add a value of the column's type; `Event::row` gives no others.
    fn push(&mut self, value: Option<&ColumnValue<'_>>) -> Result<(), ColumnFull> {
        match (self, value) {
            (Self::Text(column), Some(ColumnValue::Text(text))) => column.push(Some(text))?,
            (Self::Text(column), _) => column.push(None::<&str>)?,
            (Self::Number(column), Some(ColumnValue::Number(number))) => column.append_value(*number),
            (Self::Number(column), _) => column.append_null(),
            (Self::Flag(column), Some(ColumnValue::Flag(flag))) => column.append_value(*flag),
            (Self::Flag(column), _) => column.append_null(),
            (Self::Texts(lists, column), value) => {
                let texts = if let Some(ColumnValue::Texts(texts)) = value { Some(texts) } else { None };
                push_texts(lists, column, texts.into_iter().flatten())?;
                lists.end(texts.is_some());
            }
            (Self::Partitions(lists, topics, ids), value) => {
                let found = if let Some(ColumnValue::Partitions(found)) = value { Some(*found) } else { None };
                for (topic, id) in found.into_iter().flatten() {
                    lists.push()?;
                    topics.push(Some(topic))?;
                    ids.append_value(*id);
                }
                lists.end(found.is_some());
            }
            (Self::Comparison(columns), value) => {
                let found = if let Some(ColumnValue::Comparison(found)) = value { Some(*found) } else { None };
                columns.valid.append(found.is_some());
                columns.assignor.push(found.map(|found| found.assignor.name()))?;
                columns.outcome.push(found.map(|found| found.outcome.as_str()))?;
                push_texts(
                    &mut columns.lists,
                    &mut columns.remarks,
                    found.into_iter().flat_map(|found| &found.remarks),
                )?;
                columns.lists.end(found.is_some());
            }
        }
        Ok(())
    }

    fn finish(self) -> ArrayRef {
        match self {
            Self::Text(column) => column.finish(),
            Self::Number(mut column) => Arc::new(column.finish()),
            Self::Flag(mut column) => Arc::new(column.finish()),
            Self::Texts(lists, column) => lists.list(column.finish()),
            Self::Partitions(lists, topics, mut ids) => {
                let ids: ArrayRef = Arc::new(ids.finish());
                lists.list(Arc::new(columns(vec![("topic", topics.finish()), ("partition", ids)])))
            }
            Self::Comparison(columns) => {
                let ComparisonColumns { mut valid, assignor, outcome, lists, remarks } = *columns;
                let arrays = vec![assignor.finish(), outcome.finish(), lists.list(remarks.finish())];
                let names = ["assignor", "outcome", "remarks"];
                let fields: Fields = names
                    .iter()
                    .zip(&arrays)
                    .map(|(name, array)| Field::new(*name, array.data_type().clone(), true))
                    .collect();
                Arc::new(StructArray::new(fields, arrays, valid.finish()))
            }
        }
    }
}

fn push_texts<T: AsRef<str>>(
    lists: &mut ListColumn,
    column: &mut BoundedTextColumn,
    texts: impl Iterator<Item = T>,
) -> Result<(), ColumnFull> {
    for text in texts {
        lists.push()?;
        column.push(Some(text))?;
    }
    Ok(())
}

/// Batches of events. Each has a limited size, unless a single event is larger.
pub(super) struct EventBatches {
    columns: Vec<EventColumn>,
    rows: usize,
    size: usize,
    finished: Vec<RecordBatch>,
}

impl EventBatches {
    /// Highest number of events of a batch.
    const MOST_ROWS: usize = 65_536;
    /// Size of a batch in bytes after which the next one begins.
    const SIZE: usize = 32 << 20;

    pub(super) fn new() -> Self {
        Self { columns: new_columns(), rows: 0, size: 0, finished: Vec::new() }
    }

    /// Add events.
    pub(super) fn extend(&mut self, events: &mut Vec<Event>) -> Result<(), ColumnFull> {
        events.drain(..).try_for_each(|event| self.push(&event))
    }

    /// Add an event.
    pub(super) fn push(&mut self, event: &Event) -> Result<(), ColumnFull> {
        let row = event.row();
        let size = size_of_row(&row);
        if self.rows == Self::MOST_ROWS || (self.rows > 0 && self.size + size > Self::SIZE) {
            self.end_batch();
        }
        self.rows += 1;
        self.size += size;
        self.columns.iter_mut().zip(&row).try_for_each(|(column, value)| column.push(value.as_ref()))
    }

    fn end_batch(&mut self) {
        let found = mem::replace(&mut self.columns, new_columns());
        let arrays = COLUMNS.iter().zip(found).map(|((name, _), column)| (*name, column.finish()));
        self.finished.push(RecordBatch::from(columns(arrays.collect())));
        (self.rows, self.size) = (0, 0);
    }

    /// Return the batches. If there are no events, return one batch without rows.
    pub(super) fn finish(mut self) -> Vec<RecordBatch> {
        if self.rows > 0 || self.finished.is_empty() {
            self.end_batch();
        }
        self.finished
    }
}

fn new_columns() -> Vec<EventColumn> {
    COLUMNS.iter().map(|(name, kind)| EventColumn::new(name, *kind)).collect()
}

fn size_of_row(row: &Row<'_>) -> usize {
    let size = |value: &ColumnValue<'_>| match value {
        ColumnValue::Text(text) => text.len(),
        ColumnValue::Number(_) | ColumnValue::Flag(_) => 8,
        ColumnValue::Texts(texts) => texts.iter().map(|text| text.len() + 4).sum(),
        ColumnValue::Partitions(partitions) => partitions.iter().map(|(topic, _)| topic.len() + 8).sum(),
        ColumnValue::Comparison(found) => found.remarks.iter().map(|text| text.len() + 4).sum(),
    };
    row.iter().flatten().map(size).sum()
}
