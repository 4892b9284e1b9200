//! Owners of partitions, and differences between two plans.

use rustc_hash::FxHashMap;

use crate::group::{Lists, java_order};
use crate::plan::ranges::{intersection, length, union};
use crate::plan::{Plan, Span};

/// Spans by topic and id.
#[derive(Debug)]
pub(super) struct Owners {
    /// Spans with their owners, by topic.
    spans: Vec<(Span, u32)>,
    /// Per topic, the end of its spans.
    ends: Vec<usize>,
    /// If members share partitions: per span, the highest end of the topic's spans up to it; else empty.
    reached: Vec<i64>,
}

impl Owners {
    pub(super) fn of(plan: &Plan) -> Self {
        let columns = plan.columns();
        let rows = columns.topic.iter().enumerate().map(|(row, topic)| (*topic as u32, row as u32));
        let by_topic = Lists::by_key(plan.topics().len(), rows);
        let mut spans = Vec::with_capacity(columns.len());
        let mut ends = Vec::with_capacity(by_topic.len());
        for rows in by_topic.iter() {
            let first = spans.len();
            spans.extend(rows.iter().map(|row| {
                let row = *row as usize;
                let span =
                    Span { topic: columns.topic[row] as u32, start: columns.start[row], count: columns.count[row] };
                (span, columns.member[row] as u32)
            }));
            spans[first..].sort_by_key(|(span, _)| span.start);
            ends.push(spans.len());
        }
        let mut found = Self { spans, ends, reached: Vec::new() };
        if plan.is_shared() {
            for topic in 0..plan.topics().len() as u32 {
                let ends = found.of_topic(topic).iter().scan(0, |reached: &mut i64, (span, _)| {
                    *reached = span.end().max(*reached);
                    Some(*reached)
                });
                let ends: Vec<i64> = ends.collect();
                found.reached.extend(ends);
            }
        }
        found
    }

    /// Return the spans of a topic with their owners, by id.
    pub(super) fn of_topic(&self, topic: u32) -> &[(Span, u32)] {
        let start = topic.checked_sub(1).map_or(0, |before| self.ends[before as usize]);
        &self.spans[start..self.ends[topic as usize]]
    }

    /// Return the owners of a partition, ascending.
    pub(super) fn owners(&self, topic: u32, partition: i32) -> Vec<u32> {
        if self.reached.is_empty() {
            return self.owner(topic, partition).into_iter().collect();
        }
        let first = topic.checked_sub(1).map_or(0, |before| self.ends[before as usize]);
        let spans = self.of_topic(topic);
        let after = spans.partition_point(|(span, _)| span.start <= partition);
        let may_have = |row: &usize| self.reached[first + row] > i64::from(partition);
        let rows = (0..after).rev().take_while(may_have).map(|row| spans[row]);
        let mut found: Vec<u32> =
            rows.filter(|(span, _)| span.end() > i64::from(partition)).map(|(_, member)| member).collect();
        found.sort_unstable();
        found
    }

    /// Return the owner of a partition; the first of several.
    pub(super) fn owner(&self, topic: u32, partition: i32) -> Option<u32> {
        if !self.reached.is_empty() {
            return self.owners(topic, partition).first().copied();
        }
        let spans = self.of_topic(topic);
        let after = spans.partition_point(|(span, _)| span.start <= partition);
        let (span, member) = spans[..after].last()?;
        (i64::from(partition) < span.end()).then_some(*member)
    }
}

/// Spans that a member gains or loses. Topic numbers are those of the plan that contains the spans.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct MemberSpans {
    /// Index of the member in that plan.
    pub member: u32,
    /// The spans, by topic and id.
    pub spans: Vec<Span>,
}

/// Difference between two plans.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Diff {
    /// Spans that members have only in the later plan, with the numbers of the later plan.
    pub added: Vec<MemberSpans>,
    /// Spans that members have only in the earlier plan, with the numbers of the earlier plan.
    pub revoked: Vec<MemberSpans>,
    /// Number of partitions that have owners in both plans, but not the same ones.
    pub moved: i64,
}

impl Plan {
    /// Compare this plan with a later one; members and topics are matched by name.
    #[must_use]
    pub fn diff(&self, later: &Self) -> Diff {
        let same_member = same_names(self, later);
        let (before, after) =
            (self.owners.get_or_init(|| Owners::of(self)), later.owners.get_or_init(|| Owners::of(later)));
        let mut changes = MemberChanges {
            added: vec![Vec::new(); later.members().len()],
            revoked: vec![Vec::new(); self.members().len()],
            moved: 0,
        };
        let is_shared = self.is_shared() || later.is_shared();
        for (old, new) in aligned(self, later) {
            let old = old.map_or(&[][..], |topic| before.of_topic(topic));
            let new = new.map_or(&[][..], |topic| after.of_topic(topic));
            if is_shared {
                changes.compare_members(old, new, &same_member);
            } else {
                changes.sweep(old, new, &same_member);
            }
        }
        Diff { added: by_member(changes.added), revoked: by_member(changes.revoked), moved: changes.moved }
    }
}

/// Return, for each member of the earlier plan, its number in the later plan; None if it is not in the later plan.
fn same_names(earlier: &Plan, later: &Plan) -> Vec<Option<u32>> {
    let table = crate::group::NameTable::of(later.members());
    earlier.members().iter().map(|name| table.number(later.members(), name)).collect()
}

/// Pair the topics of both plans, which are in Java's order, by name.
fn aligned(earlier: &Plan, later: &Plan) -> Vec<(Option<u32>, Option<u32>)> {
    let (old, new) = (earlier.topics(), later.topics());
    let mut pairs = Vec::with_capacity(old.len().max(new.len()));
    let (mut left, mut right) = (0, 0);
    while left < old.len() || right < new.len() {
        let order = match (left < old.len(), right < new.len()) {
            (true, true) => java_order(old.get(left), new.get(right)),
            (true, false) => std::cmp::Ordering::Less,
            _ => std::cmp::Ordering::Greater,
        };
        pairs.push((order.is_le().then_some(left as u32), order.is_ge().then_some(right as u32)));
        left += usize::from(order.is_le());
        right += usize::from(order.is_ge());
    }
    pairs
}

fn by_member(of_members: Vec<Vec<Span>>) -> Vec<MemberSpans> {
    let numbered = of_members.into_iter().enumerate().filter(|(_, spans)| !spans.is_empty());
    numbered.map(|(member, spans)| MemberSpans { member: member as u32, spans }).collect()
}

struct MemberChanges {
    added: Vec<Vec<Span>>,
    revoked: Vec<Vec<Span>>,
    moved: i64,
}

impl MemberChanges {
    /// Compare the owners of a topic in both plans in one pass over its ids.
    fn sweep(&mut self, old: &[(Span, u32)], new: &[(Span, u32)], same_member: &[Option<u32>]) {
        let mut at = 0;
        let (mut left, mut right) = (0, 0);
        loop {
            while old.get(left).is_some_and(|(span, _)| span.end() <= at) {
                left += 1;
            }
            while new.get(right).is_some_and(|(span, _)| span.end() <= at) {
                right += 1;
            }
            let (before, after) = (old.get(left), new.get(right));
            if before.is_none() && after.is_none() {
                return;
            }
            // A plan without further spans is as one with a span beyond all others.
            let bounds = |entry: Option<&(Span, u32)>| {
                entry.map_or((i64::MAX, i64::MAX), |(span, _)| (i64::from(span.start), span.end()))
            };
            let (old_bounds, new_bounds) = (bounds(before), bounds(after));
            at = old_bounds.0.min(new_bounds.0).max(at);
            let edge = |(start, end): (i64, i64)| if start <= at { end } else { start };
            let end = edge(old_bounds).min(edge(new_bounds));
            let before = before.filter(|_| old_bounds.0 <= at).copied();
            let after = after.filter(|_| new_bounds.0 <= at).copied();
            let kept =
                matches!((before, after), (Some((_, old)), Some((_, new))) if same_member[old as usize] == Some(new));
            if !kept {
                if let Some((span, member)) = before {
                    push(&mut self.revoked[member as usize], span.topic, at, end);
                }
                if let Some((span, member)) = after {
                    push(&mut self.added[member as usize], span.topic, at, end);
                }
                if before.is_some() && after.is_some() {
                    self.moved += end - at;
                }
            }
            at = end;
        }
    }
}

impl MemberChanges {
    /// Compare the owners of a topic whose partitions may have several owners, member by member.
    fn compare_members(&mut self, old: &[(Span, u32)], new: &[(Span, u32)], same_member: &[Option<u32>]) {
        // Members of the earlier plan only are numbered after those of the later one.
        let members = self.added.len();
        let number = |member: u32| same_member[member as usize].map_or(members + member as usize, |same| same as usize);
        let key = |(member, span): &(usize, Span)| (*member, span.start);
        let mut before: Vec<(usize, Span)> = old.iter().map(|(span, member)| (number(*member), *span)).collect();
        let mut after: Vec<(usize, Span)> = new.iter().map(|(span, member)| (*member as usize, *span)).collect();
        before.sort_unstable_by_key(key);
        after.sort_unstable_by_key(key);
        let earlier: FxHashMap<usize, u32> = old.iter().map(|(_, member)| (number(*member), *member)).collect();
        let mut changed: Vec<(i64, i64)> = Vec::new();
        subtract(&before, &after, |member, topic, start, end| {
            push(&mut self.revoked[earlier[&member] as usize], topic, start, end);
            changed.push((start, end));
        });
        subtract(&after, &before, |member, topic, start, end| {
            push(&mut self.added[member], topic, start, end);
            changed.push((start, end));
        });
        let ranges =
            |spans: &[(Span, u32)]| spans.iter().map(|(span, _)| (i64::from(span.start), span.end())).collect();
        let both = intersection(&union(ranges(old)), &union(ranges(new)));
        self.moved += length(&intersection(&union(changed), &both));
    }
}

/// Call `read` with the parts of spans that the member does not have in `others`; both are ordered by member and id.
fn subtract(spans: &[(usize, Span)], others: &[(usize, Span)], mut read: impl FnMut(usize, u32, i64, i64)) {
    let mut next = 0;
    for (member, span) in spans {
        let mut start = i64::from(span.start);
        while others.get(next).is_some_and(|(other, before)| (*other, before.end()) <= (*member, start)) {
            next += 1;
        }
        let here =
            others[next..].iter().take_while(|(other, cut)| other == member && i64::from(cut.start) < span.end());
        for (_, cut) in here {
            if start < i64::from(cut.start) {
                read(*member, span.topic, start, cut.start.into());
            }
            start = cut.end().max(start);
        }
        if start < span.end() {
            read(*member, span.topic, start, span.end());
        }
    }
}

/// Append a run of ids, or extend the last run if they are adjacent.
fn push(spans: &mut Vec<Span>, topic: u32, start: i64, end: i64) {
    let count = (end - start) as i32;
    match spans.last_mut() {
        Some(last) if last.topic == topic && last.end() == start => last.count += count,
        _ => spans.push(Span { topic, start: start as i32, count }),
    }
}
