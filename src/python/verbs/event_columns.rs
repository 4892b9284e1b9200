//! Events of a replay as Arrow columns: a row per event, with null in the columns of other kinds of events.

use std::mem;
use std::sync::Arc;

use arrow_array::builder::{BooleanBuilder, Int32Builder, Int64Builder};
use arrow_array::{ArrayRef, RecordBatch, StructArray};
use arrow_buffer::NullBufferBuilder;
use arrow_schema::{Field, Fields};

use super::bounded_columns::{BoundedTextColumn, ColumnFull, LARGEST_OFFSET, ListColumn, columns};
use crate::history::Comparison;
use crate::replay::{Event, EventDetails, GroupKind, Partition};

/// Columns of texts, in the order of `TextField`.
const TEXTS: [&str; 18] = [
    "event",
    "cluster",
    "group",
    "kind",
    "protocol_type",
    "protocol",
    "leader",
    "evidence",
    "action",
    "member",
    "instance_id",
    "client_id",
    "client_host",
    "previous",
    "problem",
    "error",
    "comparison.assignor",
    "comparison.outcome",
];

/// Columns of numbers.
const NUMBERS: [&str; 11] = [
    "at",
    "offset",
    "generation",
    "members",
    "partitions",
    "duration_ms",
    "since",
    "until",
    "rebalances",
    "usual_interval_ms",
    "record_type",
];

/// Columns of lists of texts.
const TEXT_LISTS: [&str; 5] = ["causes", "joined", "left", "replaced", "comparison.remarks"];

/// Columns of lists of partitions.
const PARTITION_LISTS: [&str; 3] = ["moved", "unowned", "topic_partitions"];

/// The columns in their order, except `record_type`, which is the last one.
const ORDER: [&str; 35] = [
    "event",
    "cluster",
    "group",
    "kind",
    "at",
    "offset",
    "generation",
    "protocol_type",
    "protocol",
    "leader",
    "members",
    "partitions",
    "duration_ms",
    "same_members",
    "comparison",
    "causes",
    "evidence",
    "joined",
    "left",
    "replaced",
    "moved",
    "unowned",
    "action",
    "member",
    "instance_id",
    "client_id",
    "client_host",
    "previous",
    "since",
    "until",
    "rebalances",
    "topic_partitions",
    "usual_interval_ms",
    "problem",
    "error",
];

/// Values of the columns of one event.
#[derive(Default)]
struct Row<'a> {
    texts: [Option<&'a str>; TEXTS.len()],
    numbers: [Option<i64>; NUMBERS.len()],
    same_members: Option<bool>,
    comparison: Option<&'a Comparison>,
    lists: [Option<Vec<&'a str>>; TEXT_LISTS.len()],
    partitions: [Option<&'a [Partition]>; PARTITION_LISTS.len()],
}

impl<'a> Row<'a> {
    fn text(&mut self, name: &str, text: Option<&'a str>) {
        if let Some(at) = TEXTS.iter().position(|column| *column == name) {
            self.texts[at] = text;
        }
    }

    fn number(&mut self, name: &str, number: Option<i64>) {
        if let Some(at) = NUMBERS.iter().position(|column| *column == name) {
            self.numbers[at] = number;
        }
    }

    fn list(&mut self, name: &str, texts: impl Iterator<Item = &'a str>) {
        if let Some(at) = TEXT_LISTS.iter().position(|column| *column == name) {
            self.lists[at] = Some(texts.collect());
        }
    }

    fn pairs(&mut self, name: &str, partitions: Option<&'a [Partition]>) {
        if let Some(at) = PARTITION_LISTS.iter().position(|column| *column == name) {
            self.partitions[at] = partitions;
        }
    }

    fn of(event: &'a Event) -> Self {
        let mut row = Self::default();
        row.text("event", Some(event.details.name()));
        row.text("cluster", Some(&event.cluster));
        row.text("group", event.group.as_deref());
        row.text("kind", event.kind.map(GroupKind::as_str));
        row.number("at", Some(event.at));
        row.number("offset", Some(event.offset));
        match &event.details {
            EventDetails::Generation { .. } => row.add_generation(&event.details),
            EventDetails::Rebalance { generation, causes, evidence, joined, left, replaced, moved, unowned } => {
                row.number("generation", Some((*generation).into()));
                row.list("causes", causes.iter().copied());
                row.text("evidence", Some(evidence));
                row.list("joined", joined.iter().map(|id| &**id));
                row.list("left", left.iter().map(|id| &**id));
                row.list("replaced", replaced.iter().map(|id| &**id));
                row.pairs("moved", moved.as_deref());
                row.pairs("unowned", unowned.as_deref());
            }
            EventDetails::Member { .. } => row.add_member(&event.details),
            EventDetails::Storm { since, until, rebalances, partitions, unowned } => {
                row.number("since", Some(*since));
                row.number("until", *until);
                row.number("rebalances", Some(*rebalances as i64));
                row.pairs("topic_partitions", Some(partitions));
                row.pairs("unowned", unowned.as_deref());
            }
            EventDetails::Stuck { member, partitions, since, until, usual_interval } => {
                row.text("member", Some(member));
                row.pairs("topic_partitions", Some(partitions));
                row.number("since", Some(*since));
                row.number("until", *until);
                row.number("usual_interval_ms", Some(*usual_interval));
            }
            EventDetails::Offsets { problem, partitions, evidence } => {
                row.text("problem", Some(problem));
                row.pairs("topic_partitions", Some(partitions));
                row.text("evidence", Some(evidence));
            }
            EventDetails::BadRecord { record_type, error } => {
                row.number("record_type", record_type.map(i64::from));
                row.text("error", Some(error));
            }
        }
        row
    }

    fn add_generation(&mut self, details: &'a EventDetails) {
        let EventDetails::Generation {
            generation,
            protocol_type,
            protocol,
            leader,
            members,
            partitions,
            duration,
            same_members,
            comparison,
        } = details
        else {
            return;
        };
        self.number("generation", Some((*generation).into()));
        self.text("protocol_type", protocol_type.as_deref());
        self.text("protocol", protocol.as_deref());
        self.text("leader", leader.as_deref());
        self.number("members", Some(*members as i64));
        self.number("partitions", Some(*partitions as i64));
        self.number("duration_ms", *duration);
        self.same_members = Some(*same_members);
        self.comparison = comparison.as_ref();
        if let Some(comparison) = comparison {
            self.text("comparison.assignor", Some(comparison.assignor.name()));
            self.text("comparison.outcome", Some(comparison.outcome.as_str()));
            self.list("comparison.remarks", comparison.remarks.iter().map(String::as_str));
        }
    }

    fn add_member(&mut self, details: &'a EventDetails) {
        let EventDetails::Member { action, member, instance_id, client_id, client_host, previous, generation, causes } =
            details
        else {
            return;
        };
        self.text("action", Some(action));
        self.text("member", Some(member));
        self.text("instance_id", instance_id.as_deref());
        self.text("client_id", Some(client_id));
        self.text("client_host", Some(client_host));
        self.text("previous", previous.as_deref());
        self.number("generation", generation.map(i64::from));
        self.list("causes", causes.iter().copied());
    }
}

/// List column of texts.
struct TextLists {
    texts: BoundedTextColumn,
    lists: ListColumn,
}

/// List column of partitions.
struct PartitionLists {
    topics: BoundedTextColumn,
    ids: Int32Builder,
    lists: ListColumn,
}

/// Columns of one batch under construction.
struct EventColumns {
    rows: usize,
    texts: Vec<BoundedTextColumn>,
    numbers: Vec<Int64Builder>,
    same_members: BooleanBuilder,
    comparisons: NullBufferBuilder,
    lists: Vec<TextLists>,
    partitions: Vec<PartitionLists>,
}

impl EventColumns {
    fn new() -> Self {
        let text = |name: &&'static str| BoundedTextColumn::new(name, LARGEST_OFFSET);
        let list = |name: &&'static str| ListColumn::new(name, LARGEST_OFFSET);
        let texts = |name| TextLists { texts: text(name), lists: list(name) };
        let partitions = |name| PartitionLists { topics: text(name), ids: Int32Builder::new(), lists: list(name) };
        Self {
            rows: 0,
            texts: TEXTS.iter().map(text).collect(),
            numbers: NUMBERS.iter().map(|_| Int64Builder::new()).collect(),
            same_members: BooleanBuilder::new(),
            comparisons: NullBufferBuilder::new(0),
            lists: TEXT_LISTS.iter().map(texts).collect(),
            partitions: PARTITION_LISTS.iter().map(partitions).collect(),
        }
    }

    fn push(&mut self, row: Row<'_>) -> Result<(), ColumnFull> {
        self.rows += 1;
        for (column, text) in self.texts.iter_mut().zip(row.texts) {
            column.push(text)?;
        }
        for (column, number) in self.numbers.iter_mut().zip(row.numbers) {
            column.append_option(number);
        }
        self.same_members.append_option(row.same_members);
        self.comparisons.append(row.comparison.is_some());
        for (column, texts) in self.lists.iter_mut().zip(row.lists) {
            for text in texts.iter().flatten() {
                column.lists.push()?;
                column.texts.push(Some(text))?;
            }
            column.lists.end(texts.is_some());
        }
        for (column, partitions) in self.partitions.iter_mut().zip(row.partitions) {
            for (topic, id) in partitions.into_iter().flatten() {
                column.lists.push()?;
                column.topics.push(Some(topic))?;
                column.ids.append_value(*id);
            }
            column.lists.end(partitions.is_some());
        }
        Ok(())
    }

    fn finish(mut self) -> RecordBatch {
        let mut found: Vec<(&str, ArrayRef)> = Vec::new();
        found.extend(TEXTS.into_iter().zip(self.texts.into_iter().map(BoundedTextColumn::finish)));
        for (name, mut column) in NUMBERS.into_iter().zip(self.numbers) {
            found.push((name, Arc::new(column.finish())));
        }
        found.push(("same_members", Arc::new(self.same_members.finish())));
        for (name, column) in TEXT_LISTS.into_iter().zip(self.lists) {
            found.push((name, column.lists.list(column.texts.finish())));
        }
        for (name, mut column) in PARTITION_LISTS.into_iter().zip(self.partitions) {
            let ids: ArrayRef = Arc::new(column.ids.finish());
            let rows = columns(vec![("topic", column.topics.finish()), ("partition", ids)]);
            found.push((name, column.lists.list(Arc::new(rows))));
        }
        let of_comparison = |name: &str| {
            let (field, array) = found.iter().find(|(found, _)| found.strip_prefix("comparison.") == Some(name))?;
            let field = Field::new(field.trim_start_matches("comparison."), array.data_type().clone(), true);
            Some((field, Arc::clone(array)))
        };
        let parts = ["assignor", "outcome", "remarks"].into_iter().filter_map(of_comparison);
        let (fields, arrays): (Vec<Field>, Vec<ArrayRef>) = parts.unzip();
        let comparison = StructArray::new(Fields::from(fields), arrays, self.comparisons.finish());
        found.push(("comparison", Arc::new(comparison)));
        let by_name = |name: &&'static str| found.iter().find(|(found, _)| found == name).cloned();
        let last = ["record_type"];
        RecordBatch::from(columns(ORDER.iter().chain(&last).filter_map(by_name).collect()))
    }
}

/// Batches of events. Each has a limited size, unless a single event is larger.
pub(super) struct EventBatches {
    columns: EventColumns,
    size: usize,
    finished: Vec<RecordBatch>,
}

impl EventBatches {
    /// Highest number of events of a batch.
    const MOST_ROWS: usize = 65_536;
    /// Size of a batch in bytes after which the next one begins.
    const SIZE: usize = 32 << 20;

    pub(super) fn new() -> Self {
        Self { columns: EventColumns::new(), size: 0, finished: Vec::new() }
    }

    /// Add events.
    pub(super) fn extend(&mut self, events: &mut Vec<Event>) -> Result<(), ColumnFull> {
        for event in events.drain(..) {
            let row = Row::of(&event);
            let size = size_of_row(&row);
            if self.columns.rows == Self::MOST_ROWS || (self.columns.rows > 0 && self.size + size > Self::SIZE) {
                self.finished.push(mem::replace(&mut self.columns, EventColumns::new()).finish());
                self.size = 0;
            }
            self.size += size;
            self.columns.push(row)?;
        }
        Ok(())
    }

    /// Return the batches. If there are no events, return one batch without rows.
    pub(super) fn finish(mut self) -> Vec<RecordBatch> {
        if self.columns.rows > 0 || self.finished.is_empty() {
            self.finished.push(self.columns.finish());
        }
        self.finished
    }
}

fn size_of_row(row: &Row<'_>) -> usize {
    let texts: usize = row.texts.iter().flatten().map(|text| text.len()).sum();
    let lists: usize = row.lists.iter().flatten().flatten().map(|text| text.len() + 4).sum();
    let partitions: usize = row.partitions.iter().flatten().copied().flatten().map(|(topic, _)| topic.len() + 8).sum();
    texts + lists + partitions + 8 * NUMBERS.len()
}
