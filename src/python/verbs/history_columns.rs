//! Histories as Arrow columns: one struct per group, with its generations, members and assignment as lists.

use std::sync::Arc;

use arrow_array::builder::{BooleanBuilder, Int32Builder, Int64Builder};
use arrow_array::{ArrayRef, StructArray};

use crate::assign::Assignor;
use crate::python::verbs::bounded_columns::{BoundedTextColumn, ColumnFull, ListColumn, columns};
use crate::python::verbs::span_column::SpanColumn;
use crate::replay::{
    Comparison, Event, EventDetails, GroupKind, MemberSummary, Metadata, OutcomeCounts, RecordedMember, ReplayedGroup,
    load, owned_spans, spans_of,
};

/// Integer columns, in the order of `assignor.spark.schemas.HISTORY`.
const NUMBERS: [&str; 17] = [
    "generation",
    "topics",
    "partitions",
    "unowned",
    "idle_members",
    "least_loaded",
    "most_loaded",
    "committed_offsets",
    "bad_records",
    "rebalances",
    "busiest_minute",
    "range_equal",
    "range_different",
    "range_unknown",
    "assignments_equal",
    "assignments_different",
    "assignments_unknown",
];

fn numbers(group: &ReplayedGroup, members: &MemberSummary) -> [Option<i32>; NUMBERS.len()] {
    let number = |count: usize| Some(count as i32);
    let counts = |counts: OutcomeCounts| [counts.equal, counts.different, counts.unknown].map(number);
    let ([range_equal, range_different, range_unknown], [equal, different, unknown]) =
        (counts(group.tally.range), counts(group.tally.all));
    [
        group.generation,
        number(members.topics),
        number(members.partitions),
        members.unowned.as_ref().and_then(|unowned| number(unowned.len())),
        number(members.idle_members),
        members.least_loaded.and_then(number),
        members.most_loaded.and_then(number),
        number(group.committed_offsets),
        number(group.bad_records as usize),
        number(group.rebalances as usize),
        number(group.tally.busiest_minute()),
        range_equal,
        range_different,
        range_unknown,
        equal,
        different,
        unknown,
    ]
}

/// Columns of histories under construction.
pub(crate) struct HistoryColumns<'a> {
    metadata: &'a Metadata,
    kind: BoundedTextColumn,
    state: BoundedTextColumn,
    protocol: BoundedTextColumn,
    numbers: [Int32Builder; NUMBERS.len()],
    generations: GenerationColumns,
    members: MemberColumns,
    assignment: SpanColumn,
    gaps: SpanColumn,
}

impl<'a> HistoryColumns<'a> {
    /// Create columns of at most `limit` bytes of text or `limit` rows each.
    pub(crate) fn new(metadata: &'a Metadata, limit: usize) -> Self {
        Self {
            metadata,
            kind: BoundedTextColumn::new("kind", limit),
            state: BoundedTextColumn::new("state", limit),
            protocol: BoundedTextColumn::new("protocol", limit),
            numbers: Default::default(),
            generations: GenerationColumns::new(limit),
            members: MemberColumns::new(limit),
            assignment: SpanColumn::new("assignment", ["assignment.member_id", "assignment.topic"], limit),
            gaps: SpanColumn::new("gaps", ["gaps.problem", "gaps.topic"], limit),
        }
    }

    /// Add a group and the events of its generations.
    pub(crate) fn push(&mut self, group: &ReplayedGroup, generations: &[Event]) -> Result<(), ColumnFull> {
        let members = MemberSummary::of(group, self.metadata);
        self.kind.push(Some(group.kind.as_str()))?;
        self.state.push(Some(group.state))?;
        self.protocol.push(group.protocol.as_ref())?;
        for (column, number) in self.numbers.iter_mut().zip(numbers(group, &members)) {
            column.append_option(number);
        }
        for generation in generations {
            self.generations.push(generation)?;
        }
        for member in &group.members {
            self.members.push(member)?;
            for span in owned_spans(member, self.metadata) {
                self.assignment.push(&member.id, span.topic, span.start, span.count as i32)?;
            }
        }
        for span in spans_of(members.unowned.as_deref().unwrap_or_default()) {
            self.gaps.push("unowned", span.topic, span.start, span.count as i32)?;
        }
        for span in spans_of(&group.never_committed) {
            self.gaps.push("never_committed", span.topic, span.start, span.count as i32)?;
        }
        self.generations.rows.end_list();
        self.members.rows.end_list();
        self.assignment.end_list();
        self.gaps.end_list();
        Ok(())
    }

    pub(crate) fn finish(self) -> StructArray {
        let mut found =
            vec![("kind", self.kind.finish()), ("state", self.state.finish()), ("protocol", self.protocol.finish())];
        for (name, mut column) in NUMBERS.into_iter().zip(self.numbers) {
            found.push((name, Arc::new(column.finish())));
        }
        found.push(("generations", self.generations.finish()));
        found.push(("members", self.members.finish()));
        found.push(("assignment", self.assignment.finish()));
        found.push(("gaps", self.gaps.finish()));
        columns(found)
    }
}

struct GenerationColumns {
    rows: ListColumn,
    offset: Int64Builder,
    timestamp: Int64Builder,
    kind: BoundedTextColumn,
    generation: Int32Builder,
    protocol_type: BoundedTextColumn,
    protocol: BoundedTextColumn,
    leader: BoundedTextColumn,
    members: Int32Builder,
    partitions: Int32Builder,
    same_members: BooleanBuilder,
    range: BoundedTextColumn,
    assignor: BoundedTextColumn,
    outcome: BoundedTextColumn,
    remarks: RemarkColumn,
    reasons: RemarkColumn,
}

/// Column of lists of sentences.
struct RemarkColumn {
    texts: BoundedTextColumn,
    lists: ListColumn,
}

impl RemarkColumn {
    fn new(name: &'static str, limit: usize) -> Self {
        Self { texts: BoundedTextColumn::new(name, limit), lists: ListColumn::new(name, limit) }
    }

    fn push(&mut self, comparison: Option<&Comparison>) -> Result<(), ColumnFull> {
        for remark in comparison.into_iter().flat_map(|comparison| &comparison.remarks) {
            self.lists.push()?;
            self.texts.push(Some(remark))?;
        }
        self.lists.end_list();
        Ok(())
    }

    fn finish(self) -> ArrayRef {
        self.lists.list(self.texts.finish())
    }
}

impl GenerationColumns {
    fn new(limit: usize) -> Self {
        Self {
            rows: ListColumn::new("generations", limit),
            offset: Int64Builder::new(),
            timestamp: Int64Builder::new(),
            kind: BoundedTextColumn::new("generations.kind", limit),
            generation: Int32Builder::new(),
            protocol_type: BoundedTextColumn::new("generations.protocol_type", limit),
            protocol: BoundedTextColumn::new("generations.protocol", limit),
            leader: BoundedTextColumn::new("generations.leader", limit),
            members: Int32Builder::new(),
            partitions: Int32Builder::new(),
            same_members: BooleanBuilder::new(),
            range: BoundedTextColumn::new("generations.range", limit),
            assignor: BoundedTextColumn::new("generations.assignor", limit),
            outcome: BoundedTextColumn::new("generations.outcome", limit),
            remarks: RemarkColumn::new("generations.remarks", limit),
            reasons: RemarkColumn::new("generations.reasons", limit),
        }
    }

    /// Add the event of a generation; other events are ignored.
    fn push(&mut self, event: &Event) -> Result<(), ColumnFull> {
        let EventDetails::Generation {
            generation,
            protocol_type,
            protocol,
            leader,
            members,
            partitions,
            same_members,
            comparison,
            ..
        } = &event.details
        else {
            return Ok(());
        };
        self.rows.push()?;
        self.offset.append_value(event.offset);
        self.timestamp.append_value(event.at);
        self.kind.push(event.kind.map(GroupKind::as_str))?;
        self.generation.append_value(*generation);
        self.protocol_type.push(protocol_type.as_ref())?;
        self.protocol.push(protocol.as_ref())?;
        self.leader.push(leader.as_ref())?;
        self.members.append_value(*members as i32);
        self.partitions.append_value(*partitions as i32);
        self.same_members.append_value(*same_members);
        let comparison = comparison.as_ref();
        let range = comparison.filter(|comparison| comparison.assignor == Assignor::Range);
        self.range.push(range.map(|comparison| comparison.outcome.as_str()))?;
        self.assignor.push(comparison.map(|comparison| comparison.assignor.name()))?;
        self.outcome.push(comparison.map(|comparison| comparison.outcome.as_str()))?;
        self.remarks.push(range)?;
        self.reasons.push(comparison)
    }

    fn finish(mut self) -> ArrayRef {
        let rows = columns(vec![
            ("offset", Arc::new(self.offset.finish())),
            ("timestamp", Arc::new(self.timestamp.finish())),
            ("kind", self.kind.finish()),
            ("generation", Arc::new(self.generation.finish())),
            ("protocol_type", self.protocol_type.finish()),
            ("protocol", self.protocol.finish()),
            ("leader", self.leader.finish()),
            ("members", Arc::new(self.members.finish())),
            ("partitions", Arc::new(self.partitions.finish())),
            ("same_members", Arc::new(self.same_members.finish())),
            ("range", self.range.finish()),
            ("remarks", self.remarks.finish()),
            ("assignor", self.assignor.finish()),
            ("outcome", self.outcome.finish()),
            ("reasons", self.reasons.finish()),
        ]);
        self.rows.list(Arc::new(rows))
    }
}

struct MemberColumns {
    rows: ListColumn,
    member_id: BoundedTextColumn,
    group_instance_id: BoundedTextColumn,
    client_id: BoundedTextColumn,
    client_host: BoundedTextColumn,
    rack: BoundedTextColumn,
    topics: BoundedTextColumn,
    topic_lists: ListColumn,
    pattern: BoundedTextColumn,
    partitions: Int32Builder,
}

impl MemberColumns {
    fn new(limit: usize) -> Self {
        Self {
            rows: ListColumn::new("members", limit),
            member_id: BoundedTextColumn::new("members.member_id", limit),
            group_instance_id: BoundedTextColumn::new("members.group_instance_id", limit),
            client_id: BoundedTextColumn::new("members.client_id", limit),
            client_host: BoundedTextColumn::new("members.client_host", limit),
            rack: BoundedTextColumn::new("members.rack", limit),
            topics: BoundedTextColumn::new("members.topics", limit),
            topic_lists: ListColumn::new("members.topics", limit),
            pattern: BoundedTextColumn::new("members.pattern", limit),
            partitions: Int32Builder::new(),
        }
    }

    fn push(&mut self, member: &RecordedMember) -> Result<(), ColumnFull> {
        self.rows.push()?;
        self.member_id.push(Some(&member.id))?;
        self.group_instance_id.push(member.instance_id.as_ref())?;
        self.client_id.push(Some(&member.client_id))?;
        self.client_host.push(Some(&member.client_host))?;
        self.rack.push(member.rack.as_ref())?;
        for topic in member.topics.iter().flatten() {
            self.topic_lists.push()?;
            self.topics.push(Some(topic))?;
        }
        self.topic_lists.end(member.topics.is_some());
        self.pattern.push(member.pattern.as_ref())?;
        self.partitions.append_option(load(member).map(|count| count as i32));
        Ok(())
    }

    fn finish(mut self) -> ArrayRef {
        let rows = columns(vec![
            ("member_id", self.member_id.finish()),
            ("group_instance_id", self.group_instance_id.finish()),
            ("client_id", self.client_id.finish()),
            ("client_host", self.client_host.finish()),
            ("rack", self.rack.finish()),
            ("topics", self.topic_lists.list(self.topics.finish())),
            ("pattern", self.pattern.finish()),
            ("partitions", Arc::new(self.partitions.finish())),
        ]);
        self.rows.list(Arc::new(rows))
    }
}
