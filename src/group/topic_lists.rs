//! Lists of topics in the order in which members give them.
//!
//! Most assignors treat the topics of a subscription as a set. The broker's uniform assignor iterates over a hash table of names. If
//! names share a bucket, its order depends on the order of insertion. An ascending list equals the subscription's own list and is
//! not stored.

use std::hash::BuildHasher;

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

use super::names::HASHING;
use super::sets::{Lists, Sets};

/// Flag of a number that identifies a list instead of a subscription.
const LIST: u32 = 1 << 31;

/// Value for members whose list is ascending.
const NONE: u32 = u32::MAX;

/// Distinct lists of topics that do not ascend, and the list of each member.
#[derive(Debug, Default)]
pub(super) struct TopicLists {
    lists: Lists,
    table: HashTable<u32>,
    /// Per list the number of its subscription.
    subscriptions: Vec<u32>,
    /// Runs of members with the same list: the first member, and the list or `NONE`. Members before the first run have none.
    runs: Vec<(u32, u32)>,
    /// The number in the last call of `push`. In most groups the next member has the same number.
    last: u32,
    /// The subscription of `last`.
    last_subscription: u32,
    sorted: Vec<u32>,
}

impl TopicLists {
    /// Return a number for `push` that identifies a list.
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

    /// Record the list of a member if the number identifies a list; return the number of the subscription.
    #[inline]
    pub(super) fn push(&mut self, member: u32, number: u32) -> u32 {
        if number != self.last {
            self.start_run(member, number);
        }
        self.last_subscription
    }

    fn start_run(&mut self, member: u32, number: u32) {
        let list = if number & LIST == 0 { NONE } else { number & !LIST };
        if list != NONE || self.last & LIST != 0 {
            self.runs.push((member, list));
        }
        self.last = number;
        self.last_subscription = if list == NONE { number } else { self.subscriptions[list as usize] };
    }

    /// Return the list of a member; None if it ascends.
    pub(super) fn of_member(&self, member: u32) -> Option<&[u32]> {
        let run = self.runs.partition_point(|(first, _)| *first <= member).checked_sub(1)?;
        let (_, list) = self.runs[run];
        (list != NONE).then(|| self.lists.get(list as usize))
    }
}
