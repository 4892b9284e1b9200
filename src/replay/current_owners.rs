//! Current owners of the partitions of a consumer group, by member.
//!
//! `commits::set_owners` replaces all owners, so its cost depends on the size of the group. `CurrentOwners` stores the partitions of each
//! member, so the cost of a record depends only on the partitions of its member.

use std::collections::BTreeSet;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::events::Partition;

/// Owners by partition.
pub(super) type Owners = FxHashMap<Partition, Arc<str>>;

/// Owner name and sorted partitions of a member.
pub(super) type OwnerPartitions = (Arc<str>, Vec<Partition>);

/// Partitions of the members, for an assignment in which each partition has one owner.
#[derive(Debug, Clone, Default)]
pub(super) struct CurrentOwners {
    /// Partitions by member id.
    pub(super) members: FxHashMap<Arc<str>, OwnerPartitions>,
    /// Number of partitions of each owner; owners without partitions are left out.
    pub(super) counts: FxHashMap<Arc<str>, usize>,
    /// Members with a topic id that has no name.
    pub(super) unnamed: BTreeSet<Arc<str>>,
    /// Members whose records changed since the last update of the owners.
    pub(super) changed: BTreeSet<Arc<str>>,
    /// Partitions without an owner whose commits were reported since the last update of the owners.
    pub(super) reported: Vec<Partition>,
}

impl CurrentOwners {
    /// Add the partitions of a member, or remove them.
    pub(super) fn replace(&mut self, id: &Arc<str>, now: Option<OwnerPartitions>) {
        if let Some((owner, partitions)) = self.members.remove(id)
            && let Some(count) = self.counts.get_mut(&owner)
        {
            *count -= partitions.len();
            if *count == 0 {
                self.counts.remove(&owner);
            }
        }
        if let Some((owner, partitions)) = now {
            *self.counts.entry(Arc::clone(&owner)).or_default() += partitions.len();
            self.members.insert(Arc::clone(id), (owner, partitions));
        }
    }
}
