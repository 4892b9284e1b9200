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
    // A topic id without a name can be the id of any topic without owners.
    let has_all_names =
        group.kind != GroupKind::Consumer || owned.iter().all(|(topic, _)| metadata.names.contains_key(*topic));
    let owned: FxHashSet<(&str, i32)> = owned.iter().map(|(topic, id)| (metadata.name(topic), *id)).collect();
    let without_owner = |(topic, Partitions { ids, .. }): (&String, &Partitions)| {
        let all = || (0..ids.len()).map(|at| ids.at(at));
        let is_owned = |id: &i32| owned.contains(&(topic.as_str(), *id));
        let is_known = has_all_names || all().any(|id| is_owned(&id));
        let free = all().filter(|id| is_known && !is_owned(id));
        free.map(|id| (topic.clone(), id)).collect::<Vec<_>>()
    };
    let known = wanted.into_iter().filter_map(|topic| last.topics.get_key_value(topic));
    let mut found: Vec<(String, i32)> = known.flat_map(without_owner).collect();
    found.sort_unstable();
    Some(found)
}
