//! Lists of topics in the order in which members give them.
//!
//! Most assignors treat the topics of a subscription as a set. The broker's uniform assignor goes through a table of names, whose order
//! depends on the order of insertion if names share a bucket. An ascending list equals the subscription's own list and is not kept.

use std::hash::BuildHasher;

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

use super::names::HASHING;
use super::sets::{Lists, Sets};

/// Marks a number as one of a list.
const LIST: u32 = 1 << 31;

/// Marks a member whose list ascends.
const NONE: u32 = u32::MAX;

/// Distinct lists of topics that do not ascend, and the list of each member.
#[derive(Debug, Default)]
pub(super) struct TopicLists {
    lists: Lists,
    table: HashTable<u32>,
    /// Per list the number of its subscription.
    subscriptions: Vec<u32>,
    /// Per member the number of its list; entries of the last members may be missing if they have no list.
    of_member: Vec<u32>,
    sorted: Vec<u32>,
}

impl TopicLists {
    /// Return a number for `push` that stands for a list.
    pub(super) fn intern(&mut self, topics: &[u32], subscriptions: &mut Sets) -> u32 {
        let lists = &self.lists;
        let entry = self.table.entry(
            HASHING.hash_one(topics),
            |list| lists.get(*list as usize) == topics,
            |list| HASHING.hash_one(lists.get(*list as usize)),
        );
        match entry {
            Entry::Occupied(entry) => LIST | *entry.get(),
            Entry::Vacant(entry) => {
                let list = self.subscriptions.len() as u32;
                entry.insert(list);
                self.lists.push(topics);
                self.sorted.clear();
                self.sorted.extend_from_slice(topics);
                self.subscriptions.push(subscriptions.number(&mut self.sorted));
                LIST | list
            }
        }
    }

    /// Record the list of a member if the number stands for a list; return the number of the subscription.
    #[inline]
    pub(super) fn push(&mut self, member: usize, number: u32) -> u32 {
        if number & LIST == 0 {
            return number;
        }
        let list = number & !LIST;
        self.of_member.resize(member, NONE);
        self.of_member.push(list);
        self.subscriptions[list as usize]
    }

    /// Return the list of a member; None if it ascends.
    pub(super) fn of_member(&self, member: usize) -> Option<&[u32]> {
        let list = self.of_member.get(member).filter(|list| **list != NONE)?;
        Some(self.lists.get(*list as usize))
    }
}
