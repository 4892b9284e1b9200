//! Sets of numbers, each distinct set kept once: subscriptions as sets of topics, replicas as sets of racks.

use std::hash::BuildHasher;

use hashbrown::HashTable;

use super::names::HASHING;

/// Lists of numbers in one allocation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lists {
    entries: Vec<u32>,
    /// The end of each list in `entries`.
    ends: Vec<usize>,
}

impl Lists {
    /// Return a single list.
    pub(crate) fn single(list: Vec<u32>) -> Self {
        Self { ends: vec![list.len()], entries: list }
    }

    /// Return a list of values for each key, in the order given.
    ///
    /// `pairs` is iterated twice: first for the lengths of the lists, then for their values.
    pub(crate) fn by_key(keys: usize, pairs: impl Iterator<Item = (u32, u32)> + Clone) -> Self {
        let mut ends = vec![0; keys + 1];
        pairs.clone().for_each(|(key, _)| ends[key as usize + 1] += 1);
        for key in 0..keys {
            ends[key + 1] += ends[key];
        }
        let mut entries = vec![0; ends[keys]];
        // At first `ends` has the start of each list. Each written value advances it by one, until it is the end.
        pairs.for_each(|(key, value)| {
            let place = &mut ends[key as usize];
            entries[*place] = value;
            *place += 1;
        });
        ends.truncate(keys);
        Self { entries, ends }
    }

    /// Add a list.
    pub(crate) fn push(&mut self, list: &[u32]) {
        self.entries.extend_from_slice(list);
        self.ends.push(self.entries.len());
    }

    /// Remove all lists, and keep their memory.
    pub(crate) fn clear(&mut self) {
        self.entries.clear();
        self.ends.clear();
    }

    /// Return the entries of all lists, and the end of each list among them, to write lists in place.
    pub(crate) fn parts(&mut self) -> (&mut Vec<u32>, &mut Vec<usize>) {
        (&mut self.entries, &mut self.ends)
    }

    /// Remove the lists from the one with number `first` on, and return them.
    pub(crate) fn split_off(&mut self, first: usize) -> Self {
        let mut ends = self.ends.split_off(first);
        let start = self.ends.last().copied().unwrap_or(0);
        for end in &mut ends {
            *end -= start;
        }
        Self { entries: self.entries.split_off(start), ends }
    }

    /// Return the number of entries of all lists together.
    pub(crate) fn total(&self) -> usize {
        self.entries.len()
    }

    /// Return the number of lists.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Return true if there are no lists.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Return the start and end of a list among the entries of all lists.
    #[must_use]
    pub fn bounds(&self, list: usize) -> (usize, usize) {
        (list.checked_sub(1).map_or(0, |before| self.ends[before]), self.ends[list])
    }

    /// Return a list.
    #[must_use]
    pub fn get(&self, list: usize) -> &[u32] {
        let (start, end) = self.bounds(list);
        &self.entries[start..end]
    }

    /// Iterate over the lists, by number.
    #[must_use]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[u32]> + DoubleEndedIterator + Clone {
        (0..self.len()).map(|list| self.get(list))
    }
}

/// Minimum number of sets for which a table is faster than a linear search.
const MIN_TABLE_SIZE: usize = 8;

/// Distinct sets of numbers. Each set is sorted and has a number.
#[derive(Debug, Clone, Default)]
pub struct Sets {
    sets: Lists,
    /// Numbers of the sets by content; empty while there are fewer than `MIN_TABLE_SIZE` sets.
    table: HashTable<u32>,
}

impl Sets {
    /// Return the number of a set. `members` may have any order and repetitions; it is sorted in place.
    pub fn number(&mut self, members: &mut Vec<u32>) -> u32 {
        sort_and_dedup(members);
        self.number_of(members)
    }

    /// Return the number of a set given in ascending order.
    pub fn number_of(&mut self, members: &[u32]) -> u32 {
        let Self { sets, table } = self;
        let new = sets.len() as u32;
        if sets.len() < MIN_TABLE_SIZE {
            if let Some(found) = sets.iter().position(|set| set == members) {
                return found as u32;
            }
        } else {
            let hash = |members: &[u32]| HASHING.hash_one(members);
            if table.is_empty() {
                for set in 0..new {
                    table.insert_unique(hash(sets.get(set as usize)), set, |set| hash(sets.get(*set as usize)));
                }
            }
            let entry = table.entry(
                hash(members),
                |set| sets.get(*set as usize) == members,
                |set| hash(sets.get(*set as usize)),
            );
            let found = *entry.or_insert(new).get();
            if found != new {
                return found;
            }
        }
        sets.push(members);
        new
    }

    /// Return the members of a set, ascending.
    #[must_use]
    pub fn get(&self, set: u32) -> &[u32] {
        self.sets.get(set as usize)
    }

    /// Return the sets, by number.
    #[must_use]
    pub fn all(&self) -> &Lists {
        &self.sets
    }

    /// Return the number of sets.
    #[must_use]
    pub fn len(&self) -> usize {
        self.sets.len()
    }

    /// Return true if there are no sets.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.sets.is_empty()
    }
}

fn sort_and_dedup(members: &mut Vec<u32>) {
    if !members.is_sorted_by(|left, right| left < right) {
        members.sort_unstable();
        members.dedup();
    }
}
