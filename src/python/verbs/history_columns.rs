//! Histories as Arrow columns: a group per row, with lists of its generations, members, spans and gaps.

use arrow_array::StructArray;

use super::table::{ColumnFull, Declared, Items, Row, SPANS, TEXTS, Table, Texts, Type};
use super::task_columns::{MOVED_TASKS, TASKS, put_moved_task, put_tasks};
use crate::replay::{
    Comparison, ComparisonClass, Event, EventDetails, GroupKind, MemberSummary, Metadata, RecordedMember,
    ReplayedGroup, Span, classes, load, owned_spans, spans_of,
};
use crate::wire::{Library, Unconvertible};

/// Columns of a history, see `assignor.spark.schemas.HISTORY`.
const HISTORY: [Declared; 29] = [
    ("kind", Type::Text),
    ("state", Type::Text),
    ("protocol", Type::Text),
    ("protocol_type", Type::Text),
    ("generation", Type::Int32),
    ("topics", Type::Int32),
    ("partitions", Type::Int32),
    ("unowned", Type::Int32),
    ("idle_members", Type::Int32),
    ("least_loaded", Type::Int32),
    ("most_loaded", Type::Int32),
    ("committed_offsets", Type::Int32),
    ("bad_records", Type::Int32),
    ("invalid_timestamps", Type::Int32),
    ("first_invalid", Type::Int64),
    ("unreadable", Type::Text),
    ("unreadable_since", Type::Int64),
    ("rebalances", Type::Int32),
    ("busiest_minute", Type::Int32),
    ("range_equal", Type::Int32),
    ("range_different", Type::Int32),
    ("range_unknown", Type::Int32),
    ("assignments_equal", Type::Int32),
    ("assignments_different", Type::Int32),
    ("assignments_unknown", Type::Int32),
    ("generations", Type::List(&Type::Struct(&GENERATION))),
    ("members", Type::List(&Type::Struct(&MEMBER))),
    ("assignment", SPANS),
    ("gaps", Type::List(&Type::Struct(&GAP))),
];

const GENERATION: [Declared; 20] = [
    ("offset", Type::Int64),
    ("timestamp", Type::Int64),
    ("kind", Type::Text),
    ("generation", Type::Int32),
    ("protocol_type", Type::Text),
    ("protocol", Type::Text),
    ("leader", Type::Text),
    ("members", Type::Int32),
    ("partitions", Type::Int32),
    ("same_members", Type::Boolean),
    ("range", Type::Text),
    ("remarks", TEXTS),
    ("assignor", Type::Text),
    ("outcome", Type::Text),
    ("class", Type::Text),
    ("reasons", TEXTS),
    ("tasks", TASKS),
    ("moved_tasks", MOVED_TASKS),
    ("moved_state", MOVED_TASKS),
    ("task_problems", TEXTS),
];

const MEMBER: [Declared; 11] = [
    ("member_id", Type::Text),
    ("group_instance_id", Type::Text),
    ("client_id", Type::Text),
    ("client_host", Type::Text),
    ("rack", Type::Text),
    ("topics", TEXTS),
    ("pattern", Type::Text),
    ("partitions", Type::Int32),
    ("library", Type::Text),
    ("library_version", Type::Text),
    ("conversion_problem", Type::Text),
];

const GAP: [Declared; 4] =
    [("problem", Type::Text), ("topic", Type::Text), ("start", Type::Int32), ("count", Type::Int32)];

/// Columns of histories under construction.
pub(crate) struct HistoryColumns<'a> {
    metadata: &'a Metadata,
    table: Table,
}

impl<'a> HistoryColumns<'a> {
    /// Create columns of at most `limit` bytes of text or `limit` rows each.
    pub(crate) fn new(metadata: &'a Metadata, limit: usize) -> Self {
        Self { metadata, table: Table::new(&HISTORY, limit) }
    }

    /// Add a group and the events of its generations.
    pub(crate) fn push(&mut self, group: &ReplayedGroup, generations: &[Event]) -> Result<(), ColumnFull> {
        let members = MemberSummary::of(group, self.metadata);
        let number = |count: usize| count as i32;
        let mut row = self.table.row();
        row.put(group.kind.as_str())?.put(group.state)?.put(group.protocol.as_ref())?;
        row.put(group.protocol_type.as_ref())?.put(group.generation)?;
        row.put(number(members.topics))?.put(number(members.partitions))?;
        row.put(members.unowned.as_ref().map(|unowned| number(unowned.len())))?;
        row.put(number(members.idle_members))?;
        row.put(members.least_loaded.map(number))?.put(members.most_loaded.map(number))?;
        row.put(number(group.committed_offsets))?.put(group.bad_records as i32)?;
        row.put(group.invalid_timestamps as i32)?.put(group.first_invalid)?;
        let unreadable = group.unreadable.as_ref();
        row.put(unreadable.map(|found| &found.reason))?.put(unreadable.map(|found| found.since))?;
        row.put(group.rebalances as i32)?.put(number(group.tally.busiest_minute()))?;
        for counts in [group.tally.range, group.tally.all] {
            row.put(number(counts.equal))?.put(number(counts.different))?.put(number(counts.unknown))?;
        }
        row.put(Items(generations.iter().zip(classes(generations)), put_generation))?;
        row.put(Items(&group.members, put_member))?;
        let owned = group
            .members
            .iter()
            .flat_map(|member| owned_spans(member, self.metadata).map(|span| (member.id.as_str(), span)));
        row.put(Items(owned, put_span))?;
        let unowned = spans_of(members.unowned.as_deref().unwrap_or_default()).map(|span| ("unowned", span));
        let never_committed = spans_of(&group.never_committed).map(|span| ("never_committed", span));
        row.put(Items(unowned.chain(never_committed), put_span)).map(drop)
    }

    pub(crate) fn finish(self) -> StructArray {
        self.table.finish()
    }
}

/// Put the fields of a generation and its class; other events have none.
fn put_generation(row: &mut Row<'_>, (event, class): (&Event, Option<ComparisonClass>)) -> Result<(), ColumnFull> {
    let EventDetails::Generation {
        generation,
        protocol_type,
        protocol,
        leader,
        members,
        partitions,
        same_members,
        comparison,
        tasks,
        ..
    } = &event.details
    else {
        return Ok(());
    };
    row.put(event.offset)?.put(event.at)?.put(event.kind.map(GroupKind::as_str))?.put(*generation)?;
    row.put(protocol_type.as_ref())?.put(protocol.as_ref())?.put(leader.as_ref())?;
    row.put(*members as i32)?.put(*partitions as i32)?.put(*same_members)?;
    let found = comparison.as_ref();
    let range = found.filter(|found| found.is_of_range());
    row.put(range.map(|found| found.outcome().as_str()))?;
    row.put(Texts(range.into_iter().flat_map(|found| &found.remarks)))?;
    row.put(found.and_then(Comparison::assignor_name))?.put(found.map(|found| found.outcome().as_str()))?;
    row.put(class.map(ComparisonClass::as_str))?;
    row.put(Texts(found.into_iter().flat_map(|found| &found.remarks)))?;
    if let Some(found) = tasks {
        row.put(Items(&found.tasks, put_tasks))?;
        row.put(found.moved_tasks.as_ref().map(|moved| Items(moved, put_moved_task)))?;
        row.put(found.moved_state.as_ref().map(|moved| Items(moved, put_moved_task)))?;
        row.put(Texts(&found.problems))?;
    }
    Ok(())
}

fn put_member(row: &mut Row<'_>, member: &RecordedMember) -> Result<(), ColumnFull> {
    row.put(&member.id)?.put(member.instance_id.as_ref())?.put(&member.client_id)?.put(&member.client_host)?;
    row.put(member.rack.as_ref())?.put(member.topics.as_ref().map(Texts))?.put(member.pattern.as_ref())?;
    row.put(load(member).map(|count| count as i32))?.put(member.client.library.map(Library::name))?;
    row.put(member.client.version.as_ref())?.put(member.unconvertible.map(Unconvertible::name)).map(drop)
}

/// Put the owner or the problem of a span, and the span.
fn put_span(row: &mut Row<'_>, (name, span): (&str, Span<'_>)) -> Result<(), ColumnFull> {
    row.put(name)?.put(span.topic)?.put(span.start)?.put(span.count as i32).map(drop)
}
