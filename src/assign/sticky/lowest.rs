//! Search for the lowest-ranked member of a set: the one with the fewest partitions, and the first by id among equals.
//!
//! Each set has a heap of its members by rank. If a member's rank rises, its entry is corrected when it reaches the top of the
//! heap. If its rank falls, it gets another entry. So a change of rank costs no time in sets that are not used.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use rustc_hash::FxHashMap;

use super::racks::RackLogic;
use crate::group::{Group, MemberRack};

/// Ranks of the members of a group.
#[derive(Debug, Clone)]
pub(super) struct Ranks {
    /// Per member, its number of partitions.
    sizes: Vec<u32>,
    /// Per member, its place in the order of ids.
    places: Vec<u32>,
    /// The members in the order of ids.
    by_id: Vec<u32>,
    /// Members whose rank fell, in chronological order.
    fallen: Vec<u32>,
}

impl Ranks {
    /// Create the ranks of members without partitions.
    pub(super) fn new(group: &Group) -> Self {
        let by_id = group.by_id().to_vec();
        let mut places = vec![0; by_id.len()];
        for (place, member) in (0..).zip(&by_id) {
            places[*member as usize] = place;
        }
        Self { sizes: vec![0; by_id.len()], places, by_id, fallen: Vec::new() }
    }

    /// Return the number of partitions of a member.
    pub(super) fn size(&self, member: u32) -> u32 {
        self.sizes[member as usize]
    }

    /// Return the number of partitions of each member.
    pub(super) fn sizes(&self) -> &[u32] {
        &self.sizes
    }

    /// Count one more partition of a member.
    pub(super) fn add(&mut self, member: u32) {
        self.sizes[member as usize] += 1;
    }

    /// Count one partition less of a member.
    pub(super) fn remove(&mut self, member: u32) {
        self.sizes[member as usize] -= 1;
        self.fallen.push(member);
    }

    /// Return the rank of a member: members with lower ranks get partitions first.
    pub(super) fn of(&self, member: u32) -> u64 {
        u64::from(self.size(member)) << 32 | u64::from(self.places[member as usize])
    }

    /// Return the member that has or had a rank.
    fn member(&self, rank: u64) -> u32 {
        self.by_id[rank as u32 as usize]
    }
}

/// Members of a set by rank.
#[derive(Debug, Default, Clone)]
pub(super) struct Queue {
    /// For each member of the set, at least one entry at or below its rank; empty until the first use.
    entries: BinaryHeap<Reverse<u64>>,
    /// The number of fallen ranks that this queue has already read.
    known: usize,
}

impl Queue {
    /// Return the lowest-ranked member of a set that is not empty.
    ///
    /// `has` returns true for the members of the set, which must be the same in each call.
    pub(super) fn lowest(&mut self, ranks: &Ranks, members: &[u32], has: impl Fn(u32) -> bool) -> u32 {
        let fallen = &ranks.fallen[self.known..];
        if self.entries.is_empty() || fallen.len() + self.entries.len() > 2 * members.len() + 16 {
            self.entries = members.iter().map(|member| Reverse(ranks.of(*member))).collect();
        } else {
            let fallen = fallen.iter().filter(|member| has(**member));
            self.entries.extend(fallen.map(|member| Reverse(ranks.of(*member))));
        }
        self.known = ranks.fallen.len();
        loop {
            let mut first = self.entries.peek_mut().expect("the set has members");
            let member = ranks.member(first.0);
            let rank = ranks.of(member);
            match first.0.cmp(&rank) {
                Ordering::Less => *first = Reverse(rank),
                Ordering::Equal => return member,
                Ordering::Greater => {
                    PeekMut::pop(first);
                }
            }
        }
    }
}

/// Members of sets by rack, then by rank, for an assignment in which members only gain partitions.
#[derive(Debug, Default)]
pub(super) struct RackQueues {
    /// Per set, true if its members are in `queues`.
    known: Vec<bool>,
    /// Per set and rack, the members of the set on that rack; members without a rack are under `WITHOUT_RACK`.
    queues: FxHashMap<(u32, u32), (Vec<u32>, Queue)>,
}

/// Marks members without a rack.
const WITHOUT_RACK: u32 = u32::MAX;

impl RackQueues {
    /// Return the lowest-ranked member of a set that is on a rack of a partition or has no rack.
    pub(super) fn lowest(
        &mut self,
        ranks: &Ranks,
        logic: &RackLogic<'_>,
        set: u32,
        members: &[u32],
        partition: u32,
    ) -> Option<u32> {
        self.read(logic, set, members);
        let near = logic.of_partition(partition).iter().chain(&[WITHOUT_RACK]);
        let lowest = near.filter_map(|rack| {
            let (members, queue) = self.queues.get_mut(&(set, *rack))?;
            Some(queue.lowest(ranks, members, |_| false))
        });
        lowest.min_by_key(|member| ranks.of(*member))
    }

    /// Group the members of a set by rack at its first use.
    fn read(&mut self, logic: &RackLogic<'_>, set: u32, members: &[u32]) {
        if self.known.len() <= set as usize {
            self.known.resize(set as usize + 1, false);
        }
        if std::mem::replace(&mut self.known[set as usize], true) {
            return;
        }
        for member in members {
            let rack = match logic.of_member(*member) {
                MemberRack::Unset => WITHOUT_RACK,
                MemberRack::WithReplicas(rack) => rack,
                MemberRack::WithoutReplicas => continue,
            };
            self.queues.entry((set, rack)).or_default().0.push(*member);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::group::{Racks, Topics};

    #[test]
    fn the_lowest_ranked_member_follows_all_changes() {
        let mut group = Group::new(Arc::new(Topics::new(Vec::<(&str, _)>::new(), Racks::default())), 0);
        for number in 0..7 {
            group.push(&format!("{}", (number * 5) % 7), 0, None, None);
        }
        let mut ranks = Ranks::new(&group);
        let members = [0, 2, 3, 6];
        let mut queue = Queue::default();
        let mut random: u32 = 1;
        for _ in 0..1000 {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let member = (random >> 16) % 7;
            if random >> 31 == 0 || ranks.size(member) == 0 {
                ranks.add(member);
            } else {
                ranks.remove(member);
            }
            if random >> 30 & 1 == 0 {
                continue;
            }
            let lowest =
                members.iter().min_by_key(|member| (ranks.size(**member), group.members().get(**member as usize)));

            assert_eq!(lowest, Some(&queue.lowest(&ranks, &members, |member| members.contains(&member))));
            assert!(queue.entries.len() <= 3 * members.len() + 16);
        }
    }
}
