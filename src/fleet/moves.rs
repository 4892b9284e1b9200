//! Moves of partitions from a current assignment to a plan.

use rustc_hash::FxHashMap;

use super::owned::OwnedSpan;
use crate::group::java_order;
use crate::plan::Plan;

/// Run of partitions that moves from one member to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Move<'a> {
    /// The topic.
    pub topic: &'a str,
    /// The first id.
    pub start: i32,
    /// The number of ids.
    pub count: i32,
    /// The current owner, if any.
    pub from: Option<&'a str>,
    /// The new owner, if any.
    pub to: Option<&'a str>,
}

/// The first id, one past the last, and the owner.
type OwnedRun<'a> = (i64, i64, &'a str);

/// Return the moves, by topic in Java's order and then by id. Spans of `current` may be in any order and may overlap.
///
/// If several members own a partition, all of them except the new owner give it up. In the plan of a share group, where a partition may have
/// several new owners, the members that lose it and those that gain it are paired in the order of their ids; the other ones of the
/// longer list have moves of their own, without a new or a current owner.
#[must_use]
pub fn moves<'a>(current: &[OwnedSpan<'a>], plan: &'a Plan) -> Vec<Move<'a>> {
    let mut of_topics: FxHashMap<&str, (Vec<OwnedRun<'a>>, Vec<OwnedRun<'a>>)> = FxHashMap::default();
    for span in current {
        let start = i64::from(span.start);
        let run = (start, start + i64::from(span.count), span.member);
        of_topics.entry(span.topic).or_default().0.push(run);
    }
    for (number, topic) in (0..).zip(plan.topics().iter()) {
        let spans = plan.owners_of(number);
        let runs = spans
            .iter()
            .map(|(span, member)| (i64::from(span.start), span.end(), plan.members().get(*member as usize)));
        if !spans.is_empty() {
            of_topics.entry(topic).or_default().1.extend(runs);
        }
    }
    let mut of_topics: Vec<_> = of_topics.into_iter().collect();
    of_topics.sort_unstable_by(|(left, _), (right, _)| java_order(left, right));
    let mut found = Vec::new();
    for (topic, (mut before, after)) in of_topics {
        before.sort_unstable_by_key(|(start, end, _)| (*start, *end));
        if plan.is_shared() {
            sweep_shared(topic, &before, &after, &mut found);
        } else {
            sweep(topic, &before, &after, &mut found);
        }
    }
    found
}

/// Find the moves of a topic in one pass over its ids. Runs are ordered by start; those of `after` do not overlap.
fn sweep<'a>(topic: &'a str, before: &[OwnedRun<'a>], after: &[OwnedRun<'a>], found: &mut Vec<Move<'a>>) {
    let mut edges: Vec<i64> = before.iter().chain(after).flat_map(|(start, end, _)| [*start, *end]).collect();
    edges.sort_unstable();
    edges.dedup();
    let (mut next_before, mut next_after) = (0, 0);
    let mut holders: Vec<OwnedRun<'a>> = Vec::new();
    // Moves that may be extended by the next run.
    let mut open: Vec<usize> = Vec::new();
    for edge in edges.windows(2) {
        let (start, end) = (edge[0], edge[1]);
        holders.retain(|(_, until, _)| *until > start);
        while before.get(next_before).is_some_and(|(begin, ..)| *begin <= start) {
            holders.push(before[next_before]);
            next_before += 1;
        }
        while after.get(next_after).is_some_and(|(_, until, _)| *until <= start) {
            next_after += 1;
        }
        let to = after.get(next_after).filter(|(begin, ..)| *begin <= start).map(|(.., member)| *member);
        let mut givers: Vec<Option<&str>> = holders.iter().map(|(.., member)| Some(*member)).collect();
        givers.sort_unstable();
        givers.dedup();
        if givers.is_empty() {
            givers.push(None);
        }
        let changes = givers.into_iter().filter(|from| *from != to).map(|from| (from, to));
        open = extend(topic, (start, end), changes, &open, found);
    }
}

/// Add the moves of a range of ids, given by previous and new owner, or extend those of the range before it, which are `open`; return
/// the moves that the next range may extend.
fn extend<'a>(
    topic: &'a str,
    (start, end): (i64, i64),
    changes: impl Iterator<Item = (Option<&'a str>, Option<&'a str>)>,
    open: &[usize],
    found: &mut Vec<Move<'a>>,
) -> Vec<usize> {
    let mut still_open = Vec::new();
    for (from, to) in changes {
        // The count of a move must fit into an int32, so a move of all possible ids is split.
        let whole = |run: &Move<'_>| i32::try_from(end - i64::from(run.start)).ok();
        let same = open.iter().copied().find(|number| (found[*number].from, found[*number].to) == (from, to));
        let same = same.and_then(|number| Some((number, whole(&found[number])?)));
        let number = same.map_or(found.len(), |(number, _)| number);
        match same {
            Some((number, count)) => found[number].count = count,
            None => found.push(Move { topic, start: start as i32, count: (end - start) as i32, from, to }),
        }
        still_open.push(number);
    }
    still_open
}

/// Find the moves of a topic whose partitions may have several owners before and after. Runs are ordered by start.
fn sweep_shared<'a>(topic: &'a str, before: &[OwnedRun<'a>], after: &[OwnedRun<'a>], found: &mut Vec<Move<'a>>) {
    let mut edges: Vec<i64> = before.iter().chain(after).flat_map(|(start, end, _)| [*start, *end]).collect();
    edges.sort_unstable();
    edges.dedup();
    let mut holders = [Holders::new(before), Holders::new(after)];
    let mut open: Vec<usize> = Vec::new();
    for edge in edges.windows(2) {
        let [old, new] = holders.each_mut().map(|holders| holders.at(edge[0]));
        let mut givers = old.iter().copied().filter(|member| new.binary_search(member).is_err());
        let mut takers = new.iter().copied().filter(|member| old.binary_search(member).is_err());
        let changes = std::iter::from_fn(|| match (givers.next(), takers.next()) {
            (None, None) => None,
            change => Some(change),
        });
        let mut changes: Vec<_> = changes.collect();
        changes.sort_unstable();
        open = extend(topic, (edge[0], edge[1]), changes.into_iter(), &open, found);
    }
}

/// Members that have an id, in one pass over ascending ids.
struct Holders<'r, 'a> {
    runs: &'r [OwnedRun<'a>],
    current: Vec<OwnedRun<'a>>,
}

impl<'r, 'a> Holders<'r, 'a> {
    fn new(runs: &'r [OwnedRun<'a>]) -> Self {
        Self { runs, current: Vec::new() }
    }

    /// Return the members that have an id, in order.
    fn at(&mut self, id: i64) -> Vec<&'a str> {
        self.current.retain(|(_, until, _)| *until > id);
        let new = self.runs.partition_point(|(begin, ..)| *begin <= id);
        self.current.extend(self.runs[..new].iter().filter(|(_, until, _)| *until > id));
        self.runs = &self.runs[new..];
        let mut members: Vec<&str> = self.current.iter().map(|(.., member)| *member).collect();
        members.sort_unstable();
        members.dedup();
        members
    }
}
