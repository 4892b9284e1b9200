//! Difference between two consecutive group records.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rustc_hash::{FxBuildHasher, FxHashMap};

use super::events::Partition;
use super::known_member::KnownMember;
use super::model::GroupKind;

/// Members by id.
pub(super) type Members = BTreeMap<Arc<str>, Arc<KnownMember>>;

/// State of a group at a group record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct GroupRecord {
    pub(super) kind: GroupKind,
    pub(super) generation: i32,
    pub(super) at: i64,
    /// Time at which the generation began: the end of the join phase in a classic group, `at` in a group with an epoch.
    pub(super) began: i64,
    pub(super) protocol_type: Option<String>,
    pub(super) protocol: Option<String>,
    pub(super) leader: Option<String>,
    pub(super) members: Members,
    /// Hash of the topic metadata of a group with an epoch.
    pub(super) metadata_hash: Option<i64>,
    /// Topics by pattern.
    pub(super) resolved: BTreeMap<String, Vec<String>>,
    /// Number of partitions by topic, from a record of type 4 (`CONSUMER_GROUP_PARTITION_METADATA`).
    pub(super) counts: Option<BTreeMap<String, i32>>,
    /// Topics of a streams topology.
    pub(super) sources: Option<Vec<String>>,
    /// Partitions of a share group whose share state is initialized.
    pub(super) initialized: Vec<Partition>,
    /// The kind that the group had before, if it had another one.
    pub(super) converted_from: Option<GroupKind>,
}

impl GroupRecord {
    /// Return the topics that members subscribe to; None if they cannot be read.
    pub(super) fn topics(&self) -> Option<BTreeSet<&str>> {
        let mut found: BTreeSet<&str> = self.sources.iter().flatten().map(String::as_str).collect();
        let mut last: Option<&[String]> = None;
        for member in self.members.values() {
            if member.topics.is_none() && member.pattern.is_none() && self.sources.is_none() {
                return None;
            }
            if member.pattern.is_none() {
                if last.is_some() && last == member.topics.as_deref() {
                    continue;
                }
                last = member.topics.as_deref();
            }
            found.extend(member.topics.iter().flatten().map(String::as_str));
            let pattern = member.pattern.as_deref().unwrap_or_default();
            found.extend(self.resolved.get(pattern).into_iter().flatten().map(String::as_str));
        }
        Some(found)
    }

    /// Return the owners of the assigned partitions; None if an assignment cannot be read.
    pub(super) fn assigned(&self) -> Option<FxHashMap<Partition, Arc<str>>> {
        let count = self.members.values().filter_map(|member| member.assigned.as_ref()).map(Vec::len).sum();
        let mut owners = FxHashMap::with_capacity_and_hasher(count, FxBuildHasher);
        for member in self.members.values() {
            owners.extend(member.assigned.as_ref()?.iter().map(|key| (key.clone(), Arc::clone(&member.owner_name))));
        }
        Some(owners)
    }
}

/// Pair of states of a member, before and after.
pub(super) type Pair = (Arc<KnownMember>, Arc<KnownMember>);

/// Members that joined and left, and pairs of those that were replaced or remain.
#[derive(Debug, Default)]
pub(super) struct Difference {
    pub(super) joined: Vec<Arc<KnownMember>>,
    pub(super) left: Vec<Arc<KnownMember>>,
    pub(super) replaced: Vec<Pair>,
    pub(super) remaining: Vec<Pair>,
}

impl Difference {
    /// Return the remaining and replaced members.
    pub(super) fn both(&self) -> impl Iterator<Item = &Pair> {
        self.remaining.iter().chain(&self.replaced)
    }

    /// Return the remaining and replaced members with another subscription.
    pub(super) fn changed(&self) -> Vec<&Pair> {
        self.both().filter(|(old, new)| !new.subscribes_like(old)).collect()
    }
}

/// Compare the members of two group records; a new member with the instance id of another one replaces it.
pub(super) fn difference(before: &Members, after: &Members) -> Difference {
    let mut found = Difference::default();
    let mut new_members = Vec::new();
    let (mut old, mut new) = (before.values().peekable(), after.values().peekable());
    loop {
        let order = match (old.peek(), new.peek()) {
            (None, None) => break,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(old), Some(new)) if Arc::ptr_eq(old, new) => Ordering::Equal,
            (Some(old), Some(new)) => old.id.cmp(&new.id),
        };
        let old = if order.is_le() { old.next() } else { None };
        let new = if order.is_ge() { new.next() } else { None };
        match (old, new) {
            (Some(old), Some(new)) => found.remaining.push((Arc::clone(old), Arc::clone(new))),
            (old, new) => {
                found.left.extend(old.cloned());
                new_members.extend(new);
            }
        }
    }
    if new_members.is_empty() {
        return found;
    }
    let instances: FxHashMap<&str, &Arc<KnownMember>> =
        before.values().filter_map(|member| Some((member.instance_id.as_deref()?, member))).collect();
    for new in new_members {
        let same_instance = new.instance_id.as_deref().and_then(|instance| instances.get(instance).copied());
        match same_instance.filter(|old| !after.contains_key(&old.id)) {
            Some(old) => found.replaced.push((Arc::clone(old), Arc::clone(new))),
            None => found.joined.push(Arc::clone(new)),
        }
    }
    let gone: BTreeSet<Arc<str>> = found.replaced.iter().map(|(old, _)| Arc::clone(&old.id)).collect();
    found.left.retain(|old| !gone.contains(&old.id));
    found
}
