//! The answer of an assignor: which member gets which run of partitions of which topic.

use std::sync::OnceLock;

use crate::group::Ids;

/// A run of consecutive partition ids of one topic that one member gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// Index of the member.
    pub member: u32,
    /// Index of the topic.
    pub topic: u32,
    /// The first id.
    pub start: i32,
    /// How many ids.
    pub count: i32,
}

impl Span {
    /// One past the last id.
    #[must_use]
    pub fn end(self) -> i64 {
        i64::from(self.start) + i64::from(self.count)
    }
}

/// An assignment as spans: by member in the order given, then by topic in Java's order, then by id.
#[derive(Debug, Clone, Default)]
pub struct Plan {
    members: Vec<String>,
    topics: Vec<String>,
    spans: Vec<Span>,
    /// Per member the index of its first span, and one more at the end.
    starts: Vec<usize>,
    /// Spans by topic and id, made when the first owner is asked for.
    by_topic: OnceLock<Vec<Span>>,
}

impl Plan {
    /// Puts spans that come topic by topic, ids ascending, into the order of members.
    #[must_use]
    pub fn new(members: Vec<String>, topics: Vec<String>, spans: &[Span]) -> Self {
        let mut starts = vec![0; members.len() + 1];
        for span in spans {
            starts[span.member as usize + 1] += 1;
        }
        for member in 0..members.len() {
            starts[member + 1] += starts[member];
        }
        let mut next = starts.clone();
        let mut ordered = vec![Span { member: 0, topic: 0, start: 0, count: 0 }; spans.len()];
        for span in spans {
            let place = &mut next[span.member as usize];
            ordered[*place] = *span;
            *place += 1;
        }
        Self { members, topics, spans: ordered, starts, by_topic: OnceLock::new() }
    }

    /// The member ids, in the order of the subscriptions.
    #[must_use]
    pub fn members(&self) -> &[String] {
        &self.members
    }

    /// The topics, in Java's order.
    #[must_use]
    pub fn topics(&self) -> &[String] {
        &self.topics
    }

    /// All spans.
    #[must_use]
    pub fn spans(&self) -> &[Span] {
        &self.spans
    }

    /// The spans of one member.
    #[must_use]
    pub fn spans_of(&self, member: usize) -> &[Span] {
        &self.spans[self.starts[member]..self.starts[member + 1]]
    }

    /// How many partitions a member has.
    #[must_use]
    pub fn count(&self, member: usize) -> i64 {
        self.spans_of(member).iter().map(|span| i64::from(span.count)).sum()
    }

    /// Index of the member that has a partition, if anybody has.
    #[must_use]
    pub fn owner(&self, topic: u32, partition: i32) -> Option<u32> {
        let by_topic = self.by_topic.get_or_init(|| {
            let mut spans = self.spans.clone();
            spans.sort_unstable_by_key(|span| (span.topic, span.start));
            spans
        });
        let after = by_topic.partition_point(|span| (span.topic, span.start) <= (topic, partition));
        let span = by_topic[..after].last()?;
        (span.topic == topic && i64::from(partition) < span.end()).then_some(span.member)
    }
}

/// Appends what a member gets of a topic, positions `first..end` of its ids, as one span per run without holes.
pub(crate) fn push_spans(spans: &mut Vec<Span>, member: u32, topic: u32, ids: &Ids, first: usize, end: usize) {
    let mut from = first;
    while from < end {
        let mut last = end - 1;
        if !ids.contiguous(from, last) {
            last = (from + 1..end).find(|at| !ids.contiguous(from, *at)).map_or(last, |at| at - 1);
        }
        spans.push(Span { member, topic, start: ids.at(from), count: (last - from + 1) as i32 });
        from = last + 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(member: u32, topic: u32, start: i32, count: i32) -> Span {
        Span { member, topic, start, count }
    }

    #[test]
    fn spans_are_grouped_by_member_and_keep_the_order_of_topics() {
        let given = [span(1, 0, 0, 2), span(0, 0, 2, 1), span(1, 1, 0, 1)];

        let plan = Plan::new(vec!["a".into(), "b".into(), "c".into()], vec!["t".into(), "u".into()], &given);

        assert_eq!([span(0, 0, 2, 1)], plan.spans_of(0));
        assert_eq!([span(1, 0, 0, 2), span(1, 1, 0, 1)], plan.spans_of(1));
        assert!(plan.spans_of(2).is_empty());
        assert_eq!(3, plan.count(1));
    }

    #[test]
    fn the_owner_is_found_and_nobody_owns_what_nobody_has() {
        let given = [span(0, 0, 3, 2), span(1, 0, 7, i32::MAX - 7)];

        let plan = Plan::new(vec!["a".into(), "b".into()], vec!["t".into(), "u".into()], &given);

        let owners = [2, 3, 4, 5, 7, i32::MAX - 1, i32::MAX].map(|id| plan.owner(0, id));
        assert_eq!([None, Some(0), Some(0), None, Some(1), Some(1), None], owners);
        assert_eq!(None, plan.owner(1, 3));
    }

    #[test]
    fn a_hole_in_the_ids_ends_a_span() {
        let mut spans = Vec::new();

        push_spans(&mut spans, 0, 0, &Ids::Listed(vec![1, 2, 5, 7, 8]), 0, 5);

        assert_eq!(vec![span(0, 0, 1, 2), span(0, 0, 5, 1), span(0, 0, 7, 2)], spans);
    }
}
