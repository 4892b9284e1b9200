//! Summary of a group's history: counts, rebalances and comparisons.
//!
//! Each generation or epoch is compared with the answer of its assignor, if that is one of Kafka's. The summary is updated with one
//! generation after another and stores none of them.

use rustc_hash::FxHashSet;

use crate::assign::{Assignor, GroupProtocol};
use crate::group::Partitions;
use crate::replay::{Generation, GroupKind, History, RecordedMember, owned};

mod assignment;
mod busiest_minute;
mod compare;
mod explanation;
mod leader;
mod metadata;

pub use busiest_minute::BusiestMinute;
pub use compare::{Comparison, ComparisonOutcome, compare, compare_target};
pub use metadata::{Metadata, MetadataSnapshot};

/// Number of compared generations, by outcome.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OutcomeCounts {
    /// Generations with equal assignments.
    pub equal: usize,
    /// Generations with different assignments.
    pub different: usize,
    /// Generations that are not compared because a member cannot be parsed.
    pub unknown: usize,
}

impl OutcomeCounts {
    fn add(&mut self, outcome: ComparisonOutcome) {
        match outcome {
            ComparisonOutcome::Equal => self.equal += 1,
            ComparisonOutcome::Different => self.different += 1,
            ComparisonOutcome::Unknown => self.unknown += 1,
        }
    }
}

/// Summary of the generations of a group.
#[derive(Debug, Clone, Default)]
pub struct GenerationSummary {
    /// Number of rebalances: the group records with another generation or another kind of group than the record before.
    ///
    /// Generation 0, which belongs to a new group, does not count. A second record of the same generation does not count either; a
    /// restart of a static member causes such a record.
    pub rebalances: usize,
    /// Highest number of generations of a classic group with unchanged membership within one minute.
    pub busiest_minute: BusiestMinute,
    /// Comparisons with range of the classic protocol.
    pub range: OutcomeCounts,
    /// Comparisons with any assignor.
    pub all: OutcomeCounts,
    last: Option<(GroupKind, i32)>,
}

impl GenerationSummary {
    /// Add the next complete generation, and compare it if its assignor is one of Kafka's.
    pub fn add(&mut self, generation: &Generation, metadata: &Metadata) -> Option<Comparison> {
        let number = (generation.kind, generation.generation);
        self.rebalances += usize::from(number.1 > 0 && self.last != Some(number));
        if generation.kind == GroupKind::Classic && generation.same_members {
            self.busiest_minute.add(generation.timestamp);
        }
        let comparison = compare_generation(generation, self.last.map(|(_, before)| before), metadata);
        self.last = Some(number);
        if let Some(found) = &comparison {
            self.all.add(found.outcome);
            if found.assignor == Assignor::Range {
                self.range.add(found.outcome);
            }
        }
        comparison
    }
}

/// Compare a generation or epoch with the answer of its assignor; `before` is the generation of the group record before it.
#[must_use]
pub fn compare_generation(generation: &Generation, before: Option<i32>, metadata: &Metadata) -> Option<Comparison> {
    if let Some(target) = &generation.target {
        return compare_target(target, metadata);
    }
    let assignor = Assignor::named(GroupProtocol::Classic, generation.protocol.as_ref()?)?;
    // A record that repeats a generation also repeats its assignment, which was computed for the earlier record. Only range
    // is compared again.
    if assignor != Assignor::Range && before == Some(generation.generation) {
        return None;
    }
    let members = generation.parsed_members.as_ref()?;
    compare(assignor, members, generation.leader.as_deref(), generation.timestamp, metadata)
}

/// Summary of the members of a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberSummary {
    /// Topics with a partition that a member owns.
    pub topics: usize,
    /// Distinct partitions that the members own.
    pub partitions: usize,
    /// Partitions of subscribed topics without an owner; None if the records are not sufficient.
    pub unowned: Option<usize>,
    /// Members without partitions.
    pub idle_members: usize,
    /// Partitions of the least loaded member; None if no member's assignment can be parsed.
    pub least_loaded: Option<usize>,
    /// Partitions of the most loaded member.
    pub most_loaded: Option<usize>,
}

impl MemberSummary {
    /// Summarize the members of a group.
    #[must_use]
    pub fn of(state: &History, metadata: &Metadata) -> Self {
        let owned = owned(&state.members);
        let topics: FxHashSet<&str> = owned.iter().map(|(topic, _)| *topic).collect();
        let loads: Vec<usize> = state.members.iter().filter_map(load).collect();
        Self {
            topics: topics.len(),
            partitions: owned.len(),
            unowned: unowned(state, &owned, metadata),
            idle_members: loads.iter().filter(|load| **load == 0).count(),
            least_loaded: loads.iter().min().copied(),
            most_loaded: loads.iter().max().copied(),
        }
    }
}

/// Consecutive partition ids of one topic that a member owns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordedSpan<'a> {
    /// The topic's name, or its id if the metadata does not have the name.
    pub topic: &'a str,
    /// The first id.
    pub start: i32,
    /// The number of ids.
    pub count: usize,
}

/// Count the partitions of a member; None if its assignment cannot be read.
#[must_use]
pub fn load(member: &RecordedMember) -> Option<usize> {
    member.partitions.as_ref().map(|partitions| partitions.values().map(Vec::len).sum())
}

/// Return the spans that a member owns, with topic names instead of ids if the metadata has them.
pub fn owned_spans<'a>(member: &'a RecordedMember, metadata: &'a Metadata) -> impl Iterator<Item = RecordedSpan<'a>> {
    member.partitions.iter().flatten().flat_map(|(topic, ids)| {
        let topic = metadata.name(topic);
        let spans = ids.chunk_by(|left, right| left.checked_add(1) == Some(*right));
        spans.map(move |span| RecordedSpan { topic, start: span[0], count: span.len() })
    })
}

fn unowned(state: &History, owned: &FxHashSet<(&str, i32)>, metadata: &Metadata) -> Option<usize> {
    let last = metadata.snapshots.last()?;
    if state.members.is_empty() || !matches!(state.kind, GroupKind::Classic | GroupKind::Consumer) {
        return None;
    }
    let mut wanted: FxHashSet<&String> = FxHashSet::default();
    for member in &state.members {
        member.partitions.as_ref()?;
        wanted.extend(member.topics.as_ref().filter(|_| member.pattern.is_none())?);
    }
    let owned: FxHashSet<(&str, i32)> = owned.iter().map(|(topic, id)| (metadata.name(topic), *id)).collect();
    let without_owner = |(topic, Partitions { ids, .. }): (&String, &Partitions)| {
        (0..ids.len()).filter(|at| !owned.contains(&(topic.as_str(), ids.at(*at)))).count()
    };
    Some(wanted.into_iter().filter_map(|topic| last.topics.get_key_value(topic)).map(without_owner).sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(topics: Option<&[&str]>, partitions: Option<&[(&str, &[i32])]>) -> RecordedMember {
        let has = |listed: &[(&str, &[i32])]| listed.iter().map(|(name, ids)| ((*name).into(), ids.to_vec())).collect();
        RecordedMember {
            id: "a".into(),
            instance_id: None,
            client_id: "c".into(),
            client_host: "/h".into(),
            rack: None,
            topics: topics.map(|names| names.iter().map(ToString::to_string).collect()),
            pattern: None,
            partitions: partitions.map(has),
        }
    }

    fn state(kind: GroupKind, members: Vec<RecordedMember>) -> History {
        History {
            kind,
            state: "Stable",
            protocol: None,
            generation: Some(1),
            members,
            committed_offsets: 0,
            bad_records: 0,
        }
    }

    fn generation(kind: GroupKind, generation: i32, timestamp: i64, same_members: bool) -> Generation {
        Generation {
            offset: 0,
            timestamp,
            kind,
            generation,
            protocol_type: None,
            protocol: None,
            leader: None,
            members: 0,
            partitions: 0,
            same_members,
            parsed_members: None,
            target: None,
        }
    }

    fn metadata(topics: &[(&str, u32)]) -> Metadata {
        let topics = topics.iter().map(|(name, count)| ((*name).into(), Partitions::counted(*count)));
        Metadata {
            snapshots: vec![MetadataSnapshot { topics: topics.collect(), ..MetadataSnapshot::default() }],
            ..Metadata::default()
        }
    }

    #[test]
    fn partitions_without_an_owner_are_counted_if_all_members_can_be_parsed() {
        let known = metadata(&[("t", 4), ("u", 2), ("other", 9)]);
        let some = member(Some(&["t", "missing"]), Some(&[("t", &[0, 3]), ("stale", &[1])]));
        let unowned = |kind, members| MemberSummary::of(&state(kind, members), &known).unowned;

        assert_eq!(Some(2), unowned(GroupKind::Classic, vec![some.clone()]));
        assert_eq!(Some(4), unowned(GroupKind::Consumer, vec![some.clone(), member(Some(&["u"]), Some(&[]))]));
        assert_eq!(None, unowned(GroupKind::Share, vec![some.clone()]));
        assert_eq!(None, unowned(GroupKind::Classic, vec![]));
        assert_eq!(None, unowned(GroupKind::Classic, vec![some.clone(), member(None, Some(&[]))]));
        assert_eq!(None, unowned(GroupKind::Classic, vec![some.clone(), member(Some(&["t"]), None)]));
        assert_eq!(None, MemberSummary::of(&state(GroupKind::Classic, vec![some]), &Metadata::default()).unowned);
    }

    #[test]
    fn only_members_that_can_be_parsed_have_a_load() {
        let members =
            vec![member(None, Some(&[("t", &[0, 1]), ("u", &[0])])), member(None, Some(&[])), member(None, None)];

        let found = MemberSummary::of(&state(GroupKind::Classic, members), &Metadata::default());

        assert_eq!((2, 3), (found.topics, found.partitions));
        assert_eq!((1, Some(0), Some(3)), (found.idle_members, found.least_loaded, found.most_loaded));
    }

    fn summary(generations: impl IntoIterator<Item = Generation>) -> GenerationSummary {
        let mut summary = GenerationSummary::default();
        for generation in generations {
            assert_eq!(None, summary.add(&generation, &Metadata::default()));
        }
        summary
    }

    #[test]
    fn neither_a_new_group_nor_a_static_restart_is_a_rebalance() {
        let generation = |(kind, number): &(GroupKind, i32)| generation(*kind, *number, 0, false);
        let count = |log: &[(GroupKind, i32)]| summary(log.iter().map(generation)).rebalances;
        let (classic, consumer) = (GroupKind::Classic, GroupKind::Consumer);

        assert_eq!(0, count(&[]));
        assert_eq!(2, count(&[(classic, 0), (classic, 1), (classic, 1), (classic, 2)]));
        assert_eq!(2, count(&[(classic, 7), (consumer, 7)]));
        assert_eq!(2, count(&[(classic, 1), (classic, 0), (classic, 1)]));
    }

    #[test]
    fn only_classic_generations_with_unchanged_membership_count_for_the_busiest_minute() {
        let (classic, consumer) = (GroupKind::Classic, GroupKind::Consumer);
        let log = [(classic, true), (classic, false), (consumer, true), (classic, true)];

        let found = summary(log.map(|(kind, same_members)| generation(kind, 1, 0, same_members)));

        assert_eq!(2, found.busiest_minute.most());
    }

    #[test]
    fn spans_end_at_gaps_and_have_topic_names() {
        let mut known = Metadata::default();
        known.names.insert("id".into(), "t".into());

        let member = member(None, Some(&[("id", &[0, 1, 3]), ("u", &[i32::MAX])]));

        let found: Vec<_> = owned_spans(&member, &known).map(|span| (span.topic, span.start, span.count)).collect();
        assert_eq!(vec![("t", 0, 2), ("t", 3, 1), ("u", i32::MAX, 1)], found);
    }
}
