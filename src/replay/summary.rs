//! Summary of the members of a group: their partitions, and the partitions that lack an owner or a committed offset.

use rustc_hash::FxHashSet;

use super::member::{RecordedMember, owned};
use super::metadata::Metadata;
use super::model::GroupKind;
use super::replayed_group::ReplayedGroup;
use crate::group::Partitions;

/// Summary of the members of a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberSummary {
    /// Topics with a partition that a member owns.
    pub topics: usize,
    /// Distinct partitions that the members own.
    pub partitions: usize,
    /// Sorted partitions of subscribed topics without an owner; None if the records are not sufficient.
    pub unowned: Option<Vec<(String, i32)>>,
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
    pub fn of(group: &ReplayedGroup, metadata: &Metadata) -> Self {
        let owned = owned(&group.members);
        let topics: FxHashSet<&str> = owned.iter().map(|(topic, _)| *topic).collect();
        let loads: Vec<usize> = group.members.iter().filter_map(load).collect();
        Self {
            topics: topics.len(),
            partitions: owned.len(),
            unowned: unowned(group, &owned, metadata),
            idle_members: loads.iter().filter(|load| **load == 0).count(),
            least_loaded: loads.iter().min().copied(),
            most_loaded: loads.iter().max().copied(),
        }
    }
}

/// Consecutive partition ids of one topic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span<'a> {
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
pub fn owned_spans<'a>(member: &'a RecordedMember, metadata: &'a Metadata) -> impl Iterator<Item = Span<'a>> {
    member.partitions.iter().flatten().flat_map(|(topic, ids)| {
        let topic = metadata.name(topic);
        let spans = ids.chunk_by(|left, right| left.checked_add(1) == Some(*right));
        spans.map(move |span| Span { topic, start: span[0], count: span.len() })
    })
}

/// Return sorted partitions as spans.
pub fn spans_of<T: AsRef<str>>(partitions: &[(T, i32)]) -> impl Iterator<Item = Span<'_>> {
    let is_next = |left: &(T, i32), right: &(T, i32)| {
        left.0.as_ref() == right.0.as_ref() && left.1.checked_add(1) == Some(right.1)
    };
    let spans = partitions.chunk_by(is_next);
    spans.map(|span| Span { topic: span[0].0.as_ref(), start: span[0].1, count: span.len() })
}

fn unowned(group: &ReplayedGroup, owned: &FxHashSet<(&str, i32)>, metadata: &Metadata) -> Option<Vec<(String, i32)>> {
    let last = metadata.snapshots.last()?;
    if group.members.is_empty() || !matches!(group.kind, GroupKind::Classic | GroupKind::Consumer) {
        return None;
    }
    let mut wanted: FxHashSet<&String> = FxHashSet::default();
    for member in &group.members {
        member.partitions.as_ref()?;
        wanted.extend(member.topics.as_ref().filter(|_| member.pattern.is_none())?);
    }
    let owned: FxHashSet<(&str, i32)> = owned.iter().map(|(topic, id)| (metadata.name(topic), *id)).collect();
    let without_owner = |(topic, Partitions { ids, .. }): (&String, &Partitions)| {
        let free = (0..ids.len()).map(|at| ids.at(at)).filter(|id| !owned.contains(&(topic.as_str(), *id)));
        free.map(|id| (topic.clone(), id)).collect::<Vec<_>>()
    };
    let known = wanted.into_iter().filter_map(|topic| last.topics.get_key_value(topic));
    let mut found: Vec<(String, i32)> = known.flat_map(without_owner).collect();
    found.sort_unstable();
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::super::metadata::MetadataSnapshot;
    use super::super::state::GroupState;
    use super::*;
    use crate::replay::replayed_group::replayed;

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

    fn state(kind: GroupKind, members: Vec<RecordedMember>) -> ReplayedGroup {
        ReplayedGroup { kind, members, ..replayed(&GroupState::new("c".into(), "g".into())) }
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
        let unowned =
            |kind, members| MemberSummary::of(&state(kind, members), &known).unowned.map(|unowned| unowned.len());

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

    #[test]
    fn spans_end_at_gaps_and_have_topic_names() {
        let mut known = Metadata::default();
        known.names.insert("id".into(), "t".into());

        let member = member(None, Some(&[("id", &[0, 1, 3]), ("u", &[i32::MAX])]));

        let found: Vec<_> = owned_spans(&member, &known).map(|span| (span.topic, span.start, span.count)).collect();
        assert_eq!(vec![("t", 0, 2), ("t", 3, 1), ("u", i32::MAX, 1)], found);
    }
}
