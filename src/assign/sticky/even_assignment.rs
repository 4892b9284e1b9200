//! Assignment in progress of the constrained algorithm: each member gets `low` partitions, and some get one more.

use super::claims::Claims;
use super::racks::RackLogic;
use crate::assign::table_order::copied_member_order;
use crate::group::Group;
use crate::plan::{NO_OWNER, Owners};

/// Assignment in progress.
#[derive(Debug)]
pub(super) struct Assignment {
    pub(super) owners: Owners,
    /// Per member, its number of partitions.
    counts: Vec<u32>,
    /// Minimum number of partitions of each member.
    pub(super) low: u32,
    /// Number of members that get one more than `low`.
    more: u32,
    /// Number of members that already have one more than `low`.
    at_high: u32,
}

impl Assignment {
    pub(super) fn new(group: &Group, claims: &Claims) -> Self {
        let sharing = claims.members.iter().filter(|member| subscribes(group, **member)).count();
        let assignable = (0..claims.is_assignable.len()).filter(|topic| claims.is_assignable[*topic]);
        let total: u32 = assignable.map(|topic| claims.owners.starts[topic + 1] - claims.owners.starts[topic]).sum();
        let (low, more) = match sharing as u32 {
            0 => (0, 0),
            members => (total / members, total % members),
        };
        Self { owners: Owners::new(group), counts: vec![0; group.members().len()], low, more, at_high: 0 }
    }

    /// Let members keep what they own. Return the members with fewer than `low` partitions, and those with exactly `low` that may
    /// get one more; both sorted by member id.
    pub(super) fn keep(
        &mut self,
        group: &Group,
        claims: &Claims,
        racks: Option<&RackLogic<'_>>,
    ) -> (Vec<u32>, Vec<u32>) {
        let mut kept = Vec::new();
        let mut by_number = ByNumber::default();
        // Kafka copies the members from one hash table to another one before members keep what they own.
        for member in copied_member_order(group).iter().filter(|member| subscribes(group, **member)) {
            let stays = |partition: &u32| {
                !claims.is_doubly_claimed(*partition) && !racks.is_some_and(|racks| racks.mismatch(*member, *partition))
            };
            kept.clear();
            kept.extend(claims.owned_by(*member).filter(stays));
            let count = kept.len() as u32;
            let is_high = count > self.low && self.may_exceed_low();
            let limit = self.low + u32::from(is_high);
            self.at_high += u32::from(is_high);
            if count > limit {
                by_number.retain_first(&mut kept, limit as usize, &claims.owners.starts);
            }
            for partition in &kept {
                self.owners.members[*partition as usize] = *member;
            }
            self.counts[*member as usize] = count.min(limit);
        }
        let by_id = group.by_id();
        let with = |is_wanted: &dyn Fn(u32) -> bool| {
            let by_id = by_id.iter().copied().filter(|member| subscribes(group, *member));
            by_id.filter(|member| is_wanted(self.counts[*member as usize])).collect()
        };
        let under = with(&|count| count < self.low);
        let exact = if self.may_exceed_low() { with(&|count| count == self.low) } else { Vec::new() };
        (under, exact)
    }

    /// Return the unassigned partitions of assignable topics, ascending.
    pub(super) fn unassigned(&self, claims: &Claims) -> Vec<u32> {
        let mut found = Vec::new();
        for topic in (0..claims.is_assignable.len()).filter(|topic| claims.is_assignable[*topic]) {
            let partitions = claims.owners.starts[topic]..claims.owners.starts[topic + 1];
            found.extend(partitions.filter(|partition| self.owners.members[*partition as usize] == NO_OWNER));
        }
        found
    }

    /// Return true if further members may get one more than `low`.
    pub(super) fn may_exceed_low(&self) -> bool {
        self.at_high < self.more
    }

    /// Give a partition to a member. Return the member's new number of partitions.
    pub(super) fn give(&mut self, partition: u32, member: u32) -> u32 {
        let count = &mut self.counts[member as usize];
        self.owners.members[partition as usize] = member;
        *count += 1;
        self.at_high += u32::from(*count > self.low);
        *count
    }

    /// Give partitions in turn to the members of `under` until all have `low`, then one each to the members of `exact`. Members
    /// that reach `low` here are appended to `exact`.
    pub(super) fn give_in_turn(&mut self, rest: &[u32], mut under: Vec<u32>, mut exact: Vec<u32>) {
        let (mut next, mut staying, mut next_exact) = (0, 0, 0);
        for partition in rest {
            let Some(member) = under.get(next).copied() else {
                let Some(member) = exact.get(next_exact) else { return };
                self.give(*partition, *member);
                next_exact += 1;
                continue;
            };
            next += 1;
            if self.give(*partition, member) == self.low {
                exact.push(member);
            } else {
                under[staying] = member;
                staying += 1;
            }
            if next == under.len() {
                under.truncate(staying);
                (next, staying) = (0, 0);
            }
        }
    }
}

/// Return true if a member subscribes to a topic.
fn subscribes(group: &Group, member: u32) -> bool {
    !group.subscriptions().get(group.subscription_of(member as usize)).is_empty()
}

/// Choice of partitions by their position in the topic first, then by topic.
#[derive(Debug, Default)]
struct ByNumber {
    keyed: Vec<(u32, u32)>,
}

impl ByNumber {
    /// Retain the first `count` of the partitions. `starts` has the number of the first partition of each topic.
    fn retain_first(&mut self, partitions: &mut Vec<u32>, count: usize, starts: &[u32]) {
        self.keyed.clear();
        let mut topic = 0;
        for partition in partitions.iter() {
            if !(starts[topic]..starts[topic + 1]).contains(partition) {
                topic = starts.partition_point(|start| start <= partition) - 1;
            }
            // Partitions of later topics have higher numbers, so ordering by number orders by topic.
            self.keyed.push((partition - starts[topic], *partition));
        }
        self.keyed.select_nth_unstable(count);
        partitions.clear();
        partitions.extend(self.keyed[..count].iter().map(|(_, partition)| *partition));
    }
}
