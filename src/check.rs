//! Check of an assignment from any source.
//!
//! Assignments are read member by member. Assignments and findings are spans of ids, so the cost depends on the number of spans
//! instead of partitions. Topic names are numbered in this order: the existing topics, the names that members subscribe to but that do
//! not exist, and all other names of the assignment.

use crate::group::{Group, Ids, NameTable, Names, java_order};

/// Run of consecutive partition ids of one topic; ids may exceed int32, unlike those of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IdSpan {
    /// Number of the topic.
    pub topic: u32,
    /// The first id.
    pub start: i64,
    /// One past the last id.
    pub end: i64,
}

/// Defects of an assignment. Members are numbered in the order of the assignment.
///
/// Findings are ordered by member, then by topic in Java's order, then by id.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// Partitions of subscribed topics without an owner.
    pub unowned: Vec<IdSpan>,
    /// Partitions that are assigned more than once; in a share group, those that are assigned more than once to one member.
    pub doubly_owned: Vec<IdSpan>,
    /// Partitions of topics that the member does not subscribe to.
    pub not_subscribed: Vec<(u32, IdSpan)>,
    /// Partitions that do not exist.
    pub unknown: Vec<(u32, IdSpan)>,
}

/// Assignment to check.
#[derive(Debug)]
pub struct CheckedAssignment<'g> {
    group: &'g Group,
    /// True if a partition may have several owners, as in a share group.
    is_shared: bool,
    members_by_id: NameTable,
    /// Per member of the assignment, its number in the group.
    members: Vec<Option<u32>>,
    /// Names that are neither topics of the group nor subscribed to.
    other: Names,
    other_numbers: NameTable,
    spans: Vec<IdSpan>,
    /// Per member except the last, the end of its spans.
    ends: Vec<usize>,
}

impl<'g> CheckedAssignment<'g> {
    /// Create an assignment without members. With `is_shared`, a partition may have several owners.
    #[must_use]
    pub fn new(group: &'g Group, is_shared: bool) -> Self {
        Self {
            group,
            is_shared,
            members_by_id: NameTable::of(group.members()),
            members: Vec::new(),
            other: Names::default(),
            other_numbers: NameTable::default(),
            spans: Vec::new(),
            ends: Vec::new(),
        }
    }

    /// Add a member; the partitions pushed next belong to it.
    pub fn push_member(&mut self, id: &str) {
        if !self.members.is_empty() {
            self.ends.push(self.spans.len());
        }
        self.members.push(self.members_by_id.number(self.group.members(), id));
    }

    /// Remove the partitions of the last added member.
    pub fn clear_member(&mut self) {
        self.spans.truncate(self.ends.last().copied().unwrap_or_default());
    }

    /// Return the number of a topic name; an unknown name gets a new number. `near` is a hint: it and its successor are tried
    /// first.
    pub fn topic_number(&mut self, name: &str, near: u32) -> u32 {
        let topics = self.group.topics().names();
        for guess in [near as usize, near as usize + 1] {
            if guess < topics.len() && topics.get(guess) == name {
                return guess as u32;
            }
        }
        if let Some(known) = self.group.known_topic_number(name) {
            return known;
        }
        let new = self.other.len() as u32;
        let number = self.other_numbers.number_or_insert(&self.other, name, new);
        if number == new {
            self.other.push(name);
        }
        (topics.len() + self.group.absent().len()) as u32 + number
    }

    /// Return the name of a number that `topic_number` returned.
    #[must_use]
    pub fn topic_name(&self, number: u32) -> &str {
        let (topics, absent) = (self.group.topics().names(), self.group.absent());
        let number = number as usize;
        if number < topics.len() {
            topics.get(number)
        } else if number < topics.len() + absent.len() {
            absent.get(number - topics.len())
        } else {
            self.other.get(number - topics.len() - absent.len())
        }
    }

    /// Add a partition to the last added member.
    #[inline]
    pub fn push(&mut self, topic: u32, id: i64) {
        self.push_span(IdSpan { topic, start: id, end: id + 1 });
    }

    /// Add a run of partitions to the last added member.
    #[inline]
    pub fn push_span(&mut self, span: IdSpan) {
        let first = self.ends.last().copied().unwrap_or_default();
        match self.spans[first..].last_mut() {
            Some(last) if last.topic == span.topic && last.end == span.start => last.end = span.end,
            _ => self.spans.push(span),
        }
    }

    /// Replace each partition id that is `first` or higher by the one that `id` returns for it.
    pub fn replace_ids(&mut self, first: i64, id: impl Fn(i64) -> i64) {
        for span in self.spans.iter_mut().filter(|span| span.start >= first) {
            span.start = id(span.start);
            span.end = span.start + 1;
        }
    }

    /// Check the assignment.
    #[must_use]
    pub fn check(&mut self) -> Findings {
        let mut findings = Findings::default();
        let ranks = self.ranks();
        let rank = |topic: u32| ranks.as_ref().map_or(topic, |ranks| ranks[topic as usize]);
        let mut start = 0;
        self.ends.push(self.spans.len());
        for (number, member) in (0..).zip(&self.members) {
            let end = self.ends[number as usize];
            let spans = &mut self.spans[start..end];
            sort(spans, |span| (rank(span.topic), span.start));
            if self.is_shared {
                push_twice_owned(spans, &mut findings.doubly_owned);
            }
            check_member(self.group, number, *member, spans, &mut findings);
            start = end;
        }
        self.ends.pop();
        self.check_topics(rank, &mut findings);
        findings
    }

    /// Return the place of each topic number in Java's order; None if all names are topics of the group, which are in that
    /// order.
    fn ranks(&self) -> Option<Vec<u32>> {
        let topics = self.group.topics().len();
        if self.spans.iter().all(|span| (span.topic as usize) < topics) {
            return None;
        }
        let count = (topics + self.group.absent().len() + self.other.len()) as u32;
        let mut order: Vec<u32> = (0..count).collect();
        order.sort_by(|left, right| java_order(self.topic_name(*left), self.topic_name(*right)));
        let mut ranks = vec![0; order.len()];
        for (rank, topic) in (0..).zip(order) {
            ranks[topic as usize] = rank;
        }
        Some(ranks)
    }

    /// Find partitions without an owner and partitions with several owners.
    fn check_topics(&self, rank: impl Fn(u32) -> u32, findings: &mut Findings) {
        let topics = self.group.topics();
        let is_subscribed = self.group.subscribed_topics();
        let numbers = topics.len() + self.group.absent().len() + self.other.len();
        let mut ends = vec![0; numbers + 1];
        for span in &self.spans {
            ends[span.topic as usize + 1] += 1;
        }
        for topic in 0..numbers {
            ends[topic + 1] += ends[topic];
        }
        // At first `ends` has the start of each topic's spans. Each written span advances it by one, until it is their
        // end.
        let mut of_topics = vec![(0, 0); self.spans.len()];
        for span in &self.spans {
            let place: &mut usize = &mut ends[span.topic as usize];
            of_topics[*place] = (span.start, span.end);
            *place += 1;
        }
        let mut first = 0;
        for topic in 0..numbers {
            let bounds = &mut of_topics[first..ends[topic]];
            first = ends[topic];
            sort(bounds, |bounds| *bounds);
            if !self.is_shared {
                push_doubly_owned(topic as u32, bounds, &mut findings.doubly_owned);
            }
            if topic < topics.len() && is_subscribed[topic] {
                push_unowned(topic as u32, bounds, &topics.partitions()[topic].ids, &mut findings.unowned);
            }
        }
        sort(&mut findings.doubly_owned, |span| (rank(span.topic), span.start));
        if self.is_shared {
            merge_overlapping(&mut findings.doubly_owned); // several members may have a partition twice
        }
    }
}

/// Sort values that are usually sorted already.
fn sort<T, K: Ord>(values: &mut [T], key: impl Fn(&T) -> K) {
    if !values.is_sorted_by_key(&key) {
        values.sort_by_key(key);
    }
}

/// Find the partitions that a member must not have; `spans` are in order and may overlap.
fn check_member(group: &Group, number: u32, member: Option<u32>, spans: &[IdSpan], findings: &mut Findings) {
    let wanted = member.map_or(&[][..], |member| group.subscriptions().get(group.subscription_of(member as usize)));
    let partitions = group.topics().partitions();
    let mut next = 0;
    for of_topic in spans.chunk_by(|left, right| left.topic == right.topic) {
        let topic = of_topic[0].topic;
        // Topics usually come in the order of the subscription.
        next = match wanted.get(next) {
            Some(found) if *found == topic => next,
            _ => wanted.partition_point(|found| *found < topic),
        };
        let is_wanted = wanted.get(next) == Some(&topic);
        next += usize::from(is_wanted);
        let mut reached = 0;
        for span in of_topic {
            let span = IdSpan { start: span.start.max(reached), ..*span };
            reached = span.end.max(reached);
            if span.start >= span.end {
                continue;
            }
            if !is_wanted {
                findings.not_subscribed.push((number, span));
            }
            match partitions.get(topic as usize).map(|partitions| &partitions.ids) {
                Some(ids) => each_unknown(span, ids, |span| findings.unknown.push((number, span))),
                None => findings.unknown.push((number, span)),
            }
        }
    }
}

/// Call `read` with the parts of a span whose ids do not exist.
fn each_unknown(span: IdSpan, ids: &Ids, mut read: impl FnMut(IdSpan)) {
    match ids {
        Ids::Count(count) => {
            let start = span.start.max(i64::from(*count));
            if start < span.end {
                read(IdSpan { start, ..span });
            }
        }
        Ids::Listed(listed) => {
            let mut start = span.start;
            let first = listed.partition_point(|id| i64::from(*id) < span.start);
            for id in listed[first..].iter().map(|id| i64::from(*id)).take_while(|id| *id < span.end) {
                if start < id {
                    read(IdSpan { start, end: id, ..span });
                }
                start = id + 1;
            }
            if start < span.end {
                read(IdSpan { start, ..span });
            }
        }
    }
}

/// Add the ids that are in more than one span; the spans are in order.
fn push_doubly_owned(topic: u32, bounds: &[(i64, i64)], found: &mut Vec<IdSpan>) {
    let (mut reached, mut reported) = (0, 0);
    for (start, end) in bounds {
        let (from, to) = ((*start).max(reported), (*end).min(reached));
        if from < to {
            found.push(IdSpan { topic, start: from, end: to });
            reported = to;
        }
        reached = reached.max(*end);
    }
}

/// Add the partitions that one member has more than once; its spans are in order.
fn push_twice_owned(spans: &[IdSpan], found: &mut Vec<IdSpan>) {
    for of_topic in spans.chunk_by(|left, right| left.topic == right.topic) {
        let bounds: Vec<(i64, i64)> = of_topic.iter().map(|span| (span.start, span.end)).collect();
        push_doubly_owned(of_topic[0].topic, &bounds, found);
    }
}

/// Merge spans that overlap; they are in order.
fn merge_overlapping(spans: &mut Vec<IdSpan>) {
    spans.dedup_by(|next, last| {
        let overlaps = next.topic == last.topic && next.start < last.end;
        if overlaps {
            last.end = last.end.max(next.end);
        }
        overlaps
    });
}

/// Add the existing ids that are in no span; the spans are in order.
fn push_unowned(topic: u32, bounds: &[(i64, i64)], ids: &Ids, found: &mut Vec<IdSpan>) {
    let mut reached = 0;
    for (start, end) in bounds.iter().copied().chain([(i64::MAX, i64::MAX)]) {
        if reached < start {
            push_existing(IdSpan { topic, start: reached, end: start }, ids, found);
        }
        reached = reached.max(end);
    }
}

/// Add the parts of a span whose ids exist.
fn push_existing(span: IdSpan, ids: &Ids, found: &mut Vec<IdSpan>) {
    match ids {
        Ids::Count(count) => {
            let end = span.end.min(i64::from(*count));
            if span.start < end {
                found.push(IdSpan { end, ..span });
            }
        }
        Ids::Listed(listed) => {
            let mut first = listed.partition_point(|id| i64::from(*id) < span.start);
            let last = listed.partition_point(|id| i64::from(*id) < span.end);
            while first < last {
                let stop = ids.end_of_run(first, last);
                found.push(IdSpan { start: i64::from(listed[first]), end: i64::from(listed[stop - 1]) + 1, ..span });
                first = stop;
            }
        }
    }
}
