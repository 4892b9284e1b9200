//! Causes of a rebalance that are changes of topics: created, deleted, or with more partitions.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::difference::{Difference, GroupRecord};
use super::events::Partition;
use super::known_member::largest_ids;
use super::metadata::{Metadata, MetadataSnapshot};

/// Pairs of a list of causes and the sentence with the evidence for them.
type Found = Vec<(Vec<&'static str>, String)>;

const CREATED: &str = "topic_created";
const DELETED: &str = "topic_deleted";
const INCREASED: &str = "partitions_increased";
const LEADER: &str = "leader_rejoined";

/// Return the changes of topics that a classic generation shows; the leader joins again after each of them.
pub(super) fn classic_topic_causes(
    before: &GroupRecord,
    after: &GroupRecord,
    changes: &Difference,
    highest: &BTreeMap<Arc<str>, i32>,
    metadata: &Metadata,
) -> Found {
    let mut found = subscribed_topics(before, changes, metadata);
    let (Some(had), Some(has)) = (assigned_topics(before), assigned_topics(after)) else { return found };
    if has.is_empty() && metadata.snapshots.is_empty() {
        return found;
    }
    let (old_topics, new_topics) = (before.topics().unwrap_or_default(), after.topics().unwrap_or_default());
    let owned = after.members.values().flat_map(|member| largest_ids(&member.owned));
    let owned: BTreeSet<&str> = owned.map(|(topic, _)| &**topic).collect();
    for topic in old_topics.intersection(&new_topics) {
        let existed = exists(metadata, topic, before.at);
        match (has.get(topic), highest.get(*topic)) {
            (Some(largest), Some(highest)) => {
                if largest != highest && is_renewed(metadata, topic, before.at, after.at) {
                    let text = format!("Topic '{topic}' was deleted and created again.");
                    found.push((vec![DELETED, CREATED, LEADER], text));
                } else if largest > highest {
                    let text =
                        format!("Topic '{topic}' has partition {largest}; the highest one before was {highest}.");
                    found.push((vec![INCREASED, LEADER], text));
                }
            }
            (Some(_), None) => {
                if existed != Some(true) && (!had.is_empty() || existed == Some(false)) {
                    let text = format!("Topic '{topic}' has partitions for the first time.");
                    found.push((vec![CREATED, LEADER], text));
                }
            }
            (None, _) => {
                if had.contains_key(topic) && is_gone(metadata, topic, after.at, owned.contains(topic)) {
                    found.push((vec![DELETED, LEADER], format!("Topic '{topic}' has no partitions any more.")));
                }
            }
        }
    }
    found
}

/// Return those topics that were deleted between two group records, whether or not they were created again.
pub(super) fn ended_topics<'a>(
    topics: impl Iterator<Item = &'a Arc<str>>,
    before: &GroupRecord,
    after: &GroupRecord,
    metadata: &Metadata,
) -> Vec<Arc<str>> {
    let is_renewed = |topic: &str| is_renewed(metadata, topic, before.at, after.at);
    let mut found: Vec<Arc<str>> =
        topics.filter(|topic| is_renewed(topic) || is_gone(metadata, topic, after.at, true)).cloned().collect();
    // The partitions are read only if a topic may have been deleted, because there can be many.
    if !found.is_empty() {
        let Some(has) = assigned_topics(after) else { return Vec::new() };
        found.retain(|topic| is_renewed(topic) || !has.contains_key(&**topic));
    }
    found
}

/// Return true if the id of a topic differs between two times. An unknown id does not count.
fn is_renewed<'a>(metadata: &'a Metadata, topic: &str, before: i64, after: i64) -> bool {
    let id = |snapshot: &'a MetadataSnapshot| snapshot.topic_ids.get(topic).filter(|id| !id.is_empty());
    let (old, new) = (metadata.around(before).next().and_then(id), metadata.around(after).last().and_then(id));
    old.is_some() && new.is_some() && old != new
}

/// Return the topics of the assigned partitions with their largest ids; None if an assignment cannot be read.
fn assigned_topics(record: &GroupRecord) -> Option<BTreeMap<&str, i32>> {
    let mut found: BTreeMap<&str, i32> = BTreeMap::new();
    for member in record.members.values() {
        for (topic, id) in largest_ids(member.assigned.as_ref()?) {
            found.entry(topic).and_modify(|largest| *largest = (*largest).max(id)).or_insert(id);
        }
    }
    Some(found)
}

/// Return the topics that appeared in subscriptions when they were created, or disappeared when they were deleted.
/// Subscriptions change in this way if clients match patterns.
///
/// Topic metadata shows whether a topic existed. Without it, a topic counts only if the subscriptions of all members changed in the
/// same way and there are several members: a single member may have changed its subscription itself.
fn subscribed_topics(before: &GroupRecord, changes: &Difference, metadata: &Metadata) -> Found {
    let mut added: Vec<BTreeSet<&str>> = Vec::new();
    let mut removed: Vec<BTreeSet<&str>> = Vec::new();
    for (old, new) in changes.both() {
        let (Some(old), Some(new)) = (&old.topics, &new.topics) else { return Found::new() };
        if old == new {
            added.push(BTreeSet::new());
            removed.push(BTreeSet::new());
            continue;
        }
        let [old, new] = [old, new].map(|topics| topics.iter().map(String::as_str).collect::<BTreeSet<&str>>());
        added.push(&new - &old);
        removed.push(&old - &new);
    }
    let leader = changes.changed().iter().any(|(old, _)| before.leader.as_deref() == Some(&*old.id));
    let leader: &[&str] = if leader { &[LEADER] } else { &[] };
    let mut found = Found::new();
    for (topics, name, expected) in [(&added, CREATED, false), (&removed, DELETED, true)] {
        let all: BTreeSet<&str> = topics.iter().flatten().copied().collect();
        for topic in all {
            let existed = exists(metadata, topic, before.at);
            let is_general = topics.len() > 1 && topics.iter().all(|each| each.contains(topic));
            if !(existed == Some(expected) || (existed.is_none() && is_general)) {
                continue;
            }
            if name == CREATED {
                found.push(([&[name], leader].concat(), format!("Topic '{topic}' appeared in subscriptions.")));
            } else if is_missing_later(metadata, topic, before.at) {
                found.push(([&[name], leader].concat(), format!("Topic '{topic}' disappeared from subscriptions.")));
            }
        }
    }
    found
}

/// Return true if a snapshot after a time lacks a topic, or if there is no such snapshot.
fn is_missing_later(metadata: &Metadata, topic: &str, time: i64) -> bool {
    let mut later = metadata.snapshots.iter().rev().take_while(|snapshot| snapshot.time > time).peekable();
    later.peek().is_none() || later.any(|snapshot| !snapshot.topics.contains_key(topic))
}

/// Return true if the last snapshot at or before a time has a topic; None if there is no such snapshot.
fn exists(metadata: &Metadata, topic: &str, time: i64) -> Option<bool> {
    let after = metadata.snapshots.partition_point(|snapshot| snapshot.time <= time);
    after.checked_sub(1).map(|last| metadata.snapshots[last].topics.contains_key(topic))
}

/// Return true if a topic without assigned partitions was deleted.
///
/// A cooperative assignor may withhold the partitions of an existing topic. So without topic metadata, a topic that a member owned does
/// not count as deleted.
fn is_gone(metadata: &Metadata, topic: &str, time: i64, is_owned: bool) -> bool {
    let mut around = metadata.around(time).peekable();
    if around.peek().is_none() {
        return !is_owned;
    }
    around.any(|snapshot| !snapshot.topics.contains_key(topic))
}

/// Return the changes of topics that the records of a group with an epoch show.
pub(super) fn epoch_topic_causes(before: &GroupRecord, after: &GroupRecord, metadata: &Metadata) -> Found {
    let mut found = resolved_topics(before, after);
    if before.initialized != after.initialized {
        found.push((
            vec!["partitions_initialized"],
            "The set of partitions with initialized share state changed.".to_owned(),
        ));
    }
    if before.sources.is_some() && after.sources.is_some() && before.sources != after.sources {
        found.push((vec!["subscription_changed"], "The topology has other source topics.".to_owned()));
    }
    if let (Some(old), Some(new)) = (&before.counts, &after.counts) {
        let [old, new] =
            [old, new].map(|counts| counts.iter().map(|(topic, count)| (topic.as_str(), i64::from(*count))));
        found.extend(counted_topics(&old.collect(), &new.collect(), before.topics().as_ref(), after.topics().as_ref()));
        return found;
    }
    let (Some(old), Some(new)) = (before.metadata_hash, after.metadata_hash) else { return found };
    let topics = after.topics();
    if old == new || !found.is_empty() || topics.is_none() || before.topics() != topics {
        return found;
    }
    let topics = topics.unwrap_or_default();
    let counts = |snapshot: &MetadataSnapshot| {
        let known = topics.iter().filter_map(|topic| snapshot.topics.get_key_value(*topic));
        known.map(|(topic, partitions)| (topic.clone(), partitions.ids.len() as i64)).collect::<BTreeMap<_, _>>()
    };
    if let (Some(first), Some(last)) = (metadata.around(before.at).next(), metadata.around(after.at).last()) {
        let (old, mut new) = (counts(first), counts(last));
        // A topic that a pattern matched at the previous record was created before that record and explains an earlier
        // epoch.
        new.retain(|topic, _| old.contains_key(topic) || !before.resolved.values().flatten().any(|each| each == topic));
        let [old, new] = [&old, &new].map(|counts| counts.iter().map(|(topic, count)| (topic.as_str(), *count)));
        let changes = counted_topics(&old.collect(), &new.collect(), None, None);
        if !changes.is_empty() {
            return changes;
        }
        let renewed = topics.iter().filter(|topic| is_renewed(metadata, topic, before.at, after.at));
        let renewed =
            renewed.map(|topic| (vec![DELETED, CREATED], format!("Topic '{topic}' was deleted and created again.")));
        let renewed: Found = renewed.collect();
        if !renewed.is_empty() {
            return renewed;
        }
        let has_moved = |topic: &&str| match (first.topics.get(*topic), last.topics.get(*topic)) {
            (Some(old), Some(new)) => old.racks != new.racks,
            _ => false,
        };
        let moved: Vec<&str> = topics.into_iter().filter(has_moved).collect();
        if !moved.is_empty() {
            return vec![(vec![], format!("The racks of the replicas of {} changed.", moved.join(", ")))];
        }
    }
    vec![(vec![INCREASED, CREATED, DELETED], "The hash of the topic metadata changed.".to_owned())]
}

/// Return the changes of the topics that the broker found for patterns that members use.
fn resolved_topics(before: &GroupRecord, after: &GroupRecord) -> Found {
    let mut found = Found::new();
    let patterns: BTreeSet<&str> = after.members.values().filter_map(|member| member.pattern.as_deref()).collect();
    for pattern in patterns {
        let Some(new) = after.resolved.get(pattern) else { continue };
        let Some(old) = before.resolved.get(pattern) else {
            let text = format!("The broker found {} topics for pattern '{pattern}'.", new.len());
            found.push((vec!["subscription_changed"], text));
            continue;
        };
        let [old, new] = [old, new].map(|topics| topics.iter().map(String::as_str).collect::<BTreeSet<&str>>());
        for (name, topics, verb) in [(CREATED, &new - &old, "now matches"), (DELETED, &old - &new, "no longer matches")]
        {
            if !topics.is_empty() {
                let topics: Vec<&str> = topics.into_iter().collect();
                found.push((vec![name], format!("Pattern '{pattern}' {verb} {}.", topics.join(", "))));
            }
        }
    }
    found
}

/// Compare the numbers of partitions by topic at two times; return the causes that explain the differences.
///
/// A new topic counts as created only if it is in `before`, the topics that members subscribed to before. A missing topic counts as
/// deleted only if it is in `now`, the topics that members subscribe to now. If a set is None, all topics count.
fn counted_topics(
    old: &BTreeMap<&str, i64>,
    new: &BTreeMap<&str, i64>,
    before: Option<&BTreeSet<&str>>,
    now: Option<&BTreeSet<&str>>,
) -> Found {
    let is_in = |topics: Option<&BTreeSet<&str>>, topic: &str| topics.is_none_or(|topics| topics.contains(topic));
    let mut found = Found::new();
    let topics: BTreeSet<&str> = old.keys().chain(new.keys()).copied().collect();
    for topic in topics {
        let (name, text) = match (old.get(topic), new.get(topic)) {
            (None, Some(new)) if is_in(before, topic) => {
                (CREATED, format!("Topic '{topic}' was created with {new} partitions."))
            }
            (Some(_), None) if is_in(now, topic) => (DELETED, format!("Topic '{topic}' was deleted.")),
            (Some(old), Some(new)) if new > old => {
                (INCREASED, format!("Topic '{topic}' has {new} partitions instead of {old}."))
            }
            (Some(old), Some(new)) if new < old => {
                (CREATED, format!("Topic '{topic}' was created again with {new} partitions."))
            }
            _ => continue,
        };
        found.push((vec![name], text));
    }
    found
}

/// Return the partitions of subscribed topics without an owner; None if the topics or the metadata are not known.
///
/// A partition counts only if it exists in the last snapshot before the time and in the first one after it. If a topic id of the owners
/// has no name, it can be the id of any topic without owners, so such topics do not count.
pub(super) fn unowned(
    owners: &FxHashMap<Partition, Arc<str>>,
    topics: Option<&BTreeSet<Arc<str>>>,
    time: i64,
    has_all_names: bool,
    metadata: &Metadata,
) -> Option<Vec<Partition>> {
    let topics = topics?;
    let around: Vec<&MetadataSnapshot> = metadata.around(time).collect();
    let first = *around.first()?;
    let mut found = Vec::new();
    for topic in topics {
        let Some(partitions) = first.topics.get(&**topic) else { continue };
        let mut keys = (0..partitions.ids.len()).map(|at| (Arc::clone(topic), partitions.ids.at(at)));
        if !has_all_names && !keys.any(|key| owners.contains_key(&key)) {
            continue;
        }
        for at in 0..partitions.ids.len() {
            let key = (Arc::clone(topic), partitions.ids.at(at));
            let exists = |snapshot: &&MetadataSnapshot| {
                snapshot.topics.get(&**topic).is_some_and(|found| found.ids.position(key.1).is_some())
            };
            if around[1..].iter().all(exists) && !owners.contains_key(&key) {
                found.push(key);
            }
        }
    }
    found.sort_unstable();
    Some(found)
}
