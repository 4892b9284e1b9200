//! Spans as columns.

use std::ops::ControlFlow;

use crate::error::PlanError;
use crate::group::Group;
use crate::plan::owners::{Owners, each_span};
use crate::plan::{Layout, Span};

/// Spans as four columns of equal length, ordered by member, topic and id.
#[derive(Debug, Default)]
pub struct Columns {
    /// Index of the member.
    pub member: Vec<i32>,
    /// Index of the topic.
    pub topic: Vec<i32>,
    /// The first id.
    pub start: Vec<i32>,
    /// The number of ids.
    pub count: Vec<i32>,
    /// Per member, the end of its spans.
    ends: Vec<usize>,
}

impl Columns {
    /// Build columns from another layout: count the spans of each member, then write them to their places. `check` returns an error
    /// if there is no memory for a number of spans.
    pub(crate) fn of<E>(
        group: &Group,
        layout: &dyn Layout,
        check: impl FnOnce(usize) -> Result<(), E>,
    ) -> Result<Self, E> {
        let mut ends = vec![0; group.members().len()];
        layout.each_member(group, &mut |member, spans| {
            ends[member as usize] = spans.len();
            ControlFlow::Continue(())
        });
        let mut total = 0;
        for end in &mut ends {
            total += *end;
            *end = total;
        }
        check(total)?;
        let column = || vec![0; total];
        let mut found = Self { member: column(), topic: column(), start: column(), count: column(), ends };
        layout.each_member(group, &mut |member, spans| {
            let end = found.ends[member as usize];
            for (row, span) in (end - spans.len()..end).zip(spans) {
                found.member[row] = member as i32;
                found.topic[row] = span.topic as i32;
                found.start[row] = span.start;
                found.count[row] = span.count;
            }
            ControlFlow::Continue(())
        });
        Ok(found)
    }

    /// Build columns from owners: count the spans of each member, then write them to their places. `check` returns an error if there
    /// is no memory for a number of spans.
    pub(crate) fn of_owners<E>(
        group: &Group,
        owners: &Owners,
        check: impl FnOnce(usize) -> Result<(), E>,
    ) -> Result<Self, E> {
        let mut ends = vec![0; group.members().len() + 1];
        each_span(group, owners, |member, _| ends[member as usize + 1] += 1);
        for member in 1..ends.len() {
            ends[member] += ends[member - 1];
        }
        check(ends[ends.len() - 1])?;
        let mut spans = vec![Span { topic: 0, start: 0, count: 0 }; ends[ends.len() - 1]];
        // At first `ends` has the start of each member's spans. Each written span advances it by one, until it is their
        // end. Spans are written as a whole, because writing to four columns in random order would cause four times the
        // cache misses.
        each_span(group, owners, |member, span| {
            spans[ends[member as usize]] = span;
            ends[member as usize] += 1;
        });
        ends.pop();
        Ok(Self::from_spans(&spans, ends))
    }

    /// Build columns from the spans of all members, and the end of the spans of each member.
    pub(super) fn from_spans(spans: &[Span], ends: Vec<usize>) -> Self {
        let mut member = Vec::with_capacity(spans.len());
        for (index, end) in (0..).zip(&ends) {
            member.resize(*end, index);
        }
        Self {
            member,
            topic: spans.iter().map(|span| span.topic as i32).collect(),
            start: spans.iter().map(|span| span.start).collect(),
            count: spans.iter().map(|span| span.count).collect(),
            ends,
        }
    }

    /// Append the spans of the next member.
    fn push_member(&mut self, spans: &[Span]) {
        self.member.resize(self.member.len() + spans.len(), self.ends.len() as i32);
        self.topic.extend(spans.iter().map(|span| span.topic as i32));
        self.start.extend(spans.iter().map(|span| span.start));
        self.count.extend(spans.iter().map(|span| span.count));
        self.ends.push(self.member.len());
    }

    /// Build columns from untrusted spans; adjacent spans are merged. If they are shared, members may have partitions of any topic, and
    /// a partition may have several owners.
    pub(crate) fn checked(
        group: &Group,
        spans: impl IntoIterator<Item = (u32, Span)>,
        is_shared: bool,
    ) -> Result<Self, PlanError> {
        let (members, topics) = (group.members().len(), group.topics().len());
        let mut found = Self::default();
        let mut of_member: Vec<Span> = Vec::new();
        let mut owned: Vec<(Span, usize)> = Vec::new();
        for (row, (member, span)) in spans.into_iter().enumerate() {
            let error = |reason: String| PlanError { row, reason };
            if member as usize >= members {
                return Err(error(format!(
                    "member index {member} is out of range: the number of members is {members}"
                )));
            }
            if span.topic as usize >= topics {
                return Err(error(format!(
                    "topic index {} is out of range: the number of topics is {topics}",
                    span.topic
                )));
            }
            if span.start < 0 || span.count < 1 || span.end() > i64::from(i32::MAX) + 1 {
                let Span { start, count, .. } = span;
                return Err(error(format!("start {start} and count {count} are not a range of partition ids")));
            }
            let subscribed = group.topics_of(group.subscription_of(member as usize));
            if !is_shared && subscribed.binary_search(&span.topic).is_err() {
                let [member, topic] =
                    [group.members().get(member as usize), group.topics().names().get(span.topic as usize)];
                return Err(error(format!("member '{member}' does not subscribe to topic '{topic}'")));
            }
            if (member as usize) < found.ends.len() {
                return Err(error("spans must be ordered by member".into()));
            }
            while found.ends.len() < member as usize {
                found.push_member(&of_member);
                of_member.clear();
            }
            match of_member.last_mut() {
                Some(last) if last.topic == span.topic && last.end() == i64::from(span.start) => {
                    let count = last.count.checked_add(span.count);
                    last.count = count.ok_or_else(|| {
                        error("a member has more partitions of a topic than an int32 can hold".into())
                    })?;
                }
                Some(last) if (last.topic, last.end()) > (span.topic, i64::from(span.start)) => {
                    return Err(error(
                        "the spans of a member must be ordered by topic and id and must not overlap".into(),
                    ));
                }
                _ => of_member.push(span),
            }
            if !is_shared {
                owned.push((span, row));
            }
        }
        while found.ends.len() < members {
            found.push_member(&of_member);
            of_member.clear();
        }
        check_owners(group, owned)?;
        Ok(found)
    }

    /// Return the number of spans.
    #[must_use]
    pub fn len(&self) -> usize {
        self.member.len()
    }

    /// Return true if there are no spans.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.member.is_empty()
    }

    /// Return the spans of a member.
    #[must_use]
    pub fn spans_of(&self, member: usize) -> impl ExactSizeIterator<Item = Span> {
        let start = member.checked_sub(1).map_or(0, |before| self.ends[before]);
        (start..self.ends[member]).map(|row| Span {
            topic: self.topic[row] as u32,
            start: self.start[row],
            count: self.count[row],
        })
    }
}

impl Layout for Columns {
    fn spans_of(&self, _group: &Group, member: usize) -> Vec<Span> {
        Self::spans_of(self, member).collect()
    }

    fn each_member(&self, _group: &Group, read: &mut dyn FnMut(u32, &[Span]) -> ControlFlow<()>) {
        let mut spans = Vec::new();
        for member in 0..self.ends.len() {
            spans.clear();
            spans.extend(Self::spans_of(self, member));
            if read(member as u32, &spans).is_break() {
                return;
            }
        }
    }

    fn counts(&self, _group: &Group) -> Vec<i64> {
        let count = |member| Self::spans_of(self, member).map(|span| i64::from(span.count)).sum();
        (0..self.ends.len()).map(count).collect()
    }
}

/// Return an error for a partition with two owners; it names the second of the two spans.
fn check_owners(group: &Group, mut owned: Vec<(Span, usize)>) -> Result<(), PlanError> {
    owned.sort_unstable_by_key(|(span, _)| (span.topic, span.start));
    let twice =
        |pair: &&[(Span, usize)]| pair[0].0.topic == pair[1].0.topic && pair[0].0.end() > i64::from(pair[1].0.start);
    let Some([(_, first), (span, second)]) = owned.windows(2).find(twice) else { return Ok(()) };
    let topic = group.topics().names().get(span.topic as usize);
    let reason = format!("partition {} of topic '{topic}' already has an owner", span.start);
    Err(PlanError { row: *first.max(second), reason })
}
