//! The target assignment that an assignor of the broker starts from and changes.
//!
//! Members are numbered by their place in the broker's table. Each partition has at most one owner: the last member in the table
//! that names it and subscribes to its topic. Partitions that do not exist are dropped. Kafka's own class keeps all owners of a
//! partition, and then fails or gives the partition to two members.

use crate::assign::table_order::member_order;
use crate::group::{Group, MemberData};
use crate::plan::{NO_OWNER, Owners};

/// A target assignment by the places of members in the broker's table.
pub(super) struct Target<'g> {
    /// Members by place.
    pub(super) order: &'g [u32],
    /// Per partition the place of its owner.
    pub(super) owners: Owners,
    /// By place, the number of partitions that the member owns.
    pub(super) sizes: Vec<u32>,
    /// Partitions that one member names and a later one owns, as distinct pairs (place of the first member, partition): Kafka's balancing
    /// counts them for both.
    pub(super) lost: Vec<(u32, u32)>,
}

impl<'g> Target<'g> {
    /// Return the target that members report.
    pub(super) fn previous(group: &'g Group) -> Self {
        let order = member_order(group);
        let sizes = vec![0; order.len()];
        let mut found = Self { order, owners: Owners::new(group), sizes, lost: Vec::new() };
        if group.has_owned_partitions() {
            let mut places = vec![0; order.len()];
            for (place, member) in (0..).zip(order) {
                places[*member as usize] = place;
            }
            let mut last = None;
            let mut subscribed: &[u32] = &[];
            for (member, data) in group.all_member_data() {
                let subscription = group.subscription_of(member as usize);
                if last.replace(subscription) != Some(subscription) {
                    subscribed = group.topics_of(subscription);
                }
                found.claim(group, subscribed, places[member as usize], data);
            }
            found.lost.sort_unstable();
            found.lost.dedup();
        }
        found
    }

    /// Make a member the owner of the partitions that it names, except those that a member with a later place owns.
    fn claim(&mut self, group: &Group, subscribed: &[u32], place: u32, data: MemberData<'_>) {
        for (topic, ids) in data.owned() {
            if subscribed.binary_search(&topic).is_err() {
                continue;
            }
            let existing = &group.topics().partitions()[topic as usize].ids;
            let start = self.owners.starts[topic as usize];
            for position in ids.iter().filter_map(|id| existing.position(*id)) {
                let partition = start + position as u32;
                let owner = &mut self.owners.members[partition as usize];
                if *owner == place {
                    continue;
                }
                if *owner != NO_OWNER {
                    self.lost.push((place.min(*owner), partition));
                    if place < *owner {
                        continue;
                    }
                    self.sizes[*owner as usize] -= 1;
                }
                *owner = place;
                self.sizes[place as usize] += 1;
            }
        }
    }

    /// Return the owners as indices of members.
    pub(super) fn into_owners(self) -> Owners {
        let Self { order, mut owners, .. } = self;
        for owner in &mut owners.members {
            if *owner != NO_OWNER {
                *owner = order[*owner as usize];
            }
        }
        owners
    }
}
