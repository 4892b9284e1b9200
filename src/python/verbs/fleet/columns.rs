//! Columns of answers in the making, one row per group; see `assignor.spark.schemas` for what they hold.

use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_array::builder::{Float64Builder, Int32Builder, Int64Builder};

use crate::fleet::{GroupBalance, Move, Outcome, Roster};
use crate::group::{Group, java_order};
use crate::plan::Plan;
use crate::python::read::fleet::groups::GroupRow;
use crate::python::verbs::bounded_columns::{BoundedTextColumn, ColumnFull, LARGEST_OFFSET, ListColumn, columns};
use crate::python::verbs::span_column::SpanColumn;

/// A column in the making.
pub(crate) trait AnswerColumn: Default {
    /// About how many bytes of text it has.
    fn bytes(&self) -> usize;

    /// The column.
    fn finish(self) -> ArrayRef;
}

fn text(name: &'static str) -> BoundedTextColumn {
    BoundedTextColumn::new(name, LARGEST_OFFSET)
}

fn rows(name: &'static str) -> ListColumn {
    ListColumn::new(name, LARGEST_OFFSET)
}

/// What the members get: lists of structs of member, topic, first id and count.
pub(crate) struct AssignmentColumn(SpanColumn);

impl Default for AssignmentColumn {
    fn default() -> Self {
        Self(SpanColumn::new(LARGEST_OFFSET))
    }
}

impl AssignmentColumn {
    /// Adds a group; one without a plan gets no rows.
    pub(crate) fn push(&mut self, plan: Option<&Plan>) -> Result<(), ColumnFull> {
        if let Some(plan) = plan {
            plan.try_each_member(|member, spans| {
                let member = plan.members().get(member as usize);
                spans.iter().try_for_each(|span| {
                    self.0.push(member, plan.topics().get(span.topic as usize), span.start, span.count)
                })
            })?;
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

/// What the members subscribe to: lists of structs of member, instance id, rack, topics and names that are no topics.
pub(crate) struct SubscriptionColumn {
    lists: ListColumn,
    members: BoundedTextColumn,
    instance_ids: BoundedTextColumn,
    racks: BoundedTextColumn,
    topics: BoundedTextColumn,
    topic_lists: ListColumn,
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
            let subscription = group.subscription_of(*number as usize);
            let mut names = group.names_of(subscription);
            for name in names.by_ref().take(group.topics_of(subscription).len()) {
                self.topic_lists.push()?;
                self.topics.push(Some(name))?;
            }
            // What is no topic is numbered as it comes up, and rows come in any order.
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

    fn finish(self) -> ArrayRef {
        let found = columns(vec![
            ("member_id", self.members.finish()),
            ("group_instance_id", self.instance_ids.finish()),
            ("rack", self.racks.finish()),
            ("topics", self.topic_lists.list(self.topics.finish())),
            ("unknown_topics", self.unknown_lists.list(self.unknown.finish())),
        ]);
        self.lists.list(Arc::new(found))
    }
}

/// The whole numbers of a balance, in the order of `assignor.spark.schemas.BALANCE`.
const NUMBERS: [&str; 11] = [
    "members",
    "unnamed_members",
    "unsubscribed_members",
    "topics",
    "unknown_topics",
    "partitions",
    "idle_members",
    "least_loaded",
    "most_loaded",
    "co_partition_breaks",
    "rack_misses",
];

/// What plans are like: structs.
pub(crate) struct BalanceColumn {
    numbers: [Int32Builder; NUMBERS.len()],
    most_loaded_members: BoundedTextColumn,
    mean_loads: Float64Builder,
    record_bytes: Int64Builder,
}

impl Default for BalanceColumn {
    fn default() -> Self {
        Self {
            numbers: Default::default(),
            most_loaded_members: text("most_loaded_member"),
            mean_loads: Float64Builder::new(),
            record_bytes: Int64Builder::new(),
        }
    }
}

impl BalanceColumn {
    pub(crate) fn push(
        &mut self,
        found: &GroupBalance,
        read: &GroupRow<'_>,
        unsubscribed_members: usize,
    ) -> Result<(), ColumnFull> {
        let some = |count: usize| Some(count as i64);
        let numbers = [
            some(found.members),
            some(read.unnamed_members),
            some(unsubscribed_members),
            some(found.topics),
            some(found.unknown_topics),
            Some(found.partitions),
            some(found.idle_members),
            found.least_loaded,
            found.most_loaded,
            some(found.co_partition_breaks),
            Some(found.rack_misses),
        ];
        for (column, number) in self.numbers.iter_mut().zip(numbers) {
            // More than int32 can count would take more than a cluster can have.
            column.append_option(number.map(|number| i32::try_from(number).unwrap_or(i32::MAX)));
        }
        self.most_loaded_members.push(found.most_loaded_member.as_ref())?;
        #[allow(clippy::cast_precision_loss, reason = "an average is rounded anyway")]
        let mean = (found.members > 0).then(|| found.partitions as f64 / found.members as f64);
        self.mean_loads.append_option(mean);
        self.record_bytes.append_value(found.record_bytes as i64);
        Ok(())
    }

    fn into_columns(mut self) -> Vec<(&'static str, ArrayRef)> {
        let mut found: Vec<(&str, ArrayRef)> = Vec::with_capacity(NUMBERS.len() + 3);
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

/// What changes hands: lists of structs of topic, first id, count, from whom and to whom.
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

/// Where scenarios lead: lists of structs of scenario, what happens on the way, and what the end is like.
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
        outcome: &Outcome,
        found: &GroupBalance,
        read: &GroupRow<'_>,
    ) -> Result<(), ColumnFull> {
        self.lists.push()?;
        self.scenarios.push(Some(scenario))?;
        self.rebalances.append_value(outcome.rebalances as i64);
        self.moved.append_value(outcome.moved);
        self.balances.push(found, read, outcome.unsubscribed_members)
    }

    /// Ends the list of a group.
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
