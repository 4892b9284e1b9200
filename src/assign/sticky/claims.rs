//! Partitions that the members of a group claim to own, and their owners after conflicts are settled.
//!
//! A claim counts if the partition exists and some member subscribes to its topic. Kafka also accepts partitions that do not
//! exist, and then returns an invalid assignment. If two members claim a partition, the higher generation wins; equal generations
//! cancel each other. Kafka compares the generation of the later claim with the generation field of the subscription that claimed
//! earlier. `StickyAssignor` reads the generation of a claim from the user data, which may differ from that field.
//!
//! Partitions are numbered as in `plan::Owners`.

use rustc_hash::FxHashMap;

use super::user_data::{self, NONE, StickyUserData};
use crate::assign::table_order;
use crate::group::{Group, MemberData};
use crate::plan::{NO_OWNER, Owners};

/// Source of a member's claims.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    /// The user data (`StickyAssignor`).
    UserData,
    /// The owned partitions and the generation of the subscription (`CooperativeStickyAssignor`).
    Subscription,
}

/// Settled claims of the members of a group.
#[derive(Debug)]
pub(super) struct Claims {
    /// The members in table order.
    pub(super) members: Vec<u32>,
    /// Owner of each partition, or `NO_OWNER`; `owners.starts` has the number of the first partition of each topic.
    pub(super) owners: Owners,
    /// Per topic, true if it is assignable: it has partitions and a member subscribes to it.
    pub(super) is_assignable: Vec<bool>,
    /// The claims of all members, member by member in table order.
    claimed: Vec<u32>,
    /// Per member, the bounds of its claims in `claimed`.
    bounds: Vec<(u32, u32)>,
    /// Per member, the generation of its claims.
    generations: Vec<i32>,
    /// Partitions with two claims of equal generations, each with the member that made the later one.
    doubly_claimed: FxHashMap<u32, u32>,
}

impl Claims {
    /// Read and settle the claims of a group's members.
    pub(super) fn of(group: &Group, source: Source) -> Self {
        let members = group.members().len();
        let mut claims = Self {
            members: table_order::member_order(group).to_vec(),
            owners: Owners::new(group),
            is_assignable: assignable_topics(group),
            claimed: Vec::new(),
            bounds: vec![(0, 0); members],
            generations: vec![NONE; members],
            doubly_claimed: FxHashMap::default(),
        };
        let mut names = TopicNames::new(group);
        for index in 0..members {
            let member = claims.members[index];
            if let Some(data) = group.member_data(member as usize) {
                claims.read(group, &mut names, source, member, data);
            }
        }
        claims
    }

    /// Return the partitions that a member claims, in the order claimed. A partition that the member owns occurs once.
    pub(super) fn claimed_by(&self, member: u32) -> &[u32] {
        let (start, end) = self.bounds[member as usize];
        &self.claimed[start as usize..end as usize]
    }

    /// Return the partitions that a member owns, in the order claimed.
    pub(super) fn owned_by(&self, member: u32) -> impl Iterator<Item = u32> {
        self.claimed_by(member).iter().copied().filter(move |partition| self.owner(*partition) == member)
    }

    /// Return the owner of a partition, or `NO_OWNER`.
    pub(super) fn owner(&self, partition: u32) -> u32 {
        self.owners.members[partition as usize]
    }

    /// Return true if two members of the same generation claim the partition. A third member of a higher generation may own it.
    pub(super) fn is_doubly_claimed(&self, partition: u32) -> bool {
        !self.doubly_claimed.is_empty() && self.doubly_claimed.contains_key(&partition)
    }

    /// Return the previous owner of each partition, or `NO_OWNER`; None if no claim is older than the newest generation of the
    /// group. The previous owner is the member with the newest of these older claims. Of several such members it is the first in
    /// table order.
    pub(super) fn previous_owners(&self) -> Option<Vec<u32>> {
        let newest = self.generations.iter().fold(NONE, |newest, generation| newest.max(*generation));
        let is_stale =
            |member: &&u32| self.generations[**member as usize] < newest && !self.claimed_by(**member).is_empty();
        let mut stale = self.members.iter().filter(is_stale).peekable();
        stale.peek()?;
        let mut previous = vec![NO_OWNER; self.owners.members.len()];
        for member in stale {
            let generation = self.generations[*member as usize];
            for partition in self.claimed_by(*member) {
                let before = &mut previous[*partition as usize];
                if *before == NO_OWNER || self.generations[*before as usize] < generation {
                    *before = *member;
                }
            }
        }
        Some(previous)
    }

    /// Read the claims of the next member in table order.
    fn read<'a>(
        &mut self,
        group: &'a Group,
        names: &mut TopicNames<'a>,
        source: Source,
        member: u32,
        data: MemberData<'a>,
    ) {
        let start = self.claimed.len() as u32;
        let user_data = data.user_data;
        if source == Source::Subscription || (user_data.is_none() && !group.is_from_wire()) {
            let generation = data.generation.filter(|generation| *generation >= 0);
            let encoded = || user_data.map(user_data::cooperative_generation);
            self.generations[member as usize] = generation.or_else(encoded).unwrap_or(NONE);
            for (topic, ids) in data.owned() {
                self.claim(group, member, topic, ids.iter().copied());
            }
        } else if let Some(bytes) = user_data.filter(|bytes| !bytes.is_empty()) {
            let decoded = StickyUserData::decode(bytes);
            self.generations[member as usize] = decoded.generation;
            for (name, ids) in decoded.topics {
                if let Some(topic) = names.number(&name) {
                    self.claim(group, member, topic, ids.iter());
                }
            }
        }
        self.bounds[member as usize] = (start, self.claimed.len() as u32);
    }

    /// Claim partitions of a topic for a member.
    fn claim(&mut self, group: &Group, member: u32, topic: u32, ids: impl Iterator<Item = i32>) {
        if !self.is_assignable.get(topic as usize).is_some_and(|is_assignable| *is_assignable) {
            return;
        }
        let (existing, first) = (&group.topics().partitions()[topic as usize].ids, self.owners.starts[topic as usize]);
        for position in ids.filter_map(|id| existing.position(id)) {
            let partition = first + position as u32;
            let owner = self.owner(partition);
            if owner == NO_OWNER && !self.is_doubly_claimed(partition) {
                self.owners.members[partition as usize] = member;
                self.claimed.push(partition);
            } else {
                self.settle(group, member, partition, owner);
            }
        }
    }

    /// Settle the claim of a partition that was claimed before.
    #[cold]
    fn settle(&mut self, group: &Group, member: u32, partition: u32, owner: u32) {
        let before = if owner == NO_OWNER { self.doubly_claimed[&partition] } else { owner };
        if before != member {
            self.claimed.push(partition);
        }
        let field = group.member_data(before as usize).and_then(|data| data.generation).unwrap_or(NONE).max(NONE);
        let generation = self.generations[member as usize];
        if generation == field {
            self.doubly_claimed.insert(partition, member);
            self.owners.members[partition as usize] = NO_OWNER;
        } else if generation > field && before != member {
            // If the same member claimed the partition before, nothing changes: the member keeps the partition if it owns it, and
            // does not regain it if it lost it.
            self.owners.members[partition as usize] = member;
        }
    }
}

/// Return for each topic true if it is assignable.
fn assignable_topics(group: &Group) -> Vec<bool> {
    let mut is_assignable = vec![false; group.topics().len()];
    for (subscription, members) in (0..).zip(group.members_per_subscription()) {
        for topic in group.topics_of(subscription).iter().filter(|_| members > 0) {
            is_assignable[*topic as usize] = !group.topics().partitions()[*topic as usize].ids.is_empty();
        }
    }
    is_assignable
}

/// Look-up of topics by name. Most members name the same topics in the same order, so the topic that followed in an earlier
/// look-up is tried first.
struct TopicNames<'a> {
    group: &'a Group,
    /// Per topic, the topic that was looked up after it; the last entry is the first topic that was looked up.
    next: Vec<u32>,
    last: u32,
}

impl<'a> TopicNames<'a> {
    fn new(group: &'a Group) -> Self {
        Self { group, next: Vec::new(), last: group.topics().len() as u32 }
    }

    fn number(&mut self, name: &str) -> Option<u32> {
        let topics = self.group.topics();
        if let Some(next) = self.next.get(self.last as usize)
            && topics.names().get(*next as usize) == name
        {
            self.last = *next;
            return Some(*next);
        }
        let number = topics.number(name)?;
        self.next.resize(topics.len() + 1, number);
        self.next[self.last as usize] = number;
        self.last = number;
        Some(number)
    }
}
