//! Committed offsets of a group, and the members that own the partitions.
//!
//! Owners are those of the current assignment. It differs from the target assignment of a consumer group until all members have given up
//! and received partitions.

use std::collections::BTreeSet;
use std::sync::Arc;

use rustc_hash::{FxBuildHasher, FxHashMap};

use super::cadence::Cadence;
use super::events::{Partition, sorted};
use super::pauses::Pause;
use super::times::UNKNOWN;

/// Ownership of a partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Ownership {
    pub(super) owner: Arc<str>,
    /// Time at which the partition got an owner, or at which its committed offset was deleted if that is later; `UNKNOWN` until the next
    /// valid timestamp.
    pub(super) since: i64,
    /// True if an offset was committed since the partition has its current owner.
    pub(super) has_commit: bool,
    /// True if the partition was reported as never committed.
    pub(super) is_reported: bool,
    /// Commits of the partition since it has its current owner.
    pub(super) cadence: Cadence,
}

/// Committed offset and owner of a partition.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct PartitionState {
    /// The committed offset.
    pub(super) offset: Option<i64>,
    /// The time at which the committed offset expires.
    pub(super) expires: i64,
    /// The last committed offset before it was deleted, until the next commit.
    pub(super) deleted: Option<i64>,
    pub(super) ownership: Option<Ownership>,
    /// The previous owner, if the partition has no owner now.
    pub(super) last_owner: Option<Arc<str>>,
    /// True if a commit without an owner was reported since the owners were last replaced.
    pub(super) is_reported: bool,
    /// The time of the last commit, if it is known.
    pub(super) last_commit: Option<i64>,
    /// The usual interval between its commits under an earlier owner.
    pub(super) usual: Option<i64>,
    /// The time without commits because of a rebalance, until it ends.
    pub(super) pause: Option<Box<Pause>>,
}

impl PartitionState {
    /// Return true if the partition has neither an offset nor an owner, past or present, and no report.
    pub(super) fn is_empty(&self) -> bool {
        self.offset.or(self.deleted).is_none()
            && self.ownership.is_none()
            && self.last_owner.is_none()
            && !self.is_reported
    }

    /// Return the usual interval between commits; None if there were too few of them.
    pub(super) fn usual_interval(&self) -> Option<i64> {
        let current = self.ownership.as_ref().and_then(|found| found.cadence.usual_if_repeated());
        current.or(self.usual)
    }

    /// Begin a pause with the last commit, unless there is one, or no commit. Return true if it begins.
    pub(super) fn begin_pause(&mut self, rebalance: Option<i64>) -> bool {
        let Some(since) = self.last_commit.filter(|_| self.offset.is_some() && self.pause.is_none()) else {
            return false;
        };
        let usual = self.usual_interval();
        self.pause = Some(Box::new(Pause { rebalance, since, usual, assigned: None }));
        true
    }

    /// Remove the owner, and remember the usual interval of its commits.
    fn take_ownership(&mut self) -> Option<Ownership> {
        self.usual = self.usual_interval();
        self.ownership.take()
    }

    /// Return the ownership if the partition has no committed offset and was not reported yet.
    fn waiting(&self) -> Option<&Ownership> {
        self.ownership.as_ref().filter(|ownership| self.offset.is_none() && !ownership.is_reported)
    }
}

/// Partitions by topic and id.
pub(super) type Topics = FxHashMap<Arc<str>, FxHashMap<i32, PartitionState>>;

/// Committed offsets of a group and the owners of its partitions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Committed {
    pub(super) topics: Topics,
    /// Topic ids without a name, among the topics. Commits name topics, so a partition of such a topic may have a committed offset.
    pub(super) unnamed: BTreeSet<Arc<str>>,
    /// Number of partitions with a committed offset.
    pub(super) offsets: usize,
}

impl Committed {
    /// Return the state of a partition; add the partition if it is new.
    pub(super) fn add(topics: &mut Topics, topic: Arc<str>, id: i32) -> &mut PartitionState {
        topics.entry(topic).or_default().entry(id).or_default()
    }

    /// Return the state of a partition.
    pub(super) fn partition(&mut self, topic: &str, id: i32) -> Option<&mut PartitionState> {
        self.topics.get_mut(topic)?.get_mut(&id)
    }

    /// Forget a partition.
    pub(super) fn forget(&mut self, topic: &str, id: i32) {
        if let Some(ids) = self.topics.get_mut(topic) {
            ids.remove(&id);
            if ids.is_empty() {
                self.topics.remove(topic);
            }
        }
    }

    /// Replace the owners of all partitions.
    pub(super) fn set_owners(&mut self, owners: &FxHashMap<Partition, Arc<str>>, at: i64) {
        for (topic, ids) in &mut self.topics {
            for (id, partition) in ids.iter_mut() {
                partition.is_reported = false;
                if partition.ownership.is_some() && !owners.contains_key(&(Arc::clone(topic), *id)) {
                    partition.last_owner = partition.take_ownership().map(|ownership| ownership.owner);
                }
                if owners.is_empty() {
                    partition.last_owner = None;
                }
            }
            ids.retain(|_, partition| !partition.is_empty());
        }
        self.topics.retain(|_, ids| !ids.is_empty());
        if self.topics.is_empty() {
            self.reserve(owners);
        }
        for (key, owner) in owners {
            self.set_owner(key, owner, at);
        }
    }

    /// Return the partitions whose owner is another one, or none, among new owners.
    pub(super) fn lost(&self, owners: &FxHashMap<Partition, Arc<str>>) -> Vec<Partition> {
        let owned = self.all().filter_map(|(topic, id, partition)| Some((topic, id, partition.ownership.as_ref()?)));
        let changed = owned.filter_map(|(topic, id, ownership)| {
            let key = (Arc::clone(topic), id);
            (owners.get(&key) != Some(&ownership.owner)).then_some(key)
        });
        sorted(changed)
    }

    /// Add the topics of the first owners, with space for their partitions. The caller then adds the partitions.
    fn reserve(&mut self, owners: &FxHashMap<Partition, Arc<str>>) {
        let mut counts: FxHashMap<&Arc<str>, usize> = FxHashMap::default();
        for (topic, _) in owners.keys() {
            match counts.get_mut(topic) {
                Some(count) => *count += 1,
                None => _ = counts.insert(topic, 1),
            }
        }
        let with_space = |(topic, count): (&Arc<str>, usize)| {
            (Arc::clone(topic), FxHashMap::with_capacity_and_hasher(count, FxBuildHasher))
        };
        self.topics.extend(counts.into_iter().map(with_space));
    }

    /// Set the owner of a partition; return true if it changed and the partition waits for its first commit.
    pub(super) fn set_owner(&mut self, (topic, id): &Partition, owner: &Arc<str>, at: i64) -> bool {
        let partition = match self.topics.get_mut(topic) {
            Some(ids) => ids.entry(*id).or_default(),
            None => Self::add(&mut self.topics, Arc::clone(topic), *id),
        };
        partition.last_owner = None;
        let (since, is_reported) = match &partition.ownership {
            Some(ownership) if ownership.owner == *owner => return false,
            Some(ownership) => (ownership.since, ownership.is_reported),
            None => (at, false),
        };
        partition.usual = partition.usual_interval();
        if let Some(pause) = &mut partition.pause {
            pause.assigned = Some(at);
        }
        partition.ownership = Some(Ownership {
            owner: Arc::clone(owner),
            since,
            has_commit: false,
            is_reported,
            cadence: Cadence::default(),
        });
        partition.waiting().is_some() && !self.unnamed.contains(topic)
    }

    /// Set the time at which partitions got their owners, if it is not known yet.
    pub(super) fn date_owners(&mut self, at: i64) {
        let all = self.topics.values_mut().flat_map(FxHashMap::values_mut);
        for ownership in all.filter_map(|partition| partition.ownership.as_mut()) {
            if ownership.since == UNKNOWN {
                ownership.since = at;
            }
        }
    }

    /// Remove the owner of a partition, which becomes its previous owner.
    pub(super) fn remove_owner(&mut self, (topic, id): &Partition) {
        if let Some(partition) = self.partition(topic, *id)
            && let Some(ownership) = partition.take_ownership()
        {
            partition.last_owner = Some(ownership.owner);
        }
    }

    /// Forget that commits of partitions without an owner were reported.
    pub(super) fn forget_reports(&mut self, partitions: Vec<Partition>) {
        for (topic, id) in partitions {
            let Some(partition) = self.partition(&topic, id) else { continue };
            partition.is_reported = false;
            if partition.is_empty() {
                self.forget(&topic, id);
            }
        }
    }

    fn all(&self) -> impl Iterator<Item = (&Arc<str>, i32, &PartitionState)> {
        self.topics.iter().flat_map(|(topic, ids)| ids.iter().map(move |(id, partition)| (topic, *id, partition)))
    }

    /// Return the partitions of topics with a name.
    fn named(&self) -> impl Iterator<Item = (&Arc<str>, i32, &PartitionState)> {
        let topics = self.topics.iter().filter(|(topic, _)| !self.unnamed.contains(*topic));
        topics.flat_map(|(topic, ids)| ids.iter().map(move |(id, partition)| (topic, *id, partition)))
    }

    /// Return the earliest `since` of the partitions that wait for their first commit.
    pub(super) fn first_waiting(&self) -> Option<i64> {
        self.named().filter_map(|(_, _, partition)| partition.waiting()).map(|ownership| ownership.since).min()
    }

    /// Return the partitions without a committed offset that have had an owner at least since `since`, and mark them as reported.
    /// Partitions that were reported before are left out.
    pub(super) fn due(&mut self, since: i64) -> Vec<Partition> {
        let mut found = Vec::new();
        for (topic, ids) in self.topics.iter_mut().filter(|(topic, _)| !self.unnamed.contains(*topic)) {
            for (id, partition) in ids.iter_mut() {
                if partition.waiting().is_some_and(|ownership| ownership.since <= since)
                    && let Some(ownership) = &mut partition.ownership
                {
                    ownership.is_reported = true;
                    found.push((Arc::clone(topic), *id));
                }
            }
        }
        sorted(found)
    }

    /// Return the sorted partitions with an owner and without a committed offset. Topics without a name are left out.
    pub(super) fn never_committed(&self) -> Vec<Partition> {
        let found =
            self.named().filter(|(_, _, partition)| partition.ownership.is_some() && partition.offset.is_none());
        sorted(found.map(|(topic, id, _)| (Arc::clone(topic), id)))
    }

    /// Ignore the time until the next commit of each partition of an owner.
    pub(super) fn interrupt(&mut self, owner: &str) {
        for partition in self.topics.values_mut().flat_map(FxHashMap::values_mut) {
            if let Some(found) = partition.ownership.as_mut().filter(|found| &*found.owner == owner) {
                found.cadence.interrupt();
            }
        }
    }

    /// Return the partitions of an owner for which an offset was committed while it owned them, with the cadence of their commits.
    pub(super) fn committed_by(&self, owner: &str) -> Vec<(Partition, &Cadence)> {
        let mut found: Vec<_> = self
            .all()
            .filter_map(|(topic, id, partition)| Some((topic, id, partition.ownership.as_ref()?)))
            .filter(|(_, _, ownership)| &*ownership.owner == owner && ownership.has_commit)
            .map(|(topic, id, ownership)| ((Arc::clone(topic), id), &ownership.cadence))
            .collect();
        found.sort_unstable_by(|(left, _), (right, _)| left.cmp(right));
        found
    }
}
