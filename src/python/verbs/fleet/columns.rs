//! Columns of results under construction, with one row per group; `assignor.spark.schemas` describes them.

use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_array::builder::{Float64Builder, Int32Builder, Int64Builder};

use crate::assign::Assignor;
use crate::fleet::{GroupBalance, Move, NotComputed, Outcome, Roster, balance};
use crate::group::{Group, java_order};
use crate::plan::{Plan, Span};
use crate::python::read::fleet::groups::GroupRow;
use crate::python::verbs::bounded_columns::{BoundedTextColumn, ColumnFull, LARGEST_OFFSET, ListColumn, columns};
use crate::python::verbs::span_column::SpanColumn;

/// A column under construction.
pub(crate) trait AnswerColumn: Default {
    /// Return the approximate number of bytes of text.
    fn bytes(&self) -> usize;

    /// Return the column.
    fn finish(self) -> ArrayRef;
}

fn text(name: &'static str) -> BoundedTextColumn {
    BoundedTextColumn::new(name, LARGEST_OFFSET)
}

fn rows(name: &'static str) -> ListColumn {
    ListColumn::new(name, LARGEST_OFFSET)
}

/// Assignments: lists of structs of member, topic, first id and count.
pub(crate) struct AssignmentColumn(SpanColumn);

impl Default for AssignmentColumn {
    fn default() -> Self {
        Self(SpanColumn::new("assignment", ["assignment.member_id", "assignment.topic"], LARGEST_OFFSET))
    }
}

impl AssignmentColumn {
    /// Add a group, with members in Kafka's order; a group without a plan gets no rows.
    pub(crate) fn push(&mut self, plan: Option<&Plan>, assignor: Option<Assignor>) -> Result<(), ColumnFull> {
        let Some(plan) = plan else {
            self.0.end_list();
            return Ok(());
        };
        let mut push = |member: u32, span: Span| {
            let (member, topic) = (plan.members().get(member as usize), plan.topics().get(span.topic as usize));
            self.0.push(member, topic, span.start, span.count)
        };
        if assignor == Some(Assignor::Range) {
            // The layout of range computes spans in this order without storing them.
            plan.try_each_member(|member, spans| spans.iter().try_for_each(|span| push(member, *span)))?;
        } else {
            let columns = plan.columns();
            for member in plan.group().order() {
                columns.spans_of(*member as usize).try_for_each(|span| push(*member, span))?;
            }
        }
        self.0.end_list();
        Ok(())
    }
}

impl AnswerColumn for AssignmentColumn {
    fn bytes(&self) -> usize {
        self.0.bytes()
    }

    fn finish(self) -> ArrayRef {
        self.0.finish()
    }
}

/// Subscriptions: lists of structs, one for each member.
pub(crate) struct SubscriptionColumn {
    lists: ListColumn,
    members: BoundedTextColumn,
    instance_ids: BoundedTextColumn,
    racks: BoundedTextColumn,
    topics: BoundedTextColumn,
    topic_lists: ListColumn,
    assignors: BoundedTextColumn,
    group_protocols: BoundedTextColumn,
    generations: Int32Builder,
    unknown: BoundedTextColumn,
    unknown_lists: ListColumn,
}

impl Default for SubscriptionColumn {
    fn default() -> Self {
        Self {
            lists: rows("members"),
            members: text("members.member_id"),
            instance_ids: text("members.group_instance_id"),
            racks: text("members.rack"),
            topics: text("members.topics"),
            topic_lists: rows("members.topics"),
            assignors: text("members.assignor"),
            group_protocols: text("members.group_protocol"),
            generations: Int32Builder::new(),
            unknown: text("members.unknown_topics"),
            unknown_lists: rows("members.unknown_topics"),
        }
    }
}

impl SubscriptionColumn {
    pub(crate) fn push(&mut self, roster: &Roster<'_>, group: &Group) -> Result<(), ColumnFull> {
        for number in group.order() {
            let member = &roster.members[*number as usize];
            self.lists.push()?;
            self.members.push(Some(&member.id))?;
            self.instance_ids.push(member.instance_id.as_ref())?;
            self.racks.push(member.rack.as_ref())?;
            self.assignors.push(member.names.assignor)?;
            self.group_protocols.push(member.names.group_protocol)?;
            self.generations.append_option(member.generation);
            let subscription = group.subscription_of(*number as usize);
            let mut names = group.names_of(subscription);
            for name in names.by_ref().take(group.topics_of(subscription).len()) {
                self.topic_lists.push()?;
                self.topics.push(Some(name))?;
            }
            // Unknown names are numbered in the order of appearance; the column has them in Java's order.
            let mut unknown: Vec<&str> = names.collect();
            unknown.sort_unstable_by(|left, right| java_order(left, right));
            for name in unknown {
                self.unknown_lists.push()?;
                self.unknown.push(Some(name))?;
            }
            self.topic_lists.end_list();
            self.unknown_lists.end_list();
        }
        self.lists.end_list();
        Ok(())
    }
}

impl AnswerColumn for SubscriptionColumn {
    fn bytes(&self) -> usize {
        self.members.bytes() + self.topics.bytes() + self.unknown.bytes()
    }

    fn finish(mut self) -> ArrayRef {
        let found = columns(vec![
            ("member_id", self.members.finish()),
            ("group_instance_id", self.instance_ids.finish()),
            ("rack", self.racks.finish()),
            ("topics", self.topic_lists.list(self.topics.finish())),
            ("assignor", self.assignors.finish()),
            ("group_protocol", self.group_protocols.finish()),
            ("generation", Arc::new(self.generations.finish())),
            ("unknown_topics", self.unknown_lists.list(self.unknown.finish())),
        ]);
        self.lists.list(Arc::new(found))
    }
}

/// Integer columns of a balance, in the order of `assignor.spark.schemas.BALANCE`.
const NUMBERS: [&str; 12] = [
    "members",
    "unnamed_members",
    "unsubscribed_members",
    "topics",
    "unknown_topics",
    "partitions",
    "unowned",
    "idle_members",
    "least_loaded",
    "most_loaded",
    "co_partition_breaks",
    "rack_misses",
];

/// Balances of plans: structs.
pub(crate) struct BalanceColumn {
    group_protocols: BoundedTextColumn,
    computed_as: BoundedTextColumn,
    numbers: [Int32Builder; NUMBERS.len()],
    most_loaded_members: BoundedTextColumn,
    mean_loads: Float64Builder,
    record_bytes: Int64Builder,
}

impl Default for BalanceColumn {
    fn default() -> Self {
        Self {
            group_protocols: text("group_protocol"),
            computed_as: text("computed_as"),
            numbers: Default::default(),
            most_loaded_members: text("most_loaded_member"),
            mean_loads: Float64Builder::new(),
            record_bytes: Int64Builder::new(),
        }
    }
}

impl BalanceColumn {
    /// Add the balance of a plan; `assignor` is None if no assignor of the engine computed the plan.
    pub(crate) fn push(
        &mut self,
        found: &GroupBalance,
        read: &GroupRow<'_>,
        roster: &Roster<'_>,
        assignor: Option<Assignor>,
    ) -> Result<(), ColumnFull> {
        let some = |count: usize| Some(count as i64);
        self.group_protocols.push(assignor.map(|assignor| assignor.protocol().name()))?;
        self.computed_as.push(assignor.map(Assignor::name))?;
        self.push_numbers([
            some(found.members),
            some(read.unnamed_members),
            some(roster.unsubscribed_members()),
            some(found.topics),
            some(found.unknown_topics),
            Some(found.partitions),
            Some(found.unowned),
            some(found.idle_members),
            found.least_loaded,
            found.most_loaded,
            some(found.co_partition_breaks),
            Some(found.rack_misses),
        ]);
        self.most_loaded_members.push(found.most_loaded_member.as_ref())?;
        self.mean_loads.append_option(found.mean_load);
        self.record_bytes.append_option(found.record_bytes.map(|bytes| bytes as i64));
        Ok(())
    }

    /// Add the known columns of a group without a computed plan.
    pub(crate) fn push_unknown(
        &mut self,
        group: &Group,
        read: &GroupRow<'_>,
        roster: &Roster<'_>,
    ) -> Result<(), ColumnFull> {
        self.group_protocols.push(None::<&str>)?;
        self.computed_as.push(None::<&str>)?;
        let mut numbers = [None; NUMBERS.len()];
        let known = [
            roster.members.len(),
            read.unnamed_members,
            roster.unsubscribed_members(),
            group.topics().len(),
            group.absent().len(),
        ];
        for (number, known) in numbers.iter_mut().zip(known) {
            *number = Some(known as i64);
        }
        self.push_numbers(numbers);
        self.most_loaded_members.push(None::<&str>)?;
        self.mean_loads.append_null();
        self.record_bytes.append_null();
        Ok(())
    }

    fn push_numbers(&mut self, numbers: [Option<i64>; NUMBERS.len()]) {
        for (column, number) in self.numbers.iter_mut().zip(numbers) {
            // No cluster has more partitions or members than fit in an int32.
            column.append_option(number.map(|number| i32::try_from(number).unwrap_or(i32::MAX)));
        }
    }

    fn into_columns(mut self) -> Vec<(&'static str, ArrayRef)> {
        let mut found: Vec<(&str, ArrayRef)> = Vec::with_capacity(NUMBERS.len() + 5);
        found.push(("group_protocol", self.group_protocols.finish()));
        found.push(("computed_as", self.computed_as.finish()));
        for (name, mut column) in NUMBERS.into_iter().zip(self.numbers) {
            found.push((name, Arc::new(column.finish())));
        }
        found.push(("most_loaded_member", self.most_loaded_members.finish()));
        found.push(("mean_load", Arc::new(self.mean_loads.finish())));
        found.push(("record_bytes", Arc::new(self.record_bytes.finish())));
        found
    }
}

impl AnswerColumn for BalanceColumn {
    fn bytes(&self) -> usize {
        self.most_loaded_members.bytes()
    }

    fn finish(self) -> ArrayRef {
        Arc::new(columns(self.into_columns()))
    }
}

/// Reasons why groups have no computed plan: lists of text.
pub(crate) struct ProblemColumn {
    lists: ListColumn,
    reasons: BoundedTextColumn,
}

impl Default for ProblemColumn {
    fn default() -> Self {
        Self { lists: rows("problems"), reasons: text("problems") }
    }
}

impl ProblemColumn {
    pub(crate) fn push(&mut self, reason: Option<&NotComputed>) -> Result<(), ColumnFull> {
        if let Some(reason) = reason {
            self.lists.push()?;
            self.reasons.push(Some(reason.to_string()))?;
        }
        self.lists.end_list();
        Ok(())
    }
}

impl AnswerColumn for ProblemColumn {
    fn bytes(&self) -> usize {
        self.reasons.bytes()
    }

    fn finish(self) -> ArrayRef {
        self.lists.list(self.reasons.finish())
    }
}

/// Moved partitions: lists of structs of topic, first id, count, previous owner and new owner.
pub(crate) struct MoveColumn {
    lists: ListColumn,
    topics: BoundedTextColumn,
    starts: Int32Builder,
    counts: Int32Builder,
    from: BoundedTextColumn,
    to: BoundedTextColumn,
}

impl Default for MoveColumn {
    fn default() -> Self {
        Self {
            lists: rows("moves"),
            topics: text("moves.topic"),
            starts: Int32Builder::new(),
            counts: Int32Builder::new(),
            from: text("moves.from_member"),
            to: text("moves.to_member"),
        }
    }
}

impl MoveColumn {
    pub(crate) fn push(&mut self, moves: &[Move<'_>]) -> Result<(), ColumnFull> {
        for run in moves {
            self.lists.push()?;
            self.topics.push(Some(run.topic))?;
            self.starts.append_value(run.start);
            self.counts.append_value(run.count);
            self.from.push(run.from)?;
            self.to.push(run.to)?;
        }
        self.lists.end_list();
        Ok(())
    }
}

impl AnswerColumn for MoveColumn {
    fn bytes(&self) -> usize {
        self.topics.bytes() + self.from.bytes() + self.to.bytes()
    }

    fn finish(mut self) -> ArrayRef {
        let found = columns(vec![
            ("topic", self.topics.finish()),
            ("start", Arc::new(self.starts.finish())),
            ("count", Arc::new(self.counts.finish())),
            ("from_member", self.from.finish()),
            ("to_member", self.to.finish()),
        ]);
        self.lists.list(Arc::new(found))
    }
}

/// Outcomes of scenarios: lists of structs of scenario, rebalances, moved partitions and final balance.
pub(crate) struct OutcomeColumn {
    lists: ListColumn,
    scenarios: BoundedTextColumn,
    rebalances: Int64Builder,
    moved: Int64Builder,
    balances: BalanceColumn,
}

impl Default for OutcomeColumn {
    fn default() -> Self {
        Self {
            lists: rows("outcomes"),
            scenarios: text("outcomes.scenario"),
            rebalances: Int64Builder::new(),
            moved: Int64Builder::new(),
            balances: BalanceColumn::default(),
        }
    }
}

impl OutcomeColumn {
    pub(crate) fn push(
        &mut self,
        scenario: &str,
        outcome: &Outcome<'_>,
        read: &GroupRow<'_>,
    ) -> Result<(), ColumnFull> {
        let Outcome { plan, roster, computed, .. } = outcome;
        let is_known = computed.is_some() || read.roster.members.is_empty();
        self.lists.push()?;
        self.scenarios.push(Some(scenario))?;
        self.rebalances.append_option(is_known.then_some(outcome.rebalances as i64));
        self.moved.append_option(is_known.then_some(outcome.moved));
        if is_known {
            self.balances.push(&balance(plan, read.group_id, *computed), read, roster, *computed)
        } else {
            self.balances.push_unknown(plan.group(), read, roster)
        }
    }

    /// End the list of a group.
    pub(crate) fn end(&mut self) {
        self.lists.end_list();
    }
}

impl AnswerColumn for OutcomeColumn {
    fn bytes(&self) -> usize {
        self.scenarios.bytes() + self.balances.bytes()
    }

    fn finish(mut self) -> ArrayRef {
        let mut found: Vec<(&str, ArrayRef)> = vec![
            ("scenario", self.scenarios.finish()),
            ("rebalances", Arc::new(self.rebalances.finish())),
            ("moved", Arc::new(self.moved.finish())),
        ];
        found.extend(self.balances.into_columns());
        self.lists.list(Arc::new(columns(found)))
    }
}
