//! The target assignment that an assignor of the broker starts from, and changes.
//!
//! Members are numbered by their place in the broker's table. Each partition has at most one owner: the last member in the table
//! that names it and subscribes to its topic. Partitions that do not exist are dropped. Kafka's own class lets each of several
//! members have such a partition, and then fails or gives it twice.

use crate::assign::table_order::member_order;
use crate::group::{Group, MemberData};
use crate::plan::{NO_OWNER, Owners};

/// A target assignment by the places of members in the broker's table.
pub(super) struct Target<'g> {
    /// Members by place.
    pub(super) order: &'g [u32],
    /// What members report, by place; empty if no member owns a partition.
    data: Vec<Option<MemberData<'g>>>,
    /// Per partition the place of its owner.
    pub(super) owners: Owners,
    /// By place, the number of partitions that the member owns.
    pub(super) sizes: Vec<u32>,
    /// Partitions that a member names and a later one owns, by place of the first: Kafka's balancing counts them for both.
    pub(super) lost: Vec<u32>,
}

impl<'g> Target<'g> {
    /// Return the target that members report.
    pub(super) fn previous(group: &'g Group) -> Self {
        let order = member_order(group);
        let sizes = vec![0; order.len()];
        let mut found = Self { order, data: Vec::new(), owners: Owners::new(group), sizes, lost: Vec::new() };
        if group.has_owned_partitions() {
            let mut of_member = vec![None; order.len()];
            for (member, data) in group.all_member_data() {
                of_member[member as usize] = Some(data);
            }
            found.data = order.iter().map(|member| of_member[*member as usize]).collect();
            for (place, member) in (0..).zip(order) {
                if let Some(data) = found.data[place as usize] {
                    found.claim(group, *member, place, data);
                }
            }
        }
        found
    }

    /// Make a member the owner of what it names; no member with a later place has claimed yet.
    fn claim(&mut self, group: &Group, member: u32, place: u32, data: MemberData<'_>) {
        let subscribed = group.topics_of(group.subscription_of(member as usize));
        for (topic, ids) in data.owned() {
            if subscribed.binary_search(&topic).is_err() {
                continue;
            }
            let existing = &group.topics().partitions()[topic as usize].ids;
            for position in ids.iter().filter_map(|id| existing.position(*id)) {
                let owner = &mut self.owners.members[self.owners.starts[topic as usize] as usize + position];
                if *owner == place {
                    continue;
                }
                self.sizes[place as usize] += 1;
                let before = std::mem::replace(owner, place);
                if before != NO_OWNER {
                    self.sizes[before as usize] -= 1;
                    self.lost.push(before);
                }
            }
        }
    }

    /// What the member of a place reports.
    pub(super) fn data(&self, place: usize) -> Option<MemberData<'g>> {
        self.data.get(place).copied().flatten()
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
