//! Columns of results, with one row per group; `assignor.spark.schemas` describes them.

use crate::assign::Assignor;
use crate::fleet::{
    Blocker, BrokerRules, ClientCount, GroupBalance, Migration, Move, Outcome, PatternChange, Placement, Roster,
    ScaledGroup, balance,
};
use crate::group::{Group, java_order};
use crate::plan::{Plan, Span, WeightedBalance};
use crate::python::read::fleet::groups::GroupRow;
use crate::python::verbs::table::{Column, ColumnFull, Declared, Fielded, Items, Row, SPANS, TEXTS, Texts, Type};
use crate::wire::Library;

/// Assignments: one struct per span.
pub(crate) const ASSIGNMENT: Declared = ("assignment", SPANS);

/// Subscriptions: one struct per member.
pub(crate) const MEMBERS: Declared = (
    "members",
    Type::List(&Type::Struct(&[
        ("member_id", Type::Text),
        ("group_instance_id", Type::Text),
        ("rack", Type::Text),
        ("topics", TEXTS),
        ("assignor", Type::Text),
        ("group_protocol", Type::Text),
        ("generation", Type::Int32),
        ("unknown_topics", TEXTS),
    ])),
);

/// Balances of plans.
pub(crate) const BALANCE: Declared = ("balance", Type::Struct(&BALANCE_FIELDS));

/// Reasons why groups have no computed plan.
pub(crate) const PROBLEMS: Declared = ("problems", TEXTS);

/// Moved partitions: one struct per range of ids with the same previous and new owner.
pub(crate) const MOVES: Declared = (
    "moves",
    Type::List(&Type::Struct(&[
        ("topic", Type::Text),
        ("start", Type::Int32),
        ("count", Type::Int32),
        ("from_member", Type::Text),
        ("to_member", Type::Text),
    ])),
);

/// Outcomes of scenarios, each with the final balance.
pub(crate) const OUTCOMES: Declared = ("outcomes", Type::List(&Type::Struct(&OUTCOME_FIELDS)));

/// Fields of a balance, in the order of `assignor.spark.schemas.BALANCE`.
const BALANCE_FIELDS: [Declared; 24] = [
    ("group_protocol", Type::Text),
    ("computed_as", Type::Text),
    ("members", Type::Int32),
    ("unnamed_members", Type::Int32),
    ("unsubscribed_members", Type::Int32),
    ("topics", Type::Int32),
    ("unknown_topics", Type::Int32),
    ("partitions", Type::Int32),
    ("unowned", Type::Int32),
    ("idle_members", Type::Int32),
    ("least_loaded", Type::Int32),
    ("most_loaded", Type::Int32),
    ("co_partition_breaks", Type::Int32),
    ("rack_misses", Type::Int32),
    ("most_loaded_member", Type::Text),
    ("mean_load", Type::Float64),
    ("record_bytes", Type::Int64),
    ("unweighted", Type::Int32),
    ("least_weight", Type::Float64),
    ("most_weight", Type::Float64),
    ("mean_weight", Type::Float64),
    ("most_weight_member", Type::Text),
    ("weight_bound", Type::Float64),
    ("packed_weight", Type::Float64),
];

/// Plans by number of members: one struct per number.
pub(crate) const SCALES: Declared = (
    "scales",
    Type::List(&Type::Struct(&[
        ("members", Type::Int32),
        ("is_today", Type::Boolean),
        ("is_good", Type::Boolean),
        ("is_good_by_weight", Type::Boolean),
        ("idle_members", Type::Int32),
        ("least_loaded", Type::Int32),
        ("most_loaded", Type::Int32),
        ("mean_load", Type::Float64),
        ("moved", Type::Int64),
        ("unowned", Type::Int32),
        ("rack_misses", Type::Int32),
        ("unweighted", Type::Int32),
        ("least_weight", Type::Float64),
        ("most_weight", Type::Float64),
        ("mean_weight", Type::Float64),
        ("weight_bound", Type::Float64),
        ("packed_weight", Type::Float64),
    ])),
);

/// Topics that members gain and lose because a switch of the group protocol changes what their patterns mean.
const PATTERN_CHANGES: Declared = (
    "pattern_changes",
    Type::List(&Type::Struct(&[
        ("members", TEXTS),
        ("patterns", TEXTS),
        ("sent", Type::Text),
        ("gained", TEXTS),
        ("lost", TEXTS),
        ("problem", Type::Text),
    ])),
);

/// Answers about a move to KIP-848: a list with one struct, or with none for a group that is not classic.
pub(crate) const MIGRATIONS: Declared = (
    "migrations",
    Type::List(&Type::Struct(&[
        ("verdict", Type::Text),
        ("reason", Type::Text),
        ("path", Type::Text),
        ("assignor", Type::Text),
        ("nearest", Type::Text),
        ("members", Type::Int32),
        (
            "blockers",
            Type::List(&Type::Struct(&[
                ("kind", Type::Text),
                ("verdict", Type::Text),
                ("reason", Type::Text),
                ("members", TEXTS),
            ])),
        ),
        (
            "clients",
            Type::List(&Type::Struct(&[
                ("library", Type::Text),
                ("version", Type::Text),
                ("support", Type::Text),
                ("members", Type::Int32),
            ])),
        ),
        ("notes", TEXTS),
        ("moved", Type::Int64),
        ("before", Type::Struct(&PLACEMENT)),
        ("after", Type::Struct(&PLACEMENT)),
        ("problem", Type::Text),
        ("rolling", Type::Int64),
        ("later_today", Type::Struct(&LATER)),
        ("later", Type::Struct(&LATER)),
        PATTERN_CHANGES,
    ])),
);

const PLACEMENT: [Declared; 12] = [
    ("partitions", Type::Int64),
    ("idle", TEXTS),
    ("least_loaded", Type::Int64),
    ("most_loaded", Type::Int64),
    ("rack_misses", Type::Int64),
    ("co_partition_breaks", Type::Int64),
    ("unweighted", Type::Int32),
    ("least_weight", Type::Float64),
    ("most_weight", Type::Float64),
    ("mean_weight", Type::Float64),
    ("weight_bound", Type::Float64),
    ("packed_weight", Type::Float64),
];

const LATER: [Declared; 3] = [("join", Type::Int64), ("leave", Type::Int64), ("restart", Type::Int64)];

const OUTCOME_FIELDS: [Declared; 5 + BALANCE_FIELDS.len()] = {
    let mut fields = [("scenario", Type::Text); 5 + BALANCE_FIELDS.len()];
    (fields[1], fields[2]) = (("rebalances", Type::Int64), ("moved", Type::Int64));
    (fields[3], fields[4]) = (PATTERN_CHANGES, ("problems", TEXTS));
    let mut index = 0;
    while index < BALANCE_FIELDS.len() {
        fields[5 + index] = BALANCE_FIELDS[index];
        index += 1;
    }
    fields
};

/// Add the assignment of a group, with members in Kafka's order; a group without a plan gets no spans.
pub(crate) fn push_assignment(
    column: &mut Column,
    plan: Option<&Plan>,
    assignor: Option<Assignor>,
) -> Result<(), ColumnFull> {
    if let Some(plan) = plan {
        let mut push = |member: u32, span: Span| {
            let (member, topic) = (plan.members().get(member as usize), plan.topics().get(span.topic as usize));
            column.item()?.put(member)?.put(topic)?.put(span.start)?.put(span.count).map(drop)
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
    }
    column.end_list();
    Ok(())
}

/// Add the subscriptions of a group.
pub(crate) fn push_members(column: &mut Column, roster: &Roster<'_>, group: &Group) -> Result<(), ColumnFull> {
    for number in group.order() {
        let member = &roster.members[*number as usize];
        let subscription = group.subscription_of(*number as usize);
        let mut names = group.names_of(subscription);
        let mut row = column.item()?;
        row.put(&member.id)?.put(member.instance_id.as_ref())?.put(member.rack.as_ref())?;
        row.put(Texts(names.by_ref().take(group.topics_of(subscription).len())))?;
        row.put(member.names.assignor)?.put(member.names.group_protocol)?.put(member.generation)?;
        // Unknown names are numbered in the order of appearance; the column has them in Java's order.
        let mut unknown: Vec<&str> = names.collect();
        unknown.sort_unstable_by(|left, right| java_order(left, right));
        row.put(Texts(unknown))?;
    }
    column.end_list();
    Ok(())
}

/// Add the balance of a plan; `assignor` is None if no assignor of the engine computed the plan.
pub(crate) fn push_balance(
    row: &mut Row<'_>,
    found: &GroupBalance,
    read: &GroupRow<'_>,
    roster: &Roster<'_>,
    assignor: Option<Assignor>,
) -> Result<(), ColumnFull> {
    row.put(assignor.map(|assignor| assignor.protocol().name()))?.put(assignor.map(Assignor::name))?;
    row.put(int32(found.members))?;
    row.put(int32(read.unnamed_members))?;
    row.put(int32(roster.unsubscribed_members()))?;
    row.put(int32(found.topics))?;
    row.put(int32(found.unknown_topics))?;
    row.put(int32(found.partitions))?;
    row.put(int32(found.unowned))?;
    row.put(int32(found.idle_members))?;
    row.put(found.least_loaded.map(int32))?;
    row.put(found.most_loaded.map(int32))?;
    row.put(int32(found.co_partition_breaks))?;
    row.put(int32(found.rack_misses))?;
    row.put(found.most_loaded_member.as_ref())?;
    row.put(found.mean_load)?;
    row.put(found.record_bytes.map(|bytes| bytes as i64))?;
    row.put(found.unweighted.map(int32))?;
    let Some(weighted) = &found.weighted else { return Ok(()) };
    row.put(weighted.least)?.put(weighted.most)?.put(weighted.mean)?;
    row.put(found.most_weight_member.as_ref())?;
    row.put(weighted.bound)?.put(weighted.packed).map(drop)
}

/// Add the plan of a group with a number of members to the list of the group.
pub(crate) fn push_scale(column: &mut Column, found: &ScaledGroup) -> Result<(), ColumnFull> {
    let mut row = column.item()?;
    row.put(int32(found.members))?.put(found.is_today)?;
    let Some(load) = &found.load else { return Ok(()) };
    row.put(load.is_good)?.put(load.is_good_by_weight)?.put(int32(load.idle_members))?;
    row.put(int32(load.least_loaded))?.put(int32(load.most_loaded))?.put(load.mean_load)?;
    row.put(load.moved)?.put(int32(load.unowned))?.put(int32(load.rack_misses))?;
    put_weighted(&mut row, load.unweighted, load.weighted.as_ref())
}

/// Add the number of partitions without a weight, and the weighted loads, which end a row, if all weights are known.
fn put_weighted(
    row: &mut Row<'_>,
    unweighted: Option<usize>,
    weighted: Option<&WeightedBalance>,
) -> Result<(), ColumnFull> {
    row.put(unweighted.map(int32))?;
    let Some(weighted) = weighted else { return Ok(()) };
    row.put(weighted.least)?.put(weighted.most)?.put(weighted.mean)?;
    row.put(weighted.bound)?.put(weighted.packed).map(drop)
}

/// Add the known fields of the balance of a group without a computed plan.
pub(crate) fn push_unknown_balance(
    row: &mut Row<'_>,
    group: &Group,
    read: &GroupRow<'_>,
    roster: &Roster<'_>,
) -> Result<(), ColumnFull> {
    row.put(None::<&str>)?.put(None::<&str>)?;
    row.put(int32(roster.members.len()))?;
    row.put(int32(read.unnamed_members))?;
    row.put(int32(roster.unsubscribed_members()))?;
    row.put(int32(group.topics().len()))?;
    row.put(int32(group.absent().len())).map(drop)
}

/// Return a number of partitions or members. No cluster has more than fit in an int32.
fn int32(number: impl TryInto<i32>) -> i32 {
    number.try_into().unwrap_or(i32::MAX)
}

/// Add the problems of a group.
pub(crate) fn push_problems<'a>(
    column: &mut Column,
    reasons: impl Iterator<Item = &'a String>,
) -> Result<(), ColumnFull> {
    column.add(Texts(reasons))
}

/// Add the moved partitions of a group.
pub(crate) fn push_moves(column: &mut Column, moves: &[Move<'_>]) -> Result<(), ColumnFull> {
    column.add(Items(moves, |row: &mut Row<'_>, run: &Move<'_>| {
        row.put(run.topic)?.put(run.start)?.put(run.count)?.put(run.from)?.put(run.to).map(drop)
    }))
}

/// Add the outcome of a scenario to the list of a group.
pub(crate) fn push_outcome(
    column: &mut Column,
    scenario: &str,
    outcome: &Outcome<'_>,
    read: &GroupRow<'_>,
) -> Result<(), ColumnFull> {
    let Outcome { plan, roster, computed, .. } = outcome;
    let is_known = computed.is_some() || read.roster.members.is_empty();
    let mut row = column.item()?;
    row.put(scenario)?.put(is_known.then_some(outcome.rebalances as i64))?.put(is_known.then_some(outcome.moved))?;
    row.put(Items(&outcome.pattern_changes, put_pattern_change))?.put(Texts(&outcome.problems))?;
    if is_known {
        let weights = read.cluster.weights(plan.group());
        let found = balance(plan, read.group_id, *computed).with_weights(plan, weights.as_ref());
        push_balance(&mut row, &found, read, roster, *computed)
    } else {
        push_unknown_balance(&mut row, plan.group(), read, roster)
    }
}

fn put_pattern_change(row: &mut Row<'_>, change: &PatternChange) -> Result<(), ColumnFull> {
    row.put(Texts(&change.members))?.put(Texts(&change.patterns))?.put(change.sent.as_ref())?;
    row.put(Texts(&change.gained))?.put(Texts(&change.lost))?.put(change.problem.as_ref()).map(drop)
}

/// Add the answer for a classic group.
pub(crate) fn push_migration(
    column: &mut Column,
    found: &Migration,
    rules: &BrokerRules,
    members: usize,
) -> Result<(), ColumnFull> {
    let mut row = column.item()?;
    row.put(found.verdict.name())?.put(&found.reason)?.put(found.path.as_ref())?;
    row.put(rules.assignor.name())?.put(found.nearest)?.put(int32(members))?;
    row.put(Items(&found.blockers, |row: &mut Row<'_>, blocker: &Blocker| {
        row.put(blocker.kind)?.put(blocker.verdict.name())?.put(&blocker.reason)?;
        row.put(Texts(&blocker.members)).map(drop)
    }))?;
    row.put(Items(&found.clients, |row: &mut Row<'_>, count: &ClientCount| {
        row.put(count.client.library.map(Library::name))?.put(count.client.version.as_ref())?;
        row.put(count.support)?.put(int32(count.members)).map(drop)
    }))?;
    row.put(Texts(&found.notes))?.put(found.moved)?;
    row.put(Fielded(|row: &mut Row<'_>| put_placement(row, &found.before)))?;
    row.put(found.after.as_ref().map(|after| Fielded(move |row: &mut Row<'_>| put_placement(row, after))))?;
    row.put(found.problem.as_ref())?.put(found.rolling)?;
    for later in [found.later_today, found.later] {
        row.put(later.map(|later| {
            Fielded(move |row: &mut Row<'_>| row.put(later.join)?.put(later.leave)?.put(later.restart).map(drop))
        }))?;
    }
    row.put(Items(&found.pattern_changes, put_pattern_change)).map(drop)
}

fn put_placement(row: &mut Row<'_>, found: &Placement) -> Result<(), ColumnFull> {
    row.put(found.partitions)?.put(Texts(&found.idle))?.put(found.least_loaded)?.put(found.most_loaded)?;
    row.put(found.rack_misses)?.put(found.co_partition_breaks)?;
    put_weighted(row, found.unweighted, found.weighted.as_ref())
}
