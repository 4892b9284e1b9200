//! Histories as Arrow columns: one struct per group, its generations, members and assignment as lists inside it.

use std::sync::Arc;

use arrow_array::builder::{BooleanBuilder, Int32Builder, Int64Builder, ListBuilder, StringBuilder};
use arrow_array::{ArrayRef, ListArray, StructArray};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType, Field, Fields};
use rustc_hash::FxHashSet;

use crate::audit::{Metadata, Verdict, judge};
use crate::group::Topic;
use crate::replay::{Generation, History, Kind, Member, busiest_minute, owned};

/// Columns of histories in the making.
pub(super) struct Histories<'a> {
    metadata: &'a Metadata,
    kind: StringBuilder,
    state: StringBuilder,
    protocol: StringBuilder,
    generation: Int32Builder,
    topics: Int32Builder,
    partitions: Int32Builder,
    unowned: Int32Builder,
    idle: Int32Builder,
    least: Int32Builder,
    most: Int32Builder,
    committed_offsets: Int32Builder,
    bad_records: Int32Builder,
    rebalances: Int32Builder,
    busiest_minute: Int32Builder,
    /// How many generations under `range` came out equal, different and unknown.
    range: [Int32Builder; 3],
    generations: Generations,
    members: Members,
    assignment: Spans,
}

impl<'a> Histories<'a> {
    pub(super) fn new(metadata: &'a Metadata) -> Self {
        Self {
            metadata,
            kind: StringBuilder::new(),
            state: StringBuilder::new(),
            protocol: StringBuilder::new(),
            generation: Int32Builder::new(),
            topics: Int32Builder::new(),
            partitions: Int32Builder::new(),
            unowned: Int32Builder::new(),
            idle: Int32Builder::new(),
            least: Int32Builder::new(),
            most: Int32Builder::new(),
            committed_offsets: Int32Builder::new(),
            bad_records: Int32Builder::new(),
            rebalances: Int32Builder::new(),
            busiest_minute: Int32Builder::new(),
            range: Default::default(),
            generations: Generations::default(),
            members: Members::default(),
            assignment: Spans::default(),
        }
    }

    pub(super) fn push(&mut self, history: &History) {
        self.kind.append_value(history.kind.as_str());
        self.state.append_value(history.state);
        self.protocol.append_option(history.protocol.as_ref());
        self.generation.append_option(history.generation);
        let owned = owned(&history.members);
        let mut topics: Vec<&str> = owned.iter().map(|(topic, _)| *topic).collect();
        topics.sort_unstable();
        topics.dedup();
        self.topics.append_value(topics.len() as i32);
        self.partitions.append_value(owned.len() as i32);
        self.unowned.append_option(unowned(history, &owned, self.metadata));
        let loads: Vec<i32> = history.members.iter().filter_map(load).collect();
        self.idle.append_value(loads.iter().filter(|load| **load == 0).count() as i32);
        self.least.append_option(loads.iter().min().copied());
        self.most.append_option(loads.iter().max().copied());
        self.committed_offsets.append_value(history.committed_offsets as i32);
        self.bad_records.append_value(history.bad_records as i32);
        self.rebalances.append_value(history.generations.len() as i32);
        self.busiest_minute.append_value(busiest_minute(&history.generations) as i32);
        let mut outcomes = [0; 3];
        for generation in &history.generations {
            let joined = generation.joined.as_ref().filter(|_| !self.metadata.moments.is_empty());
            let verdict = joined.map(|joined| judge(joined, generation.timestamp, self.metadata));
            if let Some(verdict) = &verdict {
                outcomes[verdict.outcome as usize] += 1;
            }
            self.generations.push(generation, verdict.as_ref());
        }
        for (column, count) in self.range.iter_mut().zip(outcomes) {
            column.append_value(count);
        }
        self.generations.rows.end_list();
        for member in &history.members {
            self.members.push(member);
            self.assignment.push(member, self.metadata);
        }
        self.members.rows.end_list();
        self.assignment.rows.end_list();
    }

    pub(super) fn finish(mut self) -> StructArray {
        let [equal, different, unknown] = self.range.map(|mut column| column.finish());
        columns(vec![
            ("kind", Arc::new(self.kind.finish())),
            ("state", Arc::new(self.state.finish())),
            ("protocol", Arc::new(self.protocol.finish())),
            ("generation", Arc::new(self.generation.finish())),
            ("topics", Arc::new(self.topics.finish())),
            ("partitions", Arc::new(self.partitions.finish())),
            ("unowned", Arc::new(self.unowned.finish())),
            ("idle_members", Arc::new(self.idle.finish())),
            ("least_loaded", Arc::new(self.least.finish())),
            ("most_loaded", Arc::new(self.most.finish())),
            ("committed_offsets", Arc::new(self.committed_offsets.finish())),
            ("bad_records", Arc::new(self.bad_records.finish())),
            ("rebalances", Arc::new(self.rebalances.finish())),
            ("busiest_minute", Arc::new(self.busiest_minute.finish())),
            ("range_equal", Arc::new(equal)),
            ("range_different", Arc::new(different)),
            ("range_unknown", Arc::new(unknown)),
            ("generations", self.generations.finish()),
            ("members", self.members.finish()),
            ("assignment", self.assignment.finish()),
        ])
    }
}

/// How many partitions of the topics that the members subscribe to nobody has; None where that cannot be said.
fn unowned(history: &History, owned: &FxHashSet<(&str, i32)>, metadata: &Metadata) -> Option<i32> {
    let last = metadata.moments.last()?;
    if history.members.is_empty() || !matches!(history.kind, Kind::Classic | Kind::Consumer) {
        return None;
    }
    let mut wanted: Vec<&String> = Vec::new();
    for member in &history.members {
        member.partitions.as_ref()?;
        wanted.extend(member.topics.as_ref()?);
    }
    wanted.sort_unstable();
    wanted.dedup();
    let named: FxHashSet<(&str, i32)> =
        owned.iter().map(|(topic, id)| (metadata.names.get(*topic).map_or(*topic, String::as_str), *id)).collect();
    let nobodys = |topic: &Topic| {
        (0..topic.ids.len()).filter(|at| !named.contains(&(topic.name.as_str(), topic.ids.at(*at)))).count()
    };
    Some(wanted.iter().filter_map(|topic| last.topics.get(*topic)).map(nobodys).sum::<usize>() as i32)
}

/// How many partitions a member has; None where its bytes cannot be read.
fn load(member: &Member) -> Option<i32> {
    member.partitions.as_ref().map(|partitions| partitions.values().map(Vec::len).sum::<usize>() as i32)
}

/// Rows of a list column: how many there are, and where each list ends.
#[derive(Default)]
struct Rows {
    count: i32,
    ends: Vec<i32>,
}

impl Rows {
    fn end_list(&mut self) {
        self.ends.push(self.count);
    }

    /// The list column whose lists have these rows.
    fn list(self, rows: StructArray) -> ArrayRef {
        let bounds: Vec<i32> = [0].into_iter().chain(self.ends).collect();
        let item = Field::new("element", DataType::Struct(rows.fields().clone()), true);
        Arc::new(ListArray::new(Arc::new(item), OffsetBuffer::new(bounds.into()), Arc::new(rows), None))
    }
}

fn columns(columns: Vec<(&str, ArrayRef)>) -> StructArray {
    let fields: Fields =
        columns.iter().map(|(name, array)| Field::new(*name, array.data_type().clone(), true)).collect();
    StructArray::new(fields, columns.into_iter().map(|(_, array)| array).collect(), None)
}

#[derive(Default)]
struct Generations {
    rows: Rows,
    offset: Int64Builder,
    timestamp: Int64Builder,
    kind: StringBuilder,
    generation: Int32Builder,
    protocol_type: StringBuilder,
    protocol: StringBuilder,
    leader: StringBuilder,
    members: Int32Builder,
    partitions: Int32Builder,
    same_members: BooleanBuilder,
    range: StringBuilder,
    remarks: Option<ListBuilder<StringBuilder>>,
}

impl Generations {
    fn push(&mut self, generation: &Generation, verdict: Option<&Verdict>) {
        self.rows.count += 1;
        self.offset.append_value(generation.offset);
        self.timestamp.append_value(generation.timestamp);
        self.kind.append_value(generation.kind.as_str());
        self.generation.append_value(generation.generation);
        self.protocol_type.append_option(generation.protocol_type.as_ref());
        self.protocol.append_option(generation.protocol.as_ref());
        self.leader.append_option(generation.leader.as_ref());
        self.members.append_value(generation.members as i32);
        self.partitions.append_value(generation.partitions as i32);
        self.same_members.append_value(generation.same_members);
        self.range.append_option(verdict.map(|verdict| verdict.outcome.as_str()));
        let remarks = self.remarks.get_or_insert_with(remark_lists);
        for remark in verdict.iter().flat_map(|verdict| &verdict.remarks) {
            remarks.values().append_value(remark);
        }
        remarks.append(true);
    }

    fn finish(mut self) -> ArrayRef {
        let remarks = self.remarks.get_or_insert_with(remark_lists).finish();
        let rows = columns(vec![
            ("offset", Arc::new(self.offset.finish())),
            ("timestamp", Arc::new(self.timestamp.finish())),
            ("kind", Arc::new(self.kind.finish())),
            ("generation", Arc::new(self.generation.finish())),
            ("protocol_type", Arc::new(self.protocol_type.finish())),
            ("protocol", Arc::new(self.protocol.finish())),
            ("leader", Arc::new(self.leader.finish())),
            ("members", Arc::new(self.members.finish())),
            ("partitions", Arc::new(self.partitions.finish())),
            ("same_members", Arc::new(self.same_members.finish())),
            ("range", Arc::new(self.range.finish())),
            ("remarks", Arc::new(remarks)),
        ]);
        self.rows.list(rows)
    }
}

/// Lists whose item is named as Spark names it.
fn remark_lists() -> ListBuilder<StringBuilder> {
    ListBuilder::new(StringBuilder::new()).with_field(Field::new("element", DataType::Utf8, true))
}

#[derive(Default)]
struct Members {
    rows: Rows,
    member_id: StringBuilder,
    group_instance_id: StringBuilder,
    client_id: StringBuilder,
    client_host: StringBuilder,
    partitions: Int32Builder,
}

impl Members {
    fn push(&mut self, member: &Member) {
        self.rows.count += 1;
        self.member_id.append_value(&member.id);
        self.group_instance_id.append_option(member.instance_id.as_ref());
        self.client_id.append_value(&member.client_id);
        self.client_host.append_value(&member.client_host);
        self.partitions.append_option(load(member));
    }

    fn finish(mut self) -> ArrayRef {
        let rows = columns(vec![
            ("member_id", Arc::new(self.member_id.finish())),
            ("group_instance_id", Arc::new(self.group_instance_id.finish())),
            ("client_id", Arc::new(self.client_id.finish())),
            ("client_host", Arc::new(self.client_host.finish())),
            ("partitions", Arc::new(self.partitions.finish())),
        ]);
        self.rows.list(rows)
    }
}

#[derive(Default)]
struct Spans {
    rows: Rows,
    member_id: StringBuilder,
    topic: StringBuilder,
    start: Int32Builder,
    count: Int32Builder,
}

impl Spans {
    /// One row per run of consecutive ids; topic ids become names where the metadata has them.
    fn push(&mut self, member: &Member, metadata: &Metadata) {
        for (topic, ids) in member.partitions.iter().flatten() {
            let name = metadata.names.get(topic).unwrap_or(topic);
            for run in ids.chunk_by(|left, right| left.checked_add(1) == Some(*right)) {
                self.rows.count += 1;
                self.member_id.append_value(&member.id);
                self.topic.append_value(name);
                self.start.append_value(run[0]);
                self.count.append_value(run.len() as i32);
            }
        }
    }

    fn finish(mut self) -> ArrayRef {
        let rows = columns(vec![
            ("member_id", Arc::new(self.member_id.finish())),
            ("topic", Arc::new(self.topic.finish())),
            ("start", Arc::new(self.start.finish())),
            ("count", Arc::new(self.count.finish())),
        ]);
        self.rows.list(rows)
    }
}
