//! Racks of members and partitions in sticky assignment (KIP-881).

use crate::group::{Group, MemberRack, Racks};
use crate::plan::Owners;

/// Racks of a group whose assignment depends on racks: some member is on the rack of a replica, and partitions are on different racks.
#[derive(Debug)]
pub(super) struct RackLogic<'a> {
    group: &'a Group,
    /// Per partition, the number of its set of racks; `NO_RACKS` if its topic has no racks.
    sets: Vec<u32>,
}

/// Marks the empty set of racks.
const NO_RACKS: u32 = u32::MAX;

impl<'a> RackLogic<'a> {
    /// Return the racks of a group if its assignment depends on racks; `is_assignable` and `owners` are those of its claims.
    ///
    /// With `prefer_rack_aware`, the assignment can depend on racks even if all partitions are on the same racks.
    pub(super) fn of(
        group: &'a Group,
        is_assignable: &[bool],
        owners: &Owners,
        prefer_rack_aware: bool,
    ) -> Option<Self> {
        if !group.has_members_with_replicas() {
            return None;
        }
        let mut sets = vec![NO_RACKS; owners.members.len()];
        let racks = group.topics().racks();
        let mut is_seen = vec![false; racks.sets().len() + 1];
        for (topic, partitions) in
            group.topics().partitions().iter().enumerate().filter(|(topic, _)| is_assignable[*topic])
        {
            if let Some(column) = &partitions.racks {
                sets[owners.starts[topic] as usize..][..column.len()].copy_from_slice(column);
                for set in column {
                    is_seen[*set as usize] = true;
                }
            } else {
                is_seen[racks.sets().len()] = true;
            }
        }
        // Kafka tests whether each rack set equals the union of all. Two sets that differ cannot both equal it.
        let differ = is_seen.iter().filter(|is_seen| **is_seen).count() > 1;
        let mut has_replica = vec![false; racks.len()];
        for set in (0..racks.sets().len()).filter(|set| is_seen[*set]) {
            racks.sets().get(set as u32).iter().for_each(|rack| has_replica[*rack as usize] = true);
        }
        let is_near =
            |member| matches!(group.rack_of(member), MemberRack::WithReplicas(rack) if has_replica[rack as usize]);
        let matters = (differ || prefer_rack_aware) && (0..group.members().len()).any(is_near);
        matters.then_some(Self { group, sets })
    }

    /// Return the racks of a partition's replicas, ascending.
    pub(super) fn of_partition(&self, partition: u32) -> &[u32] {
        match self.sets[partition as usize] {
            NO_RACKS => &[],
            set => self.racks().sets().get(set),
        }
    }

    /// Return true if the member has a rack and no replica of the partition is on it.
    pub(super) fn mismatch(&self, member: u32, partition: u32) -> bool {
        match self.of_member(member) {
            MemberRack::Unset => false,
            MemberRack::WithReplicas(rack) => !self.of_partition(partition).contains(&rack),
            MemberRack::WithoutReplicas => true,
        }
    }

    /// Sort partitions by the number of members on the racks of their replicas; the sort is stable.
    pub(super) fn sort_by_members(&self, partitions: &mut [u32]) {
        let mut members_of_rack = vec![0_u32; self.racks().len()];
        for member in 0..self.group.members().len() as u32 {
            if let MemberRack::WithReplicas(rack) = self.of_member(member) {
                members_of_rack[rack as usize] += 1;
            }
        }
        let count = |racks: &[u32]| racks.iter().map(|rack| members_of_rack[*rack as usize]).sum();
        let counts: Vec<u32> = self.racks().sets().all().iter().map(count).collect();
        partitions.sort_by_key(|partition| counts.get(self.sets[*partition as usize] as usize).copied().unwrap_or(0));
    }

    /// Return the rack of a member.
    pub(super) fn of_member(&self, member: u32) -> MemberRack {
        self.group.rack_of(member as usize)
    }

    /// Return the racks of all replicas of the cluster.
    pub(super) fn racks(&self) -> &Racks {
        self.group.topics().racks()
    }
}
