//! The target assignment that an assignor of the broker starts from and changes.
//!
//! Members are numbered by their place in the broker's table. Each partition has at most one owner: the last member in the table
//! that reports it and subscribes to its topic. Partitions that do not exist are dropped. Kafka's own class keeps all owners of a
//! partition, and then fails or gives the partition to two members.

use crate::assign::table_order::member_order;
use crate::group::{Group, MemberData, ReportedTarget};
use crate::plan::{NO_OWNER, Owners};

/// A target assignment by the places of members in the broker's table.
pub(super) struct Target<'g> {
    /// Members by place.
    pub(super) order: &'g [u32],
    /// Per partition the place of its owner.
    pub(super) owners: Owners,
    /// By place, the number of partitions that the member owns.
    pub(super) sizes: Vec<u32>,
    /// Partitions that two members report (see `ReportedTarget`); Kafka's balancing counts them for both members.
    pub(super) lost: Vec<(u32, u32)>,
}

impl<'g> Target<'g> {
    /// Return the target that members report.
    pub(super) fn previous(group: &'g Group) -> Self {
        let order = member_order(group);
        if !group.has_owned_partitions() {
            return Self { order, owners: Owners::new(group), sizes: vec![0; order.len()], lost: Vec::new() };
        }
        let ReportedTarget { owners, sizes, lost } = group.reported_target(|| reported_target(group, order)).clone();
        Self { order, owners: Owners::of(group, owners), sizes, lost }
    }

    /// Return the owners as indices of members.
    pub(super) fn into_owners(self) -> Owners {
        let Self { order, mut owners, .. } = self;
        for owner in &mut owners.members {
            // `NO_OWNER` is no place.
            if let Some(member) = order.get(*owner as usize) {
                *owner = *member;
            }
        }
        owners
    }
}

fn reported_target(group: &Group, order: &[u32]) -> ReportedTarget {
    let mut places = vec![0; order.len()];
    for (place, member) in (0..).zip(order) {
        places[*member as usize] = place;
    }
    let mut target = Claims { owners: Owners::new(group), sizes: vec![0; order.len()], lost: Vec::new() };
    let mut last = None;
    let mut subscribed: &[u32] = &[];
    for (member, data) in group.all_member_data() {
        let subscription = group.subscription_of(member as usize);
        if last.replace(subscription) != Some(subscription) {
            subscribed = group.topics_of(subscription);
        }
        target.claim(group, subscribed, places[member as usize], data);
    }
    target.lost.sort_unstable();
    target.lost.dedup();
    ReportedTarget { owners: target.owners.members, sizes: target.sizes, lost: target.lost }
}

/// A reported target under construction.
struct Claims {
    owners: Owners,
    sizes: Vec<u32>,
    lost: Vec<(u32, u32)>,
}

impl Claims {
    /// Make a member the owner of the partitions that it reports, except those that a member with a later place owns.
    fn claim(&mut self, group: &Group, subscribed: &[u32], place: u32, data: MemberData<'_>) {
        let mut size = self.sizes[place as usize];
        for (topic, ids) in data.owned() {
            // If the member subscribes to all topics, each topic is at the index of its number; otherwise search for it.
            if subscribed.get(topic as usize) != Some(&topic) && subscribed.binary_search(&topic).is_err() {
                continue;
            }
            let existing = &group.topics().partitions()[topic as usize].ids;
            let start = self.owners.starts[topic as usize];
            let owners = &mut self.owners.members[start as usize..self.owners.starts[topic as usize + 1] as usize];
            for position in ids.iter().filter_map(|id| existing.position(*id)) {
                let owner = &mut owners[position];
                if *owner == place {
                    continue;
                }
                if *owner != NO_OWNER {
                    self.lost.push((place.min(*owner), start + position as u32));
                    if place < *owner {
                        continue;
                    }
                    self.sizes[*owner as usize] -= 1;
                }
                *owner = place;
                size += 1;
            }
        }
        self.sizes[place as usize] = size;
    }
}
