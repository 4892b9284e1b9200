//! Partitions that members own before a rebalance.

use crate::assign::Assignor;
use crate::group::{FieldSizes, Group, NameTable, java_order};
use crate::plan::{Plan, Span};

/// Span of partitions that a member owns.
#[derive(Debug, Clone, Copy)]
pub struct OwnedSpan<'a> {
    /// The member.
    pub member: &'a str,
    /// The topic.
    pub topic: &'a str,
    /// The first id.
    pub start: i32,
    /// The number of ids.
    pub count: i32,
}

impl OwnedSpan<'_> {
    /// Return one past the last id.
    pub(super) fn end(&self) -> i64 {
        i64::from(self.start) + i64::from(self.count)
    }
}

/// Return the spans that a member has more than once, by member, topic and id.
#[must_use]
pub fn given_twice<'a>(owned: &[OwnedSpan<'a>]) -> Vec<OwnedSpan<'a>> {
    let mut sorted = owned.to_vec();
    sorted.sort_unstable_by_key(|span| (span.member, span.topic, span.start));
    let (mut found, mut last): (Vec<OwnedSpan<'a>>, Option<OwnedSpan<'a>>) = (Vec::new(), None);
    for span in sorted {
        let known = last.filter(|last| (last.member, last.topic) == (span.member, span.topic));
        let known_end = known.map_or(i64::from(span.start), |known| known.end());
        let count = known_end.min(span.end()) - i64::from(span.start);
        if count > 0 {
            found.push(OwnedSpan { count: count as i32, ..span });
        }
        if known.is_none() || span.end() > known_end {
            last = Some(span);
        }
    }
    found
}

/// Return true if the assignor starts from the owned partitions of the members.
#[must_use]
pub fn reads_owned(assignor: Assignor) -> bool {
    matches!(
        assignor,
        Assignor::Sticky | Assignor::CooperativeSticky | Assignor::ServerUniform | Assignor::ServerSimple
    )
}

/// Return the partitions of a plan as spans by member.
#[must_use]
pub fn owned_spans(plan: &Plan) -> Vec<OwnedSpan<'_>> {
    let columns = plan.columns();
    let span = |row: usize| OwnedSpan {
        member: plan.members().get(columns.member[row] as usize),
        topic: plan.topics().get(columns.topic[row] as usize),
        start: columns.start[row],
        count: columns.count[row],
    };
    (0..columns.len()).map(span).collect()
}

/// Existing partitions that the members of a group own, by member, then topic in Java's order, then id.
pub(super) struct Claims {
    /// Index of the member, number of the topic, first id and one past the last.
    runs: Vec<(u32, u32, i32, i32)>,
    at: usize,
}

impl Claims {
    /// Collect spans in any order. Spans of other members and topics, and ids that do not exist, are left out.
    pub(super) fn of<'m>(owned: &[OwnedSpan<'_>], members: impl Iterator<Item = &'m str>, group: &Group) -> Self {
        let names = members.collect();
        let table = NameTable::of(&names);
        let mut runs = Vec::with_capacity(owned.len());
        for run in owned {
            let found = table.number(&names, run.member).zip(group.topics().number(run.topic));
            let Some((member, topic)) = found else { continue };
            let count = group.topics().partitions()[topic as usize].ids.len() as i64;
            let end = run.end().min(count);
            if i64::from(run.start) < end {
                runs.push((member, topic, run.start, end as i32));
            }
        }
        runs.sort_unstable();
        Self { runs, at: 0 }
    }

    /// Return the claims of the next member, as spans that do not touch. Call it for the members in the order of the group.
    pub(super) fn next_spans(&mut self, member: u32) -> Vec<Span> {
        let mut spans: Vec<Span> = Vec::new();
        while let Some((_, topic, start, end)) = self.runs.get(self.at).filter(|run| run.0 == member).copied() {
            self.at += 1;
            match spans.last_mut() {
                Some(last) if last.topic == topic && last.start + last.count >= start => {
                    last.count = last.count.max(end - last.start);
                }
                _ => spans.push(Span { topic, start, count: end - start }),
            }
        }
        spans
    }
}

/// Partitions of the previous target of a share group by member, which the assignor reads as they are: also those that do not exist or
/// that the member does not subscribe to.
pub(super) struct PreviousTarget<'a> {
    /// Index of the member, topic, first id and one past the last; by member, then topic in Java's order, then id.
    runs: Vec<(u32, &'a str, i32, i64)>,
    at: usize,
}

impl<'a> PreviousTarget<'a> {
    /// Collect spans in any order. Spans of other members are left out.
    pub(super) fn of<'m>(owned: &[OwnedSpan<'a>], members: impl Iterator<Item = &'m str>) -> Self {
        let names = members.collect();
        let table = NameTable::of(&names);
        let run = |run: &OwnedSpan<'a>| Some((table.number(&names, run.member)?, run.topic, run.start, run.end()));
        let mut runs: Vec<_> = owned.iter().filter_map(run).collect();
        runs.sort_unstable_by(|left, right| {
            left.0.cmp(&right.0).then_with(|| java_order(left.1, right.1)).then(left.2.cmp(&right.2))
        });
        Self { runs, at: 0 }
    }

    /// Add the partitions of the next member to a group. Call it for the members in the order of the group.
    pub(super) fn push_next(&mut self, member: u32, group: &mut Group) {
        while let Some((_, topic, start, end)) = self.runs.get(self.at).filter(|run| run.0 == member) {
            self.at += 1;
            let topic = group.owned_topic_number(topic);
            group.push_owned(topic, (i64::from(*start)..*end).map(|id| id as i32));
        }
    }
}

/// Return the sizes of the user data and the owned partitions in a member's subscription.
///
/// `sticky` sends owned partitions and generation as user data. `cooperative-sticky` sends the generation as user data, and
/// owned partitions in their own field.
pub(super) fn sent_sizes(assignor: Assignor, owned: usize, rack: usize) -> FieldSizes {
    match assignor {
        Assignor::Sticky if owned > 0 => FieldSizes { user_data: 4 + owned + 4, owned_partitions: 0, rack },
        Assignor::CooperativeSticky => FieldSizes { user_data: 4, owned_partitions: owned, rack },
        _ => FieldSizes { user_data: 0, owned_partitions: 0, rack },
    }
}
